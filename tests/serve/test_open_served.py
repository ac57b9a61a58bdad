"""A name opens a corpus or a run, and a run is served only with the settings that it was made with."""

from contextlib import closing
from pathlib import Path

import orjson
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig, build
from pipeline.config.loop import EnvironmentConfig
from pipeline.corpus import jvm
from pipeline.errors import RetrievalError, UsageError
from pipeline.retrieval.question_passages import IndexChanges
from pipeline.run import resume, versions
from pipeline.serve import open_served
from pipeline.store.files import write_json
from pipeline.store.journal import Journal
from pipeline.types import Record
from pipeline.types.distractor import SYNTHETIC
from pipeline.types.twin import twin_key
from tests.records import accepted
from tests.teacher_rollouts import taught


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Begin a run of `tiny` with k = 7 and its data set's environment, and move it elsewhere."""
    config = build(values={"corpus": {"name": "tiny"}, "retrieval": {"retriever": "bm25", "k": 7}})
    folder = tmp_path / "moved" / "tiny" / "0123456789ab"
    fingerprint = open_served.open_corpus(config).corpus.fingerprint
    resume.begin(folder, config, fingerprint)
    write_json(folder / "dataset" / "environment.json", environment(config).model_dump(mode="json"))
    return folder


def test_a_corpus_is_served_as_it_is_configured(tmp_path: Path) -> None:
    config = build(
        values={"corpus": {"name": "tiny"}, "retrieval": {"retriever": "bm25"}, "runtime": {"out": tmp_path}}
    )
    served = open_served.open_corpus(config)
    assert (served.environment.k, served.fixed, served.engine) == (5, False, "bm25")


def test_a_corpus_under_a_data_sets_environment_is_governed_by_it(run: Path, tmp_path: Path) -> None:
    config = build(
        values={"corpus": {"name": "tiny"}, "retrieval": {"retriever": "bm25"}, "runtime": {"out": tmp_path}}
    )
    served = open_served.open_corpus(config, run / "dataset" / "environment.json")
    assert (served.environment.k, served.fixed) == (7, True)


def test_pairs_are_not_served_over_another_retriever_than_they_were_measured_over(run: Path, tmp_path: Path) -> None:
    file = run / "dataset" / "environment.json"
    write_json(file, {**orjson.loads(file.read_bytes()), "retriever": "dense#e5"})
    config = build(
        values={"corpus": {"name": "tiny"}, "retrieval": {"retriever": "bm25"}, "runtime": {"out": tmp_path}}
    )
    with pytest.raises(UsageError, match="was measured over dense#e5, not over bm25; serve that with --retriever"):
        open_served.open_corpus(config, file)
    before = {name: value for name, value in orjson.loads(file.read_bytes()).items() if name != "retriever"}
    write_json(file, before)
    assert open_served.open_corpus(config, file).engine == "bm25", "one that does not say it, of an older version"


def test_a_run_is_governed_by_its_data_set_and_without_one_by_its_configuration(run: Path) -> None:
    file = run / "dataset" / "environment.json"
    assert (open_served.open_run(run).environment.k, open_served.open_run(run).fixed) == (7, True)
    write_json(file, {**orjson.loads(file.read_bytes()), "k": 3})
    assert open_served.open_run(run).environment.k == 3
    file.unlink()
    assert (open_served.open_run(run).environment.k, open_served.open_run(run).fixed) == (7, True)


def test_a_run_whose_corpus_has_changed_is_not_served(run: Path) -> None:
    state = resume.read(run)
    changed = state.model_copy(update={"corpus_fingerprint": "another"})
    write_json(run / "run.json", changed.model_dump(mode="json"))
    with pytest.raises(UsageError, match="the corpus 'tiny' has changed since"):
        open_served.open_run(run)


def test_a_run_is_not_served_by_another_engine(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = resume.read(run)
    config = build(values={"corpus": {"name": "tiny"}, "retrieval": {"retriever": "lucene"}})
    write_json(run / "run.json", state.model_copy(update={"config": config}).model_dump(mode="json"))
    monkeypatch.setattr(jvm, "start", _no_java)
    with pytest.raises(UsageError, match="was made with lucene, which does not start here"):
        open_served.open_run(run)


def of_run(record: Record, run: Path) -> Record:
    identity = versions.read_identity(run)
    assert identity
    key = identity.key(record.seed.passage.id, record.seed.draw)
    return record.model_copy(update={"key": key, "seed": record.seed.model_copy(update={"key": key})})


def test_the_distractors_of_a_run_are_those_that_were_used(run: Path) -> None:
    record, bare = of_run(taught(2), run), of_run(accepted(1), run)
    with closing(Journal(run / "journal")) as journal:
        journal.append(record, "0")
        journal.append(bare, "1")
    overlays = open_served.open_run(run).overlays
    assert overlays
    (passage,), changes = overlays(record.key)
    assert not (changes.lifted)
    assert not (changes.hidden)
    assert passage.id.startswith(SYNTHETIC)
    assert overlays(bare.key) == ([], IndexChanges())
    assert overlays(twin_key(bare.key)) == ([], IndexChanges())
    with pytest.raises(UsageError, match="this run has no question 'nosuch'"):
        overlays("nosuch")


def _no_java() -> None:
    raise RetrievalError("no Java")


@pytest.mark.parametrize("text", ["", "{}", "[" * 9999])
def test_what_is_no_environment_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "environment.json").write_text(text)
    with pytest.raises(UsageError, match="is no environment file"):
        open_served.read_environment(tmp_path / "environment.json")


@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize("find", [False, True])
def test_an_environment_with_tools_for_long_documents_is_read_as_it_was_written(
    tmp_path: Path, pages: bool, find: bool
) -> None:
    written = environment(RunConfig(environment=EnvironmentConfig(pages=pages, find=find)))
    write_json(tmp_path / "environment.json", written.model_dump(mode="json"))
    assert open_served.read_environment(tmp_path / "environment.json").digest == written.digest


def test_an_environment_of_another_rendering_is_refused(tmp_path: Path) -> None:
    other_environment = environment(RunConfig()).model_copy(update={"observation": "as XML"})
    write_json(tmp_path / "environment.json", other_environment.model_dump(mode="json"))
    with pytest.raises(UsageError, match="other tools or another rendering"):
        open_served.read_environment(tmp_path / "environment.json")

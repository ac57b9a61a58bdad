"""A corpus that changes gives the next version of a run: what still holds is carried over, and costs nothing again."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

import pipeline
from pipeline.afterwards import mixing
from pipeline.errors import UsageError
from pipeline.run import LogCallbacks, RunResult, attempts, stages, versions
from pipeline.run.locate import run_folder
from pipeline.run.publish import RunRecords
from pipeline.serve import open_served
from pipeline.store.files import checksum
from pipeline.types.version import AGAIN, CARRIED, DocumentChanges, Version

TINY = Path(__file__).parents[2] / "corpora" / "tiny.jsonl"
ARTICLES = [json.loads(line) for line in TINY.read_text(encoding="utf-8").splitlines()][:22]
PAIRS = 8
GONE, CHANGED = "Agnes_Renn.md", "Ostrand.md"
RIVAL = "Nadia Volkova was an astronomer who was born in Kirkholm on 8 July 1904, and a street there has her name."


class Weeks(NamedTuple):
    """Three states of a folder, and the run of each."""

    texts: list[Path]
    """Copies of the folder in each week."""
    results: list[RunResult]
    former: dict[str, str]
    """Checksums of the files of the first version before the second began."""

    def version(self, week: int) -> Version:
        version = versions.read_version(self.results[week].folder)
        assert version
        return version


def write_articles(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for article in ARTICLES:
        write_article(folder, article["title"], article["text"], article["id"])
    return folder


def write_article(folder: Path, title: str, text: str, name: str = "") -> None:
    (folder / f"{name or title}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")


def edit_second_week(folder: Path) -> None:
    path = folder / CHANGED
    path.write_text(path.read_text(encoding="utf-8").replace("214,600", "215,900"), encoding="utf-8")
    (folder / GONE).unlink()
    write_article(
        folder, "Newtown", "Newtown is a town near Greyfell. It was founded in 1640 by the miller Otto Fenn. " * 3
    )


def edit_third_week(folder: Path) -> None:
    write_article(folder, "Nadia Volkova (memoirs)", RIVAL)


def make_config(docs: Path, out: Path, *, solve_again: float = 0.0, **how: object) -> pipeline.RunConfig:
    return pipeline.build(
        values={
            "corpus": {"name": str(docs)},
            "steps": [1, 1],
            "strategy": "sage",
            "loop": {"rounds": 0, "rollouts": 2},
            "checks": {"enabled": []},
            "retrieval": {"retriever": "bm25"},
            "gates": {"off": ["duplicate", "overused_document", "overused_answer"]},
            "refresh": {"solve_again": solve_again},
            "runtime": {"out": out, "pairs": PAIRS, **how},
        }
    )


def checksums(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): checksum(path) for path in paths}


def rows(folder: Path, view: str = "qa") -> list[dict[str, object]]:
    return pl.read_parquet(sorted((folder / "dataset" / view).glob("*.parquet"))).to_dicts()


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Weeks:
    home = tmp_path_factory.mktemp("weeks")
    docs, out, texts = write_articles(home / "docs"), home / "out", [home / f"week{week}" for week in range(3)]
    shutil.copytree(docs, texts[0])
    results = [pipeline.generate(make_config(docs, out))]
    former = checksums(results[0].folder)
    edit_second_week(docs)
    shutil.copytree(docs, texts[1])
    results.append(pipeline.generate(make_config(docs, out, solve_again=1.0)))
    edit_third_week(docs)
    shutil.copytree(docs, texts[2])
    results.append(pipeline.refresh(results[0].folder, new_pairs=2))
    return Weeks(texts, results, former)


def test_changed_texts_begin_the_next_version_beside_the_former(weeks: Weeks) -> None:
    first, second, third = (result.folder for result in weeks.results)
    assert [second.name, third.name] == [f"{first.name}-v2", f"{first.name}-v3"]
    assert checksums(first) == weeks.former
    assert [result.accepted for result in weeks.results[:2]] == [PAIRS, PAIRS]
    assert (first.parent / "latest").readlink() == Path(third.name)
    assert weeks.version(1).summary.documents == DocumentChanges(added=1, changed=1, removed=1, same=20)
    assert weeks.version(2).parent == second.name


def test_pairs_on_unchanged_passages_are_carried_with_their_rollouts(weeks: Weeks) -> None:
    before = {record.key: record for record in pipeline.records(weeks.results[0].folder) if record.status == "accepted"}
    records = list(pipeline.records(weeks.results[1].folder))
    version, now = weeks.version(1), {record.key: record for record in records}
    assert 3 <= len(version.carried) < PAIRS
    assert [record.key for record in records[: len(version.carried)]] == list(version.carried)
    assert all(now[key] == before[key] for key in version.carried)
    made_on = {row["id"]: row["corpus_fingerprint"] for row in rows(weeks.results[1].folder)}
    first_print, second_print = version.history[0].corpus_fingerprint, version.summary.corpus_fingerprint
    assert made_on == {key: first_print if key in version.carried else second_print for key in made_on}
    assert {*made_on.values()} == {first_print, second_print}


def test_stale_pairs_say_what_changed_and_their_seeds_come_first(weeks: Weeks) -> None:
    version = weeks.version(1)
    changes = {change for pair in version.stale for change in pair.documents.items()}
    assert changes == {(GONE, "gone"), (CHANGED, "changed")}
    records = RunRecords(weeks.results[1].folder, make_config(weeks.texts[1], weeks.results[1].folder.parents[1]))
    orders = [head.order for head in records.journal.heads()]
    assert [order[: len(CARRIED)] for order in orders[: len(version.carried)]] == [CARRIED] * len(version.carried)
    again = [order for order in orders if order.startswith(AGAIN)]
    assert len(again) == len(version.again) > 0
    assert orders[len(version.carried) :][: len(again)] == again


def test_every_exported_quote_is_in_the_current_texts(weeks: Weeks) -> None:
    for texts, result in zip(weeks.texts, weeks.results, strict=True):
        current = {path.name: " ".join(path.read_text(encoding="utf-8").split()) for path in texts.glob("*.md")}
        hops = [hop for row in rows(result.folder) for hop in row["hops"]]  # type: ignore[attr-defined]
        assert hops
        for hop in hops:
            assert " ".join(hop["quote"].split()) in current[hop["passage_id"].rpartition("#")[0]]


def test_a_second_answer_in_a_new_document_drops_a_pair(weeks: Weeks) -> None:
    (dropped,) = weeks.version(2).dropped
    assert (dropped.question, dropped.why) == ("Where was Nadia Volkova born?", "rival_answer")
    assert weeks.version(2).summary.dropped == {"rival_answer": 1}


def test_new_pairs_count_beyond_the_carried_ones(weeks: Weeks) -> None:
    assert weeks.results[2].accepted == len(weeks.version(2).carried) + 2
    assert len(rows(weeks.results[2].folder)) == weeks.results[2].accepted


def test_all_pairs_are_solved_again_if_the_share_says_so(weeks: Weeks) -> None:
    row = weeks.version(1).summary
    assert row.solved_again == row.still_hold == row.carried
    assert [row.ended for row in attempts.read(weeks.results[1].folder)].count(attempts.REFRESHED) == 1


def test_the_card_tells_the_versions_apart(weeks: Weeks) -> None:
    card = (weeks.results[2].folder / "dataset" / "README.md").read_text(encoding="utf-8")
    table = [line for line in card.splitlines() if line.startswith(f"| `{weeks.results[0].folder.name}-v")]
    assert len(table) == 3
    assert "1 added, 1 changed, 1 removed, 20 unchanged" in table[1]
    assert "1 `rival_answer`" in table[2]
    assert f"corpus fingerprint `{weeks.version(2).summary.corpus_fingerprint}`" in card
    assert "## Versions" not in (weeks.results[0].folder / "dataset" / "README.md").read_text(encoding="utf-8")


def test_serve_opens_the_index_of_each_version(weeks: Weeks) -> None:
    for result, count in zip(weeks.results, ("214,600", "215,900", "215,900"), strict=True):
        served = open_served.open_run(result.folder)
        (passage,) = served.corpus.passages_of(CHANGED)
        assert count in passage.text
        assert (served.corpus.document(GONE) is None) == (count == "215,900")


def test_mix_refuses_versions_that_no_index_serves(weeks: Weeks, tmp_path: Path) -> None:
    folders = [result.folder for result in weeks.results[:2]]
    with pytest.raises(UsageError, match="two states of the corpus 'docs', so that they cannot share an index"):
        mixing.mix(mixing.Mixing(folders), tmp_path / "mix")


def test_resume_says_how_to_go_on_with_a_changed_corpus(weeks: Weeks) -> None:
    with pytest.raises(UsageError, match="another corpus .*: digsite refresh"):
        pipeline.resume(weeks.results[0].folder)


@pytest.mark.slow
def test_an_unchanged_pair_makes_no_model_call(weeks: Weeks, tmp_path: Path) -> None:
    docs, out = shutil.copytree(weeks.texts[0], tmp_path / "docs"), tmp_path / "out"
    pipeline.generate(make_config(docs, out))
    write_article(docs, "Harrow Fair", "The Harrow Fair is held every autumn on the field below the old mill. " * 4)
    result = pipeline.generate(make_config(docs, out))
    assert result.folder.name.endswith("-v2")
    assert (result.accepted, result.planned) == (PAIRS, PAIRS)
    assert not [*attempts.read(result.folder)]
    # The same documents again are the same version, which `refresh` without new pairs only exports again.
    assert pipeline.refresh(result.folder) == result
    # As many pairs as asked for are added in a version of its own, and no seed is paid for again.
    grown = pipeline.refresh(result.folder, new_pairs=1)
    assert (grown.folder.name[-3:], grown.accepted) == ("-v3", PAIRS + 1)
    keys = {row.key for row in attempts.read(grown.folder)}
    assert keys.isdisjoint({record.key for record in pipeline.records(result.folder)})


def test_a_corpus_without_a_common_document_is_no_new_version(weeks: Weeks, tmp_path: Path) -> None:
    docs, out = shutil.copytree(weeks.texts[0], tmp_path / "docs"), tmp_path / "out"
    pipeline.generate(make_config(docs, out, pairs=1))
    for path in docs.glob("*.md"):
        path.rename(path.with_name(f"other-{path.name}"))
    with pytest.raises(UsageError, match="shares no document .* --out"):
        pipeline.generate(make_config(docs, out, pairs=1))


def test_latest_follows_only_what_a_person_started(weeks: Weeks, tmp_path: Path) -> None:
    docs, out = shutil.copytree(weeks.texts[0], tmp_path / "docs"), tmp_path / "out"
    first = pipeline.generate(make_config(docs, out, pairs=1, name="weekly")).folder
    (docs / GONE).unlink()
    config = make_config(docs, out, pairs=1, name="weekly")
    night = stages.generate(config, None, LogCallbacks(), unattended=lambda config, folder: config)
    second = asyncio.run(night).folder
    assert second != first
    assert (first.parent / "latest").readlink() == Path(first.name)
    assert run_folder("docs/weekly", out) == second


def read_bytes(folder: Path) -> tuple[dict[str, str], list[dict[str, object]], str]:
    """Return the checksums of views and card, and the rows of all seeds.

    The table of seeds and the manifest also hold a digest of the journal's files, with seeds beyond the plan.
    """
    sums = {name: digest for name, digest in checksums(folder / "dataset").items() if name not in OF_JOURNAL}
    seeds = pl.read_parquet(folder / "dataset" / "seeds.parquet").to_dicts()
    return sums, seeds, checksum(folder / "version.json")


OF_JOURNAL = ("seeds.parquet", "manifest.json")
KILLED = """
import sys
import pipeline
from tests.run.test_versions import make_config
from pathlib import Path
pipeline.generate(make_config(Path(sys.argv[1]), Path(sys.argv[2]), solve_again=0.5))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "awaited", ["journal", "journal/carried.jsonl", "version.json", "run.json", "journal/main.jsonl"]
)
def test_a_kill_at_any_point_gives_the_same_bytes(weeks: Weeks, tmp_path: Path, awaited: str) -> None:
    """Run the second week twice from the same first week: undisturbed, and killed once a file is there."""
    docs, out = shutil.copytree(weeks.texts[0], tmp_path / "docs"), tmp_path / "out"
    folder = pipeline.generate(make_config(docs, out)).folder
    edit_second_week(docs)
    kept = shutil.copytree(out, tmp_path / "kept", symlinks=True)
    second = folder.with_name(f"{folder.name}-v2")
    command = [sys.executable, "-c", KILLED, str(docs), str(out)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
        while not (second / awaited).exists() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True)
    disturbed = read_bytes(second)
    shutil.rmtree(out)
    shutil.copytree(kept, out, symlinks=True)
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True)
    assert read_bytes(second) == disturbed

"""A mix of runs is deduplicated over all runs, in any order of their names, with quotas, versions and changes."""

from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

from pipeline import api
from pipeline.config import RunConfig, build
from pipeline.errors import UsageError
from pipeline.exports import hub_upload
from pipeline.exports.data_set import DatasetManifest
from pipeline.exports.mix.mix_version import Mix, read
from pipeline.run import resume
from pipeline.store.journal import Journal, RunIdentity
from pipeline.types import Record, sha256
from pipeline.types.curriculum import difficulty_band
from tests.records import accepted
from tests.run_files import read_files

PLAIN = {"off": ["overused_opening", "overused_answer"]}
LIMITS: dict[str, Any] = {"solver": {"searches": 5}}


def make_record(n: int, config: RunConfig, right: int = 3, **lineage: str) -> Record:
    """Pair n of the invented country as this run would have made it, solved by so many of four rollouts."""
    record = accepted(n, side="eval" if n % 5 == 4 else "train", model=config.models.names())
    key = RunIdentity(config.digest(), "f" * 64).key(record.seed.passage.id, record.seed.draw)
    verdicts = tuple(
        v.model_copy(update={"right": i < right, "supported": True}) for i, v in enumerate(record.confirmation_verdicts)
    )
    seed = record.seed.model_copy(update={"key": key})
    lineage_of_run = record.lineage.model_copy(update={"run": config.digest()[:12], **lineage})
    return record.model_copy(
        update={"key": key, "seed": seed, "lineage": lineage_of_run, "confirmation_verdicts": verdicts}
    )


def write_run(out: Path, numbers: range, right: int = 3, lineage: dict[str, str] | None = None, **values: Any) -> Path:
    """Write a run with these pairs, and return its folder."""
    settings = {
        "corpus": {"name": "tiny"},
        "models": {"default": {"provider": "openai", "model": "qwen"}},
        "gates": PLAIN,
        "runtime": {"out": out, "seeds": 100},
        **values,
    }
    config = build(values=settings)
    folder = config.folder()
    resume.begin(folder, config, "f" * 64)
    journal = Journal(folder / "journal")
    for n in numbers:
        record = make_record(n, config, right, **(lineage or {}))
        journal.append(record, f"000000-{sha256(f'{config.seed} {n}')[:24]}")
    journal.close()
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Pairs 0 to 11, often solved, and 4 to 15, rarely solved: eight are in both."""
    return [write_run(tmp_path / "out", range(12), seed=1), write_run(tmp_path / "out", range(4, 16), right=1, seed=2)]


def read_rows(folder: Path, view: str = "qa") -> list[dict[str, Any]]:
    return [row for path in sorted((folder / view).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def read_mix(folder: Path) -> Mix:
    mix = read(folder)
    assert mix
    return mix


@pytest.mark.slow
def test_one_deduplication_over_all_runs_whatever_their_order(runs: list[Path], tmp_path: Path) -> None:
    api.mix(runs, tmp_path / "one")
    api.mix(runs[::-1], tmp_path / "other")
    assert read_files(tmp_path / "one") == read_files(tmp_path / "other")
    questions = [row["question"] for row in read_rows(tmp_path / "one")]
    assert len(questions) == len(set(questions)) == 16
    dropped = pl.read_parquet(tmp_path / "one/seeds.parquet").filter(pl.col("gate") == "duplicate")
    assert dropped.height == 8
    assert set(dropped["run"]) == {row["run"] for row in read_rows(tmp_path / "one")}, (
        "neither run goes before the other"
    )


def test_pairs_keep_their_run_and_their_side(runs: list[Path], tmp_path: Path) -> None:
    api.mix(runs, tmp_path / "mix", views="qa")
    digests = {folder.name for folder in runs}
    assert {run.run for run in read_mix(tmp_path / "mix").runs} == digests
    assert {row["run"] for row in read_rows(tmp_path / "mix")} == digests
    loaded = load_dataset(str(tmp_path / "mix"), "qa", cache_dir=str(tmp_path / "cache"))
    splits = {row["key"]: row["split"] for row in pl.read_parquet(tmp_path / "mix/seeds.parquet").to_dicts()}
    assert all(splits[key] == side for side, table in loaded.items() for key in table["id"])
    assert set(loaded) == {"train", "eval"}


def test_a_quota_is_met_and_the_card_says_what_was_left_out(runs: list[Path], tmp_path: Path) -> None:
    api.mix(runs, tmp_path / "mix", views="qa", quotas=["band:hard=0.25"])
    mix = read_rows(tmp_path / "mix")
    bands = [difficulty_band(row["solve_rate"]) for row in mix]
    assert {row["band"] for row in mix} == {None}, "no policy is named, so that the quota counts by the solver's rate"
    assert bands.count("hard") * 4 == len(bands) > 0
    quota, remaining = read_mix(tmp_path / "mix").quotas
    assert (quota.wanted, quota.taken) == (len(bands) // 4, len(bands) // 4)
    card = (tmp_path / "mix/README.md").read_text()
    assert f"| `band:hard` | 25% | {quota.wanted} | {quota.taken} | {quota.there} |" in card
    assert f"| `the rest of band` | 75% | {remaining.wanted} | {remaining.taken} | {remaining.there} |" in card
    assert "`gate:quota`" in card


def test_a_version_goes_up_with_its_content_and_says_what_changed(runs: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "mix"
    api.mix(runs[:1], folder, views="qa")
    first = read_mix(folder)
    assert (first.version, first.changes.before, first.changes.added) == ("1", "", 12)
    before = read_files(folder)
    api.mix(runs[:1], folder, views="qa")
    assert read_files(folder) == before, "the same mix is the same version"
    api.mix(runs, folder, views="qa")
    second, old = read_mix(folder), {row["id"] for row in pl.read_parquet(folder / "changes.parquet").to_dicts()}
    assert (second.version, second.number, second.changes.before) == ("2", 2, "1")
    assert second.content != first.content
    ids = {row["id"] for row in read_rows(folder)}
    assert second.changes.added == len(ids - {key for key in ids if key not in old})
    assert second.changes.added - second.changes.removed == len(ids) - 12
    api.mix(runs[1:], folder, views="qa", version="rare")
    page = (folder / "CHANGES.md").read_text()
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Version rare",
        "## Version 2",
        "## Version 1",
    ]
    gone = pl.read_parquet(folder / "changes.parquet").filter(pl.col("change") == "removed")
    assert set(gone["id"]) == ids - {row["id"] for row in read_rows(folder)}
    assert f"{gone.height} removed" in page


def test_a_version_counts_pairs_whichever_views_it_has(runs: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "mix"
    api.mix(runs, folder)
    with pytest.raises(UsageError, match=r"would remove adp, .* allow it with --allow-removal"):
        api.mix(runs, folder, views=["sft", "rl_trl"])
    api.mix(runs, folder, views=["sft", "rl_trl"], allow_removal=True)
    changes = read_mix(folder).changes
    assert (changes.before, changes.added, changes.removed, changes.changed) == ("1", 0, 0, 0)


def test_all_prompts_speak_of_questions_without_an_answer_where_those_of_one_run_do(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / "out", range(4), questions={"unanswerable": 0.5}),
        write_run(tmp_path / "out", range(4, 8)),
    ]
    api.mix(runs, tmp_path / "mix")
    view_rows = read_rows(tmp_path / "mix", "rl_search_r1")
    assert len({row["id"] for row in view_rows}) == 8
    assert all("the answer is: not found" in row["prompt"][-1]["content"] for row in view_rows)


def test_the_card_of_a_mix_states_no_target_that_is_one_run_s(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / "out", range(4), solve_rate=(0.5, 0.75)), write_run(tmp_path / "out", range(4, 8))]
    api.mix(runs, tmp_path / "mix")
    assert "The target:" not in (tmp_path / "mix/README.md").read_text()


def test_another_selection_of_gates_is_a_change_of_pairs_and_not_of_rows(runs: list[Path], tmp_path: Path) -> None:
    from pipeline.config.exports import GateConfig

    api.mix(runs, tmp_path / "mix", views="qa")
    api.mix(runs, tmp_path / "mix", views="qa", gates=GateConfig(**PLAIN, solve_rate=(0.5, 1.0)))  # type: ignore[arg-type]
    changes = read_mix(tmp_path / "mix").changes
    assert (changes.added > 0, changes.changed) == (True, 0)
    assert {row["solve_rate"] for row in read_rows(tmp_path / "mix")} == {0.75}


def test_runs_of_other_environments_have_no_views_of_trajectories(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / "out", range(4)), write_run(tmp_path / "out", range(4, 8), **LIMITS)]
    done = api.mix(runs, tmp_path / "mix")
    assert {"qa", "records", "rl_search_r1"} <= done.views.keys()
    assert {"sft", "dpo", "rl_trl", "rl_verl_tool", "rl_openrlhf", "sft_openrlhf"}.isdisjoint(done.views)
    assert not (tmp_path / "mix/environment.json").exists()
    assert "`sft`" in (tmp_path / "mix/README.md").read_text()
    with pytest.raises(UsageError, match="view 'sft': its rows need one environment, and the runs differ in .*limits"):
        api.mix(runs, tmp_path / "other", views=["qa", "sft"])
    assert set(api.mix(runs, tmp_path / "mix", views="qa", allow_removal=True).views) == {"qa"}


def test_corpora_keep_their_licences_and_the_narrowest_says_what_is_shipped(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("{}\n")
    mine = {"corpus": "mine", "corpus_fingerprint": "m" * 64, "licence": "CC-BY-4.0", "attribution": "Nobody"}
    runs = [
        write_run(tmp_path / "out", range(4)),
        write_run(tmp_path / "out", range(4, 8), lineage=mine, corpus={"name": str(path)}),
    ]
    (runs[1] / "corpus.json").write_bytes(orjson.dumps({"redistribute": "spans"}))
    mixed_manifest: DatasetManifest = api.mix(runs, tmp_path / "mix")
    assert "qa" in mixed_manifest.views
    assert "sft" not in mixed_manifest.views
    card = (tmp_path / "mix/README.md").read_text()
    assert 'license_name: "CC-BY-' in card
    for line in (
        "| `mine` | `CC-BY-4.0` |",
        "| `fells` | `CC-BY-SA-4.0` |",
        "`CC-BY-SA-4.0` is **share-alike**",
        "Nobody",
    ):
        assert line in card
    assert {(row["corpus"], row["licence"]) for row in read_rows(tmp_path / "mix")} == {
        ("mine", "CC-BY-4.0"), ("fells", "CC-BY-SA-4.0")}  # fmt: skip


def test_a_licence_that_forbids_adaptations_takes_its_pairs_out_of_a_mix(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / "out", range(4)),
        write_run(tmp_path / "out", range(4, 8), lineage={"licence": "CC-BY-ND-4.0"}, seed=3),
    ]
    api.mix(runs, tmp_path / "mix", views="qa")
    assert {row["run"] for row in read_rows(tmp_path / "mix")} == {runs[0].name}
    assert read_mix(tmp_path / "mix").pairs == {runs[0].name: 4}


def test_a_mix_is_pushed_as_it_was_written_and_not_if_the_demo_model_had_a_part(
    runs: list[Path], tmp_path: Path
) -> None:
    api.mix(runs, tmp_path / "mix")
    models = " + ".join(run.model for run in read_mix(tmp_path / "mix").runs)
    sent = {file.path for file in hub_upload.upload_plan(tmp_path / "mix", models, "org/name", private=True).files}
    assert {"mix.json", "CHANGES.md", "changes.parquet", "README.md", "environment.json"} <= sent
    assert sent == set(read_files(tmp_path / "mix"))
    demo = write_run(tmp_path / "out", range(20, 24), models={})
    api.mix([*runs, demo], tmp_path / "demo", views="qa")
    models = " + ".join(run.model for run in read_mix(tmp_path / "demo").runs)
    with pytest.raises(UsageError, match="demo model"):
        hub_upload.upload_plan(tmp_path / "demo", models, "org/name", private=True)


def test_a_run_named_twice_and_a_folder_of_something_else_are_mistakes(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the same run"):
        api.mix([runs[0], runs[0]], tmp_path / "mix")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="something other than a mix"):
        api.mix(runs, tmp_path / "full")
    assert read_files(tmp_path / "full") == {"notes.txt": b"mine"}

"""`export` remembers the options of earlier exports."""

from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from pipeline.corpus import manifest
from tests.cli.conftest import SMALL, Digsite


def test_later_commands_keep_the_gates_of_an_export(digsite: Digsite, run: Path) -> None:
    where = ("tiny", "--out", run)
    draft = digsite("inspect", *where, "--item", find_accepted_key(digsite, where), "--json").json["rounds"][-1][
        "draft"
    ]
    (run / "bench.jsonl").write_bytes(orjson.dumps({"question": draft["question"]}))
    view = ("--view", "qa, sft", "--include", "below_target,beyond_solver")
    assert digsite("export", *where, "--against", run / "bench.jsonl", *view).code == 0
    sheet = digsite("review", *where, "--json").json["sheet"]
    filled = Path(sheet).read_text().replace(",,,,,", ",yes,yes,yes,,")
    (run / "marked.csv").write_text(filled)
    assert digsite("review", *where, "--read", run / "marked.csv").code == 0
    dataset = run / "tiny/latest/dataset"
    manifest = orjson.loads((dataset / "manifest.json").read_bytes())
    views = {name for name, how in manifest["views"].items() if how["include"] == ["below_target", "beyond_solver"]}
    assert views == set(manifest["views"]), "the reasons are the run's setting `gates.include` from now on"
    assert len({how["source"] for how in manifest["views"].values()}) == 1
    for page in (dataset / "README.md", dataset.parent / "report.html"):
        assert "gate:contaminated" in page.read_text()
    assert any("contaminated" in item["reason"] for item in digsite("inspect", *where, "--json").json["items"])


def find_accepted_key(digsite: Digsite, where: tuple[str | Path, ...]) -> str:
    items = digsite("inspect", *where, "--json").json["items"]
    return str(next(item["key"] for item in items if item["status"] == "accepted" and not item["reason"]))


def test_gate_limits_can_be_set_for_a_finished_run(digsite: Digsite, run: Path) -> None:
    where = ("tiny", "--out", run)
    before = digsite("export", *where, "--json").json["shards"]
    nothing = (*where, "--set", "gates.quotas.strategy={compose=0.0}")
    refused = digsite("export", *nothing)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "the export would remove adp, " in refused.err
    assert digsite("export", *where, "--json").json["shards"] == before, "the refused gates are not stored"
    none_left = digsite("export", *nothing, "--allow-removal")
    assert none_left.code == 0
    assert f"no pair passed the gates; to see why: digsite inspect tiny --out {run}" in none_left.err
    assert "no rl_*: no pair; for RL: digsite generate CORPUS --for NAME --solve-rate 0.2-0.8" in none_left.err
    assert "pairs fewer than before" in none_left.err
    assert "removed: adp, code, " in none_left.err
    assert "gate:quota" in (run / "tiny/latest/dataset/README.md").read_text()
    assert digsite("export", *where, "--set", "gates.quotas={}", "--json").json["shards"] == before


def test_a_finished_run_can_select_other_rollouts(digsite: Digsite, run: Path) -> None:
    def count_view_rows(*sets: str) -> dict[str, int]:
        options = (part for setting in sets for part in ("--set", setting))
        shards = digsite("export", *where, *options, "--allow-removal", "--json").json["shards"]
        counts: dict[str, int] = {}
        for shard in shards:
            counts[shard["view"]] = counts.get(shard["view"], 0) + shard["rows"]
        return counts

    where = ("tiny", "--out", run)
    default = count_view_rows()
    larger = count_view_rows("sft.per_pair=64")
    assert larger["sft"] == larger["sft_sharegpt"] >= default["sft"]
    assert larger["qa"] == default["qa"]
    card = (run / "tiny/latest/dataset/README.md").read_text()
    assert f"| {larger['sft']} |" in next(line for line in card.splitlines() if line.startswith("| solver | "))
    assert count_view_rows("sft.max_tokens=1").get("sft", 0) == 0


def damage_last_pair(journal: Path, harm: str) -> None:
    """Move the line of a pair to the end of the journal, where it can be torn, and damage it there."""
    lines = journal.read_bytes().splitlines(keepends=True)
    lines.append(lines.pop(next(n for n, line in enumerate(lines) if b'"status":"accepted"' in line[:400])))
    last = bytearray(lines.pop())
    if harm == "a torn end":
        last = last[:-100]
    elif harm == "no line":
        last.clear()
    else:
        last[last.index(b'"key":"') + 9 if "key" in harm else 600] ^= 1
    journal.write_bytes(b"".join([*lines, last]))


COMMANDS: list[tuple[str, ...]] = [
    ("export",), ("review",), ("branch", "--method", "pivot"), ("remeasure", "--policy", "mine", "--model", "embedded"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "commands"),
    [("a flipped byte", COMMANDS), *((harm, COMMANDS[:1]) for harm in ("a flipped key", "a torn end", "no line"))],
)
def test_a_damaged_journal_is_exported_only_with_permission(
    digsite: Digsite, run: Path, harm: str, commands: list[tuple[str, ...]]
) -> None:
    where, folder = ("tiny", "--out", run), run / "tiny/latest"
    dataset = folder / "dataset"
    pairs = count_rows(dataset)
    before = {path: path.read_bytes() for path in dataset.glob("*/*.parquet")}
    damage_last_pair(folder / "journal/main.jsonl", harm)
    for command in commands:
        output = digsite(command[0], *where, *command[1:])
        assert (output.code, output.out, output.err.count("\n")) == (2, "", 1), command
        assert "1 finished seed has no readable line" in output.err
        assert "digsite resume" in output.err
    assert count_rows(dataset) == pairs
    for reader in ("report", "inspect") if commands == COMMANDS else ():
        assert "1 finished seed has no readable line" in digsite(reader, *where).err
    output = digsite("export", *where, "--allow-damaged", "--json")
    assert "1 finished seed has no readable line" in output.err
    assert output.json["views"]["qa"]["missing"] == 1
    # A duplicate that was left out for the lost pair may take its place.
    assert pairs - 1 <= count_rows(dataset) <= pairs
    assert "1 line of the run's journal could not be read" in (dataset / "README.md").read_text()
    # Once the seed has been run again, the damaged line stands where it did and is nothing to speak of.
    resumed = digsite("resume", *where)
    assert resumed.code == 0
    assert ("damaged lines in the journal: 1;" in resumed.err) == (harm != "no line")
    output = digsite("export", *where, "--json")
    assert (output.code, output.err) == (0, "")
    assert {path: path.read_bytes() for path in dataset.glob("*/*.parquet")} == before


def count_rows(dataset: Path) -> int:
    return sum(pq.read_metadata(shard).num_rows for shard in (dataset / "qa").glob("*.parquet"))


def test_damaged_lines_beside_the_journal_are_reported(digsite: Digsite, run: Path) -> None:
    where = ("tiny", "--out", run)
    assert digsite("branch", *where, "--method", "pivot", "--calls", "20").code == 0
    (forks,) = (run / "tiny/latest/branches").glob("*.jsonl")
    forks.write_bytes(forks.read_bytes().replace(b'"key":"', b'"kex":"', 1))
    output = digsite("export", *where)
    assert output.code == 0
    assert "left out: 1;" in output.err


def test_a_corrupt_side_file_is_reported_without_stopping_the_export(digsite: Digsite, run: Path) -> None:
    for content in (b"", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000):
        (run / "tiny/latest/result.json").write_bytes(content)
        output = digsite("report" if content else "export", "tiny", "--out", run)
        assert (output.code, output.err.count("result.json cannot be read")) == (0, 1)


def test_export_refuses_another_prompt_than_its_rollouts_had(digsite: Digsite, run: Path) -> None:
    file = run / "tiny/latest/run.json"
    tree = orjson.loads(file.read_bytes())
    tree["what"]["prompts"]["solver/answer"] = "0" * 64
    file.write_bytes(orjson.dumps(tree))
    output = digsite("export", "tiny", "--out", run)
    assert (output.code, output.err.count("\n")) == (2, 1)
    assert "another prompt solver/answer" in output.err


def test_export_needs_the_manifest_that_states_the_licence(
    digsite: Digsite, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "ROOT", run)
    output = digsite("export", "tiny", "--out", run)
    assert (output.code, output.err.count("\n")) == (2, 1)
    assert "corpora/tiny.toml" in output.err


@pytest.mark.slow
def test_a_plain_export_stays_plain_when_it_is_written_again(digsite: Digsite, run: Path) -> None:
    where = ("tiny", "--out", run)
    assert digsite("export", *where, "--plain").code == 0
    sheet = digsite("review", *where, "--json").json["sheet"]
    (run / "marked.csv").write_text(Path(sheet).read_text().replace(",,,,,", ",yes,yes,yes,,"))
    assert digsite("review", *where, "--read", run / "marked.csv").code == 0
    dataset = run / "tiny/latest/dataset"

    def has_arrow_types() -> bool:
        return any("arrow.json" in str(pq.read_schema(shard)) for shard in dataset.rglob("*.parquet"))

    assert not has_arrow_types()
    assert "`digsite export --plain` writes plain text" not in (dataset / "README.md").read_text()
    assert digsite("export", *where).code == 0
    assert not has_arrow_types()
    assert digsite("export", *where, "--no-plain").code == 0
    assert has_arrow_types()


@pytest.mark.slow
def test_unsolved_questions_cannot_be_included_and_are_reported(digsite: Digsite, tmp_path: Path) -> None:
    weak = ("--set", "models.solver.model=embedded-weak", "--set", "loop.rounds=0", "--set", "loop.rollouts=1")
    once = ("--steps", "2", "--seeds", "16", "--retriever", "bm25", "--no-flow")
    assert digsite("generate", "tiny", *once, *weak, "--out", tmp_path).code == 0
    remeasure = f"digsite remeasure tiny --out {tmp_path}"
    again = digsite("export", "tiny", "--out", tmp_path, "--include", "beyond_solver")
    assert "2 beyond_solver seeds are left out because no model has solved them" in again.err
    assert remeasure in again.err


def test_every_pair_of_the_demo_model_is_exported_for_rewards_and_the_band_is_explained(
    digsite: Digsite, tmp_path: Path
) -> None:
    out = ("--out", tmp_path)
    output = digsite("generate", "tiny", "--pairs", "3", "--steps", "1", "--retriever", "bm25", "--no-flow", *out)
    dataset = tmp_path / "tiny/latest/dataset"
    rows = pq.read_table(dataset / "rl_trl").to_pylist()
    assert len(rows) == len(pq.read_table(dataset / "qa")) == 3
    assert {row["trainable"] for row in rows} == {False}
    line = "rl_* views: 3 questions: "
    assert line in output.err
    assert "for a band: digsite generate CORPUS --for NAME --solve-rate 0.2-0.8" in output.err
    assert "synthetic (needs distractors)" in output.err
    assert line in digsite("export", "tiny", *out).err
    assert line not in digsite("export", "tiny", "--view", "qa", *out).err
    assert "3 questions: " in (tmp_path / "tiny/latest/report.html").read_text()


def read_pairs(run: Path) -> int:
    return int(orjson.loads((run / "tiny/latest/dataset/manifest.json").read_bytes())["pairs"])


@pytest.mark.parametrize("option", ["--pairs", "--seeds", "--max-seeds"])
def test_a_smaller_run_takes_nothing_out_without_leave(digsite: Digsite, run: Path, option: str) -> None:
    command = ("generate", "tiny", *SMALL, "--no-flow", "--out", run)
    pairs, settings = read_pairs(run), (run / "tiny/latest/run.json").read_bytes()
    refused = digsite(*command, option, "1")
    assert refused.code == 2
    assert f"--{option[2:]} 1 would take some out of its data set: ask for " in refused.err
    assert (read_pairs(run), (run / "tiny/latest/run.json").read_bytes()) == (pairs, settings)
    allowed = digsite(*command, option, "1", "--allow-removal")
    assert f"{pairs - read_pairs(run):,} pairs fewer than before" in allowed.err
    assert read_pairs(run) <= 1 < pairs


@pytest.mark.slow
def test_generate_keeps_what_an_export_stored_until_it_is_told_otherwise(digsite: Digsite, run: Path) -> None:
    command = ("generate", "tiny", *SMALL, "--no-flow", "--out", run, "--pairs", str(read_pairs(run)))
    stored = ("--set", "gates.naturalness=1", "--set", "sft.per_pair=3", "--include", "below_target", "--plain")
    assert digsite("export", "tiny", "--out", run, *stored).code == 0

    def read_stored() -> tuple[int, int | None, list[str], set[bool]]:
        config = orjson.loads((run / "tiny/latest/run.json").read_bytes())["config"]
        views = orjson.loads((run / "tiny/latest/dataset/manifest.json").read_bytes())["views"].values()
        gates, per_pair = config["gates"], config["sft"]["per_pair"]
        return gates["naturalness"], per_pair, gates["include"], {how["plain"] for how in views}

    for _ in range(2):
        kept = digsite(*command)
        assert kept.code == 0
        assert 'digsite export stored are kept: gates.include=["below_target"], gates.naturalness=1, sft.' in kept.err
        assert read_stored() == (1, 3, ["below_target"], {True})
    assert digsite(*command, "--set", "gates.naturalness=2").code == 0
    assert read_stored() == (2, None, [], {True})
    assert digsite("export", "tiny", "--out", run, "--no-plain").code == 0
    assert read_stored()[3] == {False}


def test_an_unknown_reason_to_include_changes_nothing(digsite: Digsite, run: Path) -> None:
    settings = (run / "tiny/latest/run.json").read_bytes()
    refused = digsite("export", "tiny", "--out", run, "--include", "everything")
    assert refused.code == 2
    assert "no reason to --include 'everything'; known: " in refused.err
    assert (run / "tiny/latest/run.json").read_bytes() == settings

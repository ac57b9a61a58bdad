"""Every command, on a real run over the tiny corpus."""

import shlex
import shutil
from pathlib import Path

import orjson
import pytest

from pipeline.exports.views import base
from tests.cli.conftest import SMALL, Digsite
from tests.hostile_texts import HOSTILE
from tests.run_files import read_files


def test_generate_in_json_says_where_everything_is_and_adds_up(digsite: Digsite, out: Path) -> None:
    output = digsite("generate", "tiny", *SMALL, "--seeds", "8", "--out", out, "--json")
    result = output.json
    assert output.code == 0
    assert result["planned"] == 8 == result["accepted"] + result["rejected"] + result["failed"]
    assert result["accepted"] >= 1
    assert sum(result["reasons"].values()) == result["rejected"] + result["failed"]
    assert (Path(result["dataset"]) / "manifest.json").is_file()
    assert Path(result["report"]).read_text().startswith("<!")


def test_generate_shows_a_pair_and_the_next_command(digsite: Digsite, out: Path) -> None:
    output = digsite("generate", "tiny", *SMALL, "--seeds", "8", "--out", out)
    assert "One of them:" in output.out
    for needed in ("planned", "accepted", "report.html", "digsite inspect"):
        assert needed in output.out
    assert "8/8 seeds" in output.err
    assert "these figures describe the pipeline, not the quality of the data" in output.err


def test_generate_with_more_seeds_resumes_in_the_same_folder(digsite: Digsite, run: Path) -> None:
    before = digsite("inspect", "tiny", "--out", run, "--json").json["items"]
    grown = digsite("generate", "tiny", *SMALL, "--seeds", "12", "--out", run, "--json").json
    after = digsite("inspect", "tiny", "--out", run, "--json").json["items"]
    assert grown["planned"] == 12
    assert after[:8] == before


def test_too_few_pairs_exit_3_but_are_exported(digsite: Digsite, tmp_path: Path) -> None:
    output = digsite("generate", "tiny", *SMALL, "--pairs", "50", "--max-seeds", "4", "--out", tmp_path)
    assert output.code == 3
    assert "of 50 pairs" in output.err
    assert "--max-seeds" in output.err
    assert (tmp_path / "tiny/latest/dataset/manifest.json").is_file()


def test_a_used_up_budget_exits_3_and_exports_the_pairs(digsite: Digsite, tmp_path: Path) -> None:
    output = digsite("generate", "tiny", *SMALL, "--pairs", "500", "--budget-tokens", "60000", "--out", tmp_path)
    assert (output.code, output.out) == (3, "")
    assert "the budget is used up" in output.err
    manifest = orjson.loads((tmp_path / "tiny/latest/dataset/manifest.json").read_bytes())
    assert any(shard["rows"] for shard in manifest["shards"])
    assert (tmp_path / "tiny/latest/report.html").is_file()


def test_spare_seeds_beyond_the_plan_are_reported(digsite: Digsite, out: Path, tmp_path: Path) -> None:
    shutil.copytree(out / "tiny", tmp_path / "tiny", symlinks=True)
    output = digsite("generate", "tiny", *SMALL, "--pairs", "1", "--out", tmp_path, "--no-flow", "--allow-removal")
    planned, beyond = (
        int(next(line for line in output.out.splitlines() if line.startswith(name)).split()[-1])
        for name in ("planned", "spare seeds, for a larger --pairs")
    )
    assert planned + beyond == 8


def test_a_corpus_without_chains_gets_advice(digsite: Digsite, tmp_path: Path) -> None:
    template = (
        "The {0} bridge is a stone bridge. It was opened on {1} May 18{1}. It is {1} metres long and carries many carts"
        " each day. The river below it is slow in summer, and fishing from the bridge has always been allowed. On"
        " market days its western end is closed, and people walk over to the other side, where there is more room. "
    )
    rows = [{"id": f"b{n}", "title": f"{n} bridge", "text": template.format(n, n + 10)} for n in range(8)]
    corpus = tmp_path / "bridges.jsonl"
    corpus.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    limits = ("--steps", "3", "--pairs", "2", "--max-seeds", "4", "--retriever", "bm25")
    output = digsite("generate", str(corpus), *limits, "--out", tmp_path)
    assert output.code == 3
    assert "0 of 2 pairs; none gave a chain of hops. The demo model reads English prose only" in output.err
    assert "most of these texts are not" not in output.err


def test_resume_of_a_finished_run_changes_no_byte_of_its_data(digsite: Digsite, out: Path) -> None:
    before = read_files(out / "tiny/latest/dataset")
    assert digsite("resume", "latest", "--out", out, "--json").code == 0
    assert read_files(out / "tiny/latest/dataset") == before


def test_resume_refuses_a_run_of_other_settings_and_names_them(digsite: Digsite, run: Path) -> None:
    path = run / "tiny/latest/run.json"
    tree = orjson.loads(path.read_bytes())
    tree["what"]["loop"]["rounds"] = 7
    path.write_bytes(orjson.dumps(tree))
    output = digsite("resume", "latest", "--out", run)
    assert output.code == 2
    assert "loop.rounds" in output.err


def test_inspect_lists_every_seed_and_shows_one_in_full(digsite: Digsite, out: Path) -> None:
    listed = digsite("inspect", "latest", "--out", out, "--json").json
    accepted = next(item for item in listed["items"] if item["status"] == "accepted")
    table = digsite("inspect", "latest", "--out", out).out
    assert all(item["key"][:12] in table for item in listed["items"])
    assert all(name in table for name in ("generator", "solver", "round 0", "confirmation", "per accepted pair"))
    roles = [sum(spent["calls"] for spent in listed["spent"][by].values()) for by in ("roles", "stages")]
    assert roles == [listed["spent"]["total"]["calls"]] * 2
    page = digsite("inspect", "latest", "--out", out, "--item", accepted["key"][:12]).out
    record = digsite("inspect", "latest", "--out", out, "--item", accepted["key"], "--json").json
    assert record["key"] == accepted["key"]
    answer = record["rounds"][-1]["draft"]["graph"]["steps"][-1]["answer"]
    for needed in ("round 0: generator", "rollout 0", "rollout 1", answer):
        assert needed in page


def test_the_suggested_next_command_works(digsite: Digsite, out: Path) -> None:
    next_command = digsite("inspect", "latest", "--out", out).err.splitlines()[-1].partition("digsite ")[2]
    assert digsite(*shlex.split(next_command)).code == 0


def test_inspect_counts_surplus_seeds_apart_from_the_data_set(digsite: Digsite, run: Path) -> None:
    path = run / "tiny/latest/run.json"
    tree = orjson.loads(path.read_bytes())
    tree["config"]["runtime"] |= {"seeds": None, "pairs": 1}
    path.write_bytes(orjson.dumps(tree))
    listing = digsite("inspect", "latest", "--out", run, "--json").json
    assert listing["counts"]["accepted"] == 1
    assert listing["counts"]["surplus"] > 0
    assert sum(listing["counts"].values()) == 8


def test_generate_reports_skipped_documents(digsite: Digsite, tmp_path: Path) -> None:
    tiny = Path("corpora/tiny.jsonl").read_bytes()
    (tmp_path / "mine.jsonl").write_bytes(tiny + b'{"id": "e", "text": ""}\n')
    output = digsite("generate", tmp_path / "mine.jsonl", *SMALL, "--seeds", "1", "--out", tmp_path)
    assert "mine: 41 of 42 documents read; left out: 1 empty\n" in output.err


def test_resume_works_from_another_working_directory(
    digsite: Digsite, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert digsite("resume", out / "tiny/latest", "--json").json["planned"] == 8
    assert list(tmp_path.iterdir()) == []


def test_export_writes_the_views_asked_for(digsite: Digsite, run: Path) -> None:
    shutil.rmtree(run / "tiny/latest/dataset")
    output = digsite("export", "latest", "--view", "qa,sft", "--out", run, "--json")
    assert list(output.json["views"]) == ["qa", "sft"]
    shards = (run / "tiny/latest/dataset").glob("*/*.parquet")
    assert {path.parent.name for path in shards} == {"qa", "sft"}


def test_the_names_of_the_views_are_listed_without_a_run(digsite: Digsite, tmp_path: Path) -> None:
    output = digsite("export", "--list", "--json", "--out", tmp_path)
    assert output.json == base.names()
    assert digsite("export", "--list").out.split() == base.names()


def test_report_writes_the_html_page(digsite: Digsite, out: Path) -> None:
    page = out / "tiny/latest/report.html"
    page.unlink()
    output = digsite("report", "latest", "--out", out, "--json")
    assert Path(output.json["report"]).samefile(page)


def test_preview_prints_three_pairs_and_leaves_no_run(
    digsite: Digsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = digsite("preview", "tiny", *SMALL)
    assert output.code == 0
    assert output.out.count("accepted  target 1") == 3
    assert output.out.count("round 0: generator") == 3
    assert "no run was started" in output.err
    assert not list(tmp_path.rglob("run.json"))


def test_a_preview_without_pairs_says_why(digsite: Digsite, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    lone = "The {0} bridge is a stone bridge of the {0} river. It was opened on {1} May 18{1} and is {1} metres long. "
    rows = [{"id": n, "title": f"Bridge {n}", "text": lone.format(n, n + 10) * 3} for n in range(6)]
    mine.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    output = digsite("preview", mine, "--retriever", "bm25", "--steps", "4", "--set", "loop.rounds=0")
    assert output.code == 3
    assert "30 seeds gave 0 of 3 pairs; not accepted: " in output.err
    assert output.err.strip().splitlines()[-1].endswith(" 30")


def test_preview_shows_the_first_pairs_that_generate_makes(digsite: Digsite, out: Path) -> None:
    items = digsite("inspect", "latest", "--out", out, "--json").json["items"]
    keys = [item["key"] for item in items if item["status"] == "accepted"]
    previewed = [record["key"] for record in digsite("preview", "tiny", *SMALL, "--json").json]
    assert previewed[: len(keys)] == keys[:3]


def test_search_finds_the_passage(digsite: Digsite, tmp_path: Path) -> None:
    output = digsite("search", "tiny", "length of the Kessel Bridge", "-k", "2", "--retriever", "bm25", "--json")
    assert output.json[0]["title"] == "Kessel Bridge"
    assert len(output.json) == 2


def test_measure_scores_a_solver_on_questions_with_answers(digsite: Digsite, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "Who designed the Kessel Bridge?", "answer": "Marta Kessel"}\n')
    output = digsite("measure", "tiny", file, "--retriever", "bm25", "--rollouts", "2", "--json")
    assert output.json["figures"][0]["rollouts"] == 2
    output = digsite("measure", "tiny", file, "--retriever", "bm25", "--rollouts", "1")
    assert "EM" in output.out
    assert "these figures describe the pipeline, not the quality of the data" in output.err


@pytest.mark.slow
def test_measure_with_several_retrievers_compares_what_one_search_finds(digsite: Digsite, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    evidence = '"supporting_ids": ["Kessel_Bridge"], "dataset": "made"'
    file.write_text(f'{{"question": "Who designed the Kessel Bridge?", "answer": "Marta Kessel", {evidence}}}\n')
    options = "--retriever", "bm25", "--retriever", "lucene", "--out", tmp_path
    rows = digsite("measure", "tiny", file, *options, "--json").json
    assert [(row["group"], row["retriever"], row["all_gold"]["5"]) for row in rows] == [
        (group, name, 1.0) for group in ("all", "made") for name in ("bm25", "lucene")
    ]
    assert "@100" in digsite("measure", "tiny", file, *options).out
    file.write_text('{"question": "Who?", "answer": "Marta Kessel"}\n')
    output = digsite("measure", "tiny", file, *options)
    assert (output.code, "no question has 'supporting_ids'" in output.err) == (2, True)
    assert digsite("measure", "tiny", file, "--retriever", "bm25", "--retriever", "elastic").code == 2


def test_corpus_lists_and_counts(digsite: Digsite) -> None:
    assert {item["name"] for item in digsite("corpus", "list", "--json").json} >= {"wiki", "tiny"}
    counts = digsite("corpus", "stats", "tiny", "--json").json
    assert counts["links"]["phrases"] > 0
    assert counts["links"]["linked"] > 0.9
    assert counts["read"] == counts["kept"] == 41


def test_doctor_names_its_checks(digsite: Digsite, tmp_path: Path) -> None:
    output = digsite("doctor", "--out", tmp_path, "--json")
    assert {check["name"] for check in output.json} >= {"python", "java", "disk"}
    assert output.code == (0 if all(check["ok"] for check in output.json) else 1)


def test_escapes_in_texts_never_reach_the_terminal(digsite: Digsite, tmp_path: Path) -> None:
    file = tmp_path / "hostile.jsonl"
    rows = [{"id": str(n), "title": f"Bridge {text}", "text": f"A bridge. {text}"} for n, text in enumerate(HOSTILE)]
    file.write_bytes(b"\n".join(orjson.dumps(row) for row in rows))
    output = digsite("search", file, "bridge", "-k", "50", "--retriever", "bm25")
    assert not set(output.out) & set("\x1b\x07\x00\u202e\u202c\ufeff\x85")
    assert "<script>alert(1)</script>" in output.out

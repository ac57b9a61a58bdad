"""Every command, on a real run over the tiny corpus."""

import shlex
import shutil
from pathlib import Path

import orjson
import pytest

from pipeline.exports.views import base
from tests.cli.conftest import SMALL, Digsite
from tests.hostile import HOSTILE
from tests.left import files


def test_generate_in_json_says_where_everything_is_and_adds_up(digsite: Digsite, out: Path) -> None:
    said = digsite("generate", "tiny", *SMALL, "--seeds", "8", "--out", out, "--json")
    result = said.json
    assert said.code == 0
    assert result["planned"] == 8 == result["accepted"] + result["rejected"] + result["failed"]
    assert result["accepted"] >= 1
    assert sum(result["reasons"].values()) == result["rejected"] + result["failed"]
    assert (Path(result["dataset"]) / "manifest.json").is_file()
    assert Path(result["report"]).read_text().startswith("<!")


def test_generate_for_a_person_shows_a_pair_and_the_way_on(digsite: Digsite, out: Path) -> None:
    said = digsite("generate", "tiny", *SMALL, "--seeds", "8", "--out", out)
    assert "One of them:" in said.out
    for needed in ("planned", "accepted", "report.html", "digsite inspect"):
        assert needed in said.out
    assert "8/8 seeds" in said.err
    assert "these figures describe the pipeline, not the quality of the data" in said.err


def test_the_same_command_with_more_goes_on_in_the_same_folder(digsite: Digsite, run: Path) -> None:
    before = digsite("inspect", "tiny", "--out", run, "--json").json["items"]
    more = digsite("generate", "tiny", *SMALL, "--seeds", "12", "--out", run, "--json").json
    after = digsite("inspect", "tiny", "--out", run, "--json").json["items"]
    assert more["planned"] == 12
    assert after[:8] == before


def test_too_few_pairs_are_exit_3_and_exported_all_the_same(digsite: Digsite, tmp_path: Path) -> None:
    said = digsite("generate", "tiny", *SMALL, "--pairs", "50", "--max-seeds", "4", "--out", tmp_path)
    assert said.code == 3
    assert "of 50 pairs" in said.err
    assert "--max-seeds" in said.err
    assert (tmp_path / "tiny/latest/dataset/manifest.json").is_file()


def test_a_used_up_budget_is_exit_3_and_what_there_is_exported(digsite: Digsite, tmp_path: Path) -> None:
    said = digsite("generate", "tiny", *SMALL, "--pairs", "500", "--budget-tokens", "60000", "--out", tmp_path)
    assert (said.code, said.out) == (3, "")
    assert "the budget is used up" in said.err
    manifest = orjson.loads((tmp_path / "tiny/latest/dataset/manifest.json").read_bytes())
    assert any(shard["rows"] for shard in manifest["shards"])
    assert (tmp_path / "tiny/latest/report.html").is_file()


def test_what_was_dug_beyond_the_plan_is_told(digsite: Digsite, out: Path, tmp_path: Path) -> None:
    shutil.copytree(out / "tiny", tmp_path / "tiny", symlinks=True)
    said = digsite("generate", "tiny", *SMALL, "--pairs", "1", "--out", tmp_path, "--no-flow")
    planned, beyond = (
        int(next(line for line in said.out.splitlines() if line.startswith(name)).split()[-1])
        for name in ("planned", "spare seeds, for a larger --pairs")
    )
    assert planned + beyond == 8


def test_a_text_without_chains_is_told_what_else_helps(digsite: Digsite, tmp_path: Path) -> None:
    told = (
        "The {0} bridge is a stone bridge. It was opened on {1} May 18{1}. It is {1} metres long and carries many carts"
        " each day. The river below it is slow in summer, and fishing from the bridge has always been allowed. On"
        " market days its western end is closed, and people walk over to the other side, where there is more room. "
    )
    rows = [{"id": f"b{n}", "title": f"{n} bridge", "text": told.format(n, n + 10)} for n in range(8)]
    corpus = tmp_path / "bridges.jsonl"
    corpus.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    most = ("--steps", "3", "--pairs", "2", "--max-seeds", "4", "--retriever", "bm25")
    said = digsite("generate", str(corpus), *most, "--out", tmp_path)
    assert said.code == 3
    assert "0 of 2 pairs; none gave a chain of hops. The demo model reads English prose only" in said.err
    assert "most of these texts are not" not in said.err


def test_resume_of_a_finished_run_changes_no_byte_of_its_data(digsite: Digsite, out: Path) -> None:
    before = files(out / "tiny/latest/dataset")
    assert digsite("resume", "latest", "--out", out, "--json").code == 0
    assert files(out / "tiny/latest/dataset") == before


def test_resume_refuses_a_run_of_other_settings_and_names_them(digsite: Digsite, run: Path) -> None:
    path = run / "tiny/latest/run.json"
    tree = orjson.loads(path.read_bytes())
    tree["what"]["loop"]["rounds"] = 7
    path.write_bytes(orjson.dumps(tree))
    said = digsite("resume", "latest", "--out", run)
    assert said.code == 2
    assert "loop.rounds" in said.err


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
    for needed in ("round 0: generator", "rollout 0", "confirmation", answer):
        assert needed in page


def test_the_next_command_that_is_named_finds_the_run(digsite: Digsite, out: Path) -> None:
    named = digsite("inspect", "latest", "--out", out).err.splitlines()[-1].partition("digsite ")[2]
    assert digsite(*shlex.split(named)).code == 0


def test_what_ended_beyond_the_plan_is_told_from_what_the_data_set_holds(digsite: Digsite, run: Path) -> None:
    path = run / "tiny/latest/run.json"
    tree = orjson.loads(path.read_bytes())
    tree["config"]["runtime"] |= {"seeds": None, "pairs": 1}
    path.write_bytes(orjson.dumps(tree))
    told = digsite("inspect", "latest", "--out", run, "--json").json
    assert told["counts"]["accepted"] == 1
    assert told["counts"]["surplus"] > 0
    assert sum(told["counts"].values()) == 8


def test_what_was_left_out_of_a_corpus_is_said(digsite: Digsite, tmp_path: Path) -> None:
    tiny = Path("corpora/tiny.jsonl").read_bytes()
    (tmp_path / "mine.jsonl").write_bytes(tiny + b'{"id": "e", "text": ""}\n')
    said = digsite("generate", tmp_path / "mine.jsonl", *SMALL, "--seeds", "1", "--out", tmp_path)
    assert "mine: 41 of 42 documents read; left out: 1 empty\n" in said.err


def test_resume_works_from_another_working_directory(
    digsite: Digsite, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert digsite("resume", out / "tiny/latest", "--json").json["planned"] == 8
    assert list(tmp_path.iterdir()) == []


def test_export_writes_the_views_asked_for(digsite: Digsite, run: Path) -> None:
    shutil.rmtree(run / "tiny/latest/dataset")
    said = digsite("export", "latest", "--view", "qa,sft", "--out", run, "--json")
    assert list(said.json["views"]) == ["qa", "sft"]
    made = (run / "tiny/latest/dataset").glob("*/*.parquet")
    assert {path.parent.name for path in made} == {"qa", "sft"}


def test_the_names_of_the_views_are_listed_without_a_run(digsite: Digsite, tmp_path: Path) -> None:
    said = digsite("export", "--list", "--json", "--out", tmp_path)
    assert said.json == base.names()
    assert digsite("export", "--list").out.split() == base.names()


def test_report_writes_the_page(digsite: Digsite, out: Path) -> None:
    page = out / "tiny/latest/report.html"
    page.unlink()
    said = digsite("report", "latest", "--out", out, "--json")
    assert Path(said.json["report"]).samefile(page)


def test_preview_prints_three_pairs_and_leaves_no_run(
    digsite: Digsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = digsite("preview", "tiny", *SMALL)
    assert said.code == 0
    assert said.out.count("accepted  target 1") == 3
    assert said.out.count("round 0: generator") == 3
    assert "no run was started" in said.err
    assert not list(tmp_path.rglob("run.json"))


def test_a_preview_without_pairs_says_why(digsite: Digsite, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    lone = "The {0} bridge is a stone bridge of the {0} river. It was opened on {1} May 18{1} and is {1} metres long. "
    rows = [{"id": n, "title": f"Bridge {n}", "text": lone.format(n, n + 10) * 3} for n in range(6)]
    mine.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    said = digsite("preview", mine, "--retriever", "bm25", "--steps", "4", "--set", "loop.rounds=0")
    assert said.code == 3
    assert "30 seeds gave 0 of 3 pairs; not accepted: " in said.err
    assert said.err.strip().splitlines()[-1].endswith(" 30")


def test_preview_shows_the_first_pairs_that_generate_makes(digsite: Digsite, out: Path) -> None:
    made = digsite("inspect", "latest", "--out", out, "--json").json["items"]
    keys = [item["key"] for item in made if item["status"] == "accepted"]
    shown = [record["key"] for record in digsite("preview", "tiny", *SMALL, "--json").json]
    assert shown[: len(keys)] == keys[:3]


def test_search_finds_the_passage(digsite: Digsite, tmp_path: Path) -> None:
    said = digsite("search", "tiny", "length of the Kessel Bridge", "-k", "2", "--retriever", "bm25", "--json")
    assert said.json[0]["title"] == "Kessel Bridge"
    assert len(said.json) == 2


def test_measure_scores_a_solver_on_questions_with_answers(digsite: Digsite, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "Who designed the Kessel Bridge?", "answer": "Marta Kessel"}\n')
    said = digsite("measure", "tiny", file, "--retriever", "bm25", "--rollouts", "2", "--json")
    assert said.json["figures"][0]["rollouts"] == 2
    said = digsite("measure", "tiny", file, "--retriever", "bm25", "--rollouts", "1")
    assert "EM" in said.out
    assert "these figures describe the pipeline, not the quality of the data" in said.err


def test_measure_with_several_retrievers_compares_what_one_search_finds(digsite: Digsite, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    supported = '"supporting_ids": ["Kessel_Bridge"], "dataset": "made"'
    file.write_text(f'{{"question": "Who designed the Kessel Bridge?", "answer": "Marta Kessel", {supported}}}\n')
    both = "--retriever", "bm25", "--retriever", "lucene", "--out", tmp_path
    found = digsite("measure", "tiny", file, *both, "--json").json
    assert [(one["group"], one["retriever"], one["all_gold"]["5"]) for one in found] == [
        (group, name, 1.0) for group in ("all", "made") for name in ("bm25", "lucene")
    ]
    assert "@100" in digsite("measure", "tiny", file, *both).out
    file.write_text('{"question": "Who?", "answer": "Marta Kessel"}\n')
    said = digsite("measure", "tiny", file, *both)
    assert (said.code, "no question has 'supporting_ids'" in said.err) == (2, True)
    assert digsite("measure", "tiny", file, "--retriever", "bm25", "--retriever", "elastic").code == 2


def test_corpus_lists_and_counts(digsite: Digsite) -> None:
    assert {item["name"] for item in digsite("corpus", "list", "--json").json} >= {"wiki", "tiny"}
    counts = digsite("corpus", "stats", "tiny", "--json").json
    assert counts["links"]["phrases"] > 0
    assert counts["links"]["linked"] > 0.9
    assert counts["read"] == counts["kept"] == 41


def test_doctor_names_what_it_looked_at(digsite: Digsite, tmp_path: Path) -> None:
    said = digsite("doctor", "--out", tmp_path, "--json")
    assert {check["name"] for check in said.json} >= {"python", "java", "disk"}
    assert said.code == (0 if all(check["ok"] for check in said.json) else 1)


def test_hostile_text_reaches_the_terminal_without_its_escapes(digsite: Digsite, tmp_path: Path) -> None:
    file = tmp_path / "hostile.jsonl"
    rows = [{"id": str(n), "title": f"Bridge {text}", "text": f"A bridge. {text}"} for n, text in enumerate(HOSTILE)]
    file.write_bytes(b"\n".join(orjson.dumps(row) for row in rows))
    said = digsite("search", file, "bridge", "-k", "50", "--retriever", "bm25")
    assert not set(said.out) & set("\x1b\x07\x00\u202e\u202c\ufeff\x85")
    assert "<script>alert(1)</script>" in said.out

"""A twin is exported like any pair, next to its own, and does not affect its pair."""

from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig, build
from pipeline.exports.data_set import Selection, export
from pipeline.exports.twins import gate_of_twin
from pipeline.exports.views import base, records, rl_search_r1
from pipeline.gates import Gates
from pipeline.reward import reward
from pipeline.types import NOT_FOUND, Record, Status, twin_key
from pipeline.types.twin_record import as_record, twin_of
from tests.loop.twins import SETS
from tests.records import accepted
from tests.seed_tables import figures
from tests.twin_records import twinned

CONFIG = build(sets=list(SETS))


def derive_twin(record: Record) -> Record:
    twin = as_record(record)
    assert twin is not None
    return twin


def export_rows(folder: Path, records_to_export: list[Record], **selection: Any) -> dict[str, list[dict[str, Any]]]:
    export(records_to_export, folder, Selection(config=CONFIG, **selection))
    return {
        view: [row for path in sorted((folder / view).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
        for view in base.names()
    }


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    pairs = [twinned(1), accepted(2), twinned(3, side="eval")]
    return export_rows(tmp_path_factory.mktemp("twins") / "ds", pairs)


def get_identity(row: dict[str, Any]) -> str:
    """Return the row's id, wherever the view keeps it."""
    details = orjson.loads(row.get("info") or row.get("details") or "{}")
    return str(row.get("id") or details.get("id") or details.get("source_id"))


def test_a_twin_is_next_to_its_pair_with_its_own_id(views: dict[str, list[dict[str, Any]]]) -> None:
    rows = {row["id"]: row for row in views["qa"]}
    assert len(rows) == len(views["qa"]) == 5
    for n in (1, 3):
        pair = twinned(n)
        row = rows[twin_key(pair.key)]
        assert row["twin_of"] == pair.key
        assert (row["answer"], row["answer_type"], row["answerable"]) == (NOT_FOUND, "unanswerable", False)
        assert (row["solve_rate"], row["difficulty"], row["rollouts"], row["hit_step"]) == (0.75, 3, 4, None)
        assert row["assessments"][0]["solve_rate"] == 0.75
        assert row["hops"][-1]["sub_question"] == "When did the town burn down?"
        pair_row = rows[pair.key]
        assert (pair_row["answerable"], pair_row["twin_of"]) == (True, "")
        assert row["question"] == pair_row["question"].replace("founded", "burnt down")


def test_a_twin_is_on_the_side_of_its_pair(tmp_path: Path) -> None:
    export_rows(tmp_path / "ds", [twinned(1), twinned(3, side="eval")])
    for side, n in (("train", 1), ("eval", 3)):
        (path,) = (tmp_path / "ds" / "qa").glob(f"{side}-*.parquet")
        assert {row["id"] for row in pq.read_table(path).to_pylist()} == {twinned(n).key, twin_key(twinned(n).key)}


def test_every_view_takes_twins_except_those_that_exclude_them(views: dict[str, list[dict[str, Any]]]) -> None:
    twins = {twin_key(twinned(n).key) for n in (1, 3)}
    without = {"planner", "records", "synthetic", "robust_pairs", "dpo_steps"}
    without |= {"retriever", "retriever_triplets", "reranker", "eval_deepeval", "eval_ragas"}
    for name, rows in views.items():
        assert (twins <= set(map(get_identity, rows))) is (name not in without), name
    keys = {record.key for record in map(records.record, views["records"]) if record.twin}
    assert keys == {twinned(n).key for n in (1, 3)}


def test_imitated_rollouts_end_with_not_found_and_an_invented_answer_is_worse(
    views: dict[str, list[dict[str, Any]]],
) -> None:
    key = twin_key(twinned(1).key)
    for row in (row for row in views["sft"] if row["id"] == key):
        assert read_answer(row["messages"][-1]) == NOT_FOUND
    (chosen,) = [row for row in views["dpo"] if row["id"] == key]
    assert (read_answer(chosen["chosen"][0]), read_answer(chosen["rejected"][0])) == (NOT_FOUND, "1399")
    assert {row["label"] for row in views["kto"] if row["id"] == key} == {True, False}
    failures = {row["answer_pred"]: row["failure"] for row in views["critic"] if row["id"] == key}
    assert failures == {NOT_FOUND: None, "1399": "invented"}


def read_answer(message: Any) -> str:
    tree = orjson.loads(message) if isinstance(message, str | bytes) else message
    return str(tree["tool_calls"][0]["function"]["arguments"]["answer"])


def test_reinforcement_learning_takes_every_verified_twin(tmp_path: Path) -> None:
    always = twinned(5, answers=(NOT_FOUND,) * 4)
    views = export_rows(tmp_path / "ds", [twinned(1), always])
    for name in (name for name in views if name.startswith("rl_")):
        ids = set(map(get_identity, views[name]))
        assert twin_key(twinned(1).key) in ids
        assert {twin_key(always.key), always.key} <= ids
    golds = {get_identity(row): row["golden_answers"] for row in views["rl_trl"]}
    assert golds[twin_key(twinned(1).key)] == [NOT_FOUND]
    groups = [row["extra_info"]["index"] for row in views["rl_search_r1"]]
    assert len(set(groups)) == len(groups)


def test_prompts_mention_not_found_in_all_rows_or_in_none() -> None:
    for record in (derive_twin(twinned(1)), accepted(2)):
        for config, is_told in ((CONFIG, True), (RunConfig(), False)):
            (row,) = rl_search_r1.rows(record, environment(config))
            assert ("the answer is: not found" in row["prompt"][-1]["content"]) is is_told
            for name in ("rl_openrlhf", "rl_trl", "rl_verl_tool"):
                (row,) = base.load(name).rows(record, environment(config))
                assert "answer `not found`" in row["prompt"][0]["content"]
    (row,) = rl_search_r1.rows(derive_twin(twinned(1)), environment(CONFIG))
    assert rl_search_r1.score(row["prompt"][0]["content"], [NOT_FOUND]) == 0, "a response without an answer scores 0"


def test_gates_do_not_count_twins_and_their_pairs_pass() -> None:
    gates = Gates(CONFIG.gates)
    pairs = [twinned(n) for n in range(10)]
    assert [gates.admit(gates.check(pair)) for pair in pairs] == [None] * 10
    assert not any(gate_of_twin(derive_twin(pair), CONFIG) for pair in pairs), "'not found' is no overused answer"


def test_a_gate_may_drop_a_twin_alone(tmp_path: Path) -> None:
    rate = CONFIG.model_copy(update={"gates": CONFIG.gates.model_copy(update={"solve_rate": (0.0, 0.7)})})
    assert gate_of_twin(derive_twin(twinned(1)), rate) == "solve_rate"
    (tmp_path / "known.txt").write_text(derive_twin(twinned(1)).draft.question)  # type: ignore[union-attr]
    against = CONFIG.model_copy(
        update={"gates": CONFIG.gates.model_copy(update={"against": (tmp_path / "known.txt",)})}
    )
    assert gate_of_twin(derive_twin(twinned(1)), against) == "contaminated"
    assert as_record(twinned(1).model_copy(update={"status": Status.REJECTED})) is None
    assert as_record(accepted(1)) is None
    assert (twin_of(accepted(1)), twin_of(derive_twin(twinned(1)))) == ("", accepted(1).key)


def test_figures_count_twins_and_refusals() -> None:
    none = accepted(2).model_copy(update={"twin": None})
    twins = figures([twinned(1), none]).twins
    assert twins is not None
    assert (twins.drawn, twins.used, twins.contradicted, twins.mean_solve_rate) == (1, 1, 0, 0.75)
    assert [(count.name, count.count) for count in twins.refusals] == [("stated", 1)]
    assert figures([none]).twins is None


def test_the_card_describes_twins(tmp_path: Path) -> None:
    export([twinned(1), accepted(2)], tmp_path / "ds", Selection(config=CONFIG))
    card = (tmp_path / "ds" / "README.md").read_text()
    assert "Of 1 pairs drawn for one, 1 got a twin" in card
    assert "| `stated` | 1 | A passage states the changed premise. |" in card
    export([accepted(2)], tmp_path / "other", Selection(config=RunConfig()))
    plain = (tmp_path / "other" / "README.md").read_text()
    assert "Questions without an answer" not in plain
    assert "twin/change" not in plain


def test_the_card_counts_twins_that_a_gate_dropped(tmp_path: Path) -> None:
    config = CONFIG.model_copy(update={"gates": CONFIG.gates.model_copy(update={"solve_rate": (0.5, 1.0)})})
    hard = [twinned(n, answers=(NOT_FOUND, "1399", "1399", "1399")) for n in (1, 2)]
    export([*hard, twinned(3)], tmp_path / "ds", Selection(config=config))
    rows = [row for path in (tmp_path / "ds/qa").glob("*") for row in pq.read_table(path).to_pylist()]
    assert [row["answerable"] for row in rows].count(False) == 1
    card = (tmp_path / "ds" / "README.md").read_text()
    assert "Of 3 pairs drawn for one, 3 got a twin" in card
    assert "Gates kept out twins whose pairs stay: `solve_rate` 2.\n" in card


def test_a_twin_with_an_address_is_dropped_and_not_masked(tmp_path: Path) -> None:
    pair = twinned(1)
    assert pair.twin
    assert pair.twin.used
    question = f"Who wrote to ada.brannick@fells.example.org? {pair.twin.used.question}"
    tries = (*pair.twin.tries[:-1], pair.twin.used.model_copy(update={"question": question}))
    pair = pair.model_copy(update={"twin": pair.twin.model_copy(update={"tries": tries})})
    assert [row["answerable"] for row in export_rows(tmp_path / "ds", [pair])["qa"]] == [True]


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (NOT_FOUND, 1.0),
        ("Not found.", 1.0),
        ("The answer could not be found in the corpus.", 1.0),
        ("unanswerable", 1.0),
        ("未找到", 1.0),
        ("nicht gefunden", 1.0),
        ("not found, but I guess Paris", 0.0),
        ("Paris", 0.0),
        ("not found: Paris", 0.0),
        ("none", 0.0),
        ("", 0.0),
        ("unknown soldier", 0.0),
        ("not found " * 10_000, 0.0),
    ],
)
def test_the_reward_recognises_a_refusal(answer: str, score: float) -> None:
    assert reward.compute_score("x", f"<answer>{answer}</answer>", {"target": [NOT_FOUND]}) == score
    assert reward.score(answer, ["Paris"]) == (answer == "Paris")
    assert reward.score(answer, ["Paris", NOT_FOUND]) == 0.0 or answer in ("Paris", NOT_FOUND, "Not found.")

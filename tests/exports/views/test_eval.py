"""Ragas and DeepEval get a question, its answer and the passages that prove it."""

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import eval_deepeval, eval_ragas
from tests.records import accepted, world

ENVIRONMENT = environment(RunConfig())
RECORD, WORLD = accepted(0), world(0)


def test_a_row_holds_each_passage_of_the_evidence_once() -> None:
    [row] = eval_ragas.VIEW.rows(RECORD, ENVIRONMENT)
    assert row["user_input"] == WORLD.question
    assert row["reference_contexts"] == [f"{passage.title}\n{passage.text}" for passage in WORLD.chain]
    assert RECORD.draft is not None
    assert row["reference"] == RECORD.draft.answer


def test_a_passage_that_no_agent_saw_is_represented_by_its_cited_sentences() -> None:
    unseen = RECORD.model_copy(update={"rounds": RECORD.rounds[-1:], "confirmation": (), "confirmation_verdicts": ()})
    silent = unseen.rounds[0].model_copy(
        update={
            "agent": unseen.rounds[0].agent.model_copy(update={"messages": (), "calls": ()}),
            "rollouts": (),
            "verdicts": (),
        }
    )
    [row] = eval_ragas.VIEW.rows(unseen.model_copy(update={"rounds": (silent,)}), ENVIRONMENT)
    assert RECORD.draft is not None
    assert row["reference_contexts"] == [hop.quote for hop in RECORD.draft.hops]


def test_both_frameworks_get_the_same_texts() -> None:
    [ragas_row], [deepeval_row] = (
        list(view.rows(RECORD, ENVIRONMENT)) for view in (eval_ragas.VIEW, eval_deepeval.VIEW)
    )
    names = zip(("user_input", "reference", "reference_contexts"), ("input", "expected_output", "context"), strict=True)
    assert all(ragas_row[ragas] == deepeval_row[deepeval] for ragas, deepeval in names)

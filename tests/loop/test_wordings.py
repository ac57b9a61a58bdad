"""A rewritten question beside its first words and a neutral paraphrase of them, on fresh rollouts, where asked for."""

import asyncio
import re
from pathlib import Path

import orjson
import pytest

from pipeline.analysis.wording_figures import wording_figures
from pipeline.config import RunConfig
from pipeline.exports.report.page import page
from pipeline.exports.views import records
from pipeline.llm.base import Request
from pipeline.run.given_questions import pairs
from pipeline.run.missing_stages import complete
from pipeline.store.amendments import Completions
from pipeline.store.journal import _consistent
from pipeline.types import Message, Record, Share, Status
from tests.loop.test_episode import QUESTION, Cast, call, proposal
from tests.loop.test_episode import run as dug
from tests.loop.test_harden import HIDDEN, Author, context, rewritten, run
from tests.tables import table

NEUTRAL = "In which year was the home town of the director of Lantern Bay settled?"
ASKED = "questions.compare_wordings=true"


class Rewriter(Author):
    """Solves the hidden wording in three steps, and the others in two; of the paraphrase every second try."""

    def __init__(self, neutral: str = NEUTRAL) -> None:
        def paths(question: str, sample: int) -> int:
            return 3 if question == HIDDEN else 2 if question == QUESTION or sample % 2 else 0

        super().__init__(paths, rewritten(HIDDEN, "meta_attribute"))
        self.neutral, self.paraphrased = neutral, 0

    def __call__(self, request: Request) -> Message:
        if request.output and request.output.name == "paraphrase":
            self.paraphrased += 1
            return Message(role="assistant", content=orjson.dumps({"question": self.neutral}).decode())
        return super().__call__(request)


@pytest.fixture(scope="module")
def compared() -> Record:
    return run(Rewriter(), ASKED)


def test_the_three_wordings_are_tried_on_samples_that_nothing_else_used(compared: Record) -> None:
    assert [(one.name, one.question) for one in compared.wordings] == [
        ("unchanged", QUESTION),
        ("paraphrase", NEUTRAL),
        ("hardened", HIDDEN),
    ]
    used = {rollout.sample for past in compared.rounds for rollout in past.rollouts}
    used |= {rollout.sample for rollout in compared.confirmation}
    for one in compared.wordings:
        assert used.isdisjoint({rollout.sample for rollout in one.rollouts})
        assert len(one.rollouts) == len(one.verdicts) == 4
    assert [(one.solved, one.least_steps) for one in compared.wordings] == [
        (Share(part=4, whole=4), 2),
        (Share(part=2, whole=4), 2),
        (Share(part=4, whole=4), 3),
    ]


def test_they_are_recorded_and_counted_and_change_nothing_else(compared: Record) -> None:
    alone = run(Rewriter())
    assert alone.wordings == ()
    assert "wordings" not in alone.model_dump(mode="json")
    assert compared.model_copy(update={"wordings": ()}) == alone
    more = compared.usage["solver"].calls - alone.usage["solver"].calls
    assert more == sum(len(r.trajectory.calls) + 1 for one in compared.wordings for r in one.rollouts)
    assert compared.usage["refiner"].calls == alone.usage["refiner"].calls + 1
    assert Record.model_validate_json(compared.model_dump_json()) == compared
    assert _consistent(compared)
    short = compared.wordings[0].model_copy(update={"verdicts": ()})
    assert not _consistent(compared.model_copy(update={"wordings": (short,)}))
    assert "wordings" not in records.SCHEMA.names


def test_the_line_of_the_question_and_the_report_say_how_each_did(compared: Record) -> None:
    row = orjson.loads(pairs([compared]))
    assert [(one["name"], one["rollouts"], one["solve_rate"], one["difficulty"]) for one in row["wordings"]] == [
        ("unchanged", 4, 1.0, 2),
        ("paraphrase", 4, 0.5, 2),
        ("hardened", 4, 1.0, 3),
    ]
    assert "wordings" not in orjson.loads(pairs([run(Rewriter())]))
    found = {one.name: (one.questions, one.solved.part, one.least_steps) for one in wording_figures([compared] * 2)}
    assert found == {"unchanged": (2, 8, 2.0), "paraphrase": (2, 4, 2.0), "hardened": (2, 8, 3.0)}
    told = page(table([compared]), lambda key: compared, RunConfig(), wordings=wording_figures([compared]))
    assert re.findall(
        r"<tr><td>(unchanged|paraphrase|hardened)</td>.*?>([\d,]+ of 4) .*?>([\d.]+)</td></tr>", told
    ) == [
        ("unchanged", "4 of 4", "2.00"),
        ("paraphrase", "2 of 4", "2.00"),
        ("hardened", "4 of 4", "3.00"),
    ]
    assert "In which words" not in page(table([compared]), lambda key: compared, RunConfig())


@pytest.mark.parametrize("neutral", [f" {QUESTION.lower()} ", "Was it settled in 1641?", ""])
def test_a_paraphrase_that_says_the_same_words_or_the_answer_is_none(neutral: str) -> None:
    record = run(rewriter := Rewriter(neutral), ASKED)
    assert rewriter.paraphrased == 1
    assert [(one.name, one.written.calls) for one in record.wordings] == [("unchanged", 1), ("hardened", 0)]
    assert record.usage["refiner"].calls == 2, "what was no paraphrase was paid for too"


def test_what_was_no_paraphrase_is_not_asked_for_again(tmp_path: Path) -> None:
    refused = run(Rewriter(""), ASKED)
    first, last = refused.wordings
    short = last.model_copy(update={"rollouts": last.rollouts[1:], "verdicts": last.verdicts[1:]})
    lacking = refused.model_copy(update={"wordings": (first, short), "missing": ("wordings",)})
    asyncio.run(complete([lacking], context(rewriter := Rewriter(), ASKED), tmp_path, lambda ended: None))
    assert rewriter.paraphrased == 0
    assert Completions(tmp_path).joined(lacking) == refused


def test_a_question_that_nobody_brought_has_no_first_words_to_compare() -> None:
    cast = Cast(lambda question, sample: 2 if question == QUESTION else 3, [proposal(HIDDEN)])
    record = dug(cast, ASKED)
    assert (record.status, len(record.rounds), record.wordings) == (Status.ACCEPTED, 2, ())


def test_rollouts_that_no_judge_could_be_read_on_are_missing_and_made_up(compared: Record, tmp_path: Path) -> None:
    """In the words that were compared: no other paraphrase is asked for."""
    *others, last = compared.wordings
    short = last.model_copy(update={"rollouts": last.rollouts[1:], "verdicts": last.verdicts[1:]})
    lacking = compared.model_copy(update={"wordings": (*others, short), "missing": ("wordings",)})
    given = context(rewriter := Rewriter("Another paraphrase?"), ASKED)
    found = asyncio.run(complete([lacking], given, tmp_path, lambda ended: None))
    assert (found.pairs, found.completed, rewriter.paraphrased) == (1, 1, 0)
    assert Completions(tmp_path).joined(lacking) == compared


def test_a_record_of_which_rollouts_are_missing_says_so() -> None:
    class Unread(Rewriter):
        def __call__(self, request: Request) -> Message:
            if request.output and request.output.name == "verdict":
                return Message(role="assistant", content="hm")
            said = super().__call__(request)
            ended = bool(said.tool_calls) and said.tool_calls[0].name == "answer"
            return call("answer", answer="the year 1641") if ended and request.sample == 8 else said

    record = run(Unread(), ASKED)
    assert record.missing == ("wordings",)
    assert [len(one.rollouts) for one in record.wordings] == [3, 2, 3], "of the paraphrase half are wrong, and unread"


def test_what_stands_as_it_was_brought_is_not_compared() -> None:
    author = Author(lambda question, sample: 3)
    record = run(author, ASKED)
    assert record.draft is not None
    assert (record.draft.family, record.wordings) == ("given", ())

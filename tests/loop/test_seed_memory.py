"""What checks say of a seed's drafts is asked once, and stays the same for what stays the same."""

import asyncio
from dataclasses import replace
from typing import Any

from pipeline import prompts
from pipeline.errors import DeadlineExceeded
from pipeline.llm.base import Request
from pipeline.llm.ledger import Counted, counting
from pipeline.loop.draft_check import check_draft
from pipeline.loop.episode import run_seed
from pipeline.types import Message
from tests.graphs import changed
from tests.loop.test_draft_check import READERS, SHOWN, Checking, asked, context, draft
from tests.loop.test_episode import QUESTION, seeded

AGAIN = QUESTION.replace("settled", "first settled")


def checking(blind_to: str = "") -> Checking:
    """Checks once; its reader cannot answer this question, whatever it is shown."""

    class Blind(Checking):
        def __call__(self, request: Any) -> Message:
            inputs = prompts.unfence(request.messages[-1].content) or {}
            if request.output and request.output.name == "read" and inputs.get("question") == blind_to:
                return Message(role="assistant", content='{"answer": ""}')
            return super().__call__(request)

    cast = Blind(lambda question, sample: 3)
    cast.times = 1
    return cast


def test_the_round_says_what_the_check_said_and_asks_no_reader_again() -> None:
    there = context(checking(), READERS, "loop.rounds=0")
    model = there.llm
    with counting() as ledger:
        record = asyncio.run(run_seed(seeded(), replace(there, llm=Counted(model))))
    first = record.rounds[0]
    assert [probe.check for probe in first.probes] == ["closed_book", "oracle"]
    assert first.checked == ()
    assert asked(model, "read") == 4  # type: ignore[arg-type]
    assert ledger.spending.by_stage["round 0"]["read"].paid.calls == 4
    assert record.usage["reader"].calls == 4


def test_readers_of_a_draft_that_was_checked_and_changed_are_kept_apart() -> None:
    cast = checking(blind_to=AGAIN)
    cast.checked, cast.times = (AGAIN,), 2
    record = asyncio.run(run_seed(seeded(), context(cast, READERS, "loop.rounds=0")))
    first = record.rounds[0]
    assert first.draft is not None
    assert first.draft.question == QUESTION
    assert [probe.check for probe in first.checked] == ["closed_book", "oracle"]
    assert [probe.check for probe in first.probes] == ["closed_book", "oracle"]
    assert record.usage["reader"].calls == 9, "the oracle was asked twice about the first"


def test_the_same_words_are_answered_from_memory_once_whatever_the_hops_are() -> None:
    there = context(checking(), 'checks.enabled=["closed_book"]')
    made = draft()
    last = made.hops[-1].model_copy(update={"sub_question": "In which year was {h1} settled?"})
    other = changed(made, hops=(*made.hops[:-1], last))
    usage = []
    for version in (made, other, made.model_copy(update={"question": AGAIN})):
        _, probes = asyncio.run(check_draft(version, 3, SHOWN, there))
        usage.append([(p.check, p.usage.calls, len(p.answers)) for p in probes if p.check == "closed_book"])
    assert usage == [[("closed_book", 3, 3)], [("closed_book", 0, 3)], [("closed_book", 3, 3)]]
    assert asked(there.llm, "read") == 6  # type: ignore[arg-type]


def test_a_check_that_its_clock_ended_is_made_again_as_if_it_were_the_first() -> None:
    cast, late = checking(blind_to=AGAIN), [True]
    cast.checked, cast.times = (AGAIN,), 1

    def model(request: Request) -> Message | DeadlineExceeded:
        if late and request.tools and request.messages[-1].name == "check":
            late.clear()
            return DeadlineExceeded("late")
        return cast(request)

    once, again = [asyncio.run(run_seed(seeded(), context(said, READERS, "loop.rounds=0"))) for said in (cast, model)]
    assert not late
    assert once.model_dump_json() == again.model_dump_json()
    assert once.usage["reader"].calls == 9

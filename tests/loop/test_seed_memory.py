"""Checks of a seed's drafts run once, and their results stay the same while their inputs do."""

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
from tests.graph_drafts import changed
from tests.loop.cast import QUESTION, make_seed
from tests.loop.checked_drafts import READERS, SHOWN, Checking, count_requests, make_context, make_draft

AGAIN = QUESTION.replace("settled", "first settled")


def make_checking_cast(blind_to: str = "") -> Checking:
    """Make a cast that checks once, and whose reader cannot answer this question."""

    class Blind(Checking):
        def __call__(self, request: Any) -> Message:
            inputs = prompts.unfence(request.messages[-1].content) or {}
            if request.output and request.output.name == "read" and inputs.get("question") == blind_to:
                return Message(role="assistant", content='{"answer": ""}')
            return super().__call__(request)

    cast = Blind(lambda question, sample: 3)
    cast.times = 1
    return cast


def test_a_round_reuses_the_results_of_its_check() -> None:
    context = make_context(make_checking_cast(), READERS, "loop.rounds=0")
    model = context.llm
    with counting() as ledger:
        record = asyncio.run(run_seed(make_seed(), replace(context, llm=Counted(model))))
    first = record.rounds[0]
    assert [probe.check for probe in first.probes] == ["closed_book", "oracle"]
    assert first.checked == ()
    assert count_requests(model, "read") == 4  # type: ignore[arg-type]
    assert ledger.spending.by_stage["round 0"]["read"].paid.calls == 4
    assert record.usage["reader"].calls == 4


def test_readers_of_a_draft_that_was_checked_and_changed_are_kept_apart() -> None:
    cast = make_checking_cast(blind_to=AGAIN)
    cast.checked, cast.times = (AGAIN,), 2
    record = asyncio.run(run_seed(make_seed(), make_context(cast, READERS, "loop.rounds=0")))
    first = record.rounds[0]
    assert first.draft is not None
    assert first.draft.question == QUESTION
    assert [probe.check for probe in first.checked] == ["closed_book", "oracle"]
    assert [probe.check for probe in first.probes] == ["closed_book", "oracle"]
    assert record.usage["reader"].calls == 9, "the oracle was asked twice about the first"


def test_a_question_is_answered_from_memory_once_whatever_its_hops() -> None:
    context = make_context(make_checking_cast(), 'checks.enabled=["closed_book"]')
    first = make_draft()
    last = first.hops[-1].model_copy(update={"sub_question": "In which year was {h1} settled?"})
    other_hops = changed(first, hops=(*first.hops[:-1], last))
    usage = []
    for version in (first, other_hops, first.model_copy(update={"question": AGAIN})):
        _, probes = asyncio.run(check_draft(version, 3, SHOWN, context))
        usage.append([(p.check, p.usage.calls, len(p.answers)) for p in probes if p.check == "closed_book"])
    assert usage == [[("closed_book", 3, 3)], [("closed_book", 0, 3)], [("closed_book", 3, 3)]]
    assert count_requests(context.llm, "read") == 6  # type: ignore[arg-type]


def test_a_check_that_its_clock_ended_is_made_again_as_if_it_were_the_first() -> None:
    cast, late = make_checking_cast(blind_to=AGAIN), [True]
    cast.checked, cast.times = (AGAIN,), 1

    def model(request: Request) -> Message | DeadlineExceeded:
        if late and request.tools and request.messages[-1].name == "check":
            late.clear()
            return DeadlineExceeded("late")
        return cast(request)

    undisturbed, interrupted = [
        asyncio.run(run_seed(make_seed(), make_context(script, READERS, "loop.rounds=0"))) for script in (cast, model)
    ]
    assert not late
    assert undisturbed.model_dump_json() == interrupted.model_dump_json()
    assert undisturbed.usage["reader"].calls == 9

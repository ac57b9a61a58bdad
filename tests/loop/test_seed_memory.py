"""What checks say of a seed's drafts is asked once, and stays the same for what stays the same."""

import asyncio
from dataclasses import replace

import pytest

from pipeline.errors import DeadlineExceeded
from pipeline.llm.base import Request
from pipeline.llm.ledger import Counted, counting
from pipeline.loop.draft_check import check_draft
from pipeline.loop.episode import run_seed
from pipeline.types import Message
from tests.loop.test_draft_check import BOTH, LEADING, SHOWN, asked, context, draft, reader
from tests.loop.test_episode import QUESTION, seeded


@pytest.mark.parametrize("ahead", ["no such town", "founded by monks"])
def test_the_audit_says_what_the_check_said_and_asks_no_reader_again(ahead: str) -> None:
    there = context(reader(ahead=ahead), BOTH, "loop.rounds=0")
    model = there.llm
    with counting() as ledger:
        record = asyncio.run(run_seed(seeded(), replace(there, llm=Counted(model))))
    first = record.rounds[0]
    told = [m.content for m in first.agent.messages if m.name == "check"]
    assert first.unsound is (ahead == "founded by monks")
    assert len(told) == first.unsound
    assert all(said.startswith("It would be sent back: yes, as too_easy") for said in told)
    assert all(finding.check in said and finding.detail in said for finding in first.findings for said in told)
    assert [probe.check for probe in first.probes] == ["end", "naturalness"]
    assert first.checked == ()
    for role, times in (("grade", 1 if first.unsound else 2), ("skip", 1), ("commit", 1)):
        assert asked(model, role) == times  # type: ignore[arg-type]
        paid = ledger.spending.by_stage["round 0"].get(role)
        assert (paid.paid.calls if paid else 0) == times
    assert record.usage["reader"].calls == (3 if first.unsound else 4)


def test_readers_of_a_draft_that_was_checked_and_changed_are_kept_apart() -> None:
    cast = reader()
    cast.checked, cast.times = (LEADING,), 2
    record = asyncio.run(run_seed(seeded(), context(cast, BOTH, "loop.rounds=0")))
    first = record.rounds[0]
    assert first.draft is not None
    assert first.draft.question == QUESTION
    assert [probe.check for probe in first.checked] == ["end", "naturalness"]
    assert [probe.check for probe in first.probes] == ["end", "naturalness"]
    assert record.usage["reader"].calls == 6  # the queries for its end were written once


def test_an_end_that_stays_is_attacked_with_the_searches_of_before() -> None:
    """Else the same chain passes in one wording and fails in the next, by what a reader happens to think of."""
    said = iter(["no such town", "founded there"])
    there = context(lambda request: reader(ahead=next(said) if request.output.name == "skip" else "")(request), BOTH)
    made = [draft(question) for question in (QUESTION, QUESTION.replace("settled", "first settled"))]
    last = made[0].hops[-1].model_copy(update={"sub_question": "When was Vessby founded?"})
    made.append(made[0].model_copy(update={"hops": (*made[0].hops[:-1], last)}))
    told = [asyncio.run(check_draft(one, 3, SHOWN, there)) for one in made]
    assert [probes[0].searches[1].query for _, probes in told] == ["no such town", "no such town", "founded there"]


def test_the_same_words_are_graded_and_answered_from_memory_once_whatever_the_hops_are() -> None:
    there = context(reader(), 'checks.run=["naturalness", "closed_book"]')
    made = draft()
    last = made.hops[-1].model_copy(update={"sub_question": "When was Vessby founded?"})
    other = made.model_copy(update={"hops": (*made.hops[:-1], last)})
    reworded = made.model_copy(update={"question": QUESTION.replace("settled", "first settled")})
    usage = []
    for one in (made, other, reworded):
        told, probes = asyncio.run(check_draft(one, 3, SHOWN, there))
        assert told == ""
        usage.append([(probe.check, probe.usage.calls, len(probe.answers)) for probe in probes])
    asks = [("closed_book", 3, 3), ("naturalness", 2, 2)]
    assert usage == [asks, [(check, 0, answers) for check, _, answers in asks], asks]
    assert (asked(there.llm, "read"), asked(there.llm, "grade")) == (6, 4)  # type: ignore[arg-type]


def test_a_check_that_its_clock_ended_is_made_again_as_if_it_were_the_first() -> None:
    cast, late = reader(), [True]
    cast.checked, cast.times = (LEADING,), 1

    def model(request: Request) -> Message | DeadlineExceeded:
        if late and request.tools and request.messages[-1].name == "check":
            late.clear()
            return DeadlineExceeded("late")
        return cast(request)

    once, again = [asyncio.run(run_seed(seeded(), context(said, BOTH, "loop.rounds=0"))) for said in (cast, model)]
    assert not late
    assert once.model_dump_json() == again.model_dump_json()
    assert once.usage["reader"].calls == 6

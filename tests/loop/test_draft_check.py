"""The `check` tool says what the audit will say, and names nothing that the agent was not shown."""

import asyncio
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from pipeline import config
from pipeline.agents.calls import AgentState
from pipeline.context import RunContext
from pipeline.llm.cached import Cached
from pipeline.llm.ledger import Counted, counting
from pipeline.loop.audit import audit
from pipeline.loop.draft_check import check_draft
from pipeline.loop.episode import run_seed
from pipeline.loop.strategies import sage
from pipeline.loop.strategies.base import to_draft
from pipeline.store.cache import Cache
from pipeline.types import Draft, Message, Passage, Stop
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN, Cast, call, proposal, seeded
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

BACK = passage("holm", "Ada Holm", f"{HOLM.text} She directed Lantern Bay.")
LINKED = Shelf(FILM, BACK, TOWN)
"""Where the second passage links back to the first: a check has something to say of a good draft."""
SHOWN = {p.shown_id: p for p in (FILM, HOLM, TOWN)}


def context(cast: object, *sets: str, shelf: Shelf = SHELF) -> RunContext:
    settings = config.build(sets=["retrieval.k=1", *sets])
    return RunContext(config=settings, llm=ScriptedLLM(cast), retriever=shelf, lineage=LINEAGE)  # type: ignore[arg-type]


def draft(question: str = QUESTION, shown: dict[str, Passage] = SHOWN) -> Draft:
    made = to_draft(orjson.dumps(proposal(question)).decode(), AgentState(passages=shown))
    assert made is not None
    return made


def said(made: Draft, shelf: Shelf = SHELF, target: int = 3) -> str:
    return asyncio.run(check_draft(made, target, SHOWN, context([], shelf=shelf)))[0]


def test_nothing_is_said_of_a_draft_that_nothing_is_held_against() -> None:
    assert asyncio.run(audit(draft(), 3, SHELF, 1)) == ()
    assert said(draft()) == ""


def test_one_that_passes_in_spite_of_a_hint_is_told_where_its_passages_are_found() -> None:
    told = said(draft(shown={p.shown_id: p for p in (FILM, BACK, TOWN)}), LINKED)
    assert told.startswith("These checks let it pass")
    assert "Note: the passage of hops[1] names what hops[0] is about too, which may be needless." in told
    assert "Of 1 passages, one search with the question finds hops[0] at rank 1.\n" in told
    assert "- hops[0]: hops[0] at rank 1" in told
    assert "- hops[2] by 'When was settled': hops[0] at rank 1" in told


def test_what_the_audit_finds_is_said_with_the_search_that_found_it() -> None:
    leading = f"{QUESTION[:-1]}, in Vessby on the Tarn, settled by monks?"
    made = draft(leading)
    findings = asyncio.run(audit(made, 3, SHELF, 1))
    told = said(made)
    assert findings
    assert any(finding.fatal for finding in findings)
    assert told.startswith("It would be sent back as too_easy")
    assert all(finding.check in told and finding.detail in told for finding in findings)


def test_the_title_of_a_passage_that_was_not_shown_is_not_named() -> None:
    last = TOWN.text.replace("1641", "1702")
    rival = passage("rival", "Annals of the Valley", f"Vessby. {last}")
    shelf = Shelf(FILM, HOLM, TOWN, rival)
    made = draft()
    findings = asyncio.run(audit(made, 3, shelf, 5))
    assert any("Annals" in finding.detail for finding in findings)
    told = asyncio.run(check_draft(made, 3, SHOWN, replace(context([], "retrieval.k=5"), retriever=shelf)))[0]
    assert "another answer" in told
    assert "Annals" not in told
    assert "1702" not in told
    read = {**SHOWN, rival.shown_id: rival}
    told, _ = asyncio.run(check_draft(made, 3, read, replace(context([], "retrieval.k=5"), retriever=shelf)))
    where = "where it says 'Vessby was founded by monks around 1702.'"
    assert f"'Annals of the Valley' gives another answer to its last step, {where}" in told


class Checking(Cast):
    """Checks its draft so often before it proposes it."""

    times = 2

    def __call__(self, request: object) -> Message:
        made = super().__call__(request)  # type: ignore[arg-type]
        turns = sum(message.role == "assistant" for message in request.messages)  # type: ignore[attr-defined]
        if made.tool_calls and made.tool_calls[0].name == "propose" and turns < 2 + self.times:
            return call("check", **self.first)
        return made


@pytest.mark.parametrize(("times", "answered"), [(0, 0), (2, 2), (4, 3)])
def test_checks_are_counted_and_are_no_searches(times: int, answered: int) -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times = times
    done = asyncio.run(sage.propose(seeded(), context(cast, "generator.checks=3", shelf=LINKED)))
    told = [m.content for m in done.trajectory.messages if m.name == "check"]
    assert len(told) == times
    assert sum("let it pass" in content for content in told) == answered
    assert sum("All 3 checks are used up" in content for content in told) == times - answered
    assert len(done.trajectory.calls) == 2
    assert done.draft is not None
    assert done.trajectory.format_errors == 0


def test_a_draft_that_nothing_is_held_against_is_taken_without_a_further_turn() -> None:
    there = context(Checking(lambda question, sample: 3))
    done = asyncio.run(sage.propose(seeded(), there))
    assert done.draft is not None
    assert done.draft.question == QUESTION
    assert [message.tool_calls[0].name for message in done.trajectory.messages if message.tool_calls] == [
        "search",
        "search",
        "check",
    ]
    assert done.trajectory.stop is Stop.ANSWERED


def test_a_check_of_what_was_not_read_is_a_format_error() -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times = 1
    right = cast.first["hops"]
    wrong = [{**hop, "passage_id": "p000000000000"} for hop in right]

    def model(request: object) -> Message:
        made = cast(request)
        return call("check", **{**cast.first, "hops": wrong}) if made.tool_calls[0].name == "check" else made

    done = asyncio.run(sage.propose(seeded(), context(model)))
    assert done.trajectory.format_errors == 1
    assert done.draft is not None


@pytest.mark.parametrize("off", ["generator.checks=0", "loop.audit=false"])
def test_without_checks_or_audit_the_tool_is_not_offered(off: str) -> None:
    there = context(Cast(lambda question, sample: 3), off)
    asyncio.run(sage.propose(seeded(), there))
    assert [tool.name for tool in there.llm.requests[0].tools] == ["search", "open", "propose"]  # type: ignore[attr-defined]


class Read(Checking):
    """With a reader that grades wordings and skips ahead."""

    times, grade, ahead = 1, "4", "no such town"

    def __call__(self, request: object) -> Message:
        asked = request.output.name if request.output else ""  # type: ignore[attr-defined]
        if asked == "grade":
            return Message(role="assistant", content=f'{{"reason": "stacked clauses", "grade": {self.grade}}}')
        if asked == "skip":
            return Message(
                role="assistant", content=orjson.dumps({"queries": [[], [self.ahead, f"{self.ahead} Tarn"]]}).decode()
            )
        return super().__call__(request)


BOTH = 'checks.run=["naturalness", "skip_ahead"]'


def asked(llm: ScriptedLLM, role: str) -> int:
    return sum(request.output is not None and request.output.name == role for request in llm.requests)


def reader(**said: str) -> Read:
    cast = Read(lambda question, sample: 3)
    for name, value in said.items():
        setattr(cast, name, value)
    return cast


def test_what_a_reader_says_is_told_before_the_audit_asks_it_and_all_of_it_at_once() -> None:
    told, probes = asyncio.run(check_draft(draft(), 3, SHOWN, context(reader(), BOTH)))
    assert told == ""
    assert [(probe.check, probe.usage.calls) for probe in probes] == [("naturalness", 1), ("skip_ahead", 1)]
    linked = draft(shown={p.shown_id: p for p in (FILM, BACK, TOWN)})
    told, _ = asyncio.run(check_draft(linked, 3, SHOWN, context(reader(), BOTH, shelf=LINKED)))
    assert "- naturalness: a reader graded the wording 4 of 5; 4 is enough" in told
    told, _ = asyncio.run(check_draft(draft(), 3, SHOWN, context(reader(grade="2", ahead="founded by monks"), BOTH)))
    assert told.startswith("It would be sent back as unsound, cause unnatural.")
    assert "- naturalness: a reader graded the wording 2 of 5; 4 is enough: stacked clauses" in told
    assert "- skip_ahead (hops[0], hops[1]): the searches 'founded by monks' and" in told


def test_a_reader_is_asked_of_what_the_free_checks_send_back_too_but_not_where_it_is_not_to_be() -> None:
    leading = draft(f"{QUESTION[:-1]}, in Vessby on the Tarn, settled by monks?")
    for sets, times in ((BOTH, 1), ('checks.run=["closed_book"]', 0)):
        there = context(reader(grade="2"), sets)
        told, probes = asyncio.run(check_draft(leading, 3, SHOWN, there))
        assert told.startswith("It would be sent back as too_easy")
        assert ("naturalness: a reader graded the wording 2 of 5" in told) is bool(times)
        assert len(probes) == 2 * times
        assert asked(there.llm, "grade") == asked(there.llm, "skip") == times  # type: ignore[arg-type]


def test_a_reader_that_says_nothing_readable_is_no_error_of_the_author() -> None:
    told, probes = asyncio.run(check_draft(draft(), 3, SHOWN, context(reader(grade='"?"'), BOTH)))
    assert told == ""
    assert [probe.check for probe in probes] == ["skip_ahead"]


@pytest.mark.parametrize(("cached", "paid"), [(True, 1), (False, 2)])
@pytest.mark.parametrize("ahead", ["no such town", "founded by monks"])
def test_the_audit_says_what_the_check_said_and_its_reader_is_paid_once(
    cached: bool, paid: int, ahead: str, tmp_path: Path
) -> None:
    there = context(reader(ahead=ahead), BOTH, "loop.rounds=0", "loop.control_share=0")
    model = there.llm
    counted = Counted(model)
    there = replace(there, llm=Cached(counted, Cache(tmp_path / "c")) if cached else counted)
    with counting() as ledger:
        record = asyncio.run(run_seed(seeded(), there))
    first = record.rounds[0]
    told = [m.content for m in first.agent.messages if m.name == "check"]
    assert first.unsound is (ahead == "founded by monks")
    assert len(told) == first.unsound
    assert all(said.startswith("It would be sent back as too_easy") for said in told)
    assert all(finding.check in said and finding.detail in said for finding in first.findings for said in told)
    assert [probe.check for probe in first.checked] == ["naturalness", "skip_ahead"]
    assert first.checked == first.probes
    for role in ("grade", "skip"):
        assert asked(model, role) == paid  # type: ignore[arg-type]
        spent = ledger.spending.by_stage["round 0"][role]
        assert (spent.paid.calls, spent.cached.calls) == (paid, 2 - paid)
    assert record.usage["reader"].calls == 4


def test_a_draft_whose_last_passage_one_search_with_the_question_finds_is_told_what_that_means() -> None:
    near = draft(f"{QUESTION[:-1]}, in Vessby on the Tarn?")
    told = asyncio.run(check_draft(near, 1, SHOWN, context([], "retrieval.k=1")))[0]
    assert "one search with the question finds hops[2] at rank 1. The last hop's passage is among them" in told
    far = asyncio.run(check_draft(draft(), 3, SHOWN, context([], "retrieval.k=1")))[0]
    assert "The last hop's passage is among them" not in far

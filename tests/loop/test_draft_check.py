"""The `check` tool says what the audit will say, and names nothing that the agent was not shown."""

import asyncio
from dataclasses import replace

import orjson
import pytest

from pipeline import config
from pipeline.agents.calls import AgentState
from pipeline.context import RunContext
from pipeline.loop.audit import audit
from pipeline.loop.draft_check import check_draft
from pipeline.loop.strategies import sage
from pipeline.loop.strategies.base import to_draft
from pipeline.types import Draft, Message, Passage
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN, Cast, call, proposal, seeded
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

SHOWN = {p.shown_id: p for p in (FILM, HOLM, TOWN)}


def context(cast: object, *sets: str, shelf: Shelf = SHELF) -> RunContext:
    settings = config.build(sets=["retrieval.k=1", *sets])
    return RunContext(config=settings, llm=ScriptedLLM(cast), retriever=shelf, lineage=LINEAGE)  # type: ignore[arg-type]


def draft(question: str = QUESTION, shown: dict[str, Passage] = SHOWN) -> Draft:
    made = to_draft(orjson.dumps(proposal(question)).decode(), AgentState(passages=shown))
    assert made is not None
    return made


def said(made: Draft, shelf: Shelf = SHELF, target: int = 3) -> str:
    return asyncio.run(check_draft(made, target, SHOWN, context([], shelf=shelf)))


def test_a_good_draft_passes_and_is_told_where_its_passages_are_found() -> None:
    told = said(draft())
    assert asyncio.run(audit(draft(), 3, SHELF, 1)) == ()
    assert told.startswith("The automatic checks let it pass")
    assert "- the question: " in told
    assert "- hops[0]: hops[0] at rank 1" in told


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
    told = asyncio.run(check_draft(made, 3, SHOWN, replace(context([], "retrieval.k=5"), retriever=shelf)))
    assert "another answer" in told
    assert "Annals" not in told
    assert "1702" not in told
    read = {**SHOWN, rival.shown_id: rival}
    assert "Annals" in asyncio.run(check_draft(made, 3, read, replace(context([], "retrieval.k=5"), retriever=shelf)))


class Checking(Cast):
    """Checks its draft so often before it proposes it."""

    times = 2

    def __call__(self, request: object) -> Message:
        made = super().__call__(request)  # type: ignore[arg-type]
        turns = sum(message.role == "assistant" for message in request.messages)  # type: ignore[attr-defined]
        if made.tool_calls and made.tool_calls[0].name == "propose" and turns < 2 + self.times:
            return call("check", **self.first)
        return made


@pytest.mark.parametrize(("times", "answered"), [(0, 0), (2, 2), (6, 4)])
def test_checks_are_counted_and_are_no_searches(times: int, answered: int) -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times = times
    done = asyncio.run(sage.propose(seeded(), context(cast, "generator.checks=4")))
    told = [m.content for m in done.trajectory.messages if m.name == "check"]
    assert len(told) == times
    assert sum("let it pass" in content for content in told) == answered
    assert sum("All 4 checks are used up" in content for content in told) == times - answered
    assert len(done.trajectory.calls) == 2
    assert done.draft is not None
    assert done.trajectory.format_errors == 0


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

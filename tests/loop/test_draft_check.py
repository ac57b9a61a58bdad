"""The `check` tool says what the audit will say, and names nothing that the agent was not shown."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import orjson
import pytest

from pipeline import config
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.draft_check import check_draft
from pipeline.loop.episode import run_seed
from pipeline.loop.strategies import sage
from pipeline.prompts import unfence
from pipeline.types import Draft, Message, Passage, Stop
from tests.graphs import drafted
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN, Cast, call, proposal, seeded
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

LEADING = f"{QUESTION[:-1]}, in 1641?"
"""A wording that is sent back: it tells the answer."""
SHOWN = {p.shown_id: p for p in (FILM, HOLM, TOWN)}


def context(cast: object, *sets: str, shelf: Shelf = SHELF) -> RunContext:
    settings = config.build(
        sets=[
            "strategy='sage'",
            "difficulty.adversarial=false",
            "retrieval.k=1",
            "checks.enabled=[]",
            "checks.naturalness=4",
            *sets,
        ]
    )
    return RunContext(config=settings, llm=ScriptedLLM(cast), retriever=shelf, lineage=LINEAGE)  # type: ignore[arg-type]


def draft(question: str = QUESTION, shown: dict[str, Passage] = SHOWN) -> Draft:
    return drafted(question, proposal()["steps"], list(shown.values()))


def said(made: Draft, shelf: Shelf = SHELF, target: int = 3) -> str:
    return asyncio.run(check_draft(made, target, SHOWN, context([], shelf=shelf)))[0]


def test_nothing_is_said_of_a_draft_that_nothing_is_held_against() -> None:
    assert said(draft()) == ""


def test_what_is_found_is_said_with_what_to_do() -> None:
    verdict, line = said(draft(LEADING)).splitlines()
    assert verdict == "It would be sent back: yes, as unsound, cause generator_error."
    assert line == "- wording: the question holds its answer, '1641': take it out"


def test_the_title_of_a_passage_that_was_not_shown_is_not_named() -> None:
    last = TOWN.text.replace("1641", "1702")
    rival = passage("rival", "Annals of the Valley", f"Vessby. {last}")
    shelf = Shelf(FILM, HOLM, TOWN, rival)
    made = draft()
    told = asyncio.run(check_draft(made, 3, SHOWN, replace(context([], "retrieval.k=5"), retriever=shelf)))[0]
    assert "[hidden title] gives another answer" in told
    assert "Annals" not in told
    assert "1702" not in told
    read = {**SHOWN, rival.shown_id: rival}
    told, _ = asyncio.run(check_draft(made, 3, read, replace(context([], "retrieval.k=5"), retriever=shelf)))
    where = "where it says 'Vessby was founded by monks around 1702.'"
    assert f"'Annals of the Valley' gives another answer to its last step, {where}" in told


class Checking(Cast):
    """Checks a draft so often, in the wordings of `checked` first, before it proposes its own."""

    times = 2
    checked: tuple[str, ...] = ()

    def __call__(self, request: object) -> Message:
        made = super().__call__(request)  # type: ignore[arg-type]
        done = sum(message.role == "assistant" for message in request.messages) - 2  # type: ignore[attr-defined]
        if made.tool_calls and made.tool_calls[0].name == "propose" and done < self.times:
            question = self.checked[done] if done < len(self.checked) else self.first["question"]
            return call("check", draft={**self.first, "question": question})
        return made


@pytest.mark.parametrize(("times", "answered"), [(0, 0), (2, 2), (4, 3)])
def test_checks_are_counted_and_are_no_searches(times: int, answered: int) -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times, cast.checked = times, (LEADING,) * times
    done = asyncio.run(sage.propose(seeded(), context(cast, "generator.checks=3")))
    told = [m.content for m in done.trajectory.messages if m.name == "check"]
    assert len(told) == times
    assert sum("would be sent back: yes" in content for content in told) == answered
    assert sum("All 3 checks are used up" in content for content in told) == times - answered
    assert len(done.trajectory.calls) == 2
    assert done.draft is not None
    assert done.trajectory.format_errors == 0


def test_checked_drafts_stay_as_they_are_so_that_each_request_extends_the_previous_one() -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times, cast.checked = 3, tuple(f"{LEADING[:-1]}, or {n}?" for n in range(3))
    there = context(cast)
    asyncio.run(sage.propose(seeded(), there))
    requests = [request for request in there.llm.requests if request.tools]  # type: ignore[attr-defined]
    assert all(extends(request.messages, previous.messages) for previous, request in pairwise(requests))
    sent = requests[-1].messages
    drafts = [orjson.loads(made.arguments) for message in sent for made in message.tool_calls if made.name == "check"]
    assert drafts == [{"draft": {**cast.first, "question": question}} for question in cast.checked]
    assert sum("would be sent back" in message.content for message in sent if message.name == "check") == 3


def test_at_the_limit_only_the_last_checked_draft_stays_whole() -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times, cast.checked = 12, tuple(f"{LEADING[:-1]}, or {n}?" for n in range(12))
    model = 'models.default={provider="openai", model="m", base_url="http://127.0.0.1:9/v1"}'
    sets = [model, "generator.request_tokens=5000", "generator.checks=12"]
    there = context(cast, *sets)
    asyncio.run(sage.propose(seeded(), there))
    requests = [request for request in there.llm.requests if request.tools]  # type: ignore[attr-defined]
    breaks = [now for was, now in pairwise(requests) if not extends(now.messages, was.messages)]
    assert breaks, "the test is of a conversation that reaches its limit"
    drafts = [
        orjson.loads(made.arguments)
        for message in breaks[0].messages
        for made in message.tool_calls
        if made.name == "check"
    ]
    assert drafts[:-1] == [{"superseded": True, "question": question} for question in cast.checked[: len(drafts) - 1]]
    assert drafts[-1] == {"draft": {**cast.first, "question": cast.checked[len(drafts) - 1]}}


def extends(messages: Sequence[Message], previous: Sequence[Message]) -> bool:
    return messages[: len(previous)] == previous


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
    wrong = [{**step, "passage_id": "p000000000000"} for step in cast.first["steps"]]

    def model(request: object) -> Message:
        made = cast(request)
        return call("check", **{**cast.first, "steps": wrong}) if made.tool_calls[0].name == "check" else made

    done = asyncio.run(sage.propose(seeded(), context(model)))
    assert done.trajectory.format_errors == 1
    assert done.draft is not None


@pytest.mark.parametrize("off", ["generator.checks=0", "loop.audit=false"])
def test_without_checks_or_audit_the_tool_is_not_offered(off: str) -> None:
    there = context(Cast(lambda question, sample: 3), off)
    asyncio.run(sage.propose(seeded(), there))
    assert [tool.name for tool in there.llm.requests[0].tools] == ["search", "open", "propose"]  # type: ignore[attr-defined]


READERS = 'checks.enabled=["closed_book", "oracle"]'


def asked(llm: ScriptedLLM, role: str) -> int:
    return sum(request.output is not None and request.output.name == role for request in llm.requests)


@pytest.mark.parametrize(("question", "checks"), [(QUESTION, ["closed_book", "oracle"]), (LEADING, [])])
def test_readers_are_asked_but_of_no_draft_that_failed_before(question: str, checks: list[str]) -> None:
    _, probes = asyncio.run(check_draft(draft(question), 3, SHOWN, context(Cast(lambda _, sample: 3), READERS)))
    assert [probe.check for probe in probes] == checks


def test_what_a_reader_finds_sends_back_in_the_check_and_not_after_it() -> None:
    blind = Checking(lambda question, sample: 3)
    blind.reads, blind.times = lambda passages: "", 1
    first = asyncio.run(run_seed(seeded(), context(blind, READERS, "loop.rounds=0"))).rounds[0]
    (told,) = [m.content for m in first.agent.messages if m.name == "check"]
    assert told.startswith("It would be sent back: yes, as unsound, cause generator_error.\n- oracle: with all")
    assert [finding.check for finding in first.findings] == ["oracle"]


def test_a_reader_that_says_nothing_readable_is_no_error_of_the_author() -> None:
    cast = Cast(lambda question, sample: 3)

    def model(request: Request) -> Message | str:
        return (
            "hm"
            if request.output and not (unfence(request.messages[-1].content) or {}).get("passages")
            else cast(request)
        )

    told, probes = asyncio.run(check_draft(draft(), 3, SHOWN, context(model, READERS)))
    assert told == ""
    assert [probe.check for probe in probes] == ["oracle"]

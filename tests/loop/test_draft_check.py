"""The `check` tool reports what the audit will find, and names no passage that the agent has not seen."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import orjson
import pytest

from pipeline.llm.base import Request
from pipeline.loop.draft_check import check_draft
from pipeline.loop.episode import run_seed
from pipeline.loop.strategies import sage
from pipeline.prompts import unfence
from pipeline.types import Draft, Message, Stop
from tests.loop.cast import FILM, HOLM, QUESTION, SHELF, TOWN, Cast, call, make_seed
from tests.loop.checked_drafts import LEADING, READERS, SHOWN, Checking, make_context, make_draft
from tests.passages import Shelf, passage


def check_text(draft: Draft, shelf: Shelf = SHELF, target: int = 3) -> str:
    return asyncio.run(check_draft(draft, target, SHOWN, make_context([], shelf=shelf)))[0]


def test_a_sound_draft_gets_no_message() -> None:
    assert check_text(make_draft()) == ""


def test_the_message_names_the_finding_and_the_remedy() -> None:
    verdict, line = check_text(make_draft(LEADING)).splitlines()
    assert verdict == "It would be sent back: yes, as unsound, cause generator_error."
    assert line == "- wording: the question holds its answer, '1641': take it out"


def test_the_title_of_a_passage_that_was_not_shown_is_not_named() -> None:
    last = TOWN.text.replace("1641", "1702")
    rival = passage("rival", "Annals of the Valley", f"Vessby. {last}")
    shelf = Shelf(FILM, HOLM, TOWN, rival)
    draft, context = make_draft(), replace(make_context([], "retrieval.k=5"), retriever=shelf)
    message, _ = asyncio.run(check_draft(draft, 3, SHOWN, context))
    assert "[hidden title] gives another answer" in message
    assert "Annals" not in message
    assert "1702" not in message
    message, _ = asyncio.run(check_draft(draft, 3, {**SHOWN, rival.shown_id: rival}, context))
    where = "where it says 'Vessby was founded by monks around 1702.'"
    assert f"'Annals of the Valley' gives another answer to its last step, {where}" in message


@pytest.mark.parametrize(("times", "answered"), [(0, 0), (2, 2), (4, 3)])
def test_checks_are_limited_and_are_no_searches(times: int, answered: int) -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times, cast.checked = times, (LEADING,) * times
    drafting = asyncio.run(sage.propose(make_seed(), make_context(cast, "generator.checks=3")))
    replies = [m.content for m in drafting.trajectory.messages if m.name == "check"]
    assert len(replies) == times
    assert sum("would be sent back: yes" in content for content in replies) == answered
    assert sum("All 3 checks are used up" in content for content in replies) == times - answered
    assert len(drafting.trajectory.calls) == 2
    assert drafting.draft is not None
    assert drafting.trajectory.format_errors == 0


def test_checked_drafts_stay_unchanged_so_that_each_request_extends_the_previous_one() -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times, cast.checked = 3, tuple(f"{LEADING[:-1]}, or {n}?" for n in range(3))
    context = make_context(cast)
    asyncio.run(sage.propose(make_seed(), context))
    requests = [request for request in context.llm.requests if request.tools]  # type: ignore[attr-defined]
    assert all(extends(request.messages, previous.messages) for previous, request in pairwise(requests))
    messages = requests[-1].messages
    drafts = [
        orjson.loads(checked.arguments)
        for message in messages
        for checked in message.tool_calls
        if checked.name == "check"
    ]
    assert drafts == [{"draft": {**cast.first, "question": question}} for question in cast.checked]
    assert sum("would be sent back" in message.content for message in messages if message.name == "check") == 3


def test_at_the_limit_only_the_last_checked_draft_stays_whole() -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times, cast.checked = 12, tuple(f"{LEADING[:-1]}, or {n}?" for n in range(12))
    model = 'models.default={provider="openai", model="m", base_url="http://127.0.0.1:9/v1"}'
    sets = [model, "generator.request_tokens=5000", "generator.checks=12"]
    context = make_context(cast, *sets)
    asyncio.run(sage.propose(make_seed(), context))
    requests = [request for request in context.llm.requests if request.tools]  # type: ignore[attr-defined]
    breaks = [request for previous, request in pairwise(requests) if not extends(request.messages, previous.messages)]
    assert breaks, "the test is of a conversation that reaches its limit"
    drafts = [orjson.loads(c.arguments) for m in breaks[0].messages for c in m.tool_calls if c.name == "check"]
    assert drafts[:-1] == [{"superseded": True, "question": question} for question in cast.checked[: len(drafts) - 1]]
    assert drafts[-1] == {"draft": {**cast.first, "question": cast.checked[len(drafts) - 1]}}


def extends(messages: Sequence[Message], previous: Sequence[Message]) -> bool:
    return messages[: len(previous)] == previous


def test_a_draft_that_passes_its_check_is_taken_without_another_turn() -> None:
    context = make_context(Checking(lambda question, sample: 3))
    drafting = asyncio.run(sage.propose(make_seed(), context))
    assert drafting.draft is not None
    assert drafting.draft.question == QUESTION
    calls = [call.name for message in drafting.trajectory.messages for call in message.tool_calls]
    assert calls == ["search", "search", "check"]
    assert drafting.trajectory.stop is Stop.ANSWERED


def test_checking_a_passage_that_was_not_read_is_a_format_error() -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times = 1
    wrong = [{**step, "passage_id": "p000000000000"} for step in cast.first["steps"]]

    def model(request: object) -> Message:
        output = cast(request)
        return call("check", **{**cast.first, "steps": wrong}) if output.tool_calls[0].name == "check" else output

    drafting = asyncio.run(sage.propose(make_seed(), make_context(model)))
    assert drafting.trajectory.format_errors == 1
    assert drafting.draft is not None


@pytest.mark.parametrize("off", ["generator.checks=0", "loop.audit=false"])
def test_without_checks_or_audit_the_tool_is_not_offered(off: str) -> None:
    context = make_context(Cast(lambda question, sample: 3), off)
    asyncio.run(sage.propose(make_seed(), context))
    assert [tool.name for tool in context.llm.requests[0].tools] == ["search", "open", "propose"]  # type: ignore[attr-defined]


def test_a_readers_finding_is_reported_by_the_check() -> None:
    blind = Checking(lambda question, sample: 3)
    blind.reads, blind.times = lambda passages: "", 1
    first = asyncio.run(run_seed(make_seed(), make_context(blind, READERS, "loop.rounds=0"))).rounds[0]
    (reply,) = [m.content for m in first.agent.messages if m.name == "check"]
    assert reply.startswith("It would be sent back: yes, as unsound, cause generator_error.\n- oracle: with all")
    assert [finding.check for finding in first.findings] == ["oracle"]


def test_an_unreadable_reader_is_no_fault_of_the_draft() -> None:
    cast = Cast(lambda question, sample: 3)

    def model(request: Request) -> Message | str:
        reads = request.output and not (unfence(request.messages[-1].content) or {}).get("passages")
        return "hm" if reads else cast(request)

    message, probes = asyncio.run(check_draft(make_draft(), 3, SHOWN, make_context(model, READERS)))
    assert message == ""
    assert [probe.check for probe in probes] == ["oracle"]

"""The `check` tool says what the audit will say, and names nothing that the agent was not shown."""

import asyncio
from dataclasses import replace

import orjson
import pytest

from pipeline import config
from pipeline.agents.calls import AgentState
from pipeline.context import RunContext
from pipeline.loop.draft_check import check_draft
from pipeline.loop.episode import run_seed
from pipeline.loop.examine import audit
from pipeline.loop.strategies import sage
from pipeline.loop.strategies.base import to_draft
from pipeline.types import Draft, Message, Passage, Stop
from tests.loop.test_episode import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN, Cast, call, proposal, seeded
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

LEADING = f"{QUESTION[:-1]}, in Vessby on the Tarn, settled by monks?"
"""A wording that is sent back: one search with it finds everything."""
SHOWN = {p.shown_id: p for p in (FILM, HOLM, TOWN)}


def context(cast: object, *sets: str, shelf: Shelf = SHELF) -> RunContext:
    settings = config.build(sets=["retrieval.k=1", "checks.run=[]", "checks.naturalness=4", *sets])
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


def test_what_the_audit_finds_is_said_with_the_search_that_found_it_and_nothing_else() -> None:
    made = draft(LEADING)
    findings = asyncio.run(audit(made, 3, SHELF, 1))
    told = said(made)
    assert any(finding.fatal for finding in findings)
    verdict, *lines = told.splitlines()
    assert verdict == "It would be sent back: yes, as too_easy, cause over_specified."
    searched = [line for line in lines if line.startswith("  searched '")]
    broken = [line for line in lines if line not in searched]
    assert len(searched) == sum(len(finding.searches) for finding in findings)
    assert [line.partition(" (")[0] for line in broken] == [f"- {finding.check}" for finding in findings]
    assert all(finding.detail in line for finding, line in zip(findings, broken, strict=True))


def test_the_title_of_a_passage_that_was_not_shown_is_not_named() -> None:
    last = TOWN.text.replace("1641", "1702")
    rival = passage("rival", "Annals of the Valley", f"Vessby. {last}")
    shelf = Shelf(FILM, HOLM, TOWN, rival)
    made = draft()
    findings = asyncio.run(audit(made, 3, shelf, 5))
    assert any("Annals" in finding.detail for finding in findings)
    told = asyncio.run(check_draft(made, 3, SHOWN, replace(context([], "retrieval.k=5"), retriever=shelf)))[0]
    assert "another answer" in told
    assert "[hidden title] gives another answer" in told
    assert "Annals" not in told
    assert "1702" not in told
    read = {**SHOWN, rival.shown_id: rival}
    told, _ = asyncio.run(check_draft(made, 3, read, replace(context([], "retrieval.k=5"), retriever=shelf)))
    where = "where it says 'Vessby was founded by monks around 1702.'"
    assert f"'Annals of the Valley' gives another answer to its last step, {where}" in told


def test_what_is_unsound_hides_nothing_else_that_is_found_without_a_call() -> None:
    made = draft(f"{LEADING[:-1]}, in 1641?")
    told = said(made, target=4)
    assert told.startswith("It would be sent back: yes, as unsound, cause generator_error.")
    lines = [line.partition(" ")[2] for line in told.splitlines() if line.startswith("- ")]
    named = [line.split(" ")[0].rstrip(":") for line in lines]
    assert named == ["answer_in_question", "too_few_hops", "exposed_intermediate"]
    assert [one.check for one in asyncio.run(audit(made, 4, SHELF, 1))] == ["answer_in_question"]


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


def test_of_the_drafts_that_were_checked_only_the_last_is_sent_again_whole() -> None:
    cast = Checking(lambda question, sample: 3)
    cast.times, cast.checked = 3, tuple(f"{LEADING[:-1]}, or {n}?" for n in range(3))
    there = context(cast)
    asyncio.run(sage.propose(seeded(), there))
    sent = there.llm.requests[-1].messages  # type: ignore[attr-defined]
    *before, last = [orjson.loads(made.arguments) for one in sent for made in one.tool_calls if made.name == "check"]
    assert before == [{"superseded": True, "question": question} for question in cast.checked[:2]]
    assert last == {"draft": {**cast.first, "question": cast.checked[2]}}
    assert sum("would be sent back" in one.content for one in sent if one.name == "check") == 3


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
    """With a reader that grades wordings, attacks the end, knows it by monks, and answers from three passages as from
    any others."""

    times, grade, ahead = 1, "4", "no such town"

    def __call__(self, request: object) -> Message:
        asked = request.output.name if request.output else ""  # type: ignore[attr-defined]
        if asked == "grade":
            return Message(role="assistant", content=f'{{"reason": "stacked clauses", "grade": {self.grade}}}')
        if asked == "skip":
            return Message(role="assistant", content=orjson.dumps({"queries": [self.ahead]}).decode())
        if asked == "commit":
            said = {"fits": [TOWN.shown_id], "answer": "1641"} if "monks" in self.ahead else {}
            return Message(role="assistant", content=orjson.dumps(said).decode())
        return super().__call__(request)


BOTH = 'checks.run=["naturalness", "end"]'


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
    assert [(probe.check, probe.usage.calls) for probe in probes] == [("end", 2), ("naturalness", 2)]
    told, _ = asyncio.run(check_draft(draft(), 3, SHOWN, context(reader(grade="2"), BOTH)))
    assert told.startswith("It would be sent back: yes, as unsound, cause unnatural.")
    assert "- naturalness: a reader graded the wording 2, 2 of 5, and 4 in most readings is enough: stacked" in told
    poor = reader(ahead="founded by monks", grade="2")
    told, probes = asyncio.run(check_draft(draft(), 3, SHOWN, context(poor, BOTH)))
    assert "- end (hops[0], hops[1]): searched 'founded by monks': hops[2] at rank 1; a reader would have" in told
    assert "- naturalness: a reader graded the wording 2 of 5" in told
    assert [(probe.check, probe.usage.calls) for probe in probes] == [("end", 2), ("naturalness", 1)]


ALL = 'checks.run=["naturalness", "end", "closed_book", "oracle", "leave_one_out"]'


@pytest.mark.parametrize(("question", "failed"), [(QUESTION, False), (LEADING, True)])
def test_the_dear_readers_are_asked_too_but_of_no_draft_that_failed_before(question: str, failed: bool) -> None:
    there = context(reader(), ALL)
    _, probes = asyncio.run(check_draft(draft(question), 3, SHOWN, there))
    assert {probe.check for probe in probes} - {"naturalness", "end"} == (
        set() if failed else {"closed_book", "oracle"}
    )


def test_what_a_dear_reader_finds_sends_back_in_the_check_and_not_after_it() -> None:
    blind = reader()
    blind.reads = lambda passages: ""
    blind.times = 1
    there = context(blind, ALL, "loop.rounds=0")
    first = asyncio.run(run_seed(seeded(), there)).rounds[0]
    (told,) = [m.content for m in first.agent.messages if m.name == "check"]
    assert told.startswith(
        "It would be sent back: yes, as unsound, cause generator_error.\n- oracle (hops[1], hops[2]): with all"
    )
    assert [finding.check for finding in first.findings] == ["oracle"]


def test_a_reader_is_asked_of_what_the_free_checks_send_back_too_but_not_where_it_is_not_to_be() -> None:
    leading = draft(LEADING)
    unsound = leading.model_copy(update={"answer": "Vessby"})
    for made, sets, times in ((leading, BOTH, 1), (unsound, BOTH, 0), (leading, 'checks.run=["closed_book"]', 0)):
        there = context(reader(ahead="founded by monks"), sets)
        told, probes = asyncio.run(check_draft(made, 3, SHOWN, there))
        assert told.startswith(f"It would be sent back: yes, as {'unsound' if made is unsound else 'too_easy'}")
        assert len(probes) == 2 * times
        assert asked(there.llm, "skip") == asked(there.llm, "grade") == times  # type: ignore[arg-type]


def test_a_reader_that_says_nothing_readable_is_no_error_of_the_author() -> None:
    told, probes = asyncio.run(check_draft(draft(), 3, SHOWN, context(reader(grade='"?"'), BOTH)))
    assert told == ""
    assert [probe.check for probe in probes] == ["end"]


def test_a_broken_chain_that_no_reader_could_be_asked_about_is_told_as_it_stands() -> None:
    made = draft()
    last = made.hops[2].model_copy(update={"title": "Chronicle", "quote": "by monks around 1641."})
    broken = made.model_copy(update={"hops": (*made.hops[:2], last)})
    there = context(lambda request: "none", 'checks.run=["same_name"]')
    told, _ = asyncio.run(check_draft(broken, 3, SHOWN, there))
    assert "- broken_chain (hops[2]): neither the title nor the quote names 'Vessby'" in told

"""Each clue fits several things, any but one of them still do, and all of them fit the hidden thing alone."""

import asyncio
from collections.abc import Iterable

import orjson
import pytest

from pipeline import prompts
from pipeline.agents import cited, grading
from pipeline.agents.reasoning import Reasoning, reasoning
from pipeline.agents.tools import render
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.assess import feedback_from_audit
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.checks.clues import _others
from pipeline.loop.examine import audit, readings
from pipeline.types import (
    CONSTRAINTS,
    AnswerType,
    Call,
    Cause,
    Draft,
    Finding,
    Hop,
    Label,
    Message,
    Passage,
    Probe,
    Rollout,
    Stop,
    Trajectory,
)
from tests.loop.test_episode import LINEAGE
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, hop, passage

ASKED = {
    "river": "Which port lies on the Tarn?",
    "monks": "Which port was founded by monks?",
    "grave": "Which port has a painter's grave?",
}
FACTS = {"river": "lies on the Tarn", "monks": "was founded by monks", "grave": "has the grave of a painter"}
ALL = {"Vessby": "river monks grave", "Tolmin": "river monks", "Arnau": "river grave", "Borda": "monks grave"}
"""What is told of each port: any two of these are told of two ports."""
MOUNT = passage("mount", "Mount Orm", "A mountain. The Tarn rises here.")
QUESTION = "A port on the Tarn was founded by monks. It has a painter's grave. Which port is it?"


def told(of: dict[str, str]) -> list[Passage]:
    """A document of its own for each fact of each port."""
    return [
        passage(f"{port}-{fact}", f"Notes on {fact}", f"A note. {port} {FACTS[fact]}.")
        for port, facts in of.items()
        for fact in facts.split()
    ]


SHELF = Shelf(*told(ALL), MOUNT)


def clue(fact: str, answer: str = "Vessby") -> Hop:
    source = SHELF.passages[f"{answer}-{fact}#0"]
    return hop(source, answer, ASKED[fact])


def hiding(*hops: Hop, question: str = QUESTION, answer: str = "Vessby") -> Draft:
    return Draft(
        question=question, answer=answer, answer_type=AnswerType.ENTITY, hops=hops, family=CONSTRAINTS
    )  # fmt: skip


DRAFT = hiding(clue("river"), clue("monks"), clue("grave"))
RIVER = hop(MOUNT, "Tarn", "Which river rises at Mount Orm?", "The Tarn rises here.")


def reader(overlooks: Iterable[tuple[str, int]] = ()) -> ScriptedLLM:
    """Names every port of which the passages tell all that the clues ask, but what it `overlooks` when it is asked of
    so many clues."""

    def say(request: Request) -> Message:
        told = prompts.unfence(request.messages[-1].content) or {}
        wanted = [FACTS[fact] for fact, asked in ASKED.items() if asked in told["clues"]]
        items = []
        for port in ALL:
            held = [[one["id"] for one in told["passages"] if f"{port} {fact}" in one["text"]] for fact in wanted]
            if all(held) and (port, len(wanted)) not in overlooks:
                items.append({"item": port, "passage": held[0][0]})
        return Message(role="assistant", content=orjson.dumps({"items": items}).decode())

    return ScriptedLLM(say)


def checked(draft: Draft, of: dict[str, str] = ALL, llm: ScriptedLLM | None = None) -> CheckResult:
    context = RunContext(
        build(values={"checks": {"run": ("clues",)}}), llm or reader(), Shelf(*told(of), MOUNT), LINEAGE
    )  # fmt: skip
    return asyncio.run(readings(draft, 3, (), context))


def names(findings: Iterable[Finding]) -> list[tuple[str, Cause, tuple[int, ...]]]:
    return [(one.check, one.cause, one.hops) for one in findings if one.fatal]


def test_what_fits_each_clue_is_kept_and_nothing_is_asked_where_that_settles_all() -> None:
    result = checked(DRAFT)
    assert result.findings == ()
    kept = [(probe.check, probe.hops, set(probe.answers), probe.right) for probe in result.probes]
    assert kept == [
        ("clues", (0,), {"Vessby", "Tolmin", "Arnau"}, 1),
        ("clues", (1,), {"Vessby", "Tolmin", "Borda"}, 1),
        ("clues", (2,), {"Vessby", "Arnau", "Borda"}, 1),
    ]
    assert [search.query for search in result.probes[0].searches] == [ASKED["river"]], "the clue alone"


def test_a_clue_that_fits_the_hidden_thing_alone_is_none() -> None:
    result = checked(DRAFT, ALL | {"Arnau": "river", "Borda": "monks"})
    assert names(result.findings) == [("not_a_clue", Cause.OVER_SPECIFIED, (2,))]
    assert result.findings[0].detail.startswith("'Which port has a painter's grave?' is not a clue")
    back = feedback_from_audit(DRAFT, result.findings)
    assert back.label is Label.TOO_EASY
    assert "other things in the corpus have too" in back.message


def test_a_clue_that_the_others_do_without_is_needless() -> None:
    result = checked(DRAFT, ALL | {"Borda": "grave"})
    assert names(result.findings) == [("needless_clue", Cause.SUPERFICIAL, (0,))]
    assert "without 'Which port lies on the Tarn?'" in result.findings[0].detail
    assert [probe.hops for probe in result.probes] == [(0,), (1,), (2,), (1, 2)]
    searched = {search.query for search in result.probes[-1].searches}
    assert f"Tolmin {ASKED['grave']}" in searched, "what fits one clue is looked for with the others"


def test_a_reader_who_is_asked_of_several_clues_may_find_what_it_overlooked() -> None:
    result = checked(DRAFT, llm=reader([("Borda", 1)]))
    assert result.findings == ()
    assert [(probe.hops, set(probe.answers)) for probe in result.probes[3:]] == [((1, 2), {"Vessby", "Borda"})]


def test_another_thing_that_all_clues_fit_makes_the_question_ambiguous() -> None:
    result = checked(DRAFT, ALL | {"Tolmin": "river monks grave"})
    assert names(result.findings) == [("clues", Cause.AMBIGUOUS, (0, 1, 2))]
    assert result.findings[0].detail == "all clues together fit 'Tolmin' too"
    assert feedback_from_audit(DRAFT, result.findings).label is Label.UNSOUND


def test_what_fits_each_clue_but_not_all_of_them_is_no_second_answer() -> None:
    result = checked(DRAFT, ALL | {"Tolmin": "river monks grave"}, reader([("Tolmin", 3)]))
    assert result.findings == ()


def test_of_two_clues_each_fits_several_things() -> None:
    draft = hiding(clue("river"), clue("monks"))
    assert [probe.hops for probe in checked(draft, ALL | {"Tolmin": "river"}).probes] == [(0,), (1,)]
    assert checked(draft, ALL | {"Tolmin": "river"}).findings == ()
    assert names(checked(draft).findings) == [("clues", Cause.AMBIGUOUS, (0, 1))]


def test_what_another_retriever_of_the_audit_finds_counts_too() -> None:
    context = RunContext(
        build(values={"checks": {"run": ("clues",)}}),
        reader(),
        Shelf(*told({"Vessby": ALL["Vessby"]}), MOUNT),
        LINEAGE,
        {"other": Shelf(*told(ALL))},
    )
    result = asyncio.run(readings(DRAFT, 3, (), context))
    assert result.findings == ()
    assert [search.retriever for search in result.probes[0].searches] == ["", "other"]


@pytest.mark.parametrize(("between", "read"), [(20, True), (80, False)])
def test_a_reader_sees_all_of_a_passage_and_of_a_very_long_one_whole_sentences(between: int, read: bool) -> None:
    text = " ".join(["Which port lies on the Tarn?", *["It is not long."] * 2 * between, "Tolmin lies on the Tarn."])
    far = passage("far", "The Tarn", text)
    llm = reader()
    context = RunContext(
        build(values={"checks": {"run": ("clues",)}}), llm, Shelf(*told({"Vessby": ALL["Vessby"]}), far), LINEAGE
    )
    result = asyncio.run(readings(DRAFT, 3, (), context))
    assert ("Tolmin" in result.probes[0].answers) is read
    given = prompts.unfence(llm.requests[0].messages[-1].content) or {}
    (seen,) = [one["text"] for one in given["passages"] if one["title"] == "The Tarn"]
    assert seen == text if read else (text.startswith(seen.removesuffix(" …")) and seen.endswith(". …"))


def test_a_question_of_another_family_is_not_asked_about() -> None:
    assert checked(DRAFT.model_copy(update={"family": "conjunction"}), llm=ScriptedLLM([])) == CheckResult()


# A clue that names what another hop finds, and a fact of the hidden thing at the end.

AFTER = passage("after", "Vessby", "A port. Its harbour was opened in 1641.")
CHAINED = hiding(clue("monks"), RIVER, clue("river"), clue("grave"))
ASKING = hiding(*DRAFT.hops, hop(AFTER, "1641", "When was the harbour of Vessby opened?"), answer="1641").model_copy(
    update={"answer_type": AnswerType.DATE, "question": "When was the harbour of that port opened?"}
)


@pytest.mark.parametrize(
    ("draft", "clues", "starts", "ends"),
    [
        (DRAFT, (0, 1, 2), [0, 1, 2], (0, 1, 2)),
        (CHAINED, (0, 2, 3), [0, 1, 1, 3], (0, 2, 3)),
        (ASKING, (0, 1, 2), [0, 1, 2, 2], (0, 1, 3)),
        (DRAFT.model_copy(update={"family": "conjunction"}), (), [0, 0, 0], (2,)),
    ],
)
def test_each_clue_ends_a_chain_of_its_own(
    draft: Draft, clues: tuple[int, ...], starts: list[int], ends: tuple[int, ...]
) -> None:
    assert cited.clues(draft) == clues
    assert [cited.start(draft, number) for number in range(len(draft.hops))] == starts
    assert cited.ends(draft) == ends


def test_the_free_checks_hold_nothing_against_clues_or_what_leads_to_one() -> None:
    plain = hiding(*CHAINED.hops, question="A port has a grave, monks and a river from Mount Orm. Which is it?")
    assert [one.check for one in asyncio.run(audit(plain, 1, SHELF, 1)) if one.fatal] == []
    loose = hiding(clue("monks"), RIVER, clue("grave"))
    (found,) = asyncio.run(audit(loose, 1, SHELF, 1))
    assert (found.check, found.hops) == ("broken_chain", (2,)), "the hop before a clue leads to it"


def test_a_rollout_is_right_only_if_it_was_shown_each_clue() -> None:
    def shown(*facts: str) -> bool:
        found = [SHELF.passages[f"Vessby-{fact}#0"] for fact in facts]
        calls = tuple(
            Call(id=f"c{n}", tool="search", argument=f"q{n}", passage_ids=(one.id,)) for n, one in enumerate(found)
        )
        messages = tuple(
            Message(role="tool", tool_call_id=f"c{n}", content=render([one])) for n, one in enumerate(found)
        )
        made = Trajectory(messages=messages, calls=calls, stop=Stop.ANSWERED)
        return grading.supported(DRAFT, Rollout(sample=0, answer="Vessby", trajectory=made))

    assert shown("river", "monks", "grave")
    assert not shown("monks", "grave")


def test_its_reasoning_is_a_conjunction_whatever_its_clues_say() -> None:
    timed = DRAFT.model_copy(update={"question": "A port founded before 1650 has no wall. Which port is it?"})
    assert reasoning(timed) is Reasoning.CONJUNCTION


def test_a_longer_name_is_another_thing_where_the_hidden_one_is_named_too() -> None:
    """New York is not York; but where York is named by a longer name alone, it is meant."""
    hidden, others = {"York"}, [("New York", "York"), ("York (England)", "New York"), ("Old York", "Chester")]
    probes = [Probe(check="clues", model="m", answers=answers, right=1) for answers in others]
    assert [_others(probe, hidden) for probe in probes] == [["New York"], ["New York"], ["Chester"]]

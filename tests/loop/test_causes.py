"""Each cause on a draft written by hand after those of strong models, next to the cases it was once mistaken for."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import pytest

from pipeline.agents import grading
from pipeline.agents.judge import Grade
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop import assess
from pipeline.loop import solve_rates as band
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.examine import examine
from pipeline.loop.rival_answer import find_rival
from pipeline.loop.wording_review import review_wording
from pipeline.types import AnswerType, Cause, Draft, GradedRollout, Hop, Passage
from tests.graph_drafts import chained, changed
from tests.loop.cast import LINEAGE
from tests.loop.rollouts import make_rollout
from tests.passages import Shelf, hop, passage
from tests.scripted_llm import ScriptedLLM

DOOR = passage("door", "Gullwing", "Gullwing patches services.exe through a shim database. It is delivered by Kettle.")
LOAD = passage("load", "Kettle", "Kettle is a downloader. Kettle also delivers Sandbar to its victims.")
TOOL = passage("tool", "Sandbar", "Sandbar grew out of leaked software. Sandbar encrypts its first handshake with RC4.")
PLAIN = passage("plain", "Wharf", "Wharf is a backdoor without a shim.")
SHELF = Shelf(DOOR, LOAD, TOOL, PLAIN)
QUESTION = (
    "A backdoor patches services.exe through a shim database. Which cipher does that tool speak at the beginning which "
    "came from its downloader as well?"
)
READER = {"provider": "openai", "model": "reader"}


def make_draft(*hops: Hop, **changes: Any) -> Draft:
    base = chained(question=QUESTION, answer=hops[-1].answer, answer_type=AnswerType.ENTITY, hops=hops)
    return changed(base, **changes)


FIRST = hop(DOOR, "Kettle", "What brought Gullwing?")
SECOND = hop(LOAD, "Sandbar", "What does Kettle bring besides?")
LAST = hop(TOOL, "RC4", "Which cipher does Sandbar speak at first?")
DRAFT = make_draft(FIRST, SECOND, LAST)


def find_rivals(*passages: Passage) -> list[Cause]:
    """Return the causes that a search for rival answers finds, with these passages in the corpus too."""
    return [f.cause for f in asyncio.run(find_rival(DRAFT, Shelf(*SHELF.passages.values(), *passages), 2))]


def graded_wording(**choice: object) -> list[Cause]:
    """Return the causes that a reader with this grade gives."""
    answer = orjson.dumps({"faults": ["the tool bulked out"], "best": 1} | choice).decode()
    context = RunContext(
        build(values={"models": {"default": READER}}), ScriptedLLM(lambda request: answer), Shelf(PLAIN), LINEAGE
    )
    result = asyncio.run(review_wording(DRAFT, context))
    return [finding.cause for finding in result.findings]


def assess_rollouts(
    *results: Sequence[Passage], answers: Sequence[str] = ("RC4",), queries: Sequence[str] = ()
) -> list[Cause]:
    """Return the cause for rollouts that all got these results and gave these answers."""
    feedback = assess.explain_rollouts(
        DRAFT, grade_rollouts(*results, answers=answers, queries=queries), assess.Threshold(3)
    )
    return [feedback.cause] if feedback else []


def grade_rollouts(
    *results: Sequence[Passage], answers: Sequence[str], queries: Sequence[str] = ()
) -> list[GradedRollout]:
    rollouts = [make_rollout(*results, answer=answer, sample=n, queries=queries) for n, answer in enumerate(answers)]
    verdicts = [grading.build_verdict(DRAFT, r, Grade(right=r.answer == "RC4", method="exact")) for r in rollouts]
    return [GradedRollout(*pair) for pair in zip(rollouts, verdicts, strict=True)]


def assess_rates(*answers: str) -> list[Cause]:
    """Return the cause for rollouts of the policy model that saw all the evidence and gave these answers."""
    feedback = band.explain_solve_rate(
        DRAFT, grade_rollouts([DOOR], [LOAD], [TOOL], answers=answers), build(sets=["solve_rate=0.2-0.8"])
    )
    return [feedback.cause] if feedback else []


def run_reader_check(check: str, answers: Mapping[str, object], k: int = 4, **models: object) -> list[Cause]:
    """Return the causes of this check, with a reader that gives these answers by the name of the output."""

    def reply(request: Request) -> str:
        return orjson.dumps(answers[request.output.name if request.output else ""]).decode()

    values = {"checks": {"enabled": [check]}, "models": {"default": READER, **models}, "retrieval": {"k": k}}
    context = RunContext(build(values=values), ScriptedLLM(reply), SHELF, LINEAGE)
    return [finding.cause for finding in asyncio.run(examine(DRAFT, 3, context, review=CheckResult())).findings]


def list_facts(*passages: Passage | None) -> dict[str, object]:
    """Return an answer sheet with the right answer and a fact per hop, cited from these passages or from none."""
    facts = [{"fact": f"fact {n}", "passage": source.shown_id if source else ""} for n, source in enumerate(passages)]
    return {"read": {"facts": facts, "answer": "RC4"}}


KNOWN = {"read": {"reason": "", "answer": "RC4"}}
LISTED = passage("list", "Loaders", "Kettle delivers Gullwing and Sandbar.")
PAGE = passage("page", "Sandbar (software)", "A family of tools.")
RIVAL = passage("rival", "Notes", "Sandbar encrypts its first handshake with Camellia.")
CASES: dict[str, tuple[Callable[[], list[Cause]], list[Cause]]] = {
    "a sound draft": (find_rivals, []),
    "enough searches": (lambda: assess_rollouts([DOOR], [LOAD], [TOOL]), []),
    "one passage gives two hops": (lambda: assess_rollouts([LISTED], [TOOL]), [Cause.CO_LOCATED]),
    "one search brings the passages of two hops": (
        lambda: assess_rollouts([DOOR], [LOAD, TOOL]),
        [Cause.QUERY_COLLAPSE],
    ),
    "that search also brings a passage that gives both": (
        lambda: assess_rollouts([DOOR, LOAD, LISTED], [TOOL]),
        [Cause.QUERY_COLLAPSE],
    ),
    "it brings a page instead of a cited one": (
        lambda: assess_rollouts([DOOR], [LOAD, PAGE, TOOL]),
        [Cause.QUERY_COLLAPSE],
    ),
    "the first search brings the last passage": (lambda: assess_rollouts([DOOR, TOOL], [LOAD]), [Cause.OVER_SPECIFIED]),
    "a hop was not needed": (lambda: assess_rollouts([DOOR], [TOOL]), [Cause.SUPERFICIAL]),
    "no rollout finds a hop": (lambda: assess_rollouts([DOOR], [LOAD], answers=["", "DES"]), [Cause.RETRIEVAL_MISS]),
    "all is found and every answer differs": (
        lambda: assess_rollouts([DOOR], [LOAD], [TOOL], answers=["DES", "AES", "", "XOR"]),
        [Cause.SOLVER_ERROR],
    ),
    "most say the same": (
        lambda: assess_rollouts([DOOR], [LOAD], [TOOL], answers=["DES", "DES", "AES"]),
        [Cause.AMBIGUOUS],
    ),
    "another passage gives another answer": (lambda: find_rivals(RIVAL), [Cause.AMBIGUOUS]),
    "its passages do not state a hop": (
        lambda: run_reader_check("oracle", list_facts(DOOR, None, TOOL)),
        [Cause.GENERATOR_ERROR],
    ),
    "its passages state all": (lambda: run_reader_check("oracle", list_facts(DOOR, LOAD, TOOL)), []),
    "the reader knows it by heart": (lambda: run_reader_check("closed_book", KNOWN), []),
    "the model to be trained knows it by heart": (
        lambda: run_reader_check("closed_book", KNOWN, policies={"mine": READER}),
        [Cause.PRIOR_KNOWLEDGE],
    ),
    "a solver names a hop unseen": (
        lambda: assess_rollouts([DOOR], [TOOL], queries=["shim", "Sandbar"]),
        [Cause.PRIOR_KNOWLEDGE],
    ),
    "nobody would ask it so": (lambda: graded_wording(grades=[2]), [Cause.UNNATURAL]),
    "the model to be trained always solves it": (lambda: assess_rates(*["RC4"] * 4), [Cause.ABOVE_BAND]),
    "it never does": (lambda: assess_rates("DES", "AES", "", "XOR"), [Cause.BELOW_BAND]),
    "it does now and then": (lambda: assess_rates("DES", "RC4", "", "RC4"), []),
    "the answer changes with time": (lambda: graded_wording(grades=[5], changes_with_time=True), [Cause.UNDATED]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_draft_has_its_cause_and_no_other(case: str) -> None:
    find_causes, expected = CASES[case]
    assert find_causes() == expected


def test_every_cause_has_a_draft() -> None:
    assert {cause for _, causes in CASES.values() for cause in causes} == set(Cause)

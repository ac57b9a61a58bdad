"""Every cause on drafts made by hand after those of strong models, with the neighbours that it was once taken for."""

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
from tests.graphs import chained, changed
from tests.loop.test_assess import rollout
from tests.loop.test_episode import LINEAGE
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, hop, passage

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


def drafted(*hops: Hop, **changes: Any) -> Draft:
    draft = chained(question=QUESTION, answer=hops[-1].answer, answer_type=AnswerType.ENTITY, hops=hops)
    return changed(draft, **changes)


FIRST = hop(DOOR, "Kettle", "What brought Gullwing?")
SECOND = hop(LOAD, "Sandbar", "What does Kettle bring besides?")
LAST = hop(TOOL, "RC4", "Which cipher does Sandbar speak at first?")
DRAFT = drafted(FIRST, SECOND, LAST)


def rivals(*more: Passage) -> list[Cause]:
    """What is found for the end of the draft, with these passages on the shelf too."""
    return [f.cause for f in asyncio.run(find_rival(DRAFT, Shelf(*SHELF.passages.values(), *more), 2))]


def graded_wording(**choice: object) -> list[Cause]:
    """What a reader who grades so says of the wording."""
    answer = orjson.dumps({"faults": ["the tool bulked out"], "best": 1} | choice).decode()
    context = RunContext(
        build(values={"models": {"default": READER}}), ScriptedLLM(lambda request: answer), Shelf(PLAIN), LINEAGE
    )
    result = asyncio.run(review_wording(DRAFT, context))
    return [finding.cause for finding in result.findings]


def tried(*results: Sequence[Passage], answers: Sequence[str] = ("RC4",), queries: Sequence[str] = ()) -> list[Cause]:
    """What rollouts say that all had these results, with the answers that they gave."""
    feedback = assess.explain_rollouts(DRAFT, graded(*results, answers=answers, queries=queries), assess.Threshold(3))
    return [feedback.cause] if feedback else []


def graded(*results: Sequence[Passage], answers: Sequence[str], queries: Sequence[str] = ()) -> list[GradedRollout]:
    rollouts = [rollout(*results, answer=answer, sample=n, queries=queries) for n, answer in enumerate(answers)]
    verdicts = [grading.build_verdict(DRAFT, r, Grade(right=r.answer == "RC4", method="exact")) for r in rollouts]
    return [GradedRollout(*pair) for pair in zip(rollouts, verdicts, strict=True)]


def rated(*answers: str) -> list[Cause]:
    """What the tries of the model to be trained say that read all and gave these answers."""
    found = band.explain_solve_rate(
        DRAFT, graded([DOOR], [LOAD], [TOOL], answers=answers), build(sets=["solve_rate=0.2-0.8"])
    )
    return [found.cause] if found else []


def read(check: str, answers: Mapping[str, object], k: int = 4, **models: object) -> list[Cause]:
    """What the check says with a reader that gives these answers, by the name of what it is asked for."""

    def say(request: Request) -> str:
        return orjson.dumps(answers[request.output.name if request.output else ""]).decode()

    values = {"checks": {"enabled": [check]}, "models": {"default": READER, **models}, "retrieval": {"k": k}}
    context = RunContext(build(values=values), ScriptedLLM(say), SHELF, LINEAGE)
    return [finding.cause for finding in asyncio.run(examine(DRAFT, 3, context, review=CheckResult())).findings]


def facts(*cited: Passage | None) -> dict[str, object]:
    """A right answer with a fact for each hop, from these passages or from none."""
    listed = [{"fact": f"fact {n}", "passage": found.shown_id if found else ""} for n, found in enumerate(cited)]
    return {"read": {"facts": listed, "answer": "RC4"}}


KNOWN = {"read": {"reason": "", "answer": "RC4"}}
LISTED = passage("list", "Loaders", "Kettle delivers Gullwing and Sandbar.")
PAGE = passage("page", "Sandbar (software)", "A family of tools.")
RIVAL = passage("rival", "Notes", "Sandbar encrypts its first handshake with Camellia.")
CASES: dict[str, tuple[Callable[[], list[Cause]], list[Cause]]] = {
    "a sound draft": (rivals, []),
    "enough searches": (lambda: tried([DOOR], [LOAD], [TOOL]), []),
    "one passage gives two hops": (lambda: tried([LISTED], [TOOL]), [Cause.CO_LOCATED]),
    "one search brings the passages of two hops": (lambda: tried([DOOR], [LOAD, TOOL]), [Cause.QUERY_COLLAPSE]),
    "that search brings a passage too that gives both": (
        lambda: tried([DOOR, LOAD, LISTED], [TOOL]),
        [Cause.QUERY_COLLAPSE],
    ),
    "it brings a page in the place of a cited one": (lambda: tried([DOOR], [LOAD, PAGE, TOOL]), [Cause.QUERY_COLLAPSE]),
    "the first search brings the last passage": (lambda: tried([DOOR, TOOL], [LOAD]), [Cause.OVER_SPECIFIED]),
    "a hop was not needed": (lambda: tried([DOOR], [TOOL]), [Cause.SUPERFICIAL]),
    "no rollout finds a hop": (lambda: tried([DOOR], [LOAD], answers=["", "DES"]), [Cause.RETRIEVAL_MISS]),
    "all is found and each says something else": (
        lambda: tried([DOOR], [LOAD], [TOOL], answers=["DES", "AES", "", "XOR"]),
        [Cause.SOLVER_ERROR],
    ),
    "most say the same": (lambda: tried([DOOR], [LOAD], [TOOL], answers=["DES", "DES", "AES"]), [Cause.AMBIGUOUS]),
    "another passage gives another answer": (lambda: rivals(RIVAL), [Cause.AMBIGUOUS]),
    "its passages do not state a hop": (lambda: read("oracle", facts(DOOR, None, TOOL)), [Cause.GENERATOR_ERROR]),
    "its passages state all": (lambda: read("oracle", facts(DOOR, LOAD, TOOL)), []),
    "the reader knows it by heart": (lambda: read("closed_book", KNOWN), []),
    "the model to be trained does": (
        lambda: read("closed_book", KNOWN, policies={"mine": READER}),
        [Cause.PRIOR_KNOWLEDGE],
    ),
    "a solver names a hop unseen": (
        lambda: tried([DOOR], [TOOL], queries=["shim", "Sandbar"]),
        [Cause.PRIOR_KNOWLEDGE],
    ),
    "nobody would ask it so": (lambda: graded_wording(grades=[2]), [Cause.UNNATURAL]),
    "the model to be trained always solves it": (lambda: rated(*["RC4"] * 4), [Cause.ABOVE_BAND]),
    "it never does": (lambda: rated("DES", "AES", "", "XOR"), [Cause.BELOW_BAND]),
    "it does now and then": (lambda: rated("DES", "RC4", "", "RC4"), []),
    "the answer changes with time": (lambda: graded_wording(grades=[5], changes_with_time=True), [Cause.UNDATED]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_draft_has_the_cause_that_it_has_and_no_other(case: str) -> None:
    found, causes = CASES[case]
    assert found() == causes


def test_every_cause_has_a_draft() -> None:
    assert {cause for _, causes in CASES.values() for cause in causes} == set(Cause)

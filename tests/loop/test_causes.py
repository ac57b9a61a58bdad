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
from pipeline.loop.examine import audit, readings
from pipeline.types import AnswerType, Cause, Draft, GradedRollout, Hop, Passage
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
    draft = Draft(question=QUESTION, answer=hops[-1].answer, answer_type=AnswerType.ENTITY, hops=hops)
    return draft.model_copy(update=changes)


FIRST = hop(DOOR, "Kettle", "What brought Gullwing?")
SECOND = hop(LOAD, "Sandbar", "What does Kettle bring besides?")
LAST = hop(TOOL, "RC4", "Which cipher does Sandbar speak at first?")
DRAFT = drafted(FIRST, SECOND, LAST)


def audited(draft: Draft = DRAFT, *more: Passage) -> list[Cause]:
    """What the free checks say; the draft is to take three steps."""
    found = asyncio.run(audit(draft, 3, Shelf(*SHELF.passages.values(), *more), 2))
    return list(dict.fromkeys(finding.cause for finding in found if finding.fatal))


def tried(*results: Sequence[Passage], answers: Sequence[str] = ("RC4",), queries: Sequence[str] = ()) -> list[Cause]:
    """What rollouts say that all had these results, with the answers that they gave."""
    feedback = assess.feedback(DRAFT, graded(*results, answers=answers, queries=queries), target=3)
    return [feedback.cause] if feedback else []


def graded(*results: Sequence[Passage], answers: Sequence[str], queries: Sequence[str] = ()) -> list[GradedRollout]:
    rollouts = [rollout(*results, answer=answer, sample=n, queries=queries) for n, answer in enumerate(answers)]
    verdicts = [grading.verdict(DRAFT, r, Grade(right=r.answer == "RC4", method="exact")) for r in rollouts]
    return [GradedRollout(*pair) for pair in zip(rollouts, verdicts, strict=True)]


def rated(*answers: str) -> list[Cause]:
    """What the tries of the model to be trained say that read all and gave these answers."""
    found = band.feedback(DRAFT, graded([DOOR], [LOAD], [TOOL], answers=answers), build(sets=["solve_rate=0.2-0.8"]))
    return [found.cause] if found else []


def read(check: str, answers: Mapping[str, object], k: int = 4, **models: object) -> list[Cause]:
    """What the check says with a reader that gives these answers, by the name of what it is asked for."""

    def say(request: Request) -> str:
        return orjson.dumps(answers[request.output.name if request.output else ""]).decode()

    values = {"checks": {"run": [check]}, "models": {"default": READER, **models}, "retrieval": {"k": k}}
    context = RunContext(build(values=values), ScriptedLLM(say), SHELF, LINEAGE)
    return [finding.cause for finding in asyncio.run(readings(DRAFT, 3, (), context)).findings]


def facts(*cited: Passage | None) -> dict[str, object]:
    """A right answer with a fact for each hop, from these passages or from none."""
    listed = [{"fact": f"fact {n}", "passage": found.shown_id if found else ""} for n, found in enumerate(cited)]
    return {"read": {"facts": listed, "answer": "RC4"}, "trace": {"answers": []}}


def ended(commits: Passage | None = None, answer: str = "RC4") -> dict[str, object]:
    """An attack on the end, and what a reader makes of what it finds."""
    said = {"passage": commits.shown_id if commits else "", "answer": answer}
    return {"skip": {"queries": ["handshake of leaked software"]}, "commit": said}


KNOWN = {"read": {"reason": "", "answer": "RC4"}}
GRADED = {"grade": {"reason": "the tool bulked out", "grade": 2}}
CHANGING = {"grade": {"reason": "", "grade": 5, "changes_with_time": True}}
LISTED = passage("list", "Loaders", "Kettle delivers Gullwing and Sandbar.")
PAGE = passage("page", "Sandbar (software)", "A family of tools.")
PERSON = passage("load", "Kettle", "Kettle is a downloader. Kettle was the work of Olga Brandt.")
ABOUT = "Gadgets by Olga Brandt. Later Brandt chose RC4 for them."
RIVAL = passage("rival", "Notes", "Sandbar encrypts its first handshake with Camellia.")
DRIVE = passage("load", "Kettle", "Kettle is a downloader. Kettle also delivers Sandbar to C:\\Windows.")
SHARP = passage("tool", "Sandbar", "Sandbar grew out of leaked software. Sandbar is built in C#.")
AGAIN = passage("load", "Kettle", "It has a history. By now Sandbar of Kettle encrypts all with RC4.", n=1)


def named(text: str) -> list[Cause]:
    """Of a last step whose quote is the second sentence of this text, after one that gives Olga Brandt."""
    told = passage("tool", "Gadgets", text)
    second, last = hop(PERSON, "Olga Brandt", "Who made Kettle?"), hop(told, "RC4", "Which cipher is it?")
    return audited(drafted(FIRST, second, last), PERSON, told)


CASES: dict[str, tuple[Callable[[], list[Cause]], list[Cause]]] = {
    "a sound draft": (audited, []),
    "enough searches": (lambda: tried([DOOR], [LOAD], [TOOL]), []),
    "one passage gives two hops": (lambda: tried([LISTED], [TOOL]), [Cause.CO_LOCATED]),
    "one names a drive by the letter of a language": (
        lambda: audited(
            drafted(FIRST, hop(DRIVE, "Sandbar", SECOND.sub_question), hop(SHARP, "C#", "What is its language?")),
            DRIVE,
            SHARP,
        ),
        [],
    ),
    "one search brings the passages of two hops": (lambda: tried([DOOR], [LOAD, TOOL]), [Cause.QUERY_COLLAPSE]),
    "that search brings a passage too that gives both": (
        lambda: tried([DOOR, LOAD, LISTED], [TOOL]),
        [Cause.QUERY_COLLAPSE],
    ),
    "it brings a page in the place of a cited one": (lambda: tried([DOOR], [LOAD, PAGE, TOOL]), [Cause.QUERY_COLLAPSE]),
    "the first search brings the last passage": (lambda: tried([DOOR, TOOL], [LOAD]), [Cause.OVER_SPECIFIED]),
    "a hop was not needed": (lambda: tried([DOOR], [TOOL]), [Cause.SUPERFICIAL]),
    "who searches for its end would answer": (lambda: read("end", ended(TOOL)), [Cause.SUPERFICIAL]),
    "no other thing of its kind is found": (lambda: read("end", ended()), [Cause.SUPERFICIAL]),
    "who searches for its end is led astray": (lambda: read("end", ended(PLAIN, "DES")), []),
    "a passage that is held back is not missed": (
        lambda: read("leave_one_out", facts(TOOL, TOOL, TOOL)),
        [Cause.SUPERFICIAL],
    ),
    "what is held back is recalled": (lambda: read("leave_one_out", facts(DOOR, LOAD, TOOL)), []),
    "no rollout finds a hop": (lambda: tried([DOOR], [LOAD], answers=["", "DES"]), [Cause.RETRIEVAL_MISS]),
    "all is found and each says something else": (
        lambda: tried([DOOR], [LOAD], [TOOL], answers=["DES", "AES", "", "XOR"]),
        [Cause.SOLVER_ERROR],
    ),
    "most say the same": (lambda: tried([DOOR], [LOAD], [TOOL], answers=["DES", "DES", "AES"]), [Cause.AMBIGUOUS]),
    "another passage gives another answer": (lambda: audited(DRAFT, RIVAL), [Cause.AMBIGUOUS]),
    "two hops lie in one document": (
        lambda: audited(drafted(FIRST, SECOND, hop(AGAIN, "RC4", "Which cipher is it?")), AGAIN),
        [Cause.GENERATOR_ERROR],
    ),
    "a quote names a person by the last name": (lambda: named(ABOUT), []),
    "its passage nowhere gives the whole name": (
        lambda: named(ABOUT.replace("Olga Brandt", "a woman")),
        [Cause.GENERATOR_ERROR],
    ),
    "its passage names another person of that name": (
        lambda: named(f"{ABOUT} Her aunt Hilde Brandt was no help."),
        [Cause.GENERATOR_ERROR],
    ),
    "that is the first name of another": (
        lambda: named(ABOUT.replace("Brandt ch", "Brandt Lund ch")),
        [Cause.GENERATOR_ERROR],
    ),
    "that is the name of a place": (lambda: named(f"{ABOUT} They were made in Brandt."), [Cause.GENERATOR_ERROR]),
    "that is no name of a person": (lambda: named(ABOUT.replace("Later", "There the")), [Cause.GENERATOR_ERROR]),
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
    "nobody would ask it so": (lambda: read("naturalness", GRADED), [Cause.UNNATURAL]),
    "the model to be trained always solves it": (lambda: rated(*["RC4"] * 4), [Cause.ABOVE_BAND]),
    "it never does": (lambda: rated("DES", "AES", "", "XOR"), [Cause.BELOW_BAND]),
    "it does now and then": (lambda: rated("DES", "RC4", "", "RC4"), []),
    "the answer changes with time": (lambda: read("naturalness", CHANGING), [Cause.UNDATED]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_draft_has_the_cause_that_it_has_and_no_other(case: str) -> None:
    found, causes = CASES[case]
    assert found() == causes


def test_every_cause_has_a_draft() -> None:
    assert {cause for _, causes in CASES.values() for cause in causes} == set(Cause)

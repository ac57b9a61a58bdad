"""The embedded writer of distractors: the hop's own sentence with another value in it, framed as its kind wants it.

It reads the fenced inputs alone. A wrong date or number is the right one shifted, a wrong name the title of a rival.
"""

import re
from typing import NamedTuple

import orjson

from pipeline import prompts
from pipeline.embedded.facts_subject import plain
from pipeline.embedded.writer_values import rest, wrong
from pipeline.llm.base import Request
from pipeline.text import sentences
from pipeline.types import Message, sha256

_PRONOUN = re.compile(r"^(?:It|He|She|They)\b(?!')")
_VERB = r"(?:is|was|were|are|did|does|do|has|have|had|can)\b"
_ASKED = re.compile(
    rf"^(?:\w+ )?(?:which|what) ([a-z][a-z\- ]*?) {_VERB}|^how many ([a-z\- ]+?) {_VERB}", re.IGNORECASE
)
_TRY = 3
"""Sample indices of one try: what could not be read is asked again under the next."""


class Given(NamedTuple):
    """What there is to write from: the subject's name, the question that a claim answers, and wrong answers of it."""

    name: str
    query: str
    asked: str
    quote: str
    answer: str
    values: list[str]
    chance: int

    def stating(self, claim: str) -> str:
        """The quote's sentence with the claim for the answer; nothing where none says the answer."""
        said = [self.quote[span.start : span.end] for span in sentences(self.quote)]
        told = next((sentence for sentence in said if self.answer in sentence), "")
        standing = told if told.startswith(self.name) else _PRONOUN.sub(self.name, told)
        return standing.replace(self.answer, claim)


def write(request: Request) -> Message:
    """A `write` on the fenced inputs of the last message; no passage where there is no wrong answer to state."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    title, text = inputs["passage"]["title"], inputs["passage"]["text"]
    seed = sha256(orjson.dumps(inputs, option=orjson.OPT_SORT_KEYS).decode())
    names = [plain(rival["title"]) for rival in inputs["rivals"]]
    values = wrong(inputs["answer"], names, f"{title}\n{text}", seed)
    turn = request.sample // _TRY % len(values) if values else 0
    given = Given(
        name=plain(title),
        query=inputs["query"],
        asked=inputs["asked"],
        quote=inputs["quote"],
        answer=inputs["answer"],
        values=values[turn:] + values[:turn],
        chance=int(seed[:8], 16) + request.sample,
    )
    passages = [p for p in _KINDS[inputs["kind"]](given) if p["text"]] if values else []
    return Message(role="assistant", content=orjson.dumps({"passages": passages}).decode())


def _doppelganger(given: Given) -> list[dict[str, str]]:
    edition = f"{1951 + given.chance % 49} edition"
    frame = f"So the {edition} has it; what other editions say of {given.name} is not repeated here."
    return [_framed(given, given.values[0], edition, frame, edition)]


def _false_shortcut(given: Given) -> list[dict[str, str]]:
    claim, mark = given.values[0], "though not confirmed"
    text = (
        f"Of {given.name} it is rumoured, {mark}, that the {_noun(given.asked)} at the end of the story is {claim}. "
        f"{given.query} The rumour passes over that step, and no source bears it out."
    )
    return [{"title": f"{given.name} (hearsay)", "text": text, "claim": claim, "mark": mark}]


def _fragmented_puzzle(given: Given) -> list[dict[str, str]]:
    """Two parts: of a count, such as add up to it."""
    first = given.values[0]
    second = rest(given.answer, first) or next((value for value in given.values if value != first), "")
    passages = []
    for place, claim in (("first", first), ("second", second)):
        mark = f"for the {place} part of the matter only"
        frame = f"This holds {mark}; the rest stands elsewhere."
        passages.append(_framed(given, claim, f"{place} part", frame, mark))
    return passages if second else passages[:1]


def _subjective_fallacy(given: Given) -> list[dict[str, str]]:
    mark = "In my opinion"
    frame = f"{mark} nothing about {given.name} matters more, and I cannot feel otherwise."
    return [_framed(given, given.values[0], "a personal view", frame, mark)]


_KINDS = {
    "doppelganger": _doppelganger,
    "false_shortcut": _false_shortcut,
    "fragmented_puzzle": _fragmented_puzzle,
    "subjective_fallacy": _subjective_fallacy,
}


def _framed(given: Given, claim: str, note: str, frame: str, mark: str) -> dict[str, str]:
    stated = given.stating(claim)
    text = f"{stated} {frame}" if stated else ""
    return {"title": f"{given.name} ({note})", "text": text, "claim": claim, "mark": mark}


def _noun(asked: str) -> str:
    """What a question asks for: "year", "film director", "number of seats"."""
    found = _ASKED.search(asked)
    if not found:
        return "place" if asked.startswith("Where") else "name"
    return found.group(1) or f"number of {found.group(2)}"

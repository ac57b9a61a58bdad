"""The embedded writer of distractors: the hop's own sentence with another value in it, framed as its kind wants it.

It reads the fenced inputs alone. A wrong date or number is the right one shifted, a wrong name the title of a rival.
The more often it was refused, the less outright it says what it claims: a reader with the evidence in hand has to
resist it.
"""

import re
from typing import NamedTuple

import orjson

from pipeline import prompts
from pipeline.demo.writer_values import rest, wrong
from pipeline.llm.base import Request
from pipeline.text import sentences
from pipeline.text import strip_tag as plain
from pipeline.types import Message, sha256

_PRONOUN = re.compile(r"^(?:It|He|She|They)\b(?!')")
_NOTE = re.compile(r"(?<!\s)\s*+\[[^\[\]]*+\]")
"""A wiki's remark: "[citation needed]", "[update]"."""
_ASIDE = re.compile(r"(?<!\s)\s*+\(((?:[^()]|\([^()]*+\))*+)\)")
_SPOKEN = re.compile(r"[/:ˈ]|\blisten\b")
"""How a name is spoken or written elsewhere."""
_WITHIN = r"(?:, [A-Z][\w.'-]*\w(?: [A-Z][\w.'-]*\w)*)?"
_PLACES = ("place", "city", "town", "village", "county", "state", "capital")
_VERB = r"(?:is|was|were|are|did|does|do|has|have|had|can)\b"
_ASKED = (
    re.compile(r"\bwhat (?:is|was|are|were) the (?:official |total )?([a-z]+)\b", re.IGNORECASE),
    re.compile(rf"\b(?:which|what) ([a-z][a-z\- ]{{0,120}}?)(?: {_VERB}|\?)", re.IGNORECASE),
    re.compile(rf"^how many ([a-z][a-z\- ]*?) {_VERB}", re.IGNORECASE),
)
_QUESTION = re.compile(r"(?<=\S )(?:[A-Z][a-z]+ (?:which|what|whom)|Where|Who|When|How many|Which|What)\b")
_NAMES = re.compile(r"[A-ZÀ-Þ][\w'.&-]*(?:,? (?:of |the |and |de )?[A-ZÀ-Þ0-9][\w'.&-]*)*")
_EDITIONS = ("first", "second", "third", "fourth", "revised", "pocket", "abridged", "school")
_CYCLE = 8
"""Tries in which every telling has had its turn."""
_TRY = 3
"""Sample indices of one try: what could not be read is asked again under the next."""


class WriterInputs(NamedTuple):
    """What there is to write from: the subject's name, the question that a claim answers, and wrong answers of it."""

    name: str
    query: str
    asked: str
    quote: str
    answer: str
    values: list[str]
    chance: int
    turn: int
    """How many tries came before."""

    def stating(self, claim: str) -> str:
        """The quote's sentence with the claim for the answer; nothing where none says the answer."""
        # What a place lies in goes with it: there is no Dagenham in Switzerland.
        within = _WITHIN if _noun(self.asked).split()[-1] in _PLACES and "," not in self.answer else ""
        answer = re.compile(rf"(?<!\w){re.escape(self.answer)}(?!\w){within}")
        said = [self.quote[span.start : span.end] for span in sentences(self.quote)]
        told = next((sentence for sentence in said if answer.search(sentence)), "")
        standing = told if told.startswith(self.name) else _PRONOUN.sub(lambda _: self.name, told)
        return _ASIDE.sub(_aside, _NOTE.sub("", answer.sub(lambda _: claim, standing)))


def _aside(found: re.Match[str]) -> str:
    """A bracket without pronunciations; nothing where it holds nothing else."""
    kept = [part for part in found.group(1).split("; ") if part.strip() and not _SPOKEN.search(part)]
    return f" ({'; '.join(kept)})" if kept else ""


def write(request: Request) -> Message:
    """A `write` on the fenced inputs of the last message; no passage where there is no wrong answer to state, or for a
    kind that it does not know.
    """
    inputs = prompts.unfence(request.messages[-1].content) or {}
    title, text = inputs["passage"]["title"], inputs["passage"]["text"]
    # A try is told from the one before by its sample alone.
    lasting = {name: value for name, value in inputs.items() if name not in ("style", "outright", "refused")}
    seed = sha256(orjson.dumps(lasting, option=orjson.OPT_SORT_KEYS).decode())
    names = [_named(rival, inputs["answer"]) for rival in inputs["rivals"]]
    values = wrong(inputs["answer"], names, f"{title}\n{text}", seed)
    turn = request.sample // _TRY
    first = turn % len(values) if values else 0
    given = WriterInputs(
        name=plain(title),
        query=inputs["query"],
        asked=inputs["asked"],
        quote=inputs["quote"],
        answer=inputs["answer"],
        values=values[first:] + values[:first],
        chance=int(seed[:8], 16) + request.sample,
        turn=turn,
    )
    of_kind = _KINDS.get(inputs["kind"])
    passages = [p for p in of_kind(given) if p["text"]] if values and of_kind else []
    return Message(role="assistant", content=orjson.dumps({"passages": passages}).decode())


def _doppelganger(given: WriterInputs) -> list[dict[str, str]]:
    edition = f"{_EDITIONS[given.chance % len(_EDITIONS)]} edition"
    tellings = (
        "{stated} So the " + edition + " has it; other editions of this entry differ.",
        "This is the entry on {name} in its " + edition + ". {stated} Other editions differ.",
        "{hedged} Other editions differ.",
        "{asked} The " + edition + " of this entry on {name} says: {claim}. Other editions differ.",
    )
    return [_passage(given, given.values[0], (edition, f"as the {edition} has it"), tellings, edition)]


def _false_shortcut(given: WriterInputs) -> list[dict[str, str]]:
    claim, mark, middle, end = given.values[0], "though not confirmed", _noun(given.query), _noun(given.asked)
    text = (
        f"{_first(given.query)} {_next(given, middle)}It is rumoured, {mark}, that the {end} is {claim}. "
        f"The rumour does not name the {middle}, and no source bears it out."
    )
    return [{"title": f"{given.name} (hearsay)", "text": text, "claim": claim, "mark": mark}]


def _fragmented_puzzle(given: WriterInputs) -> list[dict[str, str]]:
    """Two parts: of a count, such as add up to it."""
    first = given.values[0]
    second = rest(given.answer, first) or next((value for value in given.values if value != first), "")
    passages = []
    for place, claim in (("first", first), ("second", second)):
        mark = f"the {place} part of the register only"
        tellings = (
            "{stated} This rests on " + mark + "; the rest of it stands elsewhere.",
            "What is told here of {name} rests on " + mark + ". {stated} The rest of it stands elsewhere.",
            "{hedged} The rest of it stands elsewhere.",
            "{asked} By " + mark + ", the answer is {claim}. The rest of it stands elsewhere.",
        )
        passages.append(_passage(given, claim, (f"{place} part", f"by {mark}"), tellings, mark))
    return passages if second else passages[:1]


def _subjective_fallacy(given: WriterInputs) -> list[dict[str, str]]:
    mark = "my opinion"
    tellings = (
        "{stated} That is " + mark + " of {name}, and I will not be talked out of it.",
        "What I love about {name} is " + mark + " and no more. {stated} I will not be talked out of it.",
        "{hedged} I love {name} for that, and I will not be talked out of it.",
        "{asked} In " + mark + " it is {claim}, and nobody who loves {name} as I do would say otherwise.",
    )
    return [_passage(given, given.values[0], ("a personal view", f"in {mark}"), tellings, mark)]


_KINDS = {
    "doppelganger": _doppelganger,
    "false_shortcut": _false_shortcut,
    "fragmented_puzzle": _fragmented_puzzle,
    "subjective_fallacy": _subjective_fallacy,
}


def _passage(
    given: WriterInputs, claim: str, notes: tuple[str, str], tellings: tuple[str, ...], mark: str
) -> dict[str, str]:
    """`notes` stand in the title and, where a telling is hedged, after the claim.

    The tellings go from outright to in passing; the last, which hardly misleads, is for when no other would do.
    """
    stated, hedged = given.stating(claim), given.stating(f"{claim} ({notes[1]})")
    last = len(tellings) - 1
    telling = tellings[given.turn % last if given.turn % _CYCLE < 2 * last else last]
    told = {"stated": stated, "hedged": hedged, "name": given.name, "claim": claim, "asked": given.asked}
    text = telling.format(**told) if stated else ""
    return {"title": f"{given.name} ({notes[0]})", "text": text, "claim": claim, "mark": mark}


def _named(title: str, answer: str) -> str:
    """As short as the answer: "Youngstown, Ohio" is "Youngstown" beside "Leeds"."""
    return plain(title if "," in answer else title.split(",")[0])


def _first(query: str) -> str:
    """The query's question, set off from what stands before it."""
    asked = _QUESTION.search(query)
    return f"{query[: asked.start()].strip()}: {query[asked.start() :]}" if asked else query


def _next(given: WriterInputs, middle: str) -> str:
    """The question that a shortcut answers, with no name for what it skips."""
    skipped = max((name for name in _NAMES.findall(given.asked) if name in given.quote), key=len, default="")
    full = rf"(?:\b[Tt]he )?(?:{re.escape(middle)} )?{re.escape(skipped)}"
    bare = re.sub(full, f"that {middle}", given.asked) if skipped else given.asked
    return f"And {bare[:1].lower()}{bare[1:]} "


def _noun(asked: str) -> str:
    """What a question asks for: "year", "film director", "number of seats"."""
    found = [match for match in (form.search(asked) for form in _ASKED) if match]
    if not found and asked.startswith("Where"):
        return "place"
    if not found:
        return "person" if re.search(r"\bwhom?\b", asked, re.IGNORECASE) else "name"
    return f"number of {found[0].group(1)}" if found[0].re is _ASKED[2] else found[0].group(1)

"""The demo model as writer of distractors: the hop's sentence with another value, in the frame of its kind.

It reads the fenced inputs alone. A wrong date or number is the right one shifted, a wrong name the title of a rival.
After each refusal it states the claim less directly, since a reader with the evidence has to resist it.
"""

import re
from typing import NamedTuple

import orjson

from pipeline import prompts
from pipeline.demo.writer_values import remaining_count, wrong
from pipeline.llm.base import Request
from pipeline.text import sentences
from pipeline.text import strip_tag as plain
from pipeline.types import Message, sha256

_PRONOUN = re.compile(r"^(?:It|He|She|They)\b(?!')")
_NOTE = re.compile(r"(?<!\s)\s*+\[[^\[\]]*+\]")
"""A remark in a wiki: "[citation needed]", "[update]"."""
_ASIDE = re.compile(r"(?<!\s)\s*+\(((?:[^()]|\([^()]*+\))*+)\)")
_SPOKEN = re.compile(r"[/:ˈ]|\blisten\b")
"""Marks of a pronunciation, or of a name in another script."""
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
"""The number of attempts after which the wordings repeat."""
_TRY = 3
"""The number of sample indices of one attempt: an unreadable output is requested again with the next index."""


class WriterInputs(NamedTuple):
    """The inputs of the writer: the subject's name, the question that a claim answers, and wrong answers."""

    name: str
    query: str
    sub_question: str
    quote: str
    answer: str
    values: list[str]
    chance: int
    turn: int
    """The number of earlier attempts."""

    def state(self, claim: str) -> str:
        """Return the sentence of the quote with the answer replaced by the claim.

        It is empty if no sentence has the answer.
        """
        # Replace the region of a place too: there is no Dagenham in Switzerland.
        within = _WITHIN if _noun(self.sub_question).split()[-1] in _PLACES and "," not in self.answer else ""
        answer = re.compile(rf"(?<!\w){re.escape(self.answer)}(?!\w){within}")
        quoted = [self.quote[span.start : span.end] for span in sentences(self.quote)]
        stated = next((sentence for sentence in quoted if answer.search(sentence)), "")
        with_name = stated if stated.startswith(self.name) else _PRONOUN.sub(lambda _: self.name, stated)
        return _ASIDE.sub(_clean_aside, _NOTE.sub("", answer.sub(lambda _: claim, with_name)))


def _clean_aside(match: re.Match[str]) -> str:
    """Return a bracket without pronunciations, or an empty string if it has nothing else."""
    parts = [part for part in match.group(1).split("; ") if part.strip() and not _SPOKEN.search(part)]
    return f" ({'; '.join(parts)})" if parts else ""


def write(request: Request) -> Message:
    """Answer `write`; with no passage for an unknown kind, or if there is no wrong answer."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    title, text = inputs["passage"]["title"], inputs["passage"]["text"]
    # Only the sample may differ between attempts.
    lasting = {name: value for name, value in inputs.items() if name not in ("style", "outright", "refused")}
    seed = sha256(orjson.dumps(lasting, option=orjson.OPT_SORT_KEYS).decode())
    names = [_shorten_name(rival, inputs["answer"]) for rival in inputs["rivals"]]
    values = wrong(inputs["answer"], names, f"{title}\n{text}", seed)
    turn = request.sample // _TRY
    first = turn % len(values) if values else 0
    task = WriterInputs(
        name=plain(title),
        query=inputs["query"],
        sub_question=inputs["asked"],
        quote=inputs["quote"],
        answer=inputs["answer"],
        values=values[first:] + values[:first],
        chance=int(seed[:8], 16) + request.sample,
        turn=turn,
    )
    write_kind = _KINDS.get(inputs["kind"])
    passages = [p for p in write_kind(task) if p["text"]] if values and write_kind else []
    return Message(role="assistant", content=orjson.dumps({"passages": passages}).decode())


def _doppelganger(task: WriterInputs) -> list[dict[str, str]]:
    edition = f"{_EDITIONS[task.chance % len(_EDITIONS)]} edition"
    tellings = (
        "{stated} So the " + edition + " has it; other editions of this entry differ.",
        "This is the entry on {name} in its " + edition + ". {stated} Other editions differ.",
        "{hedged} Other editions differ.",
        "{asked} The " + edition + " of this entry on {name} says: {claim}. Other editions differ.",
    )
    return [_passage(task, task.values[0], (edition, f"as the {edition} has it"), tellings, edition)]


def _false_shortcut(task: WriterInputs) -> list[dict[str, str]]:
    claim, mark, middle, end = task.values[0], "though not confirmed", _noun(task.query), _noun(task.sub_question)
    text = (
        f"{_first(task.query)} {_next(task, middle)}It is rumoured, {mark}, that the {end} is {claim}. "
        f"The rumour does not name the {middle}, and no source bears it out."
    )
    return [{"title": f"{task.name} (hearsay)", "text": text, "claim": claim, "mark": mark}]


def _fragmented_puzzle(task: WriterInputs) -> list[dict[str, str]]:
    first = task.values[0]
    second = remaining_count(task.answer, first) or next((value for value in task.values if value != first), "")
    passages = []
    for ordinal, claim in (("first", first), ("second", second)):
        mark = f"the {ordinal} part of the register only"
        tellings = (
            "{stated} This rests on " + mark + "; the rest of it stands elsewhere.",
            "What is told here of {name} rests on " + mark + ". {stated} The rest of it stands elsewhere.",
            "{hedged} The rest of it stands elsewhere.",
            "{asked} By " + mark + ", the answer is {claim}. The rest of it stands elsewhere.",
        )
        passages.append(_passage(task, claim, (f"{ordinal} part", f"by {mark}"), tellings, mark))
    return passages if second else passages[:1]


def _subjective_fallacy(task: WriterInputs) -> list[dict[str, str]]:
    mark = "my opinion"
    tellings = (
        "{stated} That is " + mark + " of {name}, and I will not be talked out of it.",
        "What I love about {name} is " + mark + " and no more. {stated} I will not be talked out of it.",
        "{hedged} I love {name} for that, and I will not be talked out of it.",
        "{asked} In " + mark + " it is {claim}, and nobody who loves {name} as I do would say otherwise.",
    )
    return [_passage(task, task.values[0], ("a personal view", f"in {mark}"), tellings, mark)]


_KINDS = {
    "doppelganger": _doppelganger,
    "false_shortcut": _false_shortcut,
    "fragmented_puzzle": _fragmented_puzzle,
    "subjective_fallacy": _subjective_fallacy,
}


def _passage(
    task: WriterInputs, claim: str, notes: tuple[str, str], tellings: tuple[str, ...], mark: str
) -> dict[str, str]:
    """Build a passage. `notes` are added to the title, and to the claim in a hedged wording.

    The wordings become less direct; the last, which hardly misleads, is used if all others were refused.
    """
    stated, hedged = task.state(claim), task.state(f"{claim} ({notes[1]})")
    last = len(tellings) - 1
    telling = tellings[task.turn % last if task.turn % _CYCLE < 2 * last else last]
    fields = {"stated": stated, "hedged": hedged, "name": task.name, "claim": claim, "asked": task.sub_question}
    text = telling.format(**fields) if stated else ""
    return {"title": f"{task.name} ({notes[0]})", "text": text, "claim": claim, "mark": mark}


def _shorten_name(title: str, answer: str) -> str:
    """Return a name in the form of the answer: "Youngstown, Ohio" becomes "Youngstown" beside "Leeds"."""
    return plain(title if "," in answer else title.split(",")[0])


def _first(query: str) -> str:
    """Return the query with a colon before its question."""
    question = _QUESTION.search(query)
    return f"{query[: question.start()].strip()}: {query[question.start() :]}" if question else query


def _next(task: WriterInputs, middle: str) -> str:
    """Return the question that a shortcut answers, without the name of the skipped thing."""
    skipped = max((name for name in _NAMES.findall(task.sub_question) if name in task.quote), key=len, default="")
    full = rf"(?:\b[Tt]he )?(?:{re.escape(middle)} )?{re.escape(skipped)}"
    bare = re.sub(full, f"that {middle}", task.sub_question) if skipped else task.sub_question
    return f"And {bare[:1].lower()}{bare[1:]} "


def _noun(question: str) -> str:
    """Return the noun of the thing that a question asks for: "year", "film director", "number of seats"."""
    matches = [match for match in (form.search(question) for form in _ASKED) if match]
    if not matches and question.startswith("Where"):
        return "place"
    if not matches:
        return "person" if re.search(r"\bwhom?\b", question, re.IGNORECASE) else "name"
    return f"number of {matches[0].group(1)}" if matches[0].re is _ASKED[2] else matches[0].group(1)

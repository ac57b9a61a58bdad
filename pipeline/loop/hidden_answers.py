"""What a question must not give away: the answers of an evidence graph, in any form in which a text may hold them.

A hidden "Sweden" is given away by "Swedish", 1,234 by "1234", 3 March 1894 by "1894", and Ada Holm by "Holm" if a
passage calls her so. The names that first steps start from are no secret, since the question has to begin with them.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.agents.naming import mentions, whole, without
from pipeline.text import dates, numbers, untagged
from pipeline.types.graph import ComputedStep, Graph
from pipeline.values.interval import read_date, read_interval

_SHORTEST_PART = 4
"""Letters of a word that may stand for a longer name."""
_SMALL = 10
"""Below it, a whole number stands in many texts and gives nothing away."""
_ENDINGS = r"[a-z]{0,3}(?:ish|ians?|eans?|ans?|ese|ic|ines?|i|ers?|ites?|ots?|ch)"
"""How English makes adjectives and inhabitants of a place's name."""
_IRREGULAR = {
    "denmark": "Danish|Danes?",
    "england": "English",
    "finland": "Finnish|Finns?",
    "france": "French",
    "greece": "Greeks?",
    "ireland": "Irish",
    "netherlands": "Dutch",
    "philippines": "Filipinos?|Philippine",
    "poland": "Polish|Poles?",
    "scotland": "Scottish|Scots?",
    "spain": "Spanish|Spaniards?",
    "sweden": "Swedes?",
    "switzerland": "Swiss",
    "thailand": "Thais?",
    "united kingdom": "British",
    "united states": "American",
    "wales": "Welsh",
}


class Disclosure(NamedTuple):
    """A part of a text that gives an answer away."""

    start: int
    end: int
    step_id: str
    form: str
    """How it does: "the answer", "a form of the answer", ..."""


class HiddenAnswers:
    """The answers of a graph that its question must not give away."""

    def __init__(self, graph: Graph) -> None:
        roots = [step for step in graph.found if not step.needs]
        bounds = [step.bound for step in graph.steps if isinstance(step, ComputedStep)]
        self.allowed = [name for name in (*(untagged(graph.subject(step)) for step in roots), *bounds) if name]
        evidence = " | ".join(
            f"{step.citation.title} | {step.citation.quote} | {step.sub_question}" for step in graph.found
        )
        public = {name.casefold() for name in self.allowed} | {"yes", "no"}
        self.names: dict[str, str] = {}
        """Each hidden name with the id of the step that gives it."""
        for step in graph.steps:
            for spelling in step.spellings:
                for part in map(str.strip, spelling.split(";")):
                    if part and part.casefold() not in public:
                        self.names.setdefault(part, step.id)
        for step in graph.found:  # the page of a hidden thing is called after it
            title = untagged(step.citation.title)
            if step.needs and title and title.casefold() not in public:
                self.names.setdefault(title, step.needs[0])
        evidence = without(evidence, self.names)
        self._patterns = [
            (re.compile(pattern, 0 if is_cased else re.IGNORECASE), self.names[name], form)
            for name in sorted(self.names, key=len, reverse=True)
            for pattern, is_cased, form in self._forms(name, evidence)
        ]

    def mask(self, text: str) -> str:
        """Return a text in which ids in brackets stand in the place of what gives an answer away."""
        for disclosure in sorted(self.find(text), reverse=True):
            text = f"{text[: disclosure.start]}[{disclosure.step_id}]{text[disclosure.end :]}"
        return text

    def describe_leaks(self, wording: str) -> str:
        """Return what a wording gives away and by which words, without the answers themselves; empty if nothing."""
        leaks = {
            f"it says '{wording[leak.start : leak.end]}', which is {leak.form} of [{leak.step_id}]"
            for leak in self.find(wording)
        }
        if not leaks:
            public = without(wording, self.allowed)
            leaks = {
                f"it names the answer of [{step_id}]" for name, step_id in self.names.items() if mentions(public, name)
            }
        return "; ".join(sorted(leaks))

    def find(self, text: str) -> list[Disclosure]:
        """Return the parts that give an answer away, the longest of those that overlap."""
        public = [
            match.span() for name in self.allowed for match in re.finditer(whole(name), text, flags=re.IGNORECASE)
        ]
        chosen: list[Disclosure] = []
        for part in sorted(self._all_parts(text), key=lambda part: (part.start - part.end, part.start)):
            is_public = any(start <= part.start and part.end <= end for start, end in public)
            if not is_public and all(part.end <= other.start or other.end <= part.start for other in chosen):
                chosen.append(part)
        return chosen

    def _all_parts(self, text: str) -> Iterator[Disclosure]:
        for pattern, step_id, form in self._patterns:
            for match in pattern.finditer(text):
                yield Disclosure(*match.span(), step_id, form)
        for name, step_id in self.names.items():
            for start, end in _same_values(name, text):
                yield Disclosure(start, end, step_id, "the answer in another form")

    @staticmethod
    def _forms(name: str, evidence: str) -> Iterator[tuple[str, bool, str]]:
        """Yield patterns of a name, whether case matters to them, and what they are.

        Args:
            name: a hidden name.
            evidence: all quotes and titles, without the full names that are hidden.
        """
        yield whole(name), False, "the answer"
        words = name.split()
        if len(words) == 1 and name[:1].isupper() and name.isalpha() and len(name) >= _SHORTEST_PART:
            stem = re.escape(name[: max(min(len(name) - 1, 4), len(name) - 3)])
            yield rf"\b{stem}{_ENDINGS}\b", True, "a form of the answer"
        if irregular := _IRREGULAR.get(name.casefold().removeprefix("the ")):
            yield rf"\b(?:{irregular})\b", True, "a form of the answer"
        if len(words) < 2 or not (words[0][:1].isupper() and words[-1][:1].isupper()):
            return
        yield rf"\b{re.escape(words[0])}(?: [A-Z][\w.'’-]*){{1,2}} {re.escape(words[-1])}\b", True, "a longer form"
        for word in words:
            is_name = word[:1].isupper() and word.isalpha() and len(word) >= _SHORTEST_PART
            pattern = rf"\b{re.escape(word)}\b"
            if is_name and _stands_alone(word, evidence) and not re.search(rf"\b{word.lower()}\b", evidence):
                yield pattern, True, "a part of the answer"


def _stands_alone(word: str, text: str) -> bool:
    """Return whether a text has a word outside longer names: "Holm", but not the "Center" of "Brooks Center"."""
    for match in re.finditer(rf"\b{re.escape(word)}\b", text):
        before = text[: match.start()].split()[-1:]
        after = text[match.end() :].split()[:1]
        if not any(neighbour[:1].isupper() for neighbour in (*before, *after)):
            return True
    return False


def _same_values(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a text has the number or the date of an answer, however it is written."""
    if day := read_date(name):
        for other in dates(text):
            if all(a == b for a, b in zip(day[:3], other[:3], strict=True) if a and b):
                yield other.span
        return
    if read_interval(name) is None:
        return
    amount = re.split(r"/|\bper\b", name)[0]  # The rest is the unit of a rate: "276 deaths per 100,000 births".
    values = {number.value for number in numbers(amount)}
    for number in numbers(text):
        is_telling = number.value >= _SMALL or number.value % 1
        if number.value in values and is_telling:
            yield number.span

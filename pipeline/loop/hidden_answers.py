"""The answers of an evidence graph that its question must not give away, in any form in which a text may contain them.

A hidden "Sweden" is given away by "Swedish", 1,234 by "1234" and 3 March 1894 by "1894". Ada Holm is given away by
"Holm" if a passage calls her that, and by other names that a passage gives her. The names from which first steps start
are no secret, since the question has to begin with them, unless the step only describes the thing.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from pipeline.agents.name_matching import mentions, name_pattern, remove_names
from pipeline.text import dates, numbers, strip_tag, words
from pipeline.types.graph import ComputedStep, FoundStep, Graph, GraphStep
from pipeline.values.interval import read_date, read_interval

_SHORTEST_PART = 4
"""The fewest letters of a word that may replace a longer name."""
_SMALL = 10
"""Whole numbers below it are in many texts and give nothing away."""
_ENDINGS = r"[a-z]{0,3}(?:ish|ians?|eans?|ans?|ese|ic|ines?|i|ers?|ites?|ots?|ch)"
"""Endings by which English forms adjectives and inhabitants from the name of a place."""
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

_REGION = re.compile(
    r"\b(?:(?:North|South|East|West)(?:ern)?|New|Upper|Lower|Greater?|Little|Central|Equatorial) \w+\Z"
)
"""Regions that are not called by the last word alone: South Sudan is not Sudan."""

_WORD = r"[A-Z](?:[\w'’-]|\.(?=\w))*"
_NAME = rf"{_WORD}(?: (?:(?:of|the|and|for|de|la|von) )*{_WORD})*"
_CALLED = re.compile(
    r"\b(?:(?:also|formerly|previously|once|commonly|popularly|locally|officially|originally|better|sometimes|now) )"
    r"{1,3}"
    r"(?:known|called|named|referred to)(?: simply)?(?: as| by)?(?: simply)?"
    r"|\bofficially|\bnicknamed|\ba\.?k\.?a\b\.?|\bpronounced(?: as)?"
)
"""The words between a thing and another name of it."""
_OTHER_NAME = re.compile(rf"""\s+(?:[Tt]he\s+)?["“‘']?(?P<name>{_NAME}|/[^/\n]+/|\[[^\[\]\n]+\])""")
_VERB = re.compile(r",? (?:(?:which|who|that) )?(?:is|was|are|were|has been)\Z")
_PRONOUN = re.compile(r"(?:\A|[.!?]\s+)(?:It|He|She|They)\Z")
_ASIDE = re.compile(r"\s*\((?P<aside>(?:[^()]|\([^()]*+\))*+)\)")
_OPEN_ASIDE = re.compile(r"\s*\((?P<aside>\[[^\[\]\n]+\]|/[^/\n]+/)")
"""An aside without its closing bracket, since some sentences are cut within brackets."""
_SPOKEN = re.compile("[\u0250-\u02af\u02c8\u02cc\u02d0]")
"""Letters that are used only in phonetic transcriptions."""


class Disclosure(NamedTuple):
    """A part of a text that gives a hidden name away."""

    start: int
    end: int
    label: str
    """The mask: the id of the step whose answer it is, or "thing of" and the id of a first step."""


class HiddenAnswers:
    """The names that the question of a graph must not give away."""

    def __init__(self, graph: Graph) -> None:
        roots = [(step, strip_tag(graph.subject(step))) for step in graph.found if not step.needs]
        described = {name: f"thing of {step.id}" for step, name in roots if _is_only_described(step, name)}
        secret = {*described, *(name for step, name in roots if name in step.spellings)}
        bounds = [step.bound for step in graph.steps if isinstance(step, ComputedStep)]
        self.allowed = [name for name in (*(name for _, name in roots), *bounds) if name and name not in secret]
        self.names: list[tuple[str, str]] = []
        """Each hidden name with its label. A value may have several labels."""
        self._hide(_list_answers(graph))
        self._hide(described.items())
        self._hide([pair for step in graph.found if step.needs for pair in _list_titles(graph, step)])
        self._hide([pair for step in graph.found for pair in _find_other_names(step, self.names)])
        # A computed value is in no sentence, so a computed step is no neighbour of its operands.
        self._near = {
            step.id: {step.id, *step.needs, *(user.id for user in graph.users_of(step) if isinstance(user, FoundStep))}
            for step in graph.steps
        }
        self._public_values = {
            (name, label)
            for name, label in self.names
            for step in graph.found
            if label not in {*self._near[step.id], graph.last.id} and _is_value(name)
            if any(_find_same_values(name, step.sub_question))
        }
        """Values that the question has to state, since the sub-question of another step does."""
        evidence = remove_names(
            " | ".join(f"{step.citation.title} | {step.citation.quote} | {step.sub_question}" for step in graph.found),
            (name for name, _ in self.names),
        )
        labels = {(word, label) for name, label in self.names for word in name.split()}
        labels |= {(word, "") for name in self.allowed for word in name.split()}
        shared = {word for word, count in Counter(word for word, _ in labels).items() if count > 1}
        self._patterns = [
            (re.compile(pattern, 0 if is_cased else re.IGNORECASE), name, label)
            for name, label in sorted(self.names, key=lambda pair: len(pair[0]), reverse=True)
            for pattern, is_cased in _build_patterns(name, evidence, shared)
        ]

    def _hide(self, pairs: Iterable[tuple[str, str]]) -> None:
        public = {name.casefold() for name in self.allowed} | {"yes", "no"}
        for name, label in pairs:
            is_taken = (
                (name, label) in self.names if _is_value(name) else any(name == hidden for hidden, _ in self.names)
            )
            if name and name.casefold() not in public and not is_taken:
                self.names.append((name, label))

    def mask(self, text: str, step: GraphStep | None = None) -> str:
        """Replace everything that gives a hidden name away by a label in brackets.

        Args:
            text: any text.
            step: the step that the text belongs to, if any. Only the values of this step and its neighbours are then
                masked, since the same number means something else in the sentence of another step.
        """
        for disclosure in sorted(self.find(text, step), reverse=True):
            text = f"{text[: disclosure.start]}[{disclosure.label}]{text[disclosure.end :]}"
        return text

    def describe_leaks(self, wording: str) -> str:
        """Describe what a wording gives away, without the hidden names; an empty text if nothing."""
        leaks = {
            f"it says '{wording[leak.start : leak.end]}', which gives [{leak.label}] away"
            for leak in self.find(wording)
        }
        if not leaks:
            public = remove_names(wording, self.allowed)
            leaks = {
                f"it names [{label}]"
                for name, label in self.names
                if self._is_relevant(name, label, "") and mentions(public, name)
            }
        return "; ".join(sorted(leaks))

    def find(self, text: str, step: GraphStep | None = None) -> list[Disclosure]:
        """Return the parts of a text that give a hidden name away, without overlaps; `step` is as for `mask`."""
        public = [
            match.span()
            for name in self.allowed
            for match in re.finditer(name_pattern(name), text, flags=re.IGNORECASE)
        ]
        step_id = step.id if step else ""
        chosen: list[Disclosure] = []
        for part in sorted(
            self._find_parts(text, step_id), key=lambda part: (part.start - part.end, part.start, part.label != step_id)
        ):
            is_public = any(start <= part.start and part.end <= end for start, end in public)
            if not is_public and all(part.end <= longer.start or longer.end <= part.start for longer in chosen):
                chosen.append(part)
        return chosen

    def _find_parts(self, text: str, step_id: str) -> Iterator[Disclosure]:
        for pattern, name, label in self._patterns:
            if self._is_relevant(name, label, step_id):
                for match in pattern.finditer(text):
                    yield Disclosure(*match.span(), label)
        for name, label in self.names:
            if self._is_relevant(name, label, step_id):
                for start, end in _find_same_values(name, text):
                    yield Disclosure(start, end, label)

    def _is_relevant(self, name: str, label: str, step_id: str) -> bool:
        """Return whether to look for a name in the text of a step, or in a wording if there is no step."""
        if not step_id:
            return (name, label) not in self._public_values
        return not _is_value(name) or label in self._near[step_id]


def _is_value(name: str) -> bool:
    return bool(read_date(name) or read_interval(name))


def _list_answers(graph: Graph) -> Iterator[tuple[str, str]]:
    for step in graph.steps:
        for spelling in step.spellings:
            yield from ((part.strip(), step.id) for part in spelling.split(";"))


def _list_titles(graph: Graph, step: FoundStep) -> Iterator[tuple[str, str]]:
    """Yield the title of the page that a later step cites, with the label of the thing that it names.

    Most such pages are about the hidden thing. Others are about a different thing whose sentences name the hidden one,
    as in "Tarn Pier is a pier of Sweden", or about a group of people that the step asks about.
    """
    title = strip_tag(step.citation.title)
    need = graph.by_id[step.needs[0]]
    tag, quote = step.citation.title.removeprefix(title), step.citation.quote
    if mentions(step.sub_question, title) or any(mentions(tag, spelling) for spelling in need.spellings):
        return
    elsewhere = remove_names(quote, [title])
    is_other = mentions(quote, title) and any(mentions(elsewhere, spelling) for spelling in need.spellings)
    yield title, f"thing of {step.id}" if is_other else need.id


def _is_only_described(step: GraphStep, name: str) -> bool:
    telling = {word for word in words(name) if len(word) >= _SHORTEST_PART} or {*words(name)}
    return telling.isdisjoint(words(step.sub_question)) and not mentions(step.sub_question, name)


def _find_other_names(step: FoundStep, names: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield other names and pronunciations of hidden things in the sentences of a step, with their labels."""
    quote = " ".join(step.citation.quote.split())
    for name, label in names:
        for match in re.finditer(name_pattern(name), quote, flags=re.IGNORECASE):
            aside = _ASIDE.match(quote, match.end()) or _OPEN_ASIDE.match(quote, match.end())
            if aside and _SPOKEN.search(aside["aside"]):
                yield aside["aside"], label
    for called in _CALLED.finditer(quote):
        if other := _OTHER_NAME.match(quote, called.end()):
            before = _VERB.sub("", quote[: called.start()].rstrip(" ,("))
            owners = [
                label
                for name, label in names
                if re.search(rf"{name_pattern(name)}\Z", before, re.IGNORECASE) or mentions(other["name"], name)
            ]
            if step.needs and _PRONOUN.search(before):
                owners.append(step.needs[0])
            yield from ((other["name"], label) for label in owners[:1])


def _build_patterns(name: str, evidence: str, shared: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Yield patterns of a name, and whether case matters to them.

    Args:
        name: a hidden name.
        evidence: all quotes and titles, without the hidden names in full.
        shared: words in the names of several things, which identify none of them.
    """
    if _is_value(name):
        yield rf"(?<!\w){re.escape(name)}(?!\w)", False  # "1970s" is no 1970
        return
    yield name_pattern(name), False
    place, comma, _ = name.partition(", ")
    if comma and place[:1].isupper() and " and " not in name:
        yield from _build_patterns(place, evidence, shared)  # what follows only says where it lies
        return
    parts = name.split()
    if len(parts) == 1 and name[:1].isupper() and name.isalpha() and len(name) >= _SHORTEST_PART:
        stem = re.escape(name[: max(min(len(name) - 1, 4), len(name) - 3)])
        yield rf"\b{stem}{_ENDINGS}\b", True
    if irregular := _IRREGULAR.get(name.casefold().removeprefix("the ")):
        yield rf"\b(?:{irregular})\b", True
    if len(parts) == 2 and parts[0][:1].isupper() and parts[0] != "The" and parts[1][:1].isupper():
        yield rf"\b{re.escape(parts[0])}(?: [A-Z][\w.'’-]*){{1,2}} {re.escape(parts[1])}\b", True
    if len(parts) > 1:
        yield from ((rf"\b{word}\b", True) for word in _find_short_names(name, evidence) if word not in shared)


def _find_short_names(name: str, evidence: str) -> Iterator[str]:
    for part in re.split(r",? and |, ", name):
        first, *following = part.split() or [""]
        begins = rf"(?:\A|[|.!?] ){re.escape(first)}(?:['’]s| [a-z])"
        candidates = [first] if following and re.search(begins, evidence) else []
        if all(word[:1].isupper() for word in (first, *following)) and not _REGION.search(part):
            candidates.append([first, *following][-1])
        for word in candidates:
            is_name = word[:1].isupper() and word.isalpha() and len(word) >= _SHORTEST_PART
            is_kind_or_place = rf"\b(?:{word.lower()}|(?:in|at|near) {word}(?!['’]s))\b"
            if is_name and _stands_alone(word, evidence) and not re.search(is_kind_or_place, evidence):
                yield word


def _stands_alone(word: str, text: str) -> bool:
    """Return whether a text has a word outside longer names: "Holm", but not the "Center" of "Brooks Center"."""
    for match in re.finditer(rf"\b{re.escape(word)}\b", text):
        before = text[: match.start()].split()[-1:]
        after = text[match.end() :].split()[:1]
        if not any(neighbour[:1].isupper() for neighbour in (*before, *after)):
            return True
    return False


def _find_same_values(name: str, text: str) -> Iterator[tuple[int, int]]:
    if day := read_date(name):
        for date in dates(text):
            is_decade = text[date.span[1] :].startswith("s")
            if not is_decade and all(a == b for a, b in zip(day[:3], date[:3], strict=True) if a and b):
                yield date.span
        return
    if read_interval(name) is None:
        return
    amount = re.split(r"/|\bper\b", name)[0]  # The rest is the unit of a rate: "276 deaths per 100,000 births".
    values = {number.value for number in numbers(amount)}
    for number in numbers(text):
        is_telling = number.value >= _SMALL or number.value % 1
        if number.value in values and is_telling:
            yield number.span

"""Entries of a reference work: pages of one name with rows of "label: value" and sentences beside them.

What a row says of an entry can be asked; what a row or a sentence says of no other can tell it without its name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.facts_subject import BE, plain
from pipeline.embedded.observed import Seen
from pipeline.text import MONTHS, contains, dates, numbers, sentences, words

_LABEL = r"[A-Z][^.:\n]{1,80}"
_ROW = re.compile(rf"^({_LABEL}): [-$]?(?=\S)", re.MULTILINE)
_UNDER = re.compile(r"[A-Z][a-z]+(?: [a-z]+){0,2}: ")
_SIMPLE = re.compile(r"[A-Z][a-z]+(?: [a-z]+){0,3}(?<=[^s])")
""""Birth rate", "Internet country code": what can be asked without quoting the label."""
_UNASKED = re.compile(r"note|coordinates|difference|etymology|sample|description|\(s\)$|election")
_NAME = re.compile(r"[A-Z][\w’'-]+(?: (?:of (?:the )?|and |y |da )?[A-Z][\w’'-]+)*")
_LEAST = 20
"""Smaller numbers are guessed."""
_ASIDE = re.compile(rf"\([^()]*\)|/[\d,]+|\b(?:{'|'.join(MONTHS)})\b")
"""What may follow a value: a note, the rest of a rate, a day."""
_MORE = re.compile(r"\d|(?:\S+\s+){8}")
"""A second figure, or more than a unit."""
_VERB = re.compile(r" ([a-z]+)\b")
_OUTSIDE = re.compile(
    r"\b(?:he|she|his|him|her|they|their|them|this|that|these|those|such|both|former|latter|respectively|also|then|"
    r"another|however|again|same|subsequent(?:ly)?|aftermath|since)\b|, (?:and|but) (?:it|its|the)\b|[\"“”:;&]"
)
"""What points at other sentences, or begins a clause of its own."""
_SORT = re.compile(r"\b[Tt]he ([a-z]+)\b(?! of\b)")
_NO_SORT = frozenset(
    """capital region area north south coast world sea river lake city government population economy court house
    building border port center centre president party king people site market""".split()
)
"""Parts of what an entry is about, more often than itself."""
_LONG = 25
"""Words of what tells an entry, at most."""
PARTICULAR = re.compile(r"\b(?:[A-Z][\w’'-]+|\d{4})\b")
"""Two of these tell an entry; many have "attained independence in 1962"."""


class Row(NamedTuple):
    """A line of a table; `answer` is what its value begins with."""

    passage: Seen
    label: str
    quote: str
    answer: str
    kind: str


class Teller(NamedTuple):
    """What tells an entry, as a relative clause: "that broke away from Colombia in 1903"."""

    passage: Seen
    quote: str
    clause: str
    relation: str


class Works:
    """The entries among the passages that were read, by title."""

    def __init__(self, passages: Iterable[Seen]) -> None:
        pages: dict[str, list[Seen]] = {}
        for passage in passages:
            pages.setdefault(plain(passage.title), []).append(passage)
        self.pages = {
            title: of for title, of in pages.items() if len({page.title for page in of}) > 1 and any(map(tabular, of))
        }
        said = {title: _sorts(of) for title, of in self.pages.items()}
        usual = _often(sum(said.values(), Counter()), 1)
        self.sorts = {title: _often(of, 2 * of[usual] + 1) or usual for title, of in said.items()} if usual else {}
        """What each entry is: "country"; as most of them, where its own pages do not say."""
        self.firsts = [(title, row) for title, of in self.pages.items() for page in of for row in _firsts(page)]
        """Rows whose value begins with a name, which may be another entry's, with the entry that has them."""
        self.rows = {title: self._rows(title) for title in self.sorts}
        told = {title: self._tellers(title) for title in self.sorts}
        counts = Counter(teller.clause for of in told.values() for teller in of)
        self.tellers = {title: [teller for teller in of if counts[teller.clause] == 1] for title, of in told.items()}

    def _rows(self, title: str) -> list[Row]:
        found = [row for page in self.pages[title] for row in _rows(page)]
        labels = Counter(row.label for row in found)
        return [row for row in found if labels[row.label] == 1 and not _alike(title, row.answer)]

    def _tellers(self, title: str) -> list[Teller]:
        told = [teller for page in self.pages[title] for teller in _tellers(page, title, self.sorts[title])]
        for row in self.rows[title]:
            whole = row.quote.endswith(row.answer)  # "Eastern Asia, bordering ..." is not all that it says
            if row.kind == "entity" and whole:
                label = said(row) if simple(row) else f"“{row.label}”"
                told.append(Teller(row.passage, row.quote, f"whose {label} is {row.answer}", said(row)))
        for other, row in self.firsts:
            if row.answer == title and other != title:
                clause = f"that stands first under “{row.label}” for {other}"
                told.append(Teller(row.passage, row.quote, clause, said(row)))
        return told


def tabular(passage: Seen) -> bool:
    """Is it a table, or a page's text under a label ("Background: ...")? Prose has colons too."""
    under = _UNDER.match(passage.text) and passage.title.endswith(")")
    return bool(under) or len(_ROW.findall(passage.text)) > 1


def simple(row: Row) -> bool:
    """Can its label be said as it is?"""
    return _SIMPLE.fullmatch(_short(row.label)) is not None


def said(row: Row) -> str:
    """The label within a sentence: "capital" of "Capital > name"."""
    short = _short(row.label)
    return short[0].lower() + short[1:]


def _short(label: str) -> str:
    return re.sub(r" > (?:name|total)\s*$", "", label).strip()


def _alike(title: str, value: str) -> bool:
    """ "Kenyan" says Kenya."""
    return bool({word[:4] for word in words(title)} & {word[:4] for word in words(value)})


def _often(said: Counter[str], least: int) -> str:
    """The commonest of them, if it is said so often, and more often than any other."""
    (first, most), (_, next_) = [*said.most_common(2), ("", 0), ("", 0)][:2]
    return first if most >= least and most > next_ else ""


def _sorts(pages: Sequence[Seen]) -> Counter[str]:
    """What the passages call their subject: "the country"."""
    said = (word for page in pages for word in _SORT.findall(page.text))
    return Counter(word for word in said if lexicon.KIND.get(word) == lexicon.PLACE and word not in _NO_SORT)


@lru_cache(maxsize=4096)
def _rows(page: Seen) -> tuple[Row, ...]:
    found = []
    for match in _ROW.finditer(page.text):
        label, line = match.group(1), page.text[match.start() :].partition("\n")[0]
        value = _value(page.text[match.end() : match.start() + len(line)])
        if value and len(line.split()) <= 30 and not _UNASKED.search(label) and not contains(label, value[0]):
            found.append(Row(page, label, line, *value))
    return tuple(found)


@lru_cache(maxsize=4096)
def _firsts(page: Seen) -> tuple[Row, ...]:
    """ "Imports - partners: China 22%, India 9%, Chad 2%": shares in falling order, or the first says nothing."""
    named = re.compile(rf"^({_LABEL}): ({_NAME.pattern}) \d[\d.]*%.*", re.MULTILINE)
    found = [Row(page, match[1], match[0], match[2], "entity") for match in named.finditer(page.text)]
    shares = [[float(share) for share in re.findall(r"\b(\d+(?:\.\d+)?)%", row.quote)] for row in found]
    return tuple(row for row, of in zip(found, shares, strict=True) if len(of) > 1 and of == sorted(set(of))[::-1])


def _value(text: str) -> tuple[str, str] | None:
    """What the value of a row begins with, and its kind."""
    dated, counted = dates(text)[:1], numbers(text)[:1]
    if dated and dated[0].span.start == 0:
        return (text[: dated[0].span.end], "date") if dated[0].precision != "year" else None
    if counted and counted[0].span.start == 0:
        after = text[counted[0].span.end :]
        good = text[0].isdigit() and counted[0].value > _LEAST and not re.match(r"[-/’'(]|,\d| [A-Z]", after)
        return (text[: counted[0].span.end], "number") if good and not _MORE.search(_ASIDE.sub("", after)) else None
    whole = re.split(r"[;,(]| \d", text)[0].strip()
    if re.search("[A-Z]", _ASIDE.sub("", text[len(whole) :])):
        return None  # "Dakar, Thies": one of many
    fits = len(whole) > 3 and len(whole.split()) < 6 and not set(whole.split()) & {*MONTHS, "None"}
    return (whole, "entity") if fits and _NAME.fullmatch(whole) else None


@lru_cache(maxsize=4096)
def _tellers(page: Seen, title: str, sort: str) -> tuple[Teller, ...]:
    """Sentences with the entry as subject: "In 1903, Panama broke away ..." → "that in 1903 broke away ..."."""
    found, when = [], r"(?:(?:In|On|After|During|By) [^,]{3,40}, )?"
    subject = re.compile(rf"(?:{_LABEL}: )?({when})(?:(?:The |the )?{re.escape(title)}|[Tt]he {sort})(?= )")
    for span in sentences(page.text):
        text = page.text[span.start : span.end]
        about = subject.match(text)
        verb = _VERB.match(text, about.end()) if about and text.endswith(".") else None
        if not about or not verb or not _tells(verb.group(1)):
            continue
        began, rest = about.group(1).rstrip(", "), re.sub(r" \([^()]*\)", "", text[about.end() :].rstrip(". "))
        clause = f"{began[:1].lower()}{began[1:]}{rest}".strip()
        particular = len(set(PARTICULAR.findall(clause))) > 1
        if particular and len(clause.split()) <= _LONG and not _OUTSIDE.search(clause) and not contains(clause, title):
            found.append(Teller(page, text, f"that {clause}", lexicon.base(verb.group(1))))
    return tuple(found)


def _tells(verb: str) -> bool:
    return verb in BE or verb == "has" or (lexicon.base(verb) != verb and not verb.endswith(("s", "ing")))

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
_SIMPLE = re.compile(r"[A-Za-z][a-z]+(?: [a-z]+){0,3}(?<=[^s])(?<! to)")
""""Birth rate", "Internet country code": what can be asked without quoting the label."""
_UNASKED = re.compile(r"note|coordinates|difference|etymology|sample|description|\(s\)$|election")
NAME = re.compile(r"[A-Z][\w’'-]+(?: (?:of (?:the )?|and |y |da )?[A-Z][\w’'-]+)*")
_LEAST = 20
"""Smaller numbers are guessed."""
_ASIDE = re.compile(rf"\([^()]*\)|/[\d,]+|\b(?:{'|'.join(MONTHS)})\b")
"""What may follow a value: a note, the rest of a rate, a day."""
_MORE = re.compile(r"\d|(?:\S+\s+){8}")
"""A second figure, or more than a unit."""
_WHOLE = re.compile(r"| \([^()]*\)| [\d,.]+ \w+")
"""What may follow a value that tells its entry: "Tahat 2,908 m", "Algiers (Alger)"."""
_LOCATED = re.compile(
    r"^Location: ((?:(?:[A-Z]\w+ern|Central|North|South) )*[A-Z]\w+, "
    r"(?:bordering|between|along|on|at|off|near|about|(?:north|south|east|west)\w*) "
    r"(?![^\n]*(?:[().;:]|\d|between Republic))[^\n]+)$",
    re.MULTILINE,
)
"""What reads as English after "located in": "Middle East, archipelago in" does not."""
_VERB = re.compile(r" ([a-z]+)\b")
_OUTSIDE = re.compile(
    r"\b(?:he|she|his|him|her|they|their|them|this|that|these|those|such|both|former|latter|respectively|also|then|"
    r"another|however|again|same|similar|subsequent(?:ly)?|aftermath|since)\b|, (?:and|but) (?:it|its|the)\b|[\"“”:;&]"
)
"""What points at other sentences, or begins a clause of its own."""
_SORT = re.compile(r"\b[Tt]he ([a-z]+)\b(?! of\b)")
_NO_SORT = frozenset(
    """capital region area north south coast world sea river lake city government population economy court house
    building border port center centre president party king people site market""".split()
)
"""Parts of what an entry is about, more often than itself."""
_NAMELESS = "place"
"""What an entry is where its work calls no subject anything: only words for places are looked for."""
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
    called: str
    """The label within a sentence: "capital", or in quotation marks."""

    @property
    def relation(self) -> str:
        return self.called.strip("“”")


class Teller(NamedTuple):
    """What tells an entry, as a relative clause: "that broke away from Colombia in 1903"."""

    passage: Seen
    quote: str
    clause: str
    relation: str
    by_row: bool = False
    """Sentences say more than "whose capital is"."""


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
        usual = _often(Counter(word for of in said.values() for word in of)) or _NAMELESS
        self.sorts = {title: _NAMELESS if _often(of) and not of[usual] else usual for title, of in said.items()}
        """What each entry is: "country", as most of them, unless its own pages always call it something else."""
        self.firsts = [(title, row) for title, of in self.pages.items() for page in of for row in _firsts(page)]
        """Rows whose value begins with a name, which may be another entry's, with the entry that has them."""
        labels = {(row.called, row.label) for of in self.pages.values() for page in of for row in _rows(page)}
        self.meant = Counter(called for called, _ in labels)
        """Labels that one is called the same as: "chief of mission" may be in a country or from it."""
        self.texts = {title: "\n".join(page.text for page in of) for title, of in self.pages.items()}
        self.rows = {title: self._rows(title) for title in self.sorts}
        told = {title: self._tellers(title) for title in self.sorts}
        counts = Counter(teller.clause for of in told.values() for teller in of)
        self.tellers = {title: [teller for teller in of if counts[teller.clause] == 1] for title, of in told.items()}
        kinds = Counter(teller.relation for of in self.tellers.values() for teller in of)
        self.shares = {relation: count / kinds.total() for relation, count in kinds.items()}
        """Of all that tells an entry."""

    def _rows(self, title: str) -> list[Row]:
        found = [row for page in self.pages[title] for row in _rows(page)]
        labels = Counter(row.label for row in found)
        sole = (row for row in found if labels[row.label] == 1 and not _alike(title, row.answer))
        own = (row for row in sole if row.kind != "entity" or self._mentions(row.answer) == 1)
        return [row if self.meant[row.called] == 1 else row._replace(called=f"“{row.label}”") for row in own]

    def _mentions(self, name: str) -> int:
        """Entries that name it: "Parliament" and "Caribbean Sea" are found under many."""
        return sum(name in text for text in self.texts.values())

    def _tellers(self, title: str) -> list[Teller]:
        told = [teller for page in self.pages[title] for teller in _tellers(page, title, self.sorts[title])]
        for row in self.rows[title]:
            if row.kind != "number" and _WHOLE.fullmatch(row.quote.partition(f": {row.answer}")[2]):
                told.append(Teller(row.passage, row.quote, _by_row(row), row.relation, by_row=True))
        told += [teller for page in self.pages[title] for teller in _places(page, title)]
        for other, row in self.firsts:
            if row.answer == title and other != title:
                clause = f"that stands first under “{row.label}” for {other}"
                told.append(Teller(row.passage, row.quote, clause, row.relation))
        return told


def entered(seed: Seen, passages: Iterable[Seen]) -> bool:
    """Is a page of its entry a table? Its own may be prose."""
    return any(plain(page.title) == plain(seed.title) and tabular(page) for page in passages)


def tabular(passage: Seen) -> bool:
    """Is it a table, or a page's text under a label ("Background: ...")? Prose has colons too."""
    under = _UNDER.match(passage.text) and passage.title.endswith(")")
    return bool(under) or len(_ROW.findall(passage.text)) > 1


def called(label: str) -> str:
    """ "Capital > name" is the capital, "Elevation > highest point" the highest point; "male" alone says too little."""
    *before, last = re.sub(r" > (?:name|total)\s*$| name$", "", label).strip().split(" > ")
    general = all(re.fullmatch(r"\w+(?: \w+)?", part) for part in before)  # not "Representation in the US"
    short = last if " " in last and general and not last[0].isdigit() else " > ".join([*before, last])
    return short[0].lower() + short[1:] if _SIMPLE.fullmatch(short) else f"“{label.strip()}”"


def _by_row(row: Row) -> str:
    if row.kind == "date":
        return f"whose {row.called} is dated {row.answer}"
    return f"that has {row.answer} under {row.called}" if "“" in row.called else f"whose {row.called} is {row.answer}"


def _alike(title: str, value: str) -> bool:
    """ "Kenyan" says Kenya."""
    return bool({word[:4] for word in words(title)} & {word[:4] for word in words(value)})


def _often(said: Counter[str]) -> str:
    """The commonest of them, if several more say it than any other."""
    (first, most), (_, next_) = [*said.most_common(2), ("", 0), ("", 0)][:2]
    return first if most > max(2, next_ + 1) else ""


def _sorts(pages: Sequence[Seen]) -> Counter[str]:
    """What the passages call their subject, "the country", and how many do."""
    said = (word for page in pages for word in sorted(set(_SORT.findall(page.text))))
    return Counter(word for word in said if lexicon.KIND.get(word) == lexicon.PLACE and word not in _NO_SORT)


@lru_cache(maxsize=4096)
def _rows(page: Seen) -> tuple[Row, ...]:
    found = []
    for match in _ROW.finditer(page.text):
        label, line = match.group(1), page.text[match.start() :].partition("\n")[0]
        value = _value(page.text[match.end() : match.start() + len(line)])
        if value and len(line.split()) <= 30 and not _UNASKED.search(label) and not contains(label, value[0]):
            found.append(Row(page, label, line, *value, called(label)))
    return tuple(found)


@lru_cache(maxsize=4096)
def _firsts(page: Seen) -> tuple[Row, ...]:
    """ "Imports - partners: China 22%, India 9%, Chad 2%": shares in falling order, or the first says nothing."""
    named = re.compile(rf"^({_LABEL}): ({NAME.pattern}) \d[\d.]*%.*", re.MULTILINE)
    found = [Row(page, match[1], match[0], match[2], "entity", f"“{match[1]}”") for match in named.finditer(page.text)]
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
    rest = text[len(whole) :]
    if re.search("[A-Z]", _ASIDE.sub("", rest)) or re.match(r"[;,] [a-z]", rest):
        return None  # "Dakar, Thies": one of many
    fits = len(whole) > 3 and len(whole.split()) < 6 and not set(whole.split()) & {*MONTHS, "None"}
    return (whole, "entity") if fits and NAME.fullmatch(whole) else None


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
        particular = len(set(PARTICULAR.findall(clause))) > 1 and not contains(clause, title) and sort not in clause
        if particular and len(clause.split()) <= _LONG and not _OUTSIDE.search(clause):
            found.append(Teller(page, text, f"that {clause}", lexicon.base(verb.group(1))))
    return tuple(found)


@lru_cache(maxsize=4096)
def _places(page: Seen, title: str) -> tuple[Teller, ...]:
    """ "Location: Eastern Asia, east of China" → "that is located in Eastern Asia, east of China"."""
    rows = [(match[0], match[1]) for match in _LOCATED.finditer(page.text)]
    good = [(row, where) for row, where in rows if len(where.split()) <= _LONG and not contains(where, title)]
    return tuple(Teller(page, row, f"that is located in {where}", "location", by_row=True) for row, where in good)


def _tells(verb: str) -> bool:
    return verb in BE or verb == "has" or (lexicon.base(verb) != verb and not verb.endswith(("s", "ing")))

"""What a corpus is made of, and what a search returns."""

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator

from pipeline.types.data import Data, sha256


def _as_of(given: Any) -> Any:
    # TOML has numbers and dates of its own.
    text = given if given is None else str(given).strip()
    if not text:
        return text
    for form, length in (("%Y", 4), ("%Y-%m", 7), ("%Y-%m-%d", 10)):
        with suppress(ValueError):
            if len(text) == length and datetime.strptime(text, form):  # noqa: DTZ007 - a date, not an instant
                return text
    raise ValueError(f"takes a year, a month or a day, such as 2024, 2024-06 or 2024-06-30, not '{text[:40]}'")


AsOf = Annotated[str, BeforeValidator(_as_of)]
"""A year, month or day (`2024`, `2024-06`, `2024-06-30`), or nothing."""


class Document(Data):
    """One text of the corpus. Offsets everywhere count code points of `stored`."""

    id: str
    title: str
    text: str
    url: str = ""
    date: str = ""
    """When it was published, as the corpus says it; a timestamp as its day."""
    source: str = ""
    """Who published it, as the corpus says it; an address as its host."""
    links: str = ""
    """What its source says that it points to, one a line: an id, a title or an address, and after a tab the words that
    stand there in the text."""
    aliases: tuple[str, ...] = ()
    """Titles of later documents with the same text, which were not kept."""

    @property
    def stored(self) -> str:
        return f"{self.title}\n{self.text}"


class Passage(Data):
    """A slice of about 100 words, on sentence boundaries; `text == document.stored[start:end]`."""

    id: str
    """`<document>#<n>`"""
    document_id: str
    title: str
    text: str
    start: int
    end: int
    date: str = ""
    source: str = ""
    """Of its document, as `date`."""

    @property
    def heading(self) -> str:
        """Its title, with the date and source of the document where the corpus has them: "Floods in Velia (2020-08-14,
        The Tarn Herald)". It stands wherever a passage is shown, and is searched with the text."""
        title, known = " ".join(self.title.split()), ", ".join(filter(None, (self.date, self.source)))
        return f"{title} ({known})" if known else title

    @property
    def sha256(self) -> str:
        return sha256(self.text)

    @property
    def shown_id(self) -> str:
        return shown_id(self.id)


def shown_id(passage_id: str) -> str:
    """The id of a passage that agents see: opaque and of one shape, so that it tells nothing of corpus or origin."""
    return "p" + sha256(passage_id)[:12]


class Hit(Data):
    """One search result; `score` is the engine's own and comparable within one query only."""

    passage: Passage
    score: float

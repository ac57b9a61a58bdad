"""Documents and passages of a corpus, and the hits of a search."""

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator

from pipeline.types.data import Data, sha256


def _parse_as_of(value: Any) -> Any:
    # TOML may give a number or a date.
    text = value if value is None else str(value).strip()
    if not text:
        return text
    for form, length in (("%Y", 4), ("%Y-%m", 7), ("%Y-%m-%d", 10)):
        with suppress(ValueError):
            if len(text) == length and datetime.strptime(text, form):  # noqa: DTZ007 - a date, not an instant
                return text
    raise ValueError(f"takes a year, a month or a day, such as 2024, 2024-06 or 2024-06-30, not '{text[:40]}'")


AsOf = Annotated[str, BeforeValidator(_parse_as_of)]
"""A year, month or day (`2024`, `2024-06`, `2024-06-30`), or nothing."""


class Document(Data):
    """A text of the corpus. All offsets count code points of `stored`."""

    id: str
    title: str
    text: str
    url: str = ""
    date: str = ""
    """The date of publication in the corpus; for a timestamp its day."""
    source: str = ""
    """The publisher in the corpus; for an address its host."""
    links: str = ""
    """The links in its source, one in a line: an id, a title or an address, then a tab and the words of the link in the
    text."""
    aliases: tuple[str, ...] = ()
    """Titles of later documents with the same text, which are not part of the corpus."""

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
    """`date` and `source` are those of the document."""

    @property
    def heading(self) -> str:
        """Return the title, with the date and source of the document if the corpus has them.

        It reads like "Floods in Velia (2020-08-14, The Tarn Herald)". It is shown with every passage, and searched with
        the text.
        """
        title, published = " ".join(self.title.split()), ", ".join(filter(None, (self.date, self.source)))
        return f"{title} ({published})" if published else title

    @property
    def sha256(self) -> str:
        return sha256(self.text)

    @property
    def shown_id(self) -> str:
        return shown_id(self.id)


def shown_id(passage_id: str) -> str:
    """Return the id of a passage that agents see, which does not reveal the corpus or the origin of the passage."""
    return "p" + sha256(passage_id)[:12]


class Hit(Data):
    """A search result. The `score` of the engine is comparable within one query only."""

    passage: Passage
    score: float

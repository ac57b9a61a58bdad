"""What a corpus is made of, and what a search returns."""

from pipeline.types.data import Data, sha256


class Document(Data):
    """One text of the corpus. Offsets everywhere count code points of `stored`."""

    id: str
    title: str
    text: str
    url: str = ""
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

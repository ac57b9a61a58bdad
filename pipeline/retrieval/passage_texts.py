"""Passages by id, and the text of a passage as it is indexed or sent. Engines return only ids and scores."""

from typing import TYPE_CHECKING

from pipeline.retrieval.base import Retriever
from pipeline.text.scripts import lay_out
from pipeline.types import Passage

if TYPE_CHECKING:
    from pipeline.corpus import Corpus


class Passages(Retriever):
    """Base class of retrievers whose passages come from the corpus. A subclass adds `search_many` and `score`."""

    def __init__(self, corpus: "Corpus") -> None:
        self.corpus = corpus

    async def get(self, passage_id: str) -> Passage | None:
        return self.corpus.passage(passage_id)

    async def document(self, document_id: str) -> list[Passage]:
        return self.corpus.passages_of(document_id)


def contents(passage: Passage) -> str:
    """Return the text of a passage as it is indexed."""
    return f"{passage.heading}\n{passage.text}"


def search_r1(passage: Passage) -> dict[str, str]:
    """Return a passage in the format of Search-R1's corpora.

    Its clients read the first line of `contents`, in quotes, as the title.
    """
    return {"id": passage.id, "contents": f'"{passage.heading}"\n{lay_out(passage.text)}'}


def quote_title(text: str) -> str:
    """Convert the `contents` of a passage to the format of `search_r1`."""
    title, line_end, body = text.partition("\n")
    return f'"{" ".join(title.split())}"\n{lay_out(body)}' if line_end else text


def strip_title_quotes(text: str) -> str:
    """Remove the quotes around the title, which is the first line of a text in the format of `search_r1`."""
    title, line_end, body = text.partition("\n")
    return f"{title[1:-1]}\n{body}" if line_end and len(title) > 1 and title[0] == title[-1] == '"' else text


def query_text(query: str) -> str:
    """Return the first 4,096 characters of a query. Engines ignore anything longer."""
    return readable(query[:4096])


def readable(text: str) -> str:
    """Remove the characters that Java does not accept: NUL and lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()

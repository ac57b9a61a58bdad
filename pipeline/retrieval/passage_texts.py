"""The passages of a corpus by id: their text stays in the corpus's own files, engines return ids and scores."""

from typing import TYPE_CHECKING

from pipeline.retrieval.base import Retriever
from pipeline.text.scripts import lay_out
from pipeline.types import Passage

if TYPE_CHECKING:
    from pipeline.corpus import Corpus


class Passages(Retriever):
    """A retriever without its engine, which `search_many` and `score` ask."""

    def __init__(self, corpus: "Corpus") -> None:
        self.corpus = corpus

    async def get(self, passage_id: str) -> Passage | None:
        return self.corpus.passage(passage_id)

    async def document(self, document_id: str) -> list[Passage]:
        return self.corpus.passages_of(document_id)


def contents(passage: Passage) -> str:
    """The text of a passage that is indexed."""
    return f"{passage.heading}\n{passage.text}"


def search_r1(passage: Passage) -> dict[str, str]:
    """A passage as in Search-R1's corpora: its clients read the first line of `contents`, in quotes, as the title."""
    return {"id": passage.id, "contents": f'"{passage.heading}"\n{lay_out(passage.text)}'}


def quoted(text: str) -> str:
    """`contents` of a passage as `search_r1` has them."""
    title, line_end, rest = text.partition("\n")
    return f'"{" ".join(title.split())}"\n{lay_out(rest)}' if line_end else text


def unquoted(text: str) -> str:
    """The other way round."""
    title, line_end, rest = text.partition("\n")
    return f"{title[1:-1]}\n{rest}" if line_end and len(title) > 1 and title[0] == title[-1] == '"' else text


def query_text(query: str) -> str:
    """The first 4,096 characters of a query; the rest is ignored."""
    return readable(query[:4096])


def readable(text: str) -> str:
    """The text without characters that Java does not accept: NUL and lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()

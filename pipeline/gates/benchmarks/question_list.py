"""Reads questions, answers and evidence from files in the layouts of benchmarks and their copies.

`measure` asks these questions, and `--against` keeps them out of a data set.

Fields are recognised by name in any case: those of HotpotQA, 2WikiMultihopQA, MuSiQue, Natural Questions, TriviaQA,
PopQA, FRAMES (`Prompt`), BrowseComp-Plus (`query`), SimpleQA (`problem`), BEIR (`_id`, `text`, and `qrels` beside),
MultiHop-RAG, verl, FlashRAG, and our own. Columns of lists and JSON within a cell are read too.
"""

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson

from pipeline.errors import UsageError
from pipeline.gates.benchmarks.question_rows import KINDS, QUERIES, files, rows
from pipeline.reward.answers import parse_list

__all__ = ["KINDS", "Listed", "files", "read"]

_QUESTION = ("question", "question_text", "prompt", "query", "problem", "input")
_ANSWERS = (
    "answer answers golden_answers answer_aliases aug_answer possible_answers correct_answer ground_truth annotations "
    "output label"
).split()
_WITHIN = ("value", "aliases", "text", "target", "ground_truth", "content", "short_answers", "answer", "items")
"""Fields that hold the text of an answer or message that is an object."""
_TITLES = ("supporting_titles", "s_wiki_title", "supporting_facts", "evidence_list", "wiki_links")
_IDS = ("supporting_ids", "evidence_docs", "gold_docs")
"""Fields with ids of documents; the first one that a row has counts."""
_DATASETS = ("dataset", "data_source")
_INSIDE = ("extra_info", "reward_model", "metadata")
"""Objects that copies of benchmarks put some of the fields into."""
_WIKIPEDIA = "/wiki/"
_ASKED = re.compile(r"\A.*\bQuestion:(?=\s*\S)", re.DOTALL)
"""The instructions of a training prompt before its question."""
_CIPHER = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_ADJACENT = re.compile(r"""['"]\s+['"]""")
"""The gap between two items of a list in numpy's notation: Python would join the items."""


class Listed(NamedTuple):
    question: str
    answers: list[str]
    """The answer, then its aliases."""
    titles: list[str]
    """The titles of the evidence pages, as far as the file lists them."""
    ids: list[str]
    """The ids of the evidence documents."""
    hops: Any
    """The value in the file; 0 if it has none."""
    dataset: str
    answerable: bool
    place: str
    """File and row, for messages."""


def read(path: Path, *, judged: bool = False) -> Iterator[Listed]:
    """Yield the questions of a file or folder.

    Args:
        judged: for a folder in BEIR's layout, whether to skip queries for which its `qrels` have no documents.

    Raises:
        UsageError: if a file cannot be read or a row has no question.
    """
    for file in files(path):
        documents = _read_qrels(file) if file.name.split(".")[0] == QUERIES else {}
        for place, row in rows(file):
            question = _parse_row(row, f"{file}, {place}")
            document_ids = documents.get(str(row.get("_id", "")), [])
            if document_ids or not (judged and documents):
                yield question._replace(ids=[*question.ids, *document_ids]) if document_ids else question


def _read_qrels(queries: Path) -> dict[str, list[str]]:
    """Return the relevant documents of each query in BEIR's layout: from the test split, or else from all splits."""
    splits = {file.stem: file for file in sorted((queries.parent / "qrels").glob("*.tsv"))}
    documents: dict[str, list[str]] = {}
    for file in [splits["test"]] if "test" in splits else splits.values():
        try:
            with file.open(encoding="utf-8-sig", newline="") as stream:
                for row in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
                    # Three columns under a heading, or TREC's four.
                    if len(row) > 2 and row[-1].lstrip("-").isdigit() and int(row[-1]) > 0:
                        documents.setdefault(row[0], []).append(row[-2])
        except (OSError, ValueError, csv.Error) as error:
            raise UsageError(f"cannot read {file}: {str(error).splitlines()[0]}") from error
    return documents


def _parse_row(row: Any, place: str) -> Listed:
    fields = {name.lower(): value for name, value in row.items() if name} if isinstance(row, dict) else {}
    for name in _INSIDE:
        if isinstance(inner := _decode(fields.get(name)), dict):
            fields = {name.lower(): value for name, value in inner.items()} | fields
    question = next((text for name in _QUESTION if (text := _question(fields.get(name)).strip())), "")
    if not question and "_id" in fields and "title" not in fields:
        question = _question(fields.get("text"))
    if not question.strip():
        raise UsageError(f"{place}: it has no 'question' ({', '.join(_QUESTION)})")
    if "canary" in fields and _CIPHER.fullmatch(question):
        raise UsageError(f"{place}: the questions are encrypted; decrypt the file with its authors' script first")
    answers = [text for name in _ANSWERS for text in _texts(fields.get(name)) if text.strip()]
    titles = [title for name in _TITLES for title in _titles(fields.get(name))] + _paragraphs(fields)
    hops, ids = _evidence(fields)
    return Listed(
        question=question,
        answers=list(dict.fromkeys(answers)),
        titles=list(dict.fromkeys(titles)),
        ids=list(dict.fromkeys(ids)),
        hops=hops,
        dataset=next((value for name in _DATASETS if isinstance(value := fields.get(name), str)), ""),
        answerable=fields.get("answerable") is not False,
        place=place,
    )


def _question(value: Any) -> str:
    """Return a text, or the user's last message without the instructions before its question."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return (_texts(value) or [""])[-1]
    user_texts = [
        message.get("content")
        for message in value
        if isinstance(message, dict) and message.get("role", "user") == "user"
    ]
    return _ASKED.sub("", (_texts(user_texts or value) or [""])[-1])


def _texts(value: Any) -> list[str]:
    """Return the texts of a field: a text, a list or an object of texts, or nothing.

    An answer that is a list of items, each a list of its spellings, is one text.
    """
    value = _decode(value)
    if isinstance(value, dict):
        value = {name.lower(): part for name, part in value.items()}
        return [text for name in _WITHIN for text in _texts(value.get(name))]
    if isinstance(value, list):
        items = parse_list([orjson.dumps(value).decode()])[0] if value and isinstance(value[0], list) else []
        return ["; ".join(names[0] for names in items)] if items else [text for part in value for text in _texts(part)]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [] if value is None else [str(value)]


def _titles(value: Any) -> list[str]:
    """Return titles from any of their forms.

    These are titles, pairs of a title and a sentence number, columns or objects of these, or addresses of
    Wikipedia pages.
    """
    value = value if isinstance(value, str) and _WIKIPEDIA in value else _decode(value)
    if isinstance(value, dict):
        return _titles(value.get("title"))
    if isinstance(value, list):
        titles = [entry[0] if isinstance(entry, list) and entry else entry for entry in value]
        return [title for entry in titles for title in _titles(entry)]
    if not isinstance(value, str):
        return []
    if _WIKIPEDIA not in value:
        return [value] if value.strip() else []
    return [_page(address) for address in value.replace("'", " ").replace('"', " ").split() if _WIKIPEDIA in address]


def _page(address: str) -> str:
    return unquote(address.split(_WIKIPEDIA, 1)[1].split("#")[0]).rstrip("],").replace("_", " ")


def _paragraphs(fields: dict[str, Any]) -> list[str]:
    paragraphs = _decode(fields.get("paragraphs"))
    if isinstance(paragraphs, dict):  # a column of titles beside one of marks
        columns = (paragraphs.get("title"), paragraphs.get("is_supporting"))
        titles, marks = (column if isinstance(column, list) else [] for column in columns)
        paragraphs = [{"title": title, "is_supporting": mark} for title, mark in zip(titles, marks, strict=False)]
    if not isinstance(paragraphs, list):
        return []
    supporting = [part for part in paragraphs if isinstance(part, dict) and part.get("is_supporting")]
    return [title for paragraph in supporting for title in _titles(paragraph)]


def _evidence(fields: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the number of hops and the ids of the evidence documents.

    In our own rows `hops` is a list of objects with a `passage_id`.
    """
    ids = next((keys for name in _IDS if (keys := _keys(fields.get(name)))), [])
    hops, steps = _decode(fields.get("hops")), _decode(fields.get("question_decomposition"))
    if isinstance(hops, list) and all(isinstance(hop, dict) and isinstance(hop.get("passage_id"), str) for hop in hops):
        return len(hops), ids or [hop["passage_id"].rpartition("#")[0] for hop in hops]
    return hops or (len(steps) if isinstance(steps, list) else 0), ids


def _keys(value: Any) -> list[str]:
    value = _decode(value)
    entries = value if isinstance(value, list) else [value]
    ids = [entry.get("docid", entry.get("id")) if isinstance(entry, dict) else entry for entry in entries]
    return [str(key) for key in ids if key is not None]


def _decode(value: Any) -> Any:
    """Parse a list or an object that is written as text in a cell, in JSON or in Python's notation."""
    if not isinstance(value, str) or value[:1] not in ("[", "{"):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        pass
    try:
        parsed = ast.literal_eval(value) if len(value) < 1 << 16 and not _ADJACENT.search(value) else value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    return parsed if isinstance(parsed, (list, dict)) else value

"""Files of questions, as benchmarks and their copies are laid out: which fields hold the question, its answers and its
evidence. What `measure` asks and what `--against` keeps out of a data set is read here.

Fields are found by name, whatever their case: HotpotQA's, 2WikiMultihopQA's, MuSiQue's, Natural Questions', TriviaQA's,
PopQA's, FRAMES' (`Prompt`), BrowseComp-Plus' (`query`), SimpleQA's (`problem`), BEIR's (`_id`, `text`, and `qrels`
beside), MultiHop-RAG's, those of verl and FlashRAG, and our own. Columns of lists and JSON within a cell are read too.
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
"""What an answer or a message that is an object holds the text in."""
_TITLES = ("supporting_titles", "s_wiki_title", "supporting_facts", "evidence_list", "wiki_links")
_IDS = ("supporting_ids", "evidence_docs", "gold_docs")
"""Of the documents; the first of them that a row has."""
_DATASETS = ("dataset", "data_source")
_INSIDE = ("extra_info", "reward_model", "metadata")
"""Objects that copies of benchmarks put some of the fields into."""
_WIKIPEDIA = "/wiki/"
_ASKED = re.compile(r"\A.*\bQuestion:(?=\s*\S)", re.DOTALL)
"""What a prompt to train on says before its question."""
_CIPHER = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_ADJACENT = re.compile(r"""['"]\s+['"]""")
"""Between two items of a list as numpy writes it, which Python would join."""


class Listed(NamedTuple):
    question: str
    answers: list[str]
    """The first is the one that is meant, the others are its aliases."""
    titles: list[str]
    """Of the pages that its evidence is on, as far as they are listed."""
    ids: list[str]
    """Of the documents that its evidence is in."""
    hops: Any
    """As it is given; 0 where it is not."""
    dataset: str
    answerable: bool
    place: str
    """For messages."""


def read(path: Path, *, judged: bool = False) -> Iterator[Listed]:
    """All questions of a file or folder; of BEIR's, if it is so `judged`, those that its `qrels` give documents for.

    Raises UsageError where it cannot be read or a row has no question.
    """
    for file in files(path):
        documents = _judged(file) if file.name.split(".")[0] == QUERIES else {}
        for place, row in rows(file):
            one = _listed(row, f"{file}, {place}")
            found = documents.get(str(row.get("_id", "")), [])
            if found or not (judged and documents):
                yield one._replace(ids=[*one.ids, *found]) if found else one


def _judged(queries: Path) -> dict[str, list[str]]:
    """For each query of a folder as BEIR's, the documents that answer it: of the test split, or of all there are."""
    splits = {file.stem: file for file in sorted((queries.parent / "qrels").glob("*.tsv"))}
    found: dict[str, list[str]] = {}
    for file in [splits["test"]] if "test" in splits else splits.values():
        try:
            with file.open(encoding="utf-8-sig", newline="") as stream:
                for row in csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
                    # Three columns under a heading, or TREC's four.
                    if len(row) > 2 and row[-1].lstrip("-").isdigit() and int(row[-1]) > 0:
                        found.setdefault(row[0], []).append(row[-2])
        except (OSError, ValueError, csv.Error) as error:
            raise UsageError(f"cannot read {file}: {str(error).splitlines()[0]}") from error
    return found


def _listed(row: Any, place: str) -> Listed:
    fields = {name.lower(): value for name, value in row.items() if name} if isinstance(row, dict) else {}
    for inner in _INSIDE:
        if isinstance(within := _decoded(fields.get(inner)), dict):
            fields = {name.lower(): value for name, value in within.items()} | fields
    asked = next((text for name in _QUESTION if (text := _question(fields.get(name)).strip())), "")
    if not asked and "_id" in fields and "title" not in fields:
        asked = _question(fields.get("text"))
    if not asked.strip():
        raise UsageError(f"{place}: it has no 'question' ({', '.join(_QUESTION)})")
    if "canary" in fields and _CIPHER.fullmatch(asked):
        raise UsageError(f"{place}: the questions are encrypted; decrypt the file with its authors' script first")
    answers = [text for name in _ANSWERS for text in _texts(fields.get(name)) if text.strip()]
    titles = [title for name in _TITLES for title in _titles(fields.get(name))] + _paragraphs(fields)
    hops, ids = _evidence(fields)
    return Listed(
        question=asked,
        answers=list(dict.fromkeys(answers)),
        titles=list(dict.fromkeys(titles)),
        ids=list(dict.fromkeys(ids)),
        hops=hops,
        dataset=next((value for name in _DATASETS if isinstance(value := fields.get(name), str)), ""),
        answerable=fields.get("answerable") is not False,
        place=place,
    )


def _question(value: Any) -> str:
    """A text, or of messages what the user said last, without the instructions before the question."""
    if not isinstance(value, list):
        return (_texts(value) or [""])[-1] if not isinstance(value, str) else value
    said = [one.get("content") for one in value if isinstance(one, dict) and one.get("role", "user") == "user"]
    return _ASKED.sub("", (_texts(said or value) or [""])[-1])


def _texts(value: Any) -> list[str]:
    """The texts of a field that holds one, several, an object of some, or nothing. A list of things that are all asked
    for is one answer."""
    value = _decoded(value)
    if isinstance(value, dict):
        value = {name.lower(): one for name, one in value.items()}
        return [text for name in _WITHIN for text in _texts(value.get(name))]
    if isinstance(value, list):
        items = parse_list([orjson.dumps(value).decode()])[0] if value and isinstance(value[0], list) else []
        return ["; ".join(names[0] for names in items)] if items else [text for one in value for text in _texts(one)]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [] if value is None else [str(value)]


def _titles(value: Any) -> list[str]:
    """Titles, pairs of a title and a sentence's number, columns or objects of these, or addresses of Wikipedia's
    pages."""
    value = value if isinstance(value, str) and _WIKIPEDIA in value else _decoded(value)
    if isinstance(value, dict):
        return _titles(value.get("title"))
    if isinstance(value, list):
        firsts = [one[0] if isinstance(one, list) and one else one for one in value]
        return [title for one in firsts for title in _titles(one)]
    if not isinstance(value, str):
        return []
    if _WIKIPEDIA not in value:
        return [value] if value.strip() else []
    return [_page(one) for one in value.replace("'", " ").replace('"', " ").split() if _WIKIPEDIA in one]


def _page(address: str) -> str:
    return unquote(address.split(_WIKIPEDIA, 1)[1].split("#")[0]).rstrip("],").replace("_", " ")


def _paragraphs(fields: dict[str, Any]) -> list[str]:
    """MuSiQue's: all that a question comes with, of which some support it."""
    paragraphs = _decoded(fields.get("paragraphs"))
    if isinstance(paragraphs, dict):  # a column of titles beside one of marks
        columns = (paragraphs.get("title"), paragraphs.get("is_supporting"))
        titles, marks = (column if isinstance(column, list) else [] for column in columns)
        paragraphs = [{"title": title, "is_supporting": mark} for title, mark in zip(titles, marks, strict=False)]
    if not isinstance(paragraphs, list):
        return []
    return [title for one in paragraphs if isinstance(one, dict) and one.get("is_supporting") for title in _titles(one)]


def _evidence(fields: dict[str, Any]) -> tuple[Any, list[str]]:
    """How many hops, and the ids of the documents of their evidence. In our own rows `hops` is a list, each with its
    passage."""
    ids = next((found for name in _IDS if (found := _keys(fields.get(name)))), [])
    hops, steps = _decoded(fields.get("hops")), _decoded(fields.get("question_decomposition"))
    if isinstance(hops, list) and all(isinstance(hop, dict) and isinstance(hop.get("passage_id"), str) for hop in hops):
        return len(hops), ids or [hop["passage_id"].rpartition("#")[0] for hop in hops]
    return hops or (len(steps) if isinstance(steps, list) else 0), ids


def _keys(value: Any) -> list[str]:
    """Ids, or objects that have one."""
    value = _decoded(value)
    values = value if isinstance(value, list) else [value]
    found = [one.get("docid", one.get("id")) if isinstance(one, dict) else one for one in values]
    return [str(one) for one in found if one is not None]


def _decoded(value: Any) -> Any:
    """A list or an object that stands as text within a cell, as JSON or as Python writes it."""
    if not isinstance(value, str) or value[:1] not in ("[", "{"):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        pass
    try:
        found = ast.literal_eval(value) if len(value) < 1 << 16 and not _ADJACENT.search(value) else value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    return found if isinstance(found, (list, dict)) else value

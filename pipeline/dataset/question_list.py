"""Files of questions, as benchmarks and their copies are laid out: which fields hold the question and its answers.

`.jsonl`, `.json` (a list, or one under a name such as `data`), `.parquet`, `.csv` and `.tsv` have a row a question;
`.txt` a line. Fields are found by name, whatever their case: HotpotQA's, MuSiQue's, Natural Questions', TriviaQA's,
PopQA's, FRAMES' (`Prompt`), BrowseComp-Plus' (`query`), SimpleQA's (`problem`), and those of verl and FlashRAG.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import UsageError

KINDS = (".jsonl", ".json", ".parquet", ".csv", ".tsv", ".txt")
_QUESTION = ("question", "question_text", "prompt", "query", "problem", "input")
_ANSWERS = "answer answers golden_answers answer_aliases possible_answers correct_answer ground_truth".split()
_WITHIN = ("value", "aliases", "text", "target", "ground_truth", "content")
"""What an answer or a message that is an object holds the text in."""
_TITLES = ("supporting_titles", "s_wiki_title", "supporting_facts", "wiki_links")
_INSIDE = ("extra_info", "reward_model", "metadata")
"""Objects that copies of benchmarks put some of the fields into."""
_WIKIPEDIA = "/wiki/"


class Listed(NamedTuple):
    question: str
    answers: list[str]
    titles: list[str]
    """Of the pages that its evidence is on, as far as they are listed."""


def read(path: Path) -> Iterator[Listed]:
    """Raises UsageError where the file cannot be read or a row has no question."""
    try:
        for place, row in _rows(path):
            yield _listed(row, f"{path}, {place}")
    except (OSError, UnicodeDecodeError, csv.Error, pa.ArrowException) as error:
        raise UsageError(f"cannot read {path}: {str(error).splitlines()[0]}") from error


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Each row with its place."""
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            values = (row for batch in file.iter_batches(1024) for row in batch.to_pylist())
            yield from ((f"row {number}", row) for number, row in enumerate(values, 1))
    elif path.suffix in (".csv", ".tsv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            yield from ((f"line {table.line_num}", row) for row in table)
    elif path.suffix == ".json":
        rows = _parsed(path.read_text(encoding="utf-8-sig"), str(path))
        if isinstance(rows, dict):
            rows = next((value for value in rows.values() if isinstance(value, list)), [])
        yield from ((f"row {number}", row) for number, row in enumerate(rows, 1))
    else:
        # Not `splitlines`: text may hold U+2028, at which no line of JSON ends.
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
            place = f"line {number}"
            if path.suffix == ".jsonl" and line.strip():
                yield place, _parsed(line, f"{path}, {place}")
            elif path.suffix == ".txt" and line.strip() and not line.startswith("#"):
                yield place, {"question": line}


def _parsed(text: str, place: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{place}: not JSON: {error}") from error


def _listed(row: Any, place: str) -> Listed:
    fields = {name.lower(): value for name, value in row.items() if name} if isinstance(row, dict) else {}
    for inner in _INSIDE:
        if isinstance(fields.get(inner), dict):
            fields = {name.lower(): value for name, value in fields[inner].items()} | fields
    asked = next((texts[-1] for name in _QUESTION if (texts := _texts(fields.get(name)))), "")
    if not asked.strip():
        raise UsageError(f"{place}: it has no 'question' ({', '.join(_QUESTION)})")
    answers = [text for name in _ANSWERS for text in _texts(fields.get(name))]
    return Listed(asked, answers, [title for name in _TITLES for title in _titles(fields.get(name))])


def _texts(value: Any) -> list[str]:
    """The texts of a field that holds one, several, an object of some, or nothing."""
    if isinstance(value, dict):
        value = {name.lower(): one for name, one in value.items()}
        return [text for name in _WITHIN for text in _texts(value.get(name))]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    if isinstance(value, str) and value.startswith("["):
        # PopQA's are lists within the cells of a table.
        try:
            return _texts(orjson.loads(value))
        except orjson.JSONDecodeError:
            return [value]
    return [] if value is None else [str(value)]


def _titles(value: Any) -> list[str]:
    """Titles, pairs of a title and a sentence's number, columns of these, or addresses of Wikipedia's pages."""
    if isinstance(value, dict):
        return _titles(value.get("title"))
    if isinstance(value, list):
        firsts = [one[0] if isinstance(one, list) and one else one for one in value]
        return [title for one in firsts for title in _titles(one)]
    if not isinstance(value, str):
        return []
    if _WIKIPEDIA not in value:
        return [value]
    return [_page(one) for one in value.replace("'", " ").replace('"', " ").split() if _WIKIPEDIA in one]


def _page(address: str) -> str:
    return unquote(address.split(_WIKIPEDIA, 1)[1].split("#")[0]).rstrip("],").replace("_", " ")

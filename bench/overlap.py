"""How many of a question's content words stand in its evidence: a question that quotes its passages is an easy search.

Of accepted pairs, by hop from the last; and of the gold sets, over the texts of their own corpus.
"""

import json
import lzma
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.common import interval, table
from pipeline.corpus import Corpus
from pipeline.types import Record

WORD = re.compile(r"[^\W_]+")
COMMON = frozenset(
    "a an the of in on at to for by with from and or is are was were be been being that which who whom whose what when "
    "where why how many much did does do it its this these those as into than then there their his her him he she they "
    "has have had not one also name named called same other".split()
)
GOLD_CORPUS = "wiki-196k.jsonl.xz"


class Asked(NamedTuple):
    """A question and its evidence, the answer's last."""

    question: str
    evidence: list[str]


def content(text: str) -> set[str]:
    return {word for word in WORD.findall(text.lower()) if word not in COMMON}


def shared(asked: Asked) -> list[float]:
    """The share of the question's words in all evidence, then in each piece from the last."""
    words = content(asked.question)
    pieces = [content(text) for text in asked.evidence]
    every = set[str]().union(*pieces)
    return [len(words & piece) / max(1, len(words)) for piece in (every, *reversed(pieces))]


def of_records(records: Sequence[Record], corpus: Corpus) -> list[Asked]:
    texts = {passage.id: f"{passage.title} {passage.text}" for passage in corpus.passages}
    drafts = [record.draft for record in records if record.draft]
    return [Asked(draft.question, [texts[hop.passage_id] for hop in draft.hops]) for draft in drafts]


def of_gold(folder: Path) -> Iterator[tuple[str, list[Asked]]]:
    """Each gold set; a supporting document counts whole, and its order is the set's own where it gives one."""
    sets = {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(folder.glob("*.jsonl"))
    }
    needed = {doc for rows in sets.values() for row in rows for doc in row["supporting_ids"]}
    texts = {}
    with lzma.open(folder.parent / GOLD_CORPUS, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["id"] in needed:
                texts[row["id"]] = f"{row['title']} {row['text']}"
    for name, rows in sets.items():
        order = {
            row["id"]: [step["support_id"] for step in row.get("decomposition") or [] if "support_id" in step]
            for row in rows
        }
        yield (
            name,
            [
                Asked(row["question"], [texts[d] for d in order[row["id"]] or row["supporting_ids"] if d in texts])
                for row in rows
            ],
        )


def report(records: Sequence[Record], corpus: Corpus, gold: Path | None) -> str:
    """A table of mean shares with intervals."""
    sets = [("accepted", of_records(records, corpus)), *(of_gold(gold) if gold else ())]
    rows = []
    for name, asked in sets:
        values = [shared(a) for a in asked]
        cells = []
        for column in range(5):
            here = [v[column] for v in values if len(v) > column]
            cells.append(interval(here, lambda x: sum(x) / len(x), 500) if here else "-")
        rows.append((name, len(asked), *cells))
    head = ("question words in", "questions", "all evidence", "last hop", "hop before", "2 before", "3 before")
    note = "" if gold else "\n(gold sets: give --gold)"
    return table(head, rows) + note

"""How often does the oracle reader answer from the right passages, and how often from all but one of them?

    python bench/oracle.py gold --gold DIR --corpus FILE [--split dev|held|all] [--limit N]
    python bench/oracle.py run RUN [--out DIR]

`gold`: the questions of `gold.py`, with all passages of their supporting documents. `run`: the drafts of a run by how
their seeds ended, with the passages of their hops. `but one`: the last document or hop's passage is held back, as the
check of needless hops does; what is right then was guessed or needs no such hop. With the embedded model these are
figures of the loop, not of the data.
"""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench import gold
from bench.common import dug, opened, share, table
from pipeline import corpus
from pipeline.agents.readers import oracle
from pipeline.config import RunConfig, build
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.run import prepare
from pipeline.text import normalise
from pipeline.types import Passage


class Asked(NamedTuple):
    """`passages`: one tuple for each supporting document or hop, in order."""

    group: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[tuple[Passage, ...], ...]


async def right(asked: Asked, passages: Sequence[tuple[Passage, ...]], context: RunContext) -> bool:
    flat = [*dict.fromkeys(passage.id for group in passages for passage in group)]
    known = {passage.id: passage for group in passages for passage in group}
    reading = await oracle(asked.question, [known[key] for key in flat], context)
    return normalise(reading.answer) in {normalise(answer) for answer in asked.answers}


async def figures(questions: Sequence[Asked], context: RunContext) -> str:
    found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for asked in questions:
        whole = await right(asked, asked.passages, context)
        rest = await right(asked, asked.passages[:-1], context) if len(asked.passages) > 1 else False
        for group in ("all", asked.group):
            found[group].append((whole, rest))
    rows = [
        (group, len(pairs), share(sum(a for a, _ in pairs), len(pairs)), share(sum(b for _, b in pairs), len(pairs)))
        for group, pairs in sorted(found.items(), key=lambda item: (item[0] != "all", item[0]))
    ]
    return table(("group", "n", "right with all", "right with all but one"), rows)


def from_gold(folder: Path, path: Path, split: str, texts: Corpus) -> list[Asked]:
    by_document: dict[str, list[Passage]] = defaultdict(list)
    for passage in texts.passages:
        by_document[passage.document_id].append(passage)
    kept = gold.duplicates(texts, path)
    found = []
    for row in gold.rows(folder, split):
        question = gold.question(row, kept)
        passages = tuple(tuple(by_document[key]) for key in question.supporting_ids)
        if all(passages) and normalise(question.answer):
            found.append(Asked(f"{question.dataset} {question.hops}", question.question, question.answers, passages))
    return found


def from_run(run: str, out: Path) -> tuple[RunConfig, list[Asked]]:
    done = dug(run, out)
    texts = prepare.corpus(done.config)
    known = {passage.id: passage for passage in texts.passages}
    found = []
    for record in done.records:
        if record.draft is None:
            continue
        draft = record.draft
        passages = tuple((known[hop.passage_id],) for hop in draft.hops if hop.passage_id in known)
        ended = " ".join(part for part in (record.status.value, record.reason) if part)
        found.append(Asked(ended, draft.question, (draft.answer, *draft.answer_aliases), passages))
    return done.config, found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = options.add_subparsers(dest="kind", required=True)
    asked = kinds.add_parser("gold")
    asked.add_argument("--gold", type=Path, required=True)
    asked.add_argument("--corpus", type=Path, required=True)
    asked.add_argument("--split", choices=["dev", "held", "all"], default="all")
    asked.add_argument("--limit", type=int, default=0)
    run = kinds.add_parser("run")
    run.add_argument("run")
    for kind in (asked, run):
        kind.add_argument("--out", type=Path, default=Path("outputs"))
    given = options.parse_args()
    if given.kind == "gold":
        config = build(values={"corpus": {"name": str(given.corpus)}})
        texts = corpus.load(corpus.resolve(str(given.corpus)))
        questions = from_gold(given.gold, given.corpus, given.split, texts)[: given.limit or None]
    else:
        config, questions = from_run(given.run, given.out)
    # No search is made, so any index does.
    context = replace(opened("tiny", given.out).context, config=config, llm=prepare.model(config))
    print(f"reader {config.models.of('reader').model}: figures of the loop, not of the data, where it is embedded")
    print(asyncio.run(figures(questions, context)))


if __name__ == "__main__":
    main()

"""Does a model that reads believe a run's distractors? `python -m bench.weak_reader RUN gguf:FILE [--pairs N]`.

The questions are those of a run's accepted pairs of one step. The model is given the hits of one search with the
question twice, without and with the pair's distractors, and answers in one call without sampling. Questions whose
evidence is not among both are left out, and those whose hits the distractors do not change. What the model answers is
kept in the output folder, so that a run goes on where it was.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.common import format_share, interval, load_run
from pipeline.cli.options import parse_model
from pipeline.config.models import Models
from pipeline.context import RunContext
from pipeline.distractors.hard_passages import build_overlay
from pipeline.llm.base import Request
from pipeline.reward.equality import equal
from pipeline.run import prepare
from pipeline.text.names import contains
from pipeline.types import Draft, Message, Passage, Record

ASKED = "Answer the question from the passages. Reply with the answer alone, as short as it can be, without a sentence."
ROOM = 900
"""Characters of a passage."""


class Read(NamedTuple):
    alone: bool
    """Was it right without distractors?"""
    among: bool
    """And with them?"""


async def read(record: Record, context: RunContext) -> Read | None:
    """None where nothing can be compared."""
    draft, settings = record.draft, context.config.distractors
    made = record.distractor_eval
    if draft is None or len(draft.hops) > 1 or made is None or not made.used:
        return None
    over = build_overlay(context.retriever, draft, made.used, settings)
    alone, among = [[hit.passage for hit in await r.search(draft.question, context.config.retrieval.k)]
                    for r in (context.retriever, over)]  # fmt: skip
    cited = {hop.passage_id for hop in draft.hops}
    if alone == among or not all(cited <= {passage.id for passage in hits} for hits in (alone, among)):
        return None
    return Read(await _right(draft, alone, context), await _right(draft, among, context))


async def _right(draft: Draft, passages: Sequence[Passage], context: RunContext) -> bool:
    """Is it the answer, or a sentence that gives it?"""
    told = "\n\n".join(f"[{n}] {p.title}\n{p.text[:ROOM]}" for n, p in enumerate(passages, 1))
    messages = Message(role="system", content=ASKED), Message(role="user", content=f"{told}\n\n{draft.question}")
    model = context.config.models.of("reader")
    said = await context.llm.complete(Request(model=model.model, messages=messages, sampling=model.sampling))
    answer, golds = said.message.content.strip().rstrip("."), [draft.answer, *draft.answer_aliases]
    return equal(answer, golds) or any(contains(answer, gold) for gold in golds)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("run")
    arguments.add_argument("model")
    arguments.add_argument("--pairs", type=int, default=100)
    arguments.add_argument("--out", type=Path, default=Path("outputs"))
    given = arguments.parse_args()
    run = load_run(given.run, given.out)
    small = {"context": 8192, "sampling": {"max_tokens": 64, "temperature": 0}, "limits": {"concurrency": 1}}
    models = Models.model_validate({"reader": {**parse_model(given.model), **small}})
    config = run.config.model_copy(update={"models": models}).with_runtime(out=given.out)
    context = prepare.context(config, prepare.corpus(config))

    async def every() -> list[Read]:
        found = list[Read]()
        for record in sorted(run.accepted, key=lambda record: record.key):
            if len(found) < given.pairs and (one := await read(record, context)):
                found.append(one)
                print(len(found), *one, flush=True)
        return found

    found = asyncio.run(every())
    lost = interval(found, lambda rows: 100 * sum(one.among - one.alone for one in rows) / max(1, len(rows)))
    print(f"{models.of('reader').model} over {config.corpus.name}: right without distractors", end=" ")
    print(format_share(sum(one.alone for one in found), len(found)), "with them", end=" ")
    print(f"{format_share(sum(one.among for one in found), len(found))}: {lost} points")


if __name__ == "__main__":
    main()

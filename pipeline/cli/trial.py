"""A few pairs without a run: no journal, no folder of one. Index and paid answers are kept as `generate` keeps them."""

import asyncio

from pipeline.cli import stages
from pipeline.cli.progress import Progress
from pipeline.config import LOCAL_SEEDS, RunConfig
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.dataset.gates import Gates, dropped
from pipeline.llm.ledger import counting
from pipeline.loop.episode import run_seed
from pipeline.run import prepare
from pipeline.run.plan import Order, bounds
from pipeline.types import Record, Seed, Status


def trial(config: RunConfig, progress: Progress) -> list[Record]:
    """The first seeds of the plan, as `generate` would make them, up to where the wanted pairs are accepted or a little
    beyond. A `generate` with the same settings finds the index and the model's answers in the output folder."""
    corpus = stages.read(config, progress)
    return asyncio.run(_dug(config, corpus, progress))


async def _dug(config: RunConfig, corpus: Corpus, progress: Progress) -> list[Record]:
    progress.stage("opening the index")
    context, order, found = prepare.context(config, corpus), Order(config, corpus), list[Record]()
    wanted, most = bounds(config.how)
    gates = Gates(config.gates)
    progress.stage("digging")
    together = min(config.seeds_at_work(), LOCAL_SEEDS)
    for start in range(0, most, together):
        seeds = [order[index].seed for index in range(start, min(start + together, most))]
        for record, money in await asyncio.gather(*(_priced(seed, context) for seed in seeds)):
            progress.tally.pay(money)
            drop = gates.admit(gates.check(record)) if record.status is Status.ACCEPTED else None
            found.append(dropped(record, drop) if drop else record)
            progress.tally.add(found[-1])
        if sum(record.status is Status.ACCEPTED for record in found) >= (wanted or most):
            break
    return found


async def _priced(seed: Seed, context: RunContext) -> tuple[Record, float | None]:
    """With the money that it took."""
    with counting() as ledger:
        return await run_seed(seed, context), ledger.spending.total.money

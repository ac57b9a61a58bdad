"""A few pairs without a run: no journal, no folder of one. Index and paid answers are kept as `generate` keeps them."""

import asyncio
import logging
from functools import partial

from pipeline.config import LOCAL_SEEDS, RunConfig
from pipeline.gates import Gates, dropped
from pipeline.loop.episode import run_seed
from pipeline.run import RunCallbacks, attempts, prepare, stages, targets
from pipeline.run.plan import Order, bounds
from pipeline.run.repeated_error import SameError
from pipeline.types import Record, Status

logger = logging.getLogger(__name__)


async def preview(config: RunConfig, watch: RunCallbacks) -> list[Record]:
    """The first seeds of the plan, as `generate` would run them, up to where the wanted pairs are accepted or a little
    beyond. A `generate` with the same settings finds the index and the model's answers in the output folder."""
    corpus = stages.read(config, watch)
    targets.check(config, corpus)
    watch.stage("opening the index")
    context, order, found = prepare.context(config, corpus), Order(config, corpus), list[Record]()
    run, (wanted, most) = partial(run_seed, context=context), bounds(config.how)
    gates = Gates(config.gates)
    watch.stage("running seeds")
    together, same = min(config.seeds_at_work(), LOCAL_SEEDS), SameError[Record](config.how.same_error_seeds)
    for start in range(0, most, together):
        seeds = [order[index].seed for index in range(start, min(start + together, most))]
        for attempt, record in await asyncio.gather(*(attempts.attempted(seed, run) for seed in seeds)):
            watch.attempt(attempt)
            if not isinstance(record, Record):
                raise record
            drop = gates.admit(gates.check(record)) if record.status is Status.ACCEPTED else None
            found.append(dropped(record, drop) if drop else record)
            watch.record(found[-1])
            same.ended(attempt.error, record)
        if same.cause:
            logger.warning("%s", same.stop())
            break
        if sum(record.status is Status.ACCEPTED for record in found) >= (wanted or most):
            break
    return found

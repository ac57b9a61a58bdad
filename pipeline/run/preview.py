"""Generate a few pairs without a run: no journal and no run folder, but the same index and cache as `generate`."""

import asyncio
import logging
from functools import partial

from pipeline.config.run import LOCAL_SEEDS, RunConfig
from pipeline.gates import Gates, mark_dropped
from pipeline.loop.episode import run_seed
from pipeline.run import RunCallbacks, attempts, prepare, stages, targets
from pipeline.run.plan import Order, bounds
from pipeline.run.repeated_error import SameError
from pipeline.types import Record, Status

logger = logging.getLogger(__name__)


async def preview(config: RunConfig, watch: RunCallbacks) -> list[Record]:
    """Run the first seeds of the plan as `generate` would, until the wanted pairs are accepted or slightly beyond.

    A later `generate` with the same settings finds the index and the model's answers in the output folder.
    """
    corpus = stages.read(config, watch)
    targets.check(config, corpus)
    watch.stage("opening the index")
    context, order, records = prepare.context(config, corpus), Order(config, corpus), list[Record]()
    run_in_context, (wanted_pairs, max_seeds) = partial(run_seed, context=context), bounds(config.runtime)
    gates = Gates(config.gates)
    watch.stage("running seeds")
    batch_size = min(config.seeds_at_work(), LOCAL_SEEDS)
    same_error = SameError[Record](config.runtime.same_error_seeds)
    for start in range(0, max_seeds, batch_size):
        seeds = [order[index].seed for index in range(start, min(start + batch_size, max_seeds))]
        for attempt, record in await asyncio.gather(*(attempts.run_attempt(seed, run_in_context) for seed in seeds)):
            watch.attempt(attempt)
            if not isinstance(record, Record):
                raise record
            drop = gates.admit(gates.check(record)) if record.status is Status.ACCEPTED else None
            records.append(mark_dropped(record, drop) if drop else record)
            watch.record(records[-1])
            same_error.add(attempt.error, record)
        if same_error.cause:
            logger.warning("%s", same_error.stop())
            break
        if sum(record.status is Status.ACCEPTED for record in records) >= (wanted_pairs or max_seeds):
            break
    return records

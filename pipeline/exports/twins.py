"""The unanswerable twin of a pair as a record of its own, so that every view takes it as it takes any pair.

It lies on the side of its pair and passes where its pair passes: it is no duplicate of it, and "not found" is no answer
that too many have. Only what depends on its own words and rollouts is asked of it again.
"""

from pipeline import registry
from pipeline.config import RunConfig
from pipeline.types import Record
from pipeline.types.twin_record import as_record

GATES = ("contaminated", "personal", "solve_rate")


def twin_record(record: Record, config: RunConfig) -> Record | None:
    """The twin of an accepted pair as a record; None where it has none, or where a gate drops it."""
    if (made := as_record(record)) is None:
        return None
    checks = [registry.load("gates", name).check for name in GATES if name not in config.gates.off]
    return None if any(check(made.draft, made, config.gates) for check in checks) else made

"""Converts the twin of a pair to a record of its own."""

from pipeline.types.record import Record, Round, Status
from pipeline.types.twin import twin_draft, twin_key


def as_record(record: Record) -> Record | None:
    """Return the twin of an accepted pair, even if a gate dropped the pair, or None if it has none.

    The twin has its own key and the seed of its pair.
    """
    last, twin = record.last, record.twin
    used = twin.used if twin else None
    if not record.confirmed or last is None or last.draft is None or twin is None or used is None:
        return None
    return Record(
        key=twin_key(record.key),
        seed=record.seed,
        status=Status.ACCEPTED,
        reason="",
        rounds=(Round(index=last.index, agent=last.agent, draft=twin_draft(last.draft, used), probes=used.probes),),
        confirmation=used.rollouts,
        confirmation_verdicts=used.verdicts,
        lineage=record.lineage,
        assessments=(used.assessment,) if used.assessment else (),
        measurements=twin.measurements,
    )


def twin_of(record: Record) -> str:
    """Return the key of the pair whose twin a record is; empty if the record is a pair itself."""
    return record.seed.key if record.key == twin_key(record.seed.key) else ""

"""The twin of a pair as a record of its own."""

from pipeline.types.record import Record, Round, Status
from pipeline.types.twin import twin_draft, twin_key


def as_record(record: Record) -> Record | None:
    """The twin of an accepted pair, whatever gates say of that, with a key of its own and the seed of its pair; None
    where it has none."""
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
    """The key of the pair that a record is the twin of; empty where it is a pair itself."""
    return record.seed.key if record.key == twin_key(record.seed.key) else ""

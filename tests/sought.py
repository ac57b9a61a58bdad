"""A record that the shortcut seeker has tried."""

from pipeline.types import Probe, Record, Searched


def sought(base: Record, tries: int, steps: int | None = None) -> Record:
    """The record after so many tries of the shortcut seeker, of which the last found a shortcut in `steps`."""
    search = Searched(query="founded by monks", passage_ids=("t0#0",))
    lost = Probe(check="seeker", model="reader", answers=("",), right=0, searches=(search,) * 2)
    won = lost.model_copy(update={"right": 1, "evidence": True, "searches": (search,) * (steps or 0)})
    probes = (*[lost] * (tries - 1), won if steps else lost)
    return base.model_copy(
        update={"rounds": (*base.rounds[:-1], base.rounds[-1].model_copy(update={"probes": probes}))}
    )

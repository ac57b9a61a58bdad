"""Questions that a model knows from memory in more of its tries than `gates.known_to`; by default all pass."""

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import GateResult
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    knowing = [known for known in record.known_to if known.right > settings.known_to * known.tries]
    return [GateResult(drop=f"{known.model} knew it in {known.right} of {known.tries} tries") for known in knowing]

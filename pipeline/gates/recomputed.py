"""Questions whose computed answer does not follow from their evidence as it stands."""

from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate
from pipeline.operations import OperationError, evaluate
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    try:
        outcomes = evaluate(draft.graph)
    except OperationError as error:
        return str(error)
    wrong = [step_id for step_id, outcome in outcomes.items() if outcome.answer != draft.graph.by_id[step_id].answer]
    return f"its evidence gives another answer for step '{wrong[0]}'" if wrong else ""


GATE = Gate(check)

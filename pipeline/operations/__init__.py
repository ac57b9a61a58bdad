"""Computed answers of evidence graphs, for agents, checks, exports and rewards. Each operation is one file."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from pipeline import registry
from pipeline.operations.base import Computation, Operand, Operation, OperationError
from pipeline.reward.equality import equal
from pipeline.text import strip_tag
from pipeline.types.graph import ComputedStep, FoundStep, Graph
from pipeline.values.interval import DATE, ValueInterval, read_interval

_OPPOSITE = {"yes": "no", "no": "yes"}
_TEN_YEARS = Fraction(3653)
_LIKELY = 0.5
"""The chance of a blind guess at which an answer is worth nothing."""


def operation(name: str) -> Operation:
    """Return the operation of that name. Raises UsageError for an unknown one."""
    return registry.instance("operations", name, Operation)


def operations() -> dict[str, Operation]:
    """Return all operations by name."""
    return {name: operation(name) for name in registry.names("operations")}


def evaluate(graph: Graph, changed: Mapping[str, ValueInterval | str] | None = None) -> dict[str, Computation]:
    """Compute every computed step from the answers of the found steps.

    Args:
        graph: The evidence.
        changed: Other values for found steps, by id: an interval, or another text.

    Returns:
        The answer of each computed step, by id.

    Raises:
        OperationError: The evidence does not settle a step; the message names it.
    """
    outcomes, errors = _compute(graph, changed or {})
    for step_id, error in errors.items():
        raise OperationError(f"step '{step_id}': {error}")
    return outcomes


def settle(graph: Graph) -> tuple[Graph, Computation | None]:
    """Return the graph with the answers of its computed steps, and the answer of its last step if that is computed.

    Raises OperationError if the evidence does not settle a step.
    """
    outcomes = evaluate(graph)
    answers = {step_id: outcome.answer for step_id, outcome in outcomes.items()}
    return graph.with_answers(answers), outcomes.get(graph.last.id)


def unsettled_steps(graph: Graph) -> dict[str, str]:
    """Return why computed steps have no certain answer, by id, without steps that depend on another such step."""
    return _compute(graph, {})[1]


def _compute(graph: Graph, changed: Mapping[str, ValueInterval | str]) -> tuple[dict[str, Computation], dict[str, str]]:
    outcomes, errors, open_ids = dict[str, Computation](), dict[str, str](), set[str]()
    for step in graph.steps:
        if open_ids.intersection(step.needs):
            open_ids.add(step.id)
        elif isinstance(step, ComputedStep):
            operands = [_operand(graph, need, outcomes, changed) for need in step.needs]
            try:
                outcomes[step.id] = operation(step.operation).compute(step, operands)
            except OperationError as error:
                errors[step.id] = str(error)
                open_ids.add(step.id)
    return outcomes, errors


def advice_against_guessing(graph: Graph) -> str:
    """Return what to ask instead if a blind guess is right half of the time, or else an empty text."""
    if not isinstance(graph.last, ComputedStep) or guess_chance(graph) < _LIKELY:
        return ""
    return operation(graph.last.operation).guess_advice


def guess_chance(graph: Graph) -> float:
    """Return how often a blind guess of the answer is right, given the things that the question names."""
    if not isinstance(graph.last, ComputedStep):
        return 0.0
    outcomes = evaluate(graph)
    operands = [_operand(graph, need, outcomes, {}) for need in graph.last.needs]
    return operation(graph.last.operation).chance(operands)


def _read_value(graph: Graph, step: FoundStep | ComputedStep, answer: str) -> ValueInterval | None:
    """Return the values that an answer allows. A bare number like 1467 is a year unless the steps that use it count."""
    interval = read_interval(answer, is_exact=isinstance(step, FoundStep) and step.is_exact)
    if interval and interval.kind == DATE and answer.isdecimal() and _is_count(graph, step):
        return ValueInterval(Fraction(answer), Fraction(answer), "")
    return interval


def _is_count(graph: Graph, step: FoundStep | ComputedStep) -> bool:
    """Return whether a step that uses this one has a unit other than those of dates, or compares it with an amount."""
    for user in graph.users_of(step):
        if isinstance(user, ComputedStep):
            values = [read_interval(graph.by_id[need].answer) for need in user.needs]
            if user.unit not in ("", "years", "days") or any(value and value.kind != DATE for value in values):
                return True
    return False


def _operand(
    graph: Graph, step_id: str, outcomes: Mapping[str, Computation], changed: Mapping[str, ValueInterval | str]
) -> Operand:
    step, value = graph.by_id[step_id], changed.get(step_id)
    interval = value if isinstance(value, ValueInterval) else None
    if step_id in outcomes:
        interval = outcomes[step_id].interval
    answer, aliases = _name(graph, step_id, outcomes, changed)
    if interval is None:
        interval = _read_value(graph, step, answer)
    member = graph.member(step)
    subject_aliases: tuple[str, ...]
    if member and step.needs[0] not in changed:
        subject, subject_aliases = member, ()
    elif step.needs:
        subject, subject_aliases = _name(graph, step.needs[0], outcomes, changed)
    else:
        subject = graph.subject(step)
        subject_aliases = tuple({strip_tag(subject)} - {subject})
    return Operand(step_id, answer, subject, interval, aliases, subject_aliases)


def _name(
    graph: Graph, step_id: str, outcomes: Mapping[str, Computation], changed: Mapping[str, ValueInterval | str]
) -> tuple[str, tuple[str, ...]]:
    """Return the answer of a step and its aliases."""
    if step_id in outcomes:
        return outcomes[step_id].answer, outcomes[step_id].aliases
    value = changed.get(step_id)
    if value is None:
        return graph.by_id[step_id].answer, graph.by_id[step_id].answer_aliases
    return (f"another value of {step_id}" if isinstance(value, ValueInterval) else value), ()


def idle_steps(graph: Graph) -> tuple[str, ...]:
    """Return the ids of the found steps for which no plausible other value would change the answer.

    Plausible values are half or twice an amount, a date ten years away, a value on the other side of those that it is
    compared with, another name, and the opposite of yes or no. A branch that lost a comparison is not idle, since it
    would win with another value.
    """
    return tuple(step.id for step in graph.found if not _can_change_answer(graph, step))


def _can_change_answer(graph: Graph, step: FoundStep) -> bool:
    if step is graph.last:
        return True
    before = evaluate(graph)
    for value in _plausible_values(graph, step):
        try:
            after = evaluate(graph, {step.id: value})
        except OperationError:  # that value would leave the answer open
            return True
        changed = {step_id for step_id in before if before[step_id].answer != after[step_id].answer} | {step.id}
        if graph.last.id in changed:
            return True
        # A found step that starts from another thing has another answer.
        if any(changed.intersection(later.needs) and _can_change_answer(graph, later) for later in graph.found):
            return True
    return False


def _plausible_values(graph: Graph, step: FoundStep) -> list[ValueInterval | str]:
    value = _read_value(graph, step, step.answer)
    if value is None or not value.is_bounded:
        return [_OPPOSITE.get(step.answer.strip().casefold(), f"another answer of {step.id}")]
    low, high = value.corners
    if value.kind == DATE:
        values = [(low - _TEN_YEARS, high - _TEN_YEARS), (low + _TEN_YEARS, high + _TEN_YEARS)]
    else:
        values = [(low / 2, high / 2), (low * 2, high * 2)]
    for user in graph.users_of(step):
        if isinstance(user, ComputedStep):
            other_operands = [_operand(graph, need, evaluate(graph), {}) for need in user.needs if need != step.id]
            thresholds = operation(user.operation).thresholds(user, other_operands)
            values += _beyond([limit for limit in thresholds if limit.is_bounded and limit.kind == value.kind])
    return [ValueInterval(least, most, value.kind) for least, most in values]


def _beyond(thresholds: Sequence[ValueInterval]) -> list[tuple[Fraction, Fraction]]:
    """Return a value below all thresholds and one above."""
    corners = [corner for threshold in thresholds for corner in threshold.corners]
    if not corners:
        return []
    margin = _TEN_YEARS if thresholds[0].kind == DATE else max(map(abs, corners)) / 2
    return [(min(corners) - margin,) * 2, (max(corners) + margin,) * 2]


def repeated_answers(graph: Graph) -> tuple[str, ...]:
    """Return the ids of earlier steps with the final answer, where a solver could stop and be right."""
    if isinstance(graph.last, ComputedStep) and operation(graph.last.operation).names_operands:
        return ()
    return tuple(step.id for step in graph.steps[:-1] if equal(step.answer, [*graph.last.spellings]))


__all__ = [
    "Computation",
    "Operand",
    "Operation",
    "OperationError",
    "advice_against_guessing",
    "evaluate",
    "guess_chance",
    "idle_steps",
    "operation",
    "operations",
    "repeated_answers",
    "settle",
    "unsettled_steps",
]

"""Kinds whose quota is full: by target, difficulty, steps, operation, band, answer type, reasoning, hops and others.

`[gates.quotas.target] 2 = 0.5` lets half of the pairs have the target 2; `"*" = 0.25` limits each value of a trait
that is not named. Until a corpus names the domain of a document, the corpus itself is the domain.
"""

from collections.abc import Callable, Mapping, Set

from pipeline.agents.reasoning import Reasoning, reasoning
from pipeline.config.exports import GateConfig
from pipeline.errors import UsageError, unknown
from pipeline.gates.base import Gate, GateResult, limit
from pipeline.operations import operations
from pipeline.types import AnswerType, Draft, Record
from pipeline.types.curriculum import DIFFICULTY_BANDS, difficulty_band

TRAITS: dict[str, Callable[[Draft, Record, str], object]] = {
    "target": lambda draft, record, policy: record.seed.target_steps,
    "difficulty": lambda draft, record, policy: record.difficulty,
    "steps": lambda draft, record, policy: record.step_counts.adversarial_steps or "unknown",
    "operation": lambda draft, record, policy: draft.graph.operation,
    "band": lambda draft, record, policy: difficulty_band(record.hardness_for(policy)[1]) or "",
    "answer_type": lambda draft, record, policy: draft.answer_type.value,
    "reasoning": lambda draft, record, policy: reasoning(draft).value,
    "hops": lambda draft, record, policy: len(draft.hops),
    "strategy": lambda draft, record, policy: record.lineage.strategy,
    "language": lambda draft, record, policy: record.lineage.language,
    "domain": lambda draft, record, policy: record.lineage.corpus,
}
"""Each function takes a pair and the policy of the data set."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "answer_type": tuple(AnswerType),
    "reasoning": tuple(Reasoning),
    "band": tuple(DIFFICULTY_BANDS),
    "operation": ("lookup", *operations()),
}
"""All values of those traits that have a fixed set."""


def check_traits(settings: GateConfig) -> None:
    """Raise UsageError for an unknown trait, or a value that no pair can have."""
    for trait, shares in settings.quotas.items():
        if trait not in TRAITS:
            raise unknown("trait for gates.quotas", trait, TRAITS)
        check_values(trait, set(shares) - {"*"}, "gates.quotas")


def check_values(trait: str, values: Set[str], setting: str) -> None:
    """Raise UsageError if no pair can have one of the values, since its quota would silently limit nothing."""
    if (names := NAMES.get(trait)) and (wrong := values - set(names)):
        raise UsageError(f"{setting}.{trait}: no '{min(wrong)}'; known: {', '.join(names)}")


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    results: list[GateResult] = []
    for trait, shares in settings.quotas.items():
        value = str(TRAITS[trait](draft, record, settings.policy))
        share = shares.get(value, shares.get("*"))
        if share is not None:
            mark = f"{trait} {value}"
            most = settings.least if share else 0
            results += limit([mark], f"enough pairs have {mark}", most, share)
    return results


GATE = Gate(check, prepare=check_traits)

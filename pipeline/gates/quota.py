"""Kinds whose quota is full: by target, difficulty, steps, operation, band, answer type, reasoning, hops and others.

`[gates.quotas.target] 2 = 0.5` lets half of the pairs have the target 2; `"*" = 0.25` limits each value of a trait
that is not named. Until a corpus names the domain of a document, the corpus itself is the domain.

The functions of `OWN_GATES` are gates too, by their names: quotas that hold by default.
"""

from collections.abc import Callable, Mapping, Set

from pipeline.agents.reasoning import Reasoning, reasoning
from pipeline.config.exports import GateConfig
from pipeline.errors import UsageError, unknown
from pipeline.gates.base import GateResult
from pipeline.operations import operations
from pipeline.text import normalise, words
from pipeline.text.scripts import is_spaceless, runs
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

_ALWAYS = 2
"""This many pairs may have one answer, or use one document, whatever their share is: small runs keep their pairs."""


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
            results += _limit([mark], f"enough pairs have {mark}", most, share)
    return results


def opening(question: str) -> str:
    """Return the first four words of a question, or as many characters as four words have: eight of Chinese."""
    if is_spaceless(question):
        characters = words(question)
        return "".join(next(runs(characters, 4), characters))
    return " ".join(question.lower().split(maxsplit=4)[:4])


def overused_answer(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    """Pairs whose answer too many pairs have already: by default more than 1 % of them. Yes and no are let pass."""
    if draft.answer_type is AnswerType.BOOLEAN:
        return []
    answer = normalise(draft.answer)
    return _limit([answer], f"enough pairs have the answer '{answer}'", _ALWAYS, settings.answers)


def overused_document(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    """Questions that use a document, other than that of their seed, which too many other questions use.

    The plan draws the documents of seeds evenly, so that only other documents can be overused.
    """
    seed_document = record.seed.passage.document_id
    documents = [document for hop in draft.hops if (document := hop.passage_id.rpartition("#")[0]) != seed_document]
    full = "enough pairs rest on one of its documents"
    return _limit(documents, full, _ALWAYS, settings.documents)


def overused_opening(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    """Questions that begin with the same four words as too many others."""
    first_words = opening(draft.question)
    return _limit([first_words], f"enough pairs begin with '{first_words}'", settings.least, settings.openings)


def overused_passage(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    """Questions that use a passage which enough other questions use."""
    passages = [hop.passage_id for hop in draft.hops]
    return _limit(passages, "enough pairs rest on one of its passages", settings.pairs_per_passage)


def _limit(marks: list[str], full: str, most: int, share: float = 0.0) -> list[GateResult]:
    return [GateResult(marks=tuple(dict.fromkeys(marks)), most=most, share=share, full=full)] if marks else []


OWN_GATES = (overused_answer, overused_document, overused_opening, overused_passage)

"""Questions of a kind whose quota is full: by target, difficulty, answer type, hops, strategy or domain.

`[gates.quotas.target] 2 = 0.5` lets half of the pairs have the target 2; `"*" = 0.25` balances all values of a trait
that are not named. Until a corpus names the domain of a document, the corpus itself is the domain.
"""

from collections.abc import Callable

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import GateResult
from pipeline.errors import UsageError
from pipeline.types import AnswerType, Draft, Record

TRAITS: dict[str, Callable[[Draft, Record], object]] = {
    "target": lambda draft, record: record.seed.target_steps,
    "difficulty": lambda draft, record: record.difficulty,
    "answer_type": lambda draft, record: draft.answer_type.value,
    "hops": lambda draft, record: len(draft.hops),
    "strategy": lambda draft, record: record.lineage.strategy,
    "domain": lambda draft, record: record.lineage.corpus,
}


def ready(settings: GateConfig) -> None:
    for trait, shares in settings.quotas.items():
        if trait not in TRAITS:
            raise UsageError(f"gates.quotas: no trait '{trait}'; known: {', '.join(TRAITS)}")
        # A name that no pair can have would limit nothing, without a word.
        if trait == "answer_type" and (wrong := set(shares) - {*AnswerType, "*"}):
            raise UsageError(f"gates.quotas.answer_type: no '{min(wrong)}'; known: {', '.join(AnswerType)}")


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    found = []
    for trait, shares in settings.quotas.items():
        value = str(TRAITS[trait](draft, record))
        share = shares.get(value, shares.get("*"))
        if share is not None:
            mark = f"{trait} {value}"
            most = settings.least if share else 0
            found.append(GateResult(marks=(mark,), most=most, share=share, full=f"enough pairs have {mark}"))
    return found

"""Evidence graphs from short arguments: as a model proposes them, and as a draft holds them."""

from collections.abc import Sequence
from typing import Any

from pipeline.agents.graph_proposals import ProposedStep, WordedGraphArguments
from pipeline.loop.strategies.base import to_draft
from pipeline.text import contains, sentences
from pipeline.types import Draft, Passage


def step(
    passage: Passage, answer: str, sub_question: str = "", *needs: str, step_id: str = "", **fields: Any
) -> dict[str, Any]:
    """Return a found step as a model proposes it, which cites the sentences of a passage that hold its answer."""
    numbers = [n for n, span in enumerate(sentences(passage.text), 1) if contains(passage.text[slice(*span)], answer)]
    return {
        "id": step_id or passage.document_id,
        "sub_question": sub_question or f"What of {passage.title}?",
        "answer": answer,
        "needs": list(needs),
        "passage_id": passage.shown_id,
        "sentences": numbers[:1] or [1],
    } | fields


def computed(operation: str, *needs: str, step_id: str = "result", **fields: Any) -> dict[str, Any]:
    """Return a computed step as a model proposes it."""
    return {"id": step_id, "sub_question": "What follows?", "needs": list(needs), "operation": operation} | fields


def chain(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps, each of which needs the one before it."""
    before = [None, *(earlier["id"] for earlier in steps)]
    return [step | {"needs": [need] if need else []} for step, need in zip(steps, before, strict=False)]


def drafted(question: str, steps: Sequence[dict[str, Any]], passages: Sequence[Passage], **changes: Any) -> Draft:
    """Return the draft of a question and its steps, as from a model that was shown these passages."""
    proposed = WordedGraphArguments(question=question, steps=tuple(map(ProposedStep.model_validate, steps)))
    draft = to_draft(proposed, {passage.shown_id: passage for passage in passages})
    assert draft
    return draft.model_copy(update=changes)

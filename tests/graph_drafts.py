"""Evidence graphs from short arguments: as a model proposes them, and as a draft holds them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pipeline.agents.graph_proposals import ProposedStep, WordedGraphArguments, build_step
from pipeline.loop.strategies.base import build_draft, to_draft
from pipeline.text import contains, sentences
from pipeline.types import Draft, Hop, Passage
from pipeline.types.graph import Citation, FoundStep, Graph


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
    draft = to_draft(proposed, proposed.question, {passage.shown_id: passage for passage in passages})
    assert draft
    return draft.model_copy(update=changes)


def chain_graph(hops: Sequence[Hop]) -> Graph:
    """Return the graph of a chain, in which each hop needs the one before it."""
    steps = [
        FoundStep(
            id=f"h{place}",
            sub_question=hop.sub_question,
            answer=hop.answer,
            answer_aliases=hop.answer_aliases,
            needs=(f"h{place - 1}",) if place else (),
            citation=Citation(
                passage_id=hop.passage_id,
                title=hop.title,
                sentences=(0,),
                quote=hop.quote,
                passage_sha256=hop.passage_sha256,
            ),
        )
        for place, hop in enumerate(hops)
    ]
    return Graph(steps=tuple(steps))


def chained(question: str, hops: Sequence[Hop], *, answer: str = "", **fields: Any) -> Draft:
    """Return a draft whose evidence is a chain; its last hop gives the `answer`, if one is named."""
    hops = [*hops[:-1], replace(hops[-1], answer=answer or hops[-1].answer)]
    return Draft(question=question, graph=chain_graph(hops), **fields)


def changed(draft: Draft | None, **changes: Any) -> Draft:
    """Return a draft with other fields, or with other `hops` of a chain or another `answer`."""
    assert draft
    hops, answer = changes.pop("hops", None), changes.pop("answer", "")
    if hops is not None:
        changes["graph"] = chain_graph([*hops[:-1], replace(hops[-1], answer=answer or hops[-1].answer)])
    elif answer:
        changes["graph"] = draft.graph.with_answers({draft.graph.last.id: answer})
    return draft.model_copy(update=changes)


def extend(draft: Draft, question: str, steps: Sequence[dict[str, Any]], passages: Sequence[Passage]) -> Draft:
    """Return a draft with other last steps: proposed `steps` follow all steps of a draft but its last one."""
    shown = {passage.shown_id: passage for passage in passages}
    before = draft.graph.steps[:-1]
    added = [build_step(ProposedStep.model_validate(step), shown) for step in steps]
    return build_draft(Graph(steps=(*before, *added)), question)

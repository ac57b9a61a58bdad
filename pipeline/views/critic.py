"""`critic`: every rollout with what it did, what came of it and why; to train verifiers, and judges by checklists.

Rules: DeepVerifier (arXiv 2601.15808): a trajectory as steps with their sources, the predicted answer and whether it is
right, with a kind of failure; `taxonomy` has its 13 kinds and is null where no model judged, `failure` is computed.
CM2 (arXiv 2602.12268): a checklist of yes-or-no items anchored in a reference rollout, with dependences and weights.
Its items are those of the evidence chain, one for each hop and one for the answer; `passed` says which of them this
rollout meets, by passage and by name, without a model.
"""

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa

from pipeline import chat
from pipeline.agents.environment import Environment
from pipeline.process import found_at, process
from pipeline.types import Draft, Record, Rollout
from pipeline.views.base import PROVENANCE, attempts, correct, provenance
from pipeline.views.planner import step

TEXT, FLAG, COUNT = pa.string(), pa.bool_(), pa.int32()
STEP = pa.struct([("step", COUNT), ("tool", TEXT), ("argument", TEXT), ("passage_ids", pa.list_(TEXT)),
                  ("hops", pa.list_(COUNT))])  # fmt: skip
SCHEMA = pa.schema([
    ("task", TEXT), ("messages", chat.MESSAGES), ("trajectory_summary", pa.list_(STEP)), ("answer_pred", TEXT),
    ("gold_correct", FLAG), ("right", FLAG), ("supported", FLAG), ("failure", TEXT), ("taxonomy", TEXT),
    ("checklist", chat.JSON), ("passed", pa.list_(FLAG)), ("sample", COUNT), *PROVENANCE,
])  # fmt: skip


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    draft = record.draft
    if draft is None:
        return
    reference = next((found_at(draft, *attempt) for attempt in correct(record)), (None,) * len(draft.hops))
    items = orjson.dumps(checklist(draft, reference)).decode()
    for rollout, verdict in attempts(record):
        went, texts = process(draft, rollout, verdict), chat.dumped(rollout.trajectory.messages)
        if texts:
            yield {
                "task": draft.question,
                "messages": texts,
                "trajectory_summary": summary(rollout, went.found_at),
                "answer_pred": rollout.answer,
                "gold_correct": verdict.correct,
                "right": verdict.right,
                "supported": verdict.supported,
                "failure": went.failure,
                "taxonomy": went.taxonomy,
                "checklist": items,
                "passed": [*(at is not None for at in went.found_at), verdict.right],
                "sample": rollout.sample,
                **provenance(record, texts),
            }


def summary(rollout: Rollout, found_at: tuple[int | None, ...]) -> list[dict[str, Any]]:
    """The steps in order, each with its sources and the hops (from 1) whose evidence it was the first to show."""
    steps = [call for call in rollout.trajectory.calls if not call.repeat]
    return [
        {"step": number, "tool": call.tool, "argument": call.argument, "passage_ids": list(call.passage_ids),
         "hops": [hop for hop, at in enumerate(found_at, 1) if at == number]}
        for number, call in enumerate(steps, 1)
    ]  # fmt: skip


def checklist(draft: Draft, found_at: tuple[int | None, ...]) -> list[dict[str, Any]]:
    """CM2's form: one user turn, an item for each hop and one for the answer; the weights add up to 1."""
    count, hops = len(draft.hops), enumerate(zip(draft.hops, found_at, strict=True))
    items = [
        _item(
            f"C{number}", "tool.content", f"Did a search bring evidence for “{hop.sub_question}”?",
            f"a passage says that the answer is {hop.answer}, as “{hop.title}” does", "the passage was never shown",
            [{"turn": 0, "step": at, "from": "tool.content", "snippet": hop.quote}] if at else [],
        )
        for number, (hop, at) in hops
    ]  # fmt: skip
    items.append(_item(f"C{count}", "assistant.tool_calls", "Is the final answer right?", f"it is {draft.answer}",
                       "the answer of a hop on the way", []))  # fmt: skip
    needs = {f"C{n}": [f"C{i - 1}" for i in step(hop, draft.hops[:n])[1]] for n, hop in enumerate(draft.hops)}
    weight = {item["id"]: 1 / len(items) for item in items}
    return [{"turn": 0, "checklist": items, "dependence": {**needs, f"C{count}": [f"C{count - 1}"]}, "weight": weight}]


def _item(key: str, focus: str, question: str, condition: str, failure: str, evidence: list[Any]) -> dict[str, Any]:
    return {"id": key, "evidence": evidence, "focus_on": focus, "question": question, "pass_condition": condition,
            "failure_examples": [failure], "required_for_next_turn": False}  # fmt: skip

"""Rollouts made from what their searches return, and their verdicts on a chain of three hops."""

from collections.abc import Sequence

import orjson

from pipeline.agents import grading
from pipeline.agents.judge import Grade
from pipeline.agents.tools import render
from pipeline.text import normalise
from pipeline.types import AnswerType, Call, Draft, Message, Passage, Rollout, Stop, ToolCall, Trajectory, Verdict
from tests.graph_drafts import chained
from tests.passages import hop, passage

FILM = passage("f", "Lantern Bay", "It was directed by Ada Holm.")
HOLM = passage("h", "Ada Holm", "Ada Holm was born in Vessby.")
TOWN = passage("v", "Vessby", "Vessby was founded in 1641.")
DRAFT = chained(
    question="In what year was the birthplace of the director of Lantern Bay founded?",
    answer="1641",
    answer_type=AnswerType.DATE,
    answer_precision="year",
    hops=(hop(FILM, "Ada Holm"), hop(HOLM, "Vessby"), hop(TOWN, "1641")),
)


def make_rollout(
    *results: Sequence[Passage], answer: str = "1641", sample: int = 0, repeats: int = 0, queries: Sequence[str] = ()
) -> Rollout:
    """Make a rollout whose calls return `results`; the last `repeats` of them are repeats."""
    calls, messages = [], []
    for n, passages in enumerate(results):
        ids = tuple(passage.id for passage in passages)
        repeat = n >= len(results) - repeats
        query = queries[n] if queries else f"q{n}"
        calls.append(Call(id=f"c{n}", tool="search", argument=query, passage_ids=ids, repeat=repeat))
        call = ToolCall(id=f"c{n}", name="search", arguments=orjson.dumps({"query": query}).decode())
        messages.append(Message(role="assistant", tool_calls=(call,)))
        messages.append(Message(role="tool", content=render(passages), tool_call_id=call.id))
    trajectory = Trajectory(messages=tuple(messages), calls=tuple(calls), stop=Stop.ANSWERED, final="{}")
    return Rollout(sample=sample, trajectory=trajectory, answer=answer)


def grade_rollouts(draft: Draft, *rollouts: Rollout) -> list[tuple[Rollout, Verdict]]:
    grades = [Grade(right=normalise(r.answer) == normalise(draft.answer), method="exact") for r in rollouts]
    return [(r, grading.build_verdict(draft, r, grade)) for r, grade in zip(rollouts, grades, strict=True)]

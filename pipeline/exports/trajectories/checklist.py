"""The evidence chain of a question, read as a plan to follow and as a checklist to judge by: pure functions of a draft.

The plan is APEX-Searcher's (arXiv 2603.13853), as MuSiQue's decompositions: "#1" stands for the answer of the first
sub-question. The checklist is CM2's (arXiv 2602.12268): yes-or-no items anchored in a reference rollout, with
dependences and weights.
"""

import re
from typing import Any

from pipeline.text import normalise
from pipeline.types import NOT_FOUND, Draft, Hop


def step(hop: Hop, earlier: tuple[Hop, ...]) -> tuple[str, list[int]]:
    """The sub-question with references for answers, the longest first, and the numbers (from 1) that it depends on."""
    references = {known.answer: number for number, known in reversed([*enumerate(earlier, 1)])}
    # In one go, since a reference may be what another answer looks like.
    answers = "|".join(map(re.escape, sorted(references, key=len, reverse=True))) or "(?!)"
    answer = re.compile(rf"(?<!\w)(?:{answers})(?!\w)")
    numbers = {n for n, known in enumerate(earlier, 1) if normalise(known.answer) == normalise(hop.title)}
    numbers |= {references[found] for found in answer.findall(hop.sub_question)}
    return answer.sub(lambda found: f"#{references[found[0]]}", hop.sub_question), sorted(numbers)


def checklist(draft: Draft, found_at: tuple[int | None, ...]) -> list[dict[str, Any]]:
    """One user turn with an item for each hop and one for the answer; the weights add up to 1.

    `found_at` is of the reference rollout: the step that first brought the evidence of each hop.
    """
    hops, answer = draft.hops, _of_answer(draft)
    items = [_of_hop(number, hop, at) for number, (hop, at) in enumerate(zip(hops, found_at, strict=True))]
    needs = {f"C{n}": [f"C{needed}" for needed in hop.needs] for n, hop in enumerate(hops)}
    needs[answer["id"]] = [f"C{number}" for number in draft.graph.decisive_hops]
    items.append(answer)
    return [{"turn": 0, "checklist": items, "dependence": needs, "weight": dict.fromkeys(needs, 1 / len(items))}]


def _of_hop(number: int, hop: Hop, at: int | None) -> dict[str, Any]:
    return {
        "id": f"C{number}",
        "evidence": [{"turn": 0, "step": at, "from": "tool.content", "snippet": hop.quote}] if at else [],
        "focus_on": "tool.content",
        "question": f"Did a search bring evidence for “{hop.sub_question}”?",
        "pass_condition": f"a passage states otherwise what is asked, as “{hop.title}” does"
        if hop.answer == NOT_FOUND
        else f"a passage says that the answer is {hop.answer}, as “{hop.title}” does",
        "failure_examples": ["the passage was never shown"],
        "required_for_next_turn": False,
    }


def _of_answer(draft: Draft) -> dict[str, Any]:
    return {
        "id": f"C{len(draft.hops)}",
        "evidence": [],
        "focus_on": "assistant.tool_calls",
        "question": "Is the final answer right?",
        "pass_condition": f"it is {draft.answer}",
        "failure_examples": ["the answer of a hop on the way"],
        "required_for_next_turn": False,
    }

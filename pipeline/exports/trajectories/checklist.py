"""The evidence chain of a question as a plan and as a checklist: pure functions of a draft.

The plan has the form of APEX-Searcher (arXiv 2603.13853) and of MuSiQue's decompositions: "#1" stands for the answer
of the first sub-question. The checklist has the form of CM2 (arXiv 2602.12268): yes-or-no items anchored in a
reference rollout, with dependences and weights.
"""

import re
from typing import Any

from pipeline.text import normalise
from pipeline.types import NOT_FOUND, Draft, Hop


def step(hop: Hop, earlier: tuple[Hop, ...]) -> tuple[str, list[int]]:
    """Replace answers of earlier hops in the sub-question by references.

    Returns the text and the sorted numbers (from 1) of the hops that it depends on.
    """
    references = {previous.answer: number for number, previous in reversed([*enumerate(earlier, 1)])}
    # One substitution for all answers, longest first: a reference may look like another answer.
    answers = "|".join(map(re.escape, sorted(references, key=len, reverse=True))) or "(?!)"
    answer = re.compile(rf"(?<!\w)(?:{answers})(?!\w)")
    title = normalise(hop.title)
    numbers = {number for number, previous in enumerate(earlier, 1) if normalise(previous.answer) == title}
    numbers |= {references[text] for text in answer.findall(hop.sub_question)}
    return answer.sub(lambda match: f"#{references[match[0]]}", hop.sub_question), sorted(numbers)


def checklist(draft: Draft, found_at: tuple[int | None, ...]) -> list[dict[str, Any]]:
    """Return a list with the checklist of the only user turn: an item for each hop, and one for the answer.

    The weights of the items add up to 1.

    Args:
        draft: the question with its hops.
        found_at: for each hop, the step at which the reference rollout first saw its evidence.
    """
    hops, answer = draft.hops, _answer_item(draft)
    items = [_hop_item(number, hop, step) for number, (hop, step) in enumerate(zip(hops, found_at, strict=True))]
    needs = {f"C{n}": [f"C{needed}" for needed in hop.needs] for n, hop in enumerate(hops)}
    needs[answer["id"]] = [f"C{number}" for number in draft.graph.decisive_hops]
    items.append(answer)
    return [{"turn": 0, "checklist": items, "dependence": needs, "weight": dict.fromkeys(needs, 1 / len(items))}]


def _hop_item(number: int, hop: Hop, step: int | None) -> dict[str, Any]:
    return {
        "id": f"C{number}",
        "evidence": [{"turn": 0, "step": step, "from": "tool.content", "snippet": hop.quote}] if step else [],
        "focus_on": "tool.content",
        "question": f"Did a search bring evidence for “{hop.sub_question}”?",
        "pass_condition": f"a passage states otherwise what is asked, as “{hop.title}” does"
        if hop.answer == NOT_FOUND
        else f"a passage says that the answer is {hop.answer}, as “{hop.title}” does",
        "failure_examples": ["the passage was never shown"],
        "required_for_next_turn": False,
    }


def _answer_item(draft: Draft) -> dict[str, Any]:
    return {
        "id": f"C{len(draft.hops)}",
        "evidence": [],
        "focus_on": "assistant.tool_calls",
        "question": "Is the final answer right?",
        "pass_condition": f"it is {draft.answer}",
        "failure_examples": ["the answer of a hop on the way"],
        "required_for_next_turn": False,
    }

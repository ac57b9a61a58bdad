"""The demo model's judge: the rules of the reward that a data set ships."""

from pipeline import prompts
from pipeline.demo.chain_solver import said
from pipeline.llm.base import Request
from pipeline.reward.equality import equal
from pipeline.text import dates
from pipeline.types import Message

_PARTS = {"day": 3, "month": 2, "year": 1}


def judge(request: Request) -> Message:
    """A `verdict` on the fenced inputs of the last message; of a date as exactly as the question asks for it."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    known, response = [inputs["answer"], *inputs["answer_aliases"]], inputs["response"]
    right = equal(response, known)
    if not right and inputs["answer_type"] == "date":
        given, wanted, parts = dates(response), dates(inputs["answer"]), _PARTS.get(inputs["answer_precision"], 3)
        right = len(given) == 1 and bool(wanted) and given[0][:parts] == wanted[0][:parts]
    return said({"correct": right, "reason": "equal under the rules" if right else "not equal"})

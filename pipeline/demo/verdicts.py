"""The demo model as judge: the rules of the reward that a data set contains."""

from pipeline import prompts
from pipeline.demo.chain_solver import reply
from pipeline.llm.base import Request
from pipeline.reward.equality import equal
from pipeline.text import dates
from pipeline.types import Message

_PARTS = {"day": 3, "month": 2, "year": 1}


def judge(request: Request) -> Message:
    """Answer `verdict`. Dates are compared with the precision that the question asks for."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    answers, response = [inputs["answer"], *inputs["answer_aliases"]], inputs["response"]
    right = equal(response, answers)
    if not right and inputs["answer_type"] == "date":
        response_dates, gold_dates = dates(response), dates(inputs["answer"])
        parts = _PARTS.get(inputs["answer_precision"], 3)
        right = len(response_dates) == 1 and bool(gold_dates) and response_dates[0][:parts] == gold_dates[0][:parts]
    return reply({"correct": right, "reason": "equal under the rules" if right else "not equal"})

"""The demo model as a reader of questions and styles, of which it has hardly an idea."""

from typing import Any

from pipeline import prompts
from pipeline.demo.chain_solver import said
from pipeline.llm.base import Request
from pipeline.types import Message


def grade(request: Request) -> Message:
    """A `grade`: long questions and stacked clauses read badly; of anything else it has no idea."""
    words = _inputs(request)["question"].lower().split()
    clauses = sum(word in ("that", "which", "who", "whose", "whom", "of") for word in words)
    reason = f"{len(words)} words, {clauses} clauses"
    return said({"reason": reason, "grade": max(1, 5 - clauses // 3 - len(words) // 30)})


def detect(request: Request) -> Message:
    """A `detect`: it knows nothing of style, and names the first passage."""
    return said({"reason": "the first one", "passage_id": _inputs(request)["passages"][0]["id"]})


def skip(request: Request) -> Message:
    """A `skip`: the words of each part as they stand."""
    return said({"reason": "", "queries": _inputs(request)["parts"]})


def _inputs(request: Request) -> dict[str, Any]:
    return prompts.unfence(request.messages[-1].content) or {}

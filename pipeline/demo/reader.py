"""The demo model as a reader of questions and styles, of which it has hardly an idea."""

from typing import Any

from pipeline import prompts
from pipeline.demo.chain_solver import said
from pipeline.demo.writer_values import rival
from pipeline.llm.base import Request
from pipeline.types import Message


def detect(request: Request) -> Message:
    """A `detect`: it knows nothing of style, and names the first passage."""
    return said({"reason": "the first one", "passage_id": _inputs(request)["passages"][0]["id"]})


def choose(request: Request) -> Message:
    """A `choose`: the first passage with another date or number than the answer; of names, one that its title names."""
    inputs = _inputs(request)
    for passage in inputs["passages"]:
        if claim := rival(inputs["answer"], passage["title"], passage["text"]):
            return said({"reason": "", "passage_id": passage["id"], "claim": claim})
    return said({"reason": "", "passage_id": "", "claim": ""})


def alter(request: Request) -> Message:
    """An `alter`: it cannot, and takes no passage."""
    return said({"passage_id": "", "span": "", "replacement": "", "claim": "", "mark": ""})


def _inputs(request: Request) -> dict[str, Any]:
    return prompts.unfence(request.messages[-1].content) or {}

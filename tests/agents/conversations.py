"""Scripted agents with the solver's tools, and the messages in which a model calls tools."""

from typing import Any

import orjson

from pipeline.agents.agent import Agent
from pipeline.agents.parse import parse
from pipeline.agents.tools import SOLVER_TOOLS, AnswerArguments
from pipeline.config.loop import AgentLimits
from pipeline.config.models import ModelConfig
from pipeline.llm.base import LLM
from pipeline.types import Message, ToolCall
from tests.passages import Shelf


def make_calls(*calls: tuple[str, dict[str, Any] | str]) -> Message:
    """Make the message that calls these tools, with arguments that are encoded unless they are text."""
    encoded = (
        ToolCall(id=f"c{n}", name=name, arguments=a if isinstance(a, str) else orjson.dumps(a).decode())
        for n, (name, a) in enumerate(calls)
    )
    return Message(role="assistant", tool_calls=tuple(encoded))


def make_agent(llm: LLM, retriever: Shelf, limits: AgentLimits, **fields: Any) -> Agent:
    usual = {"model": ModelConfig(), "tools": SOLVER_TOOLS, "k": 1, "accept": accept_answer}
    return Agent(llm=llm, retriever=retriever, limits=limits, **{**usual, **fields})


def accept_answer(arguments: str, state: object) -> AnswerArguments:
    return parse(AnswerArguments, arguments)

"""The environment of a data set: all that a trained model must be given so that its searches mean what the data says.

It governs solver, teacher, every view of trajectories and the retrieval server, and is written once per data set.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import orjson
from pydantic import Field

from pipeline import prompts
from pipeline.agents.tools import solver_tools
from pipeline.config import RunConfig
from pipeline.config.limits import AgentLimits
from pipeline.config.models import ToolMode
from pipeline.config.sft_settings import SftConfig
from pipeline.llm.base import Tool
from pipeline.llm.text_tools import tools_as_text
from pipeline.types import Data, Message, Record, sha256

OBSERVATION = (
    "For each passage, best first: one line 'Doc RANK [ID] TITLE', then its text, line by line, without spare blanks "
    "and empty lines; an empty line parts passages. Nothing found: 'No passage matches.' A call that cannot be carried "
    "out: 'Error: ...'."
)

PLACE = " Below what `open` shows, as a paragraph of its own: 'Passages FIRST to LAST of ALL of the document.'"


class Environment(Data):
    system: str
    """The system prompt; the user message is the bare question."""
    tools: tuple[Tool, ...]
    """`answer` ends the conversation and is not answered."""
    k: int
    """Passages per search."""
    observation: str
    """How a tool message is laid out."""
    limits: AgentLimits
    """What ends a conversation: searches, turns, tokens, calls in one turn, unreadable answers in a row."""
    final_answer: str
    """Where the answer is to be read."""
    reasoning: Literal["keep", "strip"] = "strip"
    """Whether the solver was sent its thoughts of earlier turns again."""
    calls: ToolMode = "native"
    """How the solver was told of the tools and wrote its calls: see `models.<role>.tools`."""
    retriever: str = ""
    """What was searched, and so what difficulty was measured over: `digsite serve` refuses another."""
    teacher_reasoning: Literal["keep", "strip"] = Field("strip", exclude=True)
    policy_reasoning: Literal["keep", "strip"] = Field("strip", exclude=True)
    policy: str = Field("", exclude=True)
    """Whose measurements `rl_*` and, as `policy`, the trajectories read; empty: the run's own solver."""
    unanswerable: bool = Field(False, exclude=True)
    """Are there questions without an answer? Then prompts of views that have their own say how to answer them."""
    sft: SftConfig = Field(SftConfig(), exclude=True)
    """What the views are made by: no part of the environment that is published."""

    def of(self, record: Record) -> "Environment":
        """As the rollouts of the record's policy had it, since of one name there may be several models; and those that
        stand for the solver's where another opened the question."""
        found = record.measurement(self.policy) if self.policy else None
        had = {"policy_reasoning": found, "reasoning": record.opener}
        changed = {name: measured.reasoning for name, measured in had.items() if measured}
        return self.model_copy(update=changed) if changed else self

    def keeps_thoughts(self, agent: str) -> bool:
        """Was `solver`, `teacher` or `policy` sent its thoughts of earlier turns again?"""
        other = {"teacher": self.teacher_reasoning, "policy": self.policy_reasoning}
        return other.get(agent, self.reasoning) == "keep"

    @property
    def digest(self) -> str:
        """Of what is published but for the retriever: two data sets with one put a model into the same environment."""
        published = self.model_dump(mode="json", exclude={"retriever"})
        return sha256(orjson.dumps(published, option=orjson.OPT_SORT_KEYS).decode())[:12]

    def worded(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """A conversation as a model reads and writes it that is told of the tools in words; where the server tells it,
        the very messages."""
        if self.calls == "native":
            return tuple(messages)
        return tuple(tools_as_text(messages, self.tools, "auto", objects=self.calls == "schema"))

    @cached_property
    def prompt(self) -> str:
        """The system prompt, with the tools where it is what tells of them."""
        return self.worded([Message(role="system", content=self.system)])[0].content

    @cached_property
    def opening(self) -> str:
        """The message that a conversation begins with, as JSON text."""
        return orjson.dumps({"role": "system", "content": self.prompt}).decode()

    @cached_property
    def offered(self) -> str:
        """The tools as OpenAI lists them, JSON text, in the order in which servers give them to a chat template: it
        prints them as they come, and a pupil is to be trained on the prompt that it will be given. None where the
        prompt has them in words."""
        told = self.tools if self.calls == "native" else ()
        return orjson.dumps([{"type": "function", "function": tool.model_dump()} for tool in told]).decode()


def environment(config: RunConfig) -> Environment:
    messages = prompts.load("solver/answer").render("", question="", searches=config.solver.searches)
    system = prompts.add_notes(messages, config.solver_notes())[0].content
    return Environment(
        system=system,
        tools=solver_tools(config.environment),
        k=config.retrieval.k,
        retriever=config.retrieval.identity,
        observation=OBSERVATION + PLACE * config.environment.pages,
        limits=config.solver,
        final_answer="the argument `answer` of the call of the tool `answer`",
        reasoning=config.models.of("solver").reasoning,
        calls=config.models.of("solver").calls,
        teacher_reasoning=config.models.of("teacher").reasoning,
        unanswerable=config.questions.twins(config.models) > 0,
        policy=config.gates.policy,
        sft=config.sft,
    )

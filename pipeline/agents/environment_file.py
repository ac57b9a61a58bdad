"""The environment of a data set: the prompt, tools and limits that a model must be trained and served with.

Solver, teacher, every view of trajectories and the retrieval server use it. It is written once per data set.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import orjson
from pydantic import Field

from pipeline import prompts
from pipeline.agents.tools import solver_tools
from pipeline.config import RunConfig
from pipeline.config.exports import SftConfig
from pipeline.config.loop import AgentLimits
from pipeline.config.models import ToolMode
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
    """Where to read the answer."""
    reasoning: Literal["keep", "strip"] = "strip"
    """Whether requests to the solver held the reasoning of its earlier turns."""
    calls: ToolMode = "native"
    """How the solver got the tools and wrote its calls: see `models.<role>.tools`."""
    retriever: str = ""
    """The identity of the searched index, over which difficulty was measured. `digsite serve` refuses another."""
    teacher_reasoning: Literal["keep", "strip"] = Field("strip", exclude=True)
    policy_reasoning: Literal["keep", "strip"] = Field("strip", exclude=True)
    policy: str = Field("", exclude=True)
    """The model whose measurements fill `rl_*` columns and `policy` trajectories; empty for the run's solver."""
    unanswerable: bool = Field(False, exclude=True)
    """Whether some questions have no answer. Views with prompts of their own then say how to answer these."""
    sft: SftConfig = Field(SftConfig(), exclude=True)
    """Settings of the views, which are not published with the environment."""

    def of(self, record: Record) -> "Environment":
        """Return the environment in which the rollouts of this record ran.

        Several models may share a name, so the record tells whether requests to the policy held earlier reasoning. It
        tells the same of the model whose rollouts stand in for the solver's.
        """
        measurements = {
            "policy_reasoning": record.measurement(self.policy) if self.policy else None,
            "reasoning": record.opener,
        }
        changes = {name: measurement.reasoning for name, measurement in measurements.items() if measurement}
        return self.model_copy(update=changes) if changes else self

    def keeps_thoughts(self, agent: str) -> bool:
        """Return whether requests to `solver`, `teacher` or `policy` held the reasoning of earlier turns."""
        modes = {"teacher": self.teacher_reasoning, "policy": self.policy_reasoning}
        return modes.get(agent, self.reasoning) == "keep"

    @property
    def digest(self) -> str:
        """Return a digest of the published fields without the retriever.

        Data sets with the same digest put a model into the same environment.
        """
        published = self.model_dump(mode="json", exclude={"retriever"})
        return sha256(orjson.dumps(published, option=orjson.OPT_SORT_KEYS).decode())[:12]

    def apply_tool_mode(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return a conversation as the model reads and writes it: with tools and calls in words unless native."""
        if self.calls == "native":
            return tuple(messages)
        return tuple(tools_as_text(messages, self.tools, "auto", objects=self.calls == "schema"))

    @cached_property
    def prompt(self) -> str:
        """Return the system prompt, with the tools if the model gets them in words."""
        return self.apply_tool_mode([Message(role="system", content=self.system)])[0].content

    def first_turn(self, question: str) -> dict[str, str]:
        """Return by role the texts before the model's first turn. Views for SFT and for RL have the same."""
        return {"system": self.prompt, "user": question}

    @cached_property
    def in_words(self) -> "Environment":
        """Return this environment with tools and calls in words, for trainers that pass no tools to a chat template."""
        if self.calls == "text":
            return self
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        # A copy would keep the cached prompt.
        return type(self).model_construct(**fields | {"calls": "text"})

    @cached_property
    def opening(self) -> str:
        return orjson.dumps({"role": "system", "content": self.prompt}).decode()

    @cached_property
    def offered(self) -> str:
        """Return the tools as a JSON list in OpenAI's format; an empty list if the prompt has them in words.

        The schemas are those that TRL and verl give to a chat template: the types and descriptions of the arguments,
        with the keys in this order. So the first turn is the same, token by token, in SFT and RL.
        """
        tools = self.tools if self.calls == "native" else ()
        return orjson.dumps([_describe_tool(tool) for tool in tools]).decode()


def _describe_tool(tool: Tool) -> dict[str, Any]:
    properties = tool.parameters["properties"].items()
    parameters = {
        "type": "object",
        "properties": {name: {key: part[key] for key in ("type", "description")} for name, part in properties},
        "required": tool.parameters["required"],
    }
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


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

"""The teacher: answers among distractors that it does not know of, to be imitated where it was not misled."""

from dataclasses import replace

from pipeline import prompts
from pipeline.agents.loop import AgentState
from pipeline.agents.solver import rollout, solver
from pipeline.agents.tools import TEACHER_TOOLS
from pipeline.context import RunContext
from pipeline.retrieval.base import Retriever
from pipeline.types import Rollout


async def teach(question: str, sample: int, retriever: Retriever, context: RunContext) -> Rollout:
    """One rollout over `retriever`, with the solver's limits and form of answer, and without `open`."""
    alike = solver(context.config, context.llm, retriever)
    teacher = replace(alike, model=context.config.models.of("teacher"), tools=TEACHER_TOOLS)
    return await rollout(teacher, prompts.load("teacher/answer").render("", question=question), sample, AgentState())

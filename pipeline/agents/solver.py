"""The solver, which sees the bare question and the tools, as a trained model will."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from pipeline import prompts
from pipeline.agents import grading
from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState
from pipeline.agents.judge import grade
from pipeline.agents.parse import parse
from pipeline.agents.tools import AnswerArguments, solver_tools
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.llm.base import LLM
from pipeline.llm.deadline import with_timeouts
from pipeline.retrieval.base import Retriever
from pipeline.text import normalise
from pipeline.types import NOT_FOUND, Draft, GradedRollout, Message, Rollout


def solver(config: RunConfig, llm: LLM, retriever: Retriever, model: ModelConfig | None = None) -> Agent:
    return Agent(
        llm=llm,
        model=model or config.models.of("solver"),
        tools=solver_tools(config.environment),
        limits=config.solver,
        retriever=retriever,
        k=config.retrieval.k,
        notes=config.solver_notes(),
        accept=lambda arguments, state: parse(AnswerArguments, arguments),
    )


async def attempt(agent: Agent, question: str, sample: int) -> Rollout:
    """Run one rollout, whose chance `sample` sets. Its answer is empty if the agent gives none."""
    # No fence around the question: models are trained on this conversation.
    messages = prompts.load("solver/answer").render("", question=question, searches=agent.limits.searches)
    return await rollout(agent, prompts.add_notes(messages, agent.notes), sample, AgentState())


async def rollout(agent: Agent, messages: tuple[Message, ...], sample: int, state: AgentState) -> Rollout:
    trajectory = await converse(agent, messages, sample=sample, state=state)
    answer = parse(AnswerArguments, trajectory.final).answer.strip() if trajectory.final else ""
    answer = NOT_FOUND if normalise(answer) == NOT_FOUND else answer
    return Rollout(sample=sample, trajectory=trajectory, answer=answer)


async def graded_rollout(
    draft: Draft, sample: int, context: RunContext, model: ModelConfig | None = None
) -> GradedRollout:
    """Run and grade one rollout of the run's solver, or of another model in its environment.

    Raises:
        DeadlineExceeded: the rollout took too long.
        FormatError: a judge gave no readable verdict.
    """
    agent = solver(context.config, context.llm, context.retriever, model)
    # An answer without its evidence is never correct, so its judge call need not be paid.
    ask = not context.config.loop.early_stop
    return await run_and_grade(draft, partial(attempt, agent, draft.question, sample), context, ask=ask)


async def run_and_grade(
    draft: Draft, start: Callable[[], Awaitable[Rollout]], context: RunContext, *, ask: bool
) -> GradedRollout:
    """Run one rollout and grade it. With `ask`, the judge also decides about an answer without its evidence.

    Raise as `graded_rollout` does.
    """
    finished = await with_timeouts(start, context.config.runtime.rollout_seconds)
    answer_grade = await grade(draft, finished.answer, context, ask=ask or grading.is_supported(draft, finished))
    return GradedRollout(finished, grading.build_verdict(draft, finished, answer_grade))


async def graded_rollouts(
    draft: Draft, samples: Iterable[int], context: RunContext, model: ModelConfig | None = None
) -> list[GradedRollout]:
    return await gather_rollouts(graded_rollout(draft, sample, context, model) for sample in samples)


async def gather_rollouts(rollouts: Iterable[Awaitable[GradedRollout]]) -> list[GradedRollout]:
    """Await several rollouts. Raise the first error among them only after all have ended.

    An earlier end would lose the usage of calls that are still being paid.
    """
    outcomes = await asyncio.gather(*rollouts, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]

"""The solver: sees the bare question and the tools, as a trained model will."""

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
    """The run's solver, or another model in its environment."""
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
    """One rollout. `sample` sets its chance; an agent that ends without an answer gives an empty one."""
    # The question goes in bare, without a fence: this conversation is what a model is trained on.
    messages = prompts.load("solver/answer").render("", question=question, searches=agent.limits.searches)
    return await rollout(agent, prompts.add_notes(messages, agent.notes), sample, AgentState())


async def rollout(agent: Agent, messages: tuple[Message, ...], sample: int, state: AgentState) -> Rollout:
    """The conversation to its end, from any of its states, and the answer that it ended in."""
    trajectory = await converse(agent, messages, sample=sample, state=state)
    answer = parse(AnswerArguments, trajectory.final).answer.strip() if trajectory.final else ""
    answer = NOT_FOUND if normalise(answer) == NOT_FOUND else answer
    return Rollout(sample=sample, trajectory=trajectory, answer=answer)


async def graded_rollout(
    draft: Draft, sample: int, context: RunContext, model: ModelConfig | None = None
) -> GradedRollout:
    """One rollout of the run's solver, or of another model in its place, over the index of the context; with its
    verdict. Raises DeadlineExceeded, and FormatError where a judge gives none."""
    agent = solver(context.config, context.llm, context.retriever, model)
    # Without its support an answer is not correct even if the judge accepts it, so the judge need not be paid.
    ask = not context.config.loop.early_stop
    return await run_and_grade(draft, partial(attempt, agent, draft.question, sample), context, ask=ask)


async def run_and_grade(
    draft: Draft, start: Callable[[], Awaitable[Rollout]], context: RunContext, *, ask: bool
) -> GradedRollout:
    """Make one rollout and grade it; `ask` the judge about an answer without its support too. Raises as
    `graded_rollout` does."""
    made = await with_timeouts(start, context.config.how.rollout_seconds)
    ruling = await grade(draft, made.answer, context, ask=ask or grading.is_supported(draft, made))
    return GradedRollout(made, grading.build_verdict(draft, made, ruling))


async def graded_rollouts(
    draft: Draft, samples: Iterable[int], context: RunContext, model: ModelConfig | None = None
) -> list[GradedRollout]:
    """Make several rollouts at once."""
    return await gather_rollouts(graded_rollout(draft, sample, context, model) for sample in samples)


async def gather_rollouts(rollouts: Iterable[Awaitable[GradedRollout]]) -> list[GradedRollout]:
    """Await several rollouts. Raise the first error among them after all have ended: an earlier end would close the
    books on calls that are still being paid."""
    made = await asyncio.gather(*rollouts, return_exceptions=True)
    for one in made:
        if isinstance(one, BaseException):
            raise one
    return [one for one in made if not isinstance(one, BaseException)]

"""Seekers look for shortcuts through a question that the solver has confirmed, each in a way of its own.

A seeker is the solver's agent with another model, prompt and limit. None is stopped because another one has won, and
their rollouts are never trained on.
"""

from dataclasses import replace

from pipeline import prompts
from pipeline.agents.agent import Agent
from pipeline.agents.calls import AgentState
from pipeline.agents.solver import all_of, graded, rollout, solver
from pipeline.config import RunConfig
from pipeline.config.derived_limits import DETOURS
from pipeline.config.difficulty_settings import WAYS, Way
from pipeline.config.limits import AgentLimits
from pipeline.context import RunContext
from pipeline.llm import ledger
from pipeline.types import Draft, GradedRollout, Rollout

SEARCHES_PER_STEP = 3


async def attack(draft: Draft, target: int, context: RunContext) -> list[GradedRollout]:
    """Return one graded rollout for each way; its sample is the way's place in WAYS."""
    ledger.enter(ledger.SEEKERS)
    agent = _build_seeker(target, context)
    return await all_of(_try(draft, agent, way, context) for way in context.config.difficulty.seekers)


def _build_seeker(target: int, context: RunContext) -> Agent:
    model = context.config.models.of("seeker")
    agent = solver(context.config, context.llm, context.retriever, model)
    return replace(agent, limits=limits(target, context.config))


def limits(target: int, config: RunConfig) -> AgentLimits:
    """Return the solver's limits with three searches for each step of a target. Every turn sends all searches before it
    again, so that the tokens grow with the square of their number."""
    usual, searches = config.solver, SEARCHES_PER_STEP * target
    growth = max(1.0, searches / max(1, usual.searches))
    more = {"searches": searches, "turns": searches + DETOURS, "tokens": round(usual.tokens * growth**2)}
    return usual.model_copy(update=more)


async def _try(draft: Draft, agent: Agent, way: Way, context: RunContext) -> GradedRollout:
    asked = {"question": draft.question, "searches": agent.limits.searches, "way": way}
    messages = prompts.noted(prompts.load("seeker/seek").render("", **asked), agent.notes)

    async def seek() -> Rollout:
        return await rollout(agent, messages, WAYS.index(way), AgentState())

    # What a reward pays for is right answers without evidence too, so that the judge is always asked.
    return await graded(draft, seek, context, ask=True)

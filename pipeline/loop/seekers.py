"""Seekers look for shortcuts through a question that the solver has confirmed, each in a way of its own.

A seeker is the solver's agent with another model, prompt and limit. None is stopped because another one has won, and
their rollouts are never trained on.
"""

from dataclasses import replace

from pipeline import prompts
from pipeline.agents.agent import Agent
from pipeline.agents.calls import AgentState
from pipeline.agents.solver import gather_rollouts, rollout, run_and_grade, solver
from pipeline.config import RunConfig
from pipeline.config.load import DETOURS
from pipeline.config.loop import WAYS, AgentLimits, way_of
from pipeline.context import RunContext
from pipeline.distractors.accepted_pair import attempt_missing
from pipeline.llm import ledger
from pipeline.types import Draft, GradedRollout, Record, Rollout, sha256

SEARCHES_PER_STEP = 3


async def attack(draft: Draft, target: int, context: RunContext) -> list[GradedRollout]:
    """Return one graded rollout for each way, by samples (`way_of`)."""
    ledger.enter(ledger.SEEKERS)
    agent = _build_seeker(target, context)
    return await gather_rollouts(_try(draft, agent, sample, context) for sample in _samples(context.config))


async def attack_again(record: Record, context: RunContext) -> list[GradedRollout]:
    """Return the tries of fresh seekers on an accepted pair, if it is drawn for that; what it has of them is kept. A
    try without a verdict is left out (`missing_tries`)."""
    owed = missing_tries(record, context)
    if record.draft is None or not owed:
        return record.attacked_again
    ledger.enter(ledger.SEEKERS)
    draft, agent = record.draft, _build_seeker(record.seed.target_steps, context)
    return await attempt_missing(record.attacked_again, owed, lambda sample: _try(draft, agent, sample, context))


def missing_tries(record: Record, context: RunContext) -> list[int]:
    """Return the samples of fresh seekers that an accepted pair still lacks."""
    drawn = int(sha256(f"again:{record.key}")[:8], 16) < context.config.difficulty.again * (1 << 32)
    if not (drawn and record.seekers):
        return []
    return sorted({len(WAYS) + sample for sample in _samples(context.config)} - {made.sample for made in record.again})


def _samples(config: RunConfig) -> list[int]:
    return [WAYS.index(way) for way in config.difficulty.seekers]


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


async def _try(draft: Draft, agent: Agent, sample: int, context: RunContext) -> GradedRollout:
    way, searches = way_of(sample), agent.limits.searches
    opening = prompts.load(f"seeker/{way}").render("", question=draft.question, searches=searches)
    messages = prompts.add_notes(opening, agent.notes)

    async def seek() -> Rollout:
        return await rollout(agent, messages, sample, AgentState())

    # What a reward pays for is right answers without evidence too, so that the judge is always asked.
    return await run_and_grade(draft, seek, context, ask=True)

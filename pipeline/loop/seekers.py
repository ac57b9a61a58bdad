"""Seekers look for shortcuts through a question that the solver has solved, each in its own way.

A seeker is the solver's agent with another model, prompt and limit. Each runs to its end even if another one has found
a shortcut, and no model is trained on their rollouts.
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
    """Return one graded rollout for each configured way; its sample tells the way (`way_of`)."""
    ledger.enter(ledger.SEEKERS)
    agent = _build_seeker(target, context)
    return await gather_rollouts(_run_seeker(draft, agent, sample, context) for sample in _samples(context.config))


async def attack_again(record: Record, context: RunContext) -> list[GradedRollout]:
    """Let fresh seekers attack an accepted pair, if it is drawn for that, and keep the rollouts that it has.

    A rollout without a verdict is left out (`missing_samples`).
    """
    missing = missing_samples(record, context)
    if record.draft is None or not missing:
        return record.attacked_again
    ledger.enter(ledger.SEEKERS)
    draft, agent = record.draft, _build_seeker(record.seed.target_steps, context)
    return await attempt_missing(
        record.attacked_again, missing, lambda sample: _run_seeker(draft, agent, sample, context)
    )


def missing_samples(record: Record, context: RunContext) -> list[int]:
    is_drawn = int(sha256(f"again:{record.key}")[:8], 16) < context.config.difficulty.again * (1 << 32)
    if not (is_drawn and record.seekers):
        return []
    finished = {finished_rollout.sample for finished_rollout in record.again}
    return sorted({len(WAYS) + sample for sample in _samples(context.config)} - finished)


def _samples(config: RunConfig) -> list[int]:
    return [WAYS.index(way) for way in config.difficulty.seekers]


def _build_seeker(target: int, context: RunContext) -> Agent:
    model = context.config.models.of("seeker")
    agent = solver(context.config, context.llm, context.retriever, model)
    return replace(agent, limits=build_limits(target, context.config))


def build_limits(target: int, config: RunConfig) -> AgentLimits:
    """Return the solver's limits with three searches for each step of the target.

    Every turn sends all earlier searches again, so the tokens grow with the square of the searches.
    """
    usual, searches = config.solver, SEARCHES_PER_STEP * target
    growth = max(1.0, searches / max(1, usual.searches))
    changes = {"searches": searches, "turns": searches + DETOURS, "tokens": round(usual.tokens * growth**2)}
    return usual.model_copy(update=changes)


async def _run_seeker(draft: Draft, agent: Agent, sample: int, context: RunContext) -> GradedRollout:
    way, searches = way_of(sample), agent.limits.searches
    opening = prompts.load(f"seeker/{way}").render("", question=draft.question, searches=searches)
    messages = prompts.add_notes(opening, agent.notes)

    async def seek() -> Rollout:
        return await rollout(agent, messages, sample, AgentState())

    # A reward pays for right answers without evidence too, so the judge is always asked.
    return await run_and_grade(draft, seek, context, ask=True)

"""SAGE's generator and refiner (arXiv 2601.18202, §3): from a passage, by searching, to a question of S steps; then
again from the execution feedback. Unlike the paper's, the refiner may search, sees every rollout and a named cause.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pipeline.agents.calls import AgentState
from pipeline.agents.loop import Agent, converse
from pipeline.agents.tools import GENERATOR_TOOLS, REFINER_TOOLS, REVISE, shown
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.llm.base import Tool
from pipeline.loop.strategies.base import Proposal, to_draft
from pipeline.text import normalise
from pipeline.types import Draft, Feedback, Message, Passage, Rollout, Round, Seed, Verdict


async def propose(seed: Seed, context: RunContext) -> Proposal:
    messages = context.prompt(
        "generator/propose",
        passage=shown(seed.passage),
        answer_type=seed.answer_type.value,
        target_steps=seed.target_steps,
        search_budget=context.config.generator.searches,
    )
    state = AgentState(passages={seed.passage.shown_id: seed.passage})
    return await _run(
        agent(seed, context, GENERATOR_TOOLS, context.config.generator.searches), messages, state, seed.draw
    )


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round], feedback: Feedback) -> Proposal:
    last = rounds[-1]
    if last.draft is None:
        raise ValueError("a round without a draft ends the episode")
    pairs = _traces(last, context.config.loop.feedback_rollouts)
    read = await _read(seed, context, rounds, [rollout for rollout, _ in pairs])
    searches = context.config.generator.searches if context.config.loop.refiner_searches else 0
    ids = {passage.id: passage.shown_id for passage in read}
    messages = context.prompt(
        "refiner/revise",
        draft=_draft(last.draft, ids),
        answer_type=seed.answer_type.value,
        target_steps=seed.target_steps,
        feedback=feedback.model_dump(mode="json"),
        earlier=[_draft(past.draft, ids) for past in rounds[:-1] if past.draft],
        rollouts=[_rollout(rollout, verdict, ids) for rollout, verdict in pairs],
        seen=[shown(passage) for passage in read],
        search_budget=searches,
    )
    state = AgentState(passages={passage.shown_id: passage for passage in read})
    tools = REFINER_TOOLS if searches else (REVISE,)

    tried = {normalise(past.draft.question) for past in rounds if past.draft}

    def accept(arguments: str, state: AgentState) -> Draft | None:
        draft = to_draft(arguments, state)
        if draft and normalise(draft.question) in tried:
            raise FormatError("The question must differ from the draft and from the earlier ones.")
        return draft

    reviser = replace(agent(seed, context, tools, searches), accept=accept)
    return await _run(reviser, messages, state, seed.draw)


def agent(seed: Seed, context: RunContext, tools: tuple[Tool, ...], searches: int) -> Agent:
    """Who proposes or revises: it searches the side of its seed alone."""
    return Agent(
        llm=context.llm,
        model=context.config.models.of("refiner" if tools[-1] is REVISE else "generator"),
        tools=tools,
        limits=context.config.generator.model_copy(update={"searches": searches}),
        retriever=context.side(seed.side),
        k=context.config.retrieval.k,
        accept=to_draft,
    )


async def _run(agent: Agent, messages: tuple[Message, ...], state: AgentState, sample: int) -> Proposal:
    trajectory = await converse(agent, messages, sample=sample, state=state)
    return Proposal(trajectory=trajectory, draft=to_draft(trajectory.final, state) if trajectory.final else None)


def _traces(last: Round, which: str) -> list[tuple[Rollout, Verdict]]:
    """Every rollout or, as in the paper, one: the shortest correct one, else the first with an answer."""
    pairs = list(zip(last.rollouts, last.verdicts, strict=True))
    if which == "all" or not pairs:
        return pairs
    correct = [pair for pair in pairs if pair[1].correct]
    answered = [pair for pair in pairs if pair[0].answer]
    return [min(correct, key=lambda pair: pair[1].steps) if correct else (answered or pairs)[0]]


async def _read(seed: Seed, context: RunContext, rounds: Sequence[Round], rollouts: Iterable[Rollout]) -> list[Passage]:
    """All passages that the generator's agents and the given rollouts were shown, each once, in order.

    Passages of the other split are left out: nothing of it may enter a question of this side.
    """
    ids = {seed.passage.id: None}
    for past in rounds:
        ids |= dict.fromkeys(i for node in (past.tree.nodes if past.tree else ()) for i in node.passage_ids)
        ids |= dict.fromkeys(i for call in past.agent.calls for i in call.passage_ids)
    ids |= dict.fromkeys(i for rollout in rollouts for call in rollout.trajectory.calls for i in call.passage_ids)
    retriever = context.side(seed.side)
    passages = [await retriever.get(passage_id) for passage_id in ids]
    return [passage for passage in passages if passage is not None]


def _draft(draft: Draft, ids: dict[str, str]) -> dict[str, object]:
    tree = draft.model_dump(mode="json", exclude={"negative_aspect"})
    for hop in tree["hops"]:
        del hop["passage_sha256"]
        hop["passage_id"] = ids.get(hop["passage_id"], "")
    return tree


def _rollout(rollout: Rollout, verdict: Verdict, ids: dict[str, str]) -> dict[str, object]:
    return {
        "answer": rollout.answer,
        "right": verdict.right,
        "supported": verdict.supported,
        "steps": verdict.steps,
        "calls": [
            {"tool": c.tool, "argument": c.argument, "passage_ids": [ids[i] for i in c.passage_ids if i in ids]}
            for c in rollout.trajectory.calls
        ],
    }

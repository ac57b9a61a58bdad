"""Rollouts as the real tool loop makes them with a model that thinks, and what each of its turns was shown.

The model is a seeded script: its turns think, speak, search in parallel, open what there is not and, at times, call
nothing. Every thought and query names its rollout and turn, so that a row says where its turns come from.
"""

import asyncio
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from pipeline.agents.agent import Agent
from pipeline.agents.environment_file import Environment, environment
from pipeline.agents.replay import branch
from pipeline.agents.solver import attempt, solver
from pipeline.config import RunConfig, build
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.chat_body import body
from pipeline.types import Branch, Encounter, Fork, Message, Outcome, Record, Rollout, TeacherRollout, ToolCall, Usage
from tests import records
from tests.shelf import Shelf

ROLLOUTS = 6
"""Of each record: two clean ones, two with tool errors, two wrong."""
MARK = re.compile(r"q(\d+)z(\d+)e")


@dataclass
class Thinker:
    """`parallel`: several calls in a turn; `words`: text beside a call."""

    world: records.World
    parallel: bool
    words: bool
    shown: dict[tuple[int, int], list[dict[str, Any]]] = field(default_factory=dict)
    """By sample and turn, the messages on the wire."""

    async def complete(self, request: Request) -> Completion:
        turn = sum(message.role == "assistant" for message in request.messages)
        self.shown[request.sample, turn] = body(request, 0)["messages"]
        # All rollouts begin alike, as those of one model often do.
        marked = request.sample if turn else 0
        message = self._turn(random.Random(f"{self.world.question}{marked}:{turn}"), request.sample, turn)
        finish = Finish.TOOL_CALLS if message.tool_calls else Finish.STOP
        return Completion(message=message, finish=finish, usage=Usage(calls=1))

    def _turn(self, chance: random.Random, sample: int, turn: int) -> Message:
        style, mark = sample % ROLLOUTS, f"q{sample if turn else 0}z{turn}e"
        wrong = style >= 4
        thought = f"Thought {mark}: " + " ".join(chance.choices(["so", "né", "\n", "<b>", "1874", "…"], k=12)) + "end"
        chain = [(p.title, "search") for p in self.world.chain[: 2 if wrong else 3]]
        if turn >= len(chain) + (style in (2, 3)):
            return self._said(thought, [("answer", {"answer": self.world.wrong if wrong else self.world.year})], chance)
        if style in (2, 3) and turn == 1:
            # An error: of the tool, or a turn without a call.
            calls = [("open", {"passage_id": "p000000000000"})] if style == 2 else []
            return self._said(thought, calls, chance)
        title = chain[turn - (turn > 1 and style in (2, 3))][0]
        calls = [("search", {"query": f"{title} {mark}"})]
        if self.parallel and chance.random() < 0.6:
            calls.append(("search", {"query": f"bridges {chance.randrange(99)} {mark}"}))
        return self._said(thought, calls, chance)

    def _said(self, thought: str, calls: list[tuple[str, dict[str, str]]], chance: random.Random) -> Message:
        made = tuple(ToolCall(id="x", name=name, arguments=orjson.dumps(given).decode()) for name, given in calls)
        words = "Let me see." if not calls or (self.words and chance.random() < 0.5) else ""
        return Message(role="assistant", content=words, reasoning=thought, tool_calls=made)


@dataclass(frozen=True)
class Sampled:
    record: Record
    environment: Environment
    shown: dict[tuple[int, int], list[dict[str, Any]]]


def sampled(number: int, config: RunConfig, *, parallel: bool, words: bool) -> Sampled:
    """A record with rollouts of every kind: the solver's, a teacher's, and branches of a wrong one."""
    w = records.world(number)
    model = Thinker(w, parallel, words)
    agent = solver(config, model, Shelf(*w.chain, *w.noise))
    return asyncio.run(_sampled(number, w, agent, model, config))


async def _sampled(number: int, w: records.World, agent: Agent, model: Thinker, config: RunConfig) -> Sampled:
    d = records.draft(w)
    made = [await attempt(agent, d.question, sample) for sample in range(ROLLOUTS)]
    base = records.accepted(number, model="m")
    verdicts = tuple(records.verdict(w, one, d) for one in made)
    last = base.rounds[-1].model_copy(update={"rollouts": (), "verdicts": ()})
    record = base.model_copy(update={"rounds": (last,), "confirmation": tuple(made), "confirmation_verdicts": verdicts})
    wrong, second = made[4], _turns(made[4])[1]
    again = _branches(w, d, [await branch(agent, wrong.trajectory, second, sample=ROLLOUTS)])
    asked = (("cso", second, _branches(w, d, [wrong])), ("eef", 2, ()), ("eef", second, ()))
    forks = [
        Fork(key=record.key, method=method, source=4, prefix=prefix, branches=again, controls=controls)
        for method, prefix, controls in asked
    ]
    teacher = replace(agent, model=config.models.of("teacher"))
    taught = [await attempt(teacher, d.question, ROLLOUTS * 2 + sample) for sample in (0, 4)]
    teacher_rollouts = tuple(_teacher_rollout(w, d, one, misled=place == 1) for place, one in enumerate(taught))
    record = record.model_copy(update={"forks": tuple(forks), "teacher_rollouts": teacher_rollouts})
    return Sampled(record, environment(config), model.shown)


def _turns(rollout: Rollout) -> list[int]:
    return [place for place, message in enumerate(rollout.trajectory.messages) if message.role == "assistant"]


def _branches(w: records.World, d: Any, made: list[Rollout]) -> tuple[Branch, ...]:
    return tuple(Branch(rollout=one, verdict=records.verdict(w, one, d)) for one in made)


def _teacher_rollout(w: records.World, d: Any, made: Rollout, *, misled: bool) -> TeacherRollout:
    outcome = Outcome.MISLED if misled else Outcome.RESISTED
    cited = _turns(made)[1] if misled else None
    met = Encounter(distractor="d", step=1, cited_at=cited, disproved_at=None, outcome=outcome)
    return TeacherRollout(rollout=made, verdict=records.verdict(w, made, d), f1=1, encounters=(met,), kept=not misled)


def thinking(reasoning: str, **sft: object) -> RunConfig:
    models = {"default": {"provider": "openai", "model": "m", "reasoning": reasoning, "context": 131_072}}
    return build(values={"models": models, "sft": sft})


def each(reasoning: str, *, parallel: bool, words: bool, records_: int, **sft: object) -> Iterator[Sampled]:
    config = thinking(reasoning, **sft)
    for number in range(records_):
        yield sampled(number, config, parallel=parallel, words=words)

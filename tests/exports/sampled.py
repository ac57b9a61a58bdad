"""Rollouts of the real tool loop with a model that reasons, and the messages that each of its turns was shown.

The model is a seeded script: its turns reason, speak, search in parallel, open what does not exist and, at times, call
nothing. Every thought and query names its rollout and turn, so that a row tells where its turns come from.
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
from tests.passages import Shelf

ROLLOUTS = 6
"""Rollouts per record: two clean ones, two with tool errors, two wrong."""
MARK = re.compile(r"q(\d+)z(\d+)e")


@dataclass
class Thinker:
    """A model that may make `parallel` calls in a turn and put `words` next to a call."""

    world: records.World
    parallel: bool
    words: bool
    shown: dict[tuple[int, int], list[dict[str, Any]]] = field(default_factory=dict)
    """The messages on the wire, by sample and turn."""

    async def complete(self, request: Request) -> Completion:
        turn = sum(message.role == "assistant" for message in request.messages)
        self.shown[request.sample, turn] = body(request, 0)["messages"]
        # All rollouts begin alike, as those of one model often do.
        seed_sample = request.sample if turn else 0
        message = self._turn(random.Random(f"{self.world.question}{seed_sample}:{turn}"), request.sample, turn)
        finish = Finish.TOOL_CALLS if message.tool_calls else Finish.STOP
        return Completion(message=message, finish=finish, usage=Usage(calls=1))

    def _turn(self, chance: random.Random, sample: int, turn: int) -> Message:
        style, mark = sample % ROLLOUTS, f"q{sample if turn else 0}z{turn}e"
        wrong = style >= 4
        thought = f"Thought {mark}: " + " ".join(chance.choices(["so", "né", "\n", "<b>", "1874", "…"], k=12)) + "end"
        chain = [(p.title, "search") for p in self.world.chain[: 2 if wrong else 3]]
        if turn >= len(chain) + (style in (2, 3)):
            return self._make_turn(
                thought, [("answer", {"answer": self.world.wrong if wrong else self.world.year})], chance
            )
        if style in (2, 3) and turn == 1:
            # The error is the tool's, or a turn without a call.
            calls = [("open", {"passage_id": "p000000000000"})] if style == 2 else []
            return self._make_turn(thought, calls, chance)
        title = chain[turn - (turn > 1 and style in (2, 3))][0]
        calls = [("search", {"query": f"{title} {mark}"})]
        if self.parallel and chance.random() < 0.6:
            calls.append(("search", {"query": f"bridges {chance.randrange(99)} {mark}"}))
        return self._make_turn(thought, calls, chance)

    def _make_turn(self, thought: str, calls: list[tuple[str, dict[str, str]]], chance: random.Random) -> Message:
        tool_calls = tuple(
            ToolCall(id="x", name=name, arguments=orjson.dumps(arguments).decode()) for name, arguments in calls
        )
        words = "Let me see." if not calls or (self.words and chance.random() < 0.5) else ""
        return Message(role="assistant", content=words, reasoning=thought, tool_calls=tool_calls)


@dataclass(frozen=True)
class Sampled:
    record: Record
    environment: Environment
    shown: dict[tuple[int, int], list[dict[str, Any]]]


def sample_record(number: int, config: RunConfig, *, parallel: bool, words: bool) -> Sampled:
    """Make a record with rollouts of every kind: the solver's, a teacher's, and branches of a wrong one."""
    w = records.world(number)
    model = Thinker(w, parallel, words)
    agent = solver(config, model, Shelf(*w.chain, *w.noise))
    return asyncio.run(_attempt_all(number, w, agent, model, config))


async def _attempt_all(number: int, w: records.World, agent: Agent, model: Thinker, config: RunConfig) -> Sampled:
    d = records.draft(w)
    rollouts = [await attempt(agent, d.question, sample) for sample in range(ROLLOUTS)]
    base = records.accepted(number, model="m")
    verdicts = tuple(records.verdict(w, rollout, d) for rollout in rollouts)
    last = base.rounds[-1].model_copy(update={"rollouts": (), "verdicts": ()})
    record = base.model_copy(
        update={"rounds": (last,), "confirmation": tuple(rollouts), "confirmation_verdicts": verdicts}
    )
    wrong, second = rollouts[4], _turns(rollouts[4])[1]
    branches = _branches(w, d, [await branch(agent, wrong.trajectory, second, sample=ROLLOUTS)])
    forks_made = (("cso", second, _branches(w, d, [wrong])), ("eef", 2, ()), ("eef", second, ()))
    forks = [
        Fork(key=record.key, method=method, source=4, prefix=prefix, branches=branches, controls=controls)
        for method, prefix, controls in forks_made
    ]
    teacher = replace(agent, model=config.models.of("teacher"))
    teacher_attempts = [await attempt(teacher, d.question, ROLLOUTS * 2 + sample) for sample in (0, 4)]
    teacher_rollouts = tuple(
        _teacher_rollout(w, d, rollout, misled=index == 1) for index, rollout in enumerate(teacher_attempts)
    )
    record = record.model_copy(update={"forks": tuple(forks), "teacher_rollouts": teacher_rollouts})
    return Sampled(record, environment(config), model.shown)


def _turns(rollout: Rollout) -> list[int]:
    return [index for index, message in enumerate(rollout.trajectory.messages) if message.role == "assistant"]


def _branches(w: records.World, d: Any, rollouts: list[Rollout]) -> tuple[Branch, ...]:
    return tuple(Branch(rollout=rollout, verdict=records.verdict(w, rollout, d)) for rollout in rollouts)


def _teacher_rollout(w: records.World, d: Any, rollout: Rollout, *, misled: bool) -> TeacherRollout:
    outcome = Outcome.MISLED if misled else Outcome.RESISTED
    cited = _turns(rollout)[1] if misled else None
    encounter = Encounter(distractor="d", step=1, cited_at=cited, disproved_at=None, outcome=outcome)
    return TeacherRollout(
        rollout=rollout, verdict=records.verdict(w, rollout, d), f1=1, encounters=(encounter,), kept=not misled
    )


def make_config(reasoning: str, **sft: object) -> RunConfig:
    models = {"default": {"provider": "openai", "model": "m", "reasoning": reasoning, "context": 131_072}}
    return build(values={"models": models, "sft": sft})


def sample_records(reasoning: str, *, parallel: bool, words: bool, records_: int, **sft: object) -> Iterator[Sampled]:
    config = make_config(reasoning, **sft)
    for number in range(records_):
        yield sample_record(number, config, parallel=parallel, words=words)

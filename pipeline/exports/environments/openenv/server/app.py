"""The environment and its server. The command `server` starts it."""

import argparse
import random
from typing import Any
from uuid import uuid4

import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import State

from .. import reward
from ..models import SearchAction, SearchObservation
from ..questions import ADDRESS, ENVIRONMENT, load_questions
from ..trajectory import Trajectory

QUESTIONS = {split: load_questions(split) for split in ("train", "eval")}
BY_ID = {row["id"]: row for rows in QUESTIONS.values() for row in rows}
ANSWER = ENVIRONMENT["tools"][-1]["name"]
SESSIONS = 256


class SearchEnvironment(Environment[SearchAction, SearchObservation, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self._question: dict[str, Any] | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = "train",
        index: int | None = None,
        question_id: str = "",
        **options: Any,
    ) -> SearchObservation:
        """Begin an episode with the question of that id, the one at `index` of a split, or one that `seed` draws."""
        question = BY_ID.get(question_id) if question_id else _choose_question(split, index, seed)
        if question is None:
            raise ValueError(f"there is no question {question_id}")
        self._question, self._trajectory = question, Trajectory(ADDRESS)
        self._turns: list[dict[str, Any]] = []
        self._state = State(episode_id=episode_id or str(uuid4()))
        system, user = (
            {"role": "system", "content": question["system"]},
            {"role": "user", "content": question["question"]},
        )
        return SearchObservation(question_id=question["id"], messages=[system, user], tools=question["tools"])

    def step(self, action: SearchAction, timeout_s: float | None = None, **options: Any) -> SearchObservation:
        if self._question is None:
            raise ValueError("call `reset` first, over a connection that stays open")
        text = self._trajectory.call(action.name, action.arguments)
        call = {"function": {"name": action.name, "arguments": action.arguments}}
        self._turns += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": text}]
        self._state.step_count += 1
        has_answered = action.name == ANSWER and not text  # an answer that cannot be read gets an error
        done = has_answered or self._state.step_count >= ENVIRONMENT["limits"]["turns"]
        (worth,) = reward.exact_match([self._turns], [self._question["golden_answers"]]) if done else (0.0,)
        return SearchObservation(question_id=self._question["id"], text=text, done=done, reward=worth)

    @property
    def state(self) -> State:
        return self._state

    def list_splits(self) -> list[str]:
        return [split for split, rows in QUESTIONS.items() if rows]

    def num_tasks(self, split: str) -> int:
        return len(QUESTIONS[split])

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [{"id": row["id"], "index": index} for index, row in enumerate(QUESTIONS[split])]

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return self.list_tasks(split)[index]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        return self.list_tasks(split)[start:stop]


def _choose_question(split: str, index: int | None, seed: int | None) -> dict[str, Any]:
    rows = QUESTIONS.get(split)
    if not rows:
        raise ValueError(f"there is no question in the split {split}")
    return rows[index] if index is not None else random.Random(seed).choice(rows)


app = create_app(
    SearchEnvironment, SearchAction, SearchObservation, env_name=__package__.split(".")[0], max_concurrent_envs=SESSIONS
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001)
    arguments = parser.parse_args()
    uvicorn.run(app, host=arguments.host, port=arguments.port)


if __name__ == "__main__":
    main()

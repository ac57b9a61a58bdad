"""The questions, their reward, and the agent that answers them."""

import json
from collections.abc import Iterator

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarnessConfig
from verifiers.v1.runtimes import SubprocessConfig

from . import reward
from .questions import ENVIRONMENT, load_questions
from .tools import SearchTools, SearchToolsConfig


class QuestionData(vf.TaskData):
    golden_answers: list[str]
    band: str | None
    order: float | None


class Question(vf.Task[QuestionData]):
    @vf.stop
    async def has_answered(self, trace: vf.Trace) -> bool:
        calls = trace.messages[-1].tool_calls if trace.messages and trace.messages[-1].role == "assistant" else None
        return any(call.name == "answer" for call in calls or ())

    @vf.reward
    async def exact_match(self, trace: vf.Trace) -> float:
        messages = [json.loads(message.model_dump_json()) for message in trace.messages]
        return reward.score(reward.final_answer(messages), self.data.golden_answers)


class SearchTasksetConfig(vf.TasksetConfig):
    split: str = "train"
    tools: SearchToolsConfig = SearchToolsConfig()


class SearchTaskset(vf.Taskset[Question, SearchTasksetConfig]):
    def load(self) -> Iterator[Question]:
        for row in load_questions(self.config.split):
            data = QuestionData(
                id=row["id"],
                prompt=row["question"],
                system_prompt=row["system"],
                golden_answers=row["golden_answers"],
                band=row["band"],
                order=row["order"],
            )
            yield Question(data, self.config.task)

    @classmethod
    def toolsets(cls, config: SearchTasksetConfig) -> list[vf.Toolset]:
        return [SearchTools(config.tools)]


class SearchEnvConfig(vf.EnvConfig):
    taskset: SearchTasksetConfig = SearchTasksetConfig()
    agent: vf.AgentConfig = vf.AgentConfig(
        harness=NullHarnessConfig(id="null"),
        runtime=SubprocessConfig(),
        max_turns=ENVIRONMENT["limits"]["turns"],
    )


class SearchEnv(vf.Env[SearchEnvConfig]):
    async def run(self, task: Question, agents: vf.Agents) -> None:
        await agents.agent.run(task)

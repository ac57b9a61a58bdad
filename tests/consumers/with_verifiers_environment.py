"""The package of `export --environment verifiers`, loaded and played by verifiers' own code."""

import asyncio
import importlib.util
import json
import sys
from importlib.metadata import version
from pathlib import Path

import verifiers.v1 as vf
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

MODULE, REWARD, MODEL = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
QUESTIONS, ROLLOUTS = 10, 2
spec = importlib.util.spec_from_file_location("shipped_reward", REWARD)
reward = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reward)
package = importlib.import_module(MODULE)

assert isinstance(package.load_environment(), vf.Env)
config = EvalConfig(
    env={"taskset": {"id": MODULE}},
    model="embedded",
    client={"type": "eval", "base_url": MODEL, "api_key_var": "NO_KEY"},
    select={"limit": QUESTIONS},
    num_rollouts=ROLLOUTS,
    max_concurrent=2,
    rich=None,
    push=False,
    output_dir=Path("evaluation").resolve(),
)
episodes = asyncio.run(run_eval(config))
traces = [trace for episode in episodes for trace in episode.traces]
assert len(traces) == QUESTIONS * ROLLOUTS, len(traces)
rewards = []
for trace in traces:
    assert not trace.errors, trace.errors
    messages = [json.loads(message.model_dump_json()) for message in trace.messages]
    assert trace.reward == reward.score(reward.final_answer(messages), trace.task.data.golden_answers)
    assert [tool["name"] for tool in package.tools.ENVIRONMENT["tools"]] == ["search", "open", "answer"]
    assert messages[-1]["tool_calls"][0]["name"] == "answer", "it ends with its answer"
    rewards.append(trace.reward)
    calls = [(call["name"], call["arguments"]) for message in messages for call in message.get("tool_calls") or ()]
    observed = [message["content"] for message in messages if message["role"] == "tool"]
    print("rollout", json.dumps({"calls": calls[: len(observed)], "observed": observed}))
assert max(rewards) == 1.0, "the demo model has answered none of its own questions"
check = (
    f"export --environment: load_environment, then {QUESTIONS} questions in {ROLLOUTS} rollouts each by the demo model "
    "over HTTP; what its tools return is as /call answers, and the reward as code/reward.py gives it"
)
print("result", json.dumps({"view": "rl_verifiers", "version": version("verifiers"), "check": check}))

"""The package of `export --environment openenv`, validated and played by OpenEnv's own code, with the demo model."""

import importlib
import importlib.util
import json
import subprocess
import sys
import urllib.request
from importlib.metadata import version
from pathlib import Path

import openai

MODULE, REWARD, MODEL, SERVER, PACKAGE = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]
QUESTIONS, ROLLOUTS = 10, 2
spec = importlib.util.spec_from_file_location("shipped_reward", REWARD)
reward = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reward)
package = importlib.import_module(MODULE)
golds = {row["id"]: row["golden_answers"] for row in package.questions.load_questions("train")}

for target in ([SERVER], [PACKAGE, "--level", "static"]):
    command = [str(Path(sys.executable).with_name("openenv")), "validate", *target]
    report = subprocess.run(command, check=False, capture_output=True, text=True)
    assert report.returncode == 0, report.stdout + report.stderr
count = json.dumps({"split": "train"}).encode()
tasks = urllib.request.Request(f"{SERVER}/{MODULE}/num_tasks", count, {"Content-Type": "application/json"})
assert json.load(urllib.request.urlopen(tasks))["num_tasks"] == len(golds)

model = openai.OpenAI(base_url=MODEL, api_key="none")


def play(env, index, sample):
    """Play one question to its end, and return its id, messages, calls with what was observed, and its reward."""
    step = env.reset(split="train", index=index)
    question_id, messages, tools = step.observation.question_id, list(step.observation.messages), step.observation.tools
    calls, observed = [], []
    while not step.done:
        completion = model.chat.completions.create(model="embedded", messages=messages, tools=tools, seed=sample)
        message = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            action = package.SearchAction(name=call.function.name, arguments=call.function.arguments)
            step = env.step(action)
            calls.append((action.name, action.arguments))
            observed.append(step.observation.text)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": step.observation.text})
            assert step.done or step.reward == 0.0
    return question_id, messages, calls, observed, step.reward


rewards = []
with package.SearchEnv(base_url=SERVER).sync() as env:
    first = env.reset(seed=7).observation
    assert env.reset(seed=7).observation == first
    assert env.reset(question_id=first.question_id).observation == first
    assert len({env.reset(seed=seed).observation.question_id for seed in range(20)}) > 3
    for index in range(QUESTIONS):
        for sample in range(ROLLOUTS):
            question_id, messages, calls, observed, worth = play(env, index, sample)
            assert worth == reward.score(reward.final_answer(messages), golds[question_id])
            assert calls[-1][0] == "answer", "it ends with its answer"
            assert env.state().step_count == len(calls)
            rewards.append(worth)
            print("rollout", json.dumps({"calls": calls, "observed": observed}))
assert max(rewards) == 1.0, "the demo model has answered none of its own questions"
with package.SearchEnv(base_url=SERVER).sync() as env, package.SearchEnv(base_url=SERVER).sync() as other_env:
    env.reset(index=0)
    other_env.reset(index=1)
    for _ in range(package.questions.ENVIRONMENT["limits"]["turns"]):
        last = env.step(package.SearchAction(name="search", arguments="not JSON"))
        assert last.observation.text.startswith("Error:")
    assert last.done
    assert last.reward == 0.0
    assert other_env.state().step_count == 0, "each connection has an episode of its own"
check = (
    f"export --environment: `openenv validate`, then {QUESTIONS} questions in {ROLLOUTS} rollouts each by the demo "
    "model through its client; what its tools return is as /call answers, and the reward as code/reward.py gives it"
)
print("result", json.dumps({"view": "rl_verifiers", "version": version("openenv"), "check": check}))

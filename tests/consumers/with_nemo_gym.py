"""The package of `export --environment nemo-gym`, played and profiled by NeMo Gym's own code, with the demo model.

`gym eval run` starts the package's resources server, NeMo Gym's agent and its model server, each from this environment.
"""

import importlib.util
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from unittest.mock import MagicMock

from fastapi.testclient import TestClient
from nemo_gym.reward_profile import RewardProfiler
from nemo_gym.server_utils import ServerClient

MODULE, REWARD, MODEL, PACKAGE = sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
QUESTIONS, ROLLOUTS = 10, 2
CODE = PACKAGE / "resources_servers" / MODULE
spec = importlib.util.spec_from_file_location("shipped_reward", REWARD)
reward = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reward)


def read_lines(path):
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


for kind in (
    f"resources_servers/{MODULE}",
    "responses_api_agents/finance_agent",
    "responses_api_models/vllm_model",
    "environment_servers/legacy_agent",
):
    Path("servers", kind).mkdir(parents=True)
    Path("servers", kind, ".venv").symlink_to(sys.prefix)
command = [
    str(Path(sys.executable).with_name("gym")), "eval", "run", "--search-dir", str(PACKAGE),
    "--config", str(PACKAGE / "config.yaml"), "--split", "train", "--limit", str(QUESTIONS),
    "--num-repeats", str(ROLLOUTS), "--output", "rollouts.jsonl", "--model-type", "vllm_model", "--model", "embedded",
    "--model-url", MODEL, "--model-api-key", "none",
    f"+uv_venv_dir={Path('servers').resolve()}", "+skip_venv_if_present=true",
]  # fmt: skip
path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
run = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "PATH": path})
assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]

rows = {row["question"]: row for row in read_lines(CODE / "data" / "train.jsonl")}
rollouts, rewards = read_lines(Path("rollouts.jsonl")), []
assert len(rollouts) == QUESTIONS * ROLLOUTS, len(rollouts)
for rollout in rollouts:
    assert not rollout["mask_sample"], rollout["failure_reason"]
    row = rows[rollout["responses_create_params"]["input"][1]["content"]]
    output = rollout["response"]["output"]
    calls = [(item["name"], item["arguments"]) for item in output if item["type"] == "function_call"]
    observed = [item["output"] for item in output if item["type"] == "function_call_output"]
    assert calls[-1][0] == "answer", "it ends with its answer"
    turns = [{"role": "assistant", "tool_calls": [{"function": {"name": n, "arguments": a}}]} for n, a in calls]
    assert rollout["reward"] == reward.score(reward.final_answer(turns), row["golden_answers"])
    rewards.append(rollout["reward"])
    print("rollout", json.dumps({"calls": calls, "observed": observed}))
assert max(rewards) == 1.0, "the demo model has answered none of its own questions"

profile = read_lines(CODE / "data" / "solver_reward_profiling.jsonl")
tasks, results = [], []
for line in profile:
    for info in line["rollout_infos"]:
        keys = {name: info[name] for name in ("_ng_task_index", "_ng_rollout_index")}
        usage = {name: info[name] for name in ("input_tokens", "output_tokens", "total_tokens")}
        tasks.append(line["sample"] | keys)
        results.append({"reward": info["reward"], "response": {"usage": usage}} | keys)
computed, *_ = RewardProfiler().profile_from_data(tasks, results)
assert json.loads(json.dumps(RewardProfiler().prepare_for_serialization(computed))) == profile

sys.path.insert(0, str(CODE))
from app import SearchServer, SearchServerConfig

response = {
    "id": "r", "created_at": 0.0, "model": "m", "object": "response", "parallel_tool_calls": True,
    "tool_choice": "auto", "tools": [], "output": [],
}  # fmt: skip
body = {"responses_create_params": {"input": []}, "response": response, "golden_answers": ["x"]}
settings = {"host": "127.0.0.1", "port": 1, "entrypoint": "app.py", "name": MODULE}
server = SearchServer(config=SearchServerConfig(**settings), server_client=MagicMock(spec=ServerClient))
with TestClient(server.setup_webserver()) as client:
    passage = client.post("/search", json={"query": row["question"]}).text.split("[")[1].split("]")[0]
    assert not client.post("/open", json={"passage_id": passage}).text.startswith("Error")
    assert client.post("/open", json=["no object"]).text.startswith("Error")
    verified = client.post("/verify", json=body).json()
    assert not verified["mask_sample"]
    assert client.post("/open", json={"passage_id": passage}).text.startswith("Error"), "the session has ended"
server.config.address = "http://127.0.0.1:1"
with TestClient(server.setup_webserver()) as client:
    assert client.post("/search", json={"query": "x"}).status_code == 500
    assert client.post("/verify", json=body).json()["mask_sample"], "a rollout without its tools is no measurement"
check = (
    f"export --environment: `gym eval run` on {QUESTIONS} questions in {ROLLOUTS} rollouts each by the demo "
    "model; what its tools return is as /call answers, the reward as code/reward.py gives it, and the profile as its "
    "profiler does"
)
print("result", json.dumps({"view": "rl_verifiers", "version": version("nemo-gym"), "check": check}))

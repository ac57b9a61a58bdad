"""Packages of `export --environment`, installed and played by their framework's own code, with the demo model."""

import json
import os
import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.consumers import environments
from tests.consumers.told import record_checks
from tests.replays import generate_run
from tests.served import COMMAND, serving

UV = environments.ROOT / ".uv/bin"


@pytest.mark.network
def test_verifiers_plays_the_environment_with_the_shipped_reward(tmp_path: Path) -> None:
    generate_run(tmp_path, "wiki", "--pairs", "12", "--steps", "1-2", "--retriever", "bm25")
    run = tmp_path / "wiki" / "latest"
    subprocess.run(
        [*COMMAND, "export", "wiki/latest", "--environment", "verifiers", "--out", tmp_path],
        check=True,
        capture_output=True,
        cwd=environments.ROOT,
    )
    python, package = environments.python("verifiers"), run / "environments" / "verifiers"
    install = [
        UV / "uv",
        "pip",
        "install",
        "--quiet",
        "--reinstall-package",
        "digsite-wiki",
        "--python",
        python,
        package,
    ]
    subprocess.run([*map(str, install), str(package)], check=True)
    with serving("serve", "wiki/latest", "--out", tmp_path) as (_, address), serving("serve-model") as (_, model):
        server = address.removesuffix("/retrieve")
        script = Path(__file__).with_name("with_verifiers_environment.py")
        done = subprocess.run(
            [python, script, "digsite_wiki", run / "dataset" / "code" / "reward.py", model],
            env={**os.environ, "DIGSITE_ADDRESS": server, "PATH": f"{UV}:{os.environ['PATH']}"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        rollouts = [json.loads(line[8:]) for line in done.stdout.splitlines() if line.startswith("rollout ")]
        assert len(rollouts) == 20
        for rollout in rollouts:
            shown_ids, call_count = list[str](), 0
            for (name, arguments), observed in zip(rollout["calls"], rollout["observed"], strict=True):
                body = {"name": name, "arguments": arguments, "shown": shown_ids, "calls": call_count}
                answer = httpx2.post(f"{server}/call", json=body).json()
                shown_ids, call_count = answer["shown"], answer["calls"]
                assert observed == answer["content"]
    checks = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("result ")]
    record_checks("verifiers, environment", checks)

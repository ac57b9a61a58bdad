"""Packages of `export --environment`, installed and played by their framework's own code, with the demo model."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.consumers import environments
from tests.consumers.told import record_checks
from tests.replays import generate_run
from tests.server_process import COMMAND, serving

UV = environments.ROOT / ".uv/bin"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output folder of a run over the corpus `wiki`."""
    return generate_run(
        tmp_path_factory.mktemp("out"), "wiki", "--pairs", "12", "--steps", "1-2", "--retriever", "bm25"
    )


@pytest.fixture(scope="module")
def server(out: Path) -> Iterator[str]:
    with serving("serve", "wiki/latest", "--out", out) as (_, address):
        yield address.removesuffix("/retrieve")


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with serving("serve-model") as (_, address):
        yield address


def _write_package(out: Path, framework: str) -> Path:
    command = [*COMMAND, "export", "wiki/latest", "--environment", framework, "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, cwd=environments.ROOT)
    return out / "wiki" / "latest" / "environments" / framework


def _install(package: Path, python: Path) -> None:
    options = ["--quiet", "--reinstall-package", "digsite-wiki", "--python", str(python)]
    subprocess.run([str(UV / "uv"), "pip", "install", *options, str(package)], check=True)


def _play(consumer: str, python: Path, script: str, *arguments: str | Path, folder: Path, **variables: str) -> None:
    """Run a script, compare what its rollouts observed with the answers of `/call`, and record its checks."""
    done = subprocess.run(
        [python, Path(__file__).with_name(script), *arguments],
        env={**os.environ, "PATH": f"{UV}:{os.environ['PATH']}", **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    rollouts = [json.loads(line[8:]) for line in done.stdout.splitlines() if line.startswith("rollout ")]
    assert len(rollouts) == (20 if "DIGSITE_ADDRESS" in variables else 0)
    for rollout in rollouts:
        shown_ids, call_count = list[str](), 0
        for (name, arguments_), observed in zip(rollout["calls"], rollout["observed"], strict=True):
            body = {"name": name, "arguments": arguments_, "shown": shown_ids, "calls": call_count}
            answer = httpx2.post(f"{variables['DIGSITE_ADDRESS']}/call", json=body).json()
            shown_ids, call_count = answer["shown"], answer["calls"]
            assert observed == answer["content"]
    checks = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("result ")]
    record_checks(consumer, checks)


@pytest.mark.network
def test_verifiers_plays_the_environment_with_the_shipped_reward(
    out: Path, server: str, model: str, tmp_path: Path
) -> None:
    python, package = environments.python("verifiers"), _write_package(out, "verifiers")
    _install(package, python)
    reward = out / "wiki" / "latest" / "dataset" / "code" / "reward.py"
    script = "with_verifiers_environment.py"
    _play(
        "verifiers, environment",
        python,
        script,
        "digsite_wiki",
        reward,
        model,
        folder=tmp_path,
        DIGSITE_ADDRESS=server,
    )


@contextmanager
def _serving_openenv(python: Path, server: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python.with_name("server")), "--port", str(port)]
    process = subprocess.Popen(command, env={**os.environ, "DIGSITE_ADDRESS": server}, stderr=subprocess.DEVNULL)
    try:
        for _ in range(240):
            try:
                httpx2.get(f"http://127.0.0.1:{port}/health").raise_for_status()
                break
            except httpx2.TransportError:
                assert process.poll() is None, "the server of the environment has ended"
                time.sleep(0.25)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.network
def test_openenv_plays_the_environment_and_trl_trains_in_it(out: Path, server: str, model: str, tmp_path: Path) -> None:
    python, package = environments.python("openenv"), _write_package(out, "openenv")
    trl = environments.python("trl")
    _install(package, python)
    _install(package, trl)
    dataset = out / "wiki" / "latest" / "dataset"
    with _serving_openenv(python, server) as address:
        _play(
            "OpenEnv, environment",
            python,
            "with_openenv.py",
            "digsite_wiki",
            dataset / "code" / "reward.py",
            model,
            address,
            package,
            folder=tmp_path,
            DIGSITE_ADDRESS=server,
        )
        _play(
            "TRL, OpenEnv",
            trl,
            "with_trl_openenv.py",
            dataset,
            "digsite_wiki",
            folder=tmp_path,
            OPENENV_ADDRESS=address,
        )


@pytest.mark.network
def test_nemo_gym_plays_the_environment_and_profiles_as_the_export_does(
    out: Path, server: str, model: str, tmp_path: Path
) -> None:
    python, package = environments.python("nemo-gym"), _write_package(out, "nemo-gym")
    reward = out / "wiki" / "latest" / "dataset" / "code" / "reward.py"
    _play(
        "NeMo Gym, environment",
        python,
        "with_nemo_gym.py",
        "digsite_wiki",
        reward,
        model,
        package,
        folder=tmp_path,
        DIGSITE_ADDRESS=server,
    )


@pytest.mark.network
def test_skyrl_searches_a_served_run(out: Path, server: str, tmp_path: Path) -> None:
    dataset = out / "wiki" / "latest" / "dataset"
    _play("SkyRL", environments.python("skyrl"), "with_skyrl.py", dataset, server, folder=tmp_path)

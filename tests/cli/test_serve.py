"""A server prints its address first, and ends cleanly at a signal."""

import signal
import time
from pathlib import Path

import httpx2
import pytest

from tests.server_process import serving


@pytest.mark.slow
def test_a_signal_ends_a_server_in_order(tmp_path: Path) -> None:
    with serving("serve", "tiny", "--retriever", "bm25", "--out", tmp_path) as (process, url):
        with httpx2.Client() as client:
            assert client.post(url, json={"queries": ["bridge"], "topk": 2}).json()["k"] == 2
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            assert process.wait(20) == 0
        assert time.monotonic() - began < 10
        _, stderr = process.communicate()
    assert stderr.splitlines() == [
        "tiny: 41 passages through bm25, k = 5 unless the request asks for another; Ctrl-C stops it"
    ]


def test_a_run_is_served_under_its_data_sets_environment(out: Path) -> None:
    with serving("serve", "tiny/latest", "--out", out) as (_, url):
        assert url.endswith("/retrieve")
        answer = httpx2.post(url, json={"queries": ["bridge"], "topk": 2}).json()
        environment = httpx2.get(url.replace("/retrieve", "/environment")).json()
    assert (answer["k"], environment["fixed"]) == (5, True)


@pytest.mark.slow
def test_the_embedded_model_is_served() -> None:
    with serving("serve-model") as (process, url):
        assert httpx2.get(f"{url}/models").json()["data"][0]["id"] == "embedded"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0

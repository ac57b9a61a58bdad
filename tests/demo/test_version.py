"""A change of the demo model's answers needs a higher version."""

import orjson

from pipeline.config import build
from pipeline.demo import VERSION
from tests.demo import freeze


def test_other_answers_need_another_version() -> None:
    frozen = orjson.loads(freeze.FROZEN.read_bytes())
    now = {"version": VERSION, "answers": freeze.digest_answers(freeze.read_requests())}
    remedy = "raise VERSION in pipeline/demo/__init__.py, then: python -m tests.demo.freeze"
    assert now == frozen, remedy


def test_the_requests_try_most_roles() -> None:
    roles = {freeze.role(request) for request in freeze.read_requests()}
    assert {"propose", "revise", "explore", "compose", "answer", "verdict", "read", "write"} <= roles


def test_the_version_is_part_of_a_run() -> None:
    assert build().digest_input()["models"]["default"]["version"] == VERSION
    openai = {"models": {"default": {"provider": "openai", "model": "m"}}}
    assert build(values=openai).digest_input()["models"]["default"]["version"] is None

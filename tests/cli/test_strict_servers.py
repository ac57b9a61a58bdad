"""Runs against servers as strict as real ones make the same pairs as without, and `doctor` agrees."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Digsite
from tests.cli.test_odd_servers import TINY, generate_pairs
from tests.server_process import serving
from tests.strict_server import QUIRKS, strict


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with serving("serve-model") as (_, url):
        yield url.removesuffix("/v1")


@pytest.fixture(scope="module")
def plain(upstream: str, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str]]:
    ended, _ = generate_pairs(tmp_path_factory.mktemp("plain"), TINY, f"{upstream}/v1")
    assert sum(status == "accepted" for status, *_ in ended.values()) >= 2
    return sorted(ended.values())


QUICK = ("reasoning", "streams")
OTHERS = tuple(quirk for quirk in QUIRKS if quirk not in (*QUICK, "system"))
"""The demo model reads nothing of a system prompt that is folded into a question."""


@pytest.mark.parametrize("quirk", [*QUICK, *(pytest.param(quirk, marks=pytest.mark.slow) for quirk in OTHERS)])
def test_strict_servers_give_the_same_pairs_and_doctor_agrees(
    quirk: str, upstream: str, plain: list[tuple[str, str, str]], tmp_path: Path, digsite: Digsite
) -> None:
    with strict(upstream, quirk) as (url, refusals):
        endings, repaired = generate_pairs(tmp_path, TINY, url)
        assert len(refusals) < 40, "a concession is made once and for all, by the calls in flight at the start"
        doctor = digsite("doctor", "--model", "openai:embedded", "--base-url", url, "--no-judge", "--out", tmp_path)
    # The keys of seeds differ if reasoning is sent back, since that is a setting.
    assert sorted(endings.values()) == plain
    assert repaired == 0
    assert doctor.code == 0
    assert "native, since the server gives its calls" in re.sub(r"\s+", " ", doctor.out)

"""Every check keeps the contract. A file in pipeline/loop/checks/ is tested automatically."""

import asyncio
import re
from collections import Counter

import pytest

from pipeline import registry
from pipeline.errors import FormatError
from pipeline.loop.checks.base import DraftCheck, load_checks, load_meanings
from tests.loop.checks.reading import make_context
from tests.loop.checks.test_audit import DRAFT
from tests.rules.source import ROOT
from tests.scripted_llm import ScriptedLLM


@pytest.fixture(params=registry.names("checks"))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def check(name: str) -> DraftCheck:
    return load_checks()[name]


def test_a_check_has_words_for_the_user(name: str, check: DraftCheck) -> None:
    for meaning in (load_meanings()[name], *check.further.values()):
        assert re.fullmatch(r"[A-Z][^\n]+\.", meaning.gloss)


def test_every_check_has_its_own_turn() -> None:
    turns = Counter(check.place for check in load_checks().values())
    assert [turn for turn, checks in turns.items() if checks > 1] == []


def test_an_unreadable_reader_is_no_finding(name: str, check: DraftCheck) -> None:
    silent = ScriptedLLM(lambda request: "hm")
    if check.ask:
        with pytest.raises(FormatError):
            asyncio.run(check.ask(DRAFT, make_context(silent, (name,))))
        assert silent.requests


def test_the_tests_of_the_audit_name_every_check(name: str) -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests/loop/checks").glob("test_*.py"))
    assert re.search(rf"\b{name}\b", tests, re.IGNORECASE)

"""What every check promises; a file in pipeline/loop/checks/ is enrolled by being there."""

import asyncio
import re
from collections import Counter

import pytest

from pipeline import registry
from pipeline.agents.cited import gather
from pipeline.errors import FormatError
from pipeline.loop.checks.base import Case, DraftCheck, Stage, known, meanings
from tests.loop.checks.test_audit import DRAFT, SHELF
from tests.loop.checks.test_readings import context
from tests.rules.source import ROOT
from tests.scripted import ScriptedLLM


@pytest.fixture(params=registry.names("checks"))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def check(name: str) -> DraftCheck:
    return known()[name]


def test_it_is_one_function_with_words_for_user_and_author(name: str, check: DraftCheck) -> None:
    assert (check.look is None) is (check.stage in (Stage.NAMED, Stage.READ, Stage.TRIED))
    assert (check.ask is not None) is (check.stage in (Stage.NAMED, Stage.READ))
    for told in (meanings()[name], *check.further.values()):
        assert re.fullmatch(r"[A-Z][^\n]+\.", told.gloss)
        assert re.fullmatch(r"([A-Z].+\.)?", told.advice)


def test_its_turn_is_its_own() -> None:
    turns = Counter((check.stage, check.place) for check in known().values())
    assert [turn for turn, checks in turns.items() if checks > 1] == []


def test_it_holds_nothing_against_a_good_draft(name: str, check: DraftCheck) -> None:
    if check.look:
        case = Case(DRAFT, asyncio.run(gather(DRAFT, SHELF)), SHELF, 1, 3)
        assert asyncio.run(check.look(case)) is None


def test_a_reader_that_cannot_be_read_is_no_finding(name: str, check: DraftCheck) -> None:
    silent = ScriptedLLM(lambda request: "hm")
    for ask in filter(None, (check.ask, check.at_once)):
        try:
            assert asyncio.run(ask(DRAFT, 3, context(silent, (name,)))).findings == ()
        except FormatError:
            assert silent.requests


def test_a_test_of_the_audit_names_it(name: str) -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests/loop/checks").glob("test_*.py"))
    assert re.search(rf"\b{name}\b", tests, re.IGNORECASE)

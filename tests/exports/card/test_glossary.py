"""Every code that a user meets has one meaning, and docs/glossary.md lists them all."""

from pathlib import Path

import pytest

from pipeline import registry
from pipeline.exports.card import glossary
from pipeline.gates import describe_gates
from pipeline.types import Cause, Label, Status, Stop

ROOT = Path(__file__).parents[3]


def test_every_code_of_an_enumeration_has_a_meaning() -> None:
    for codes, meanings in (
        (Status, glossary.STATUSES),
        (Label, glossary.LABELS),
        (Cause, glossary.CAUSES),
        (Stop, glossary.STOPS),
    ):
        assert set(meanings) == set(codes)


@pytest.mark.parametrize("check", registry.names("checks"))
def test_a_check_is_explained_by_its_first_line(check: str) -> None:
    assert glossary.checks()[check].endswith(".")
    assert len(glossary.gloss(check).split()) > 3


@pytest.mark.parametrize("gate", describe_gates())
def test_a_gate_is_explained_by_its_first_line(gate: str) -> None:
    line = glossary.gloss(f"gate:{gate}: some detail")
    assert line.endswith((".", "default"))
    assert line == describe_gates()[gate]


def test_detail_and_surplus_do_not_hide_the_meaning() -> None:
    assert glossary.gloss("surplus: below_target") == glossary.REASONS["surplus"]
    assert glossary.gloss("co_located") == glossary.CAUSES[Cause.CO_LOCATED]
    assert not glossary.gloss("")
    assert not glossary.gloss("no such code")


def test_the_glossary_in_docs_is_current() -> None:
    page = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    assert page == glossary.page(), "python -m docs.write"

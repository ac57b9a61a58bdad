"""A check of a draft is one file: settings, audit, feedback and glossary take it from its folder."""

import asyncio
from pathlib import Path

import pytest

from pipeline import config
from pipeline.errors import UsageError
from pipeline.exports.card import glossary
from pipeline.loop import checks
from pipeline.loop.checks.base import load_checks
from pipeline.loop.draft_check import check_draft
from pipeline.types import Cause
from tests.loop.checked_drafts import SHOWN, make_context, make_draft
from tests.rules.source import tree

PLANTED = '''"""The question is one that nobody may ask."""

from pipeline.loop.checks.base import DraftCheck, CheckResult
from pipeline.types import Cause, Finding


async def forbidden(draft, context):
    detail = "it asks of what is forbidden: ask for something else"
    found = Finding(check="forbidden", cause=CHECK.cause, detail=detail)
    return CheckResult(findings=(found,))


CHECK = DraftCheck(99, Cause.UNNATURAL, forbidden)
'''
SHARED = {"oracle", "closed_book", "alternatives"}
"""Of these the data set has a column, a gate or a figure, which reads what the journal holds of them."""


def test_a_new_check_needs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError):
        config.build(sets=['checks.enabled=["forbidden"]'])
    (tmp_path / "forbidden.py").write_text(PLANTED)
    monkeypatch.setattr(checks, "__path__", [*checks.__path__, str(tmp_path)])
    there = make_context([], 'checks.enabled=["forbidden"]')
    said, _ = asyncio.run(check_draft(make_draft(), 3, SHOWN, there))
    assert said.splitlines()[1] == "- forbidden: it asks of what is forbidden: ask for something else"
    assert glossary.gloss("forbidden") == "The question is one that nobody may ask."
    assert "| `forbidden` | The question is one that nobody may ask. |" in glossary.page()


def test_no_other_file_knows_a_check_by_name() -> None:
    own = {*load_checks()} - SHARED - {cause.value for cause in Cause}
    elsewhere = [source for source in tree("pipeline") if not source.path.startswith("pipeline/loop/checks/")]
    assert [(source.path, name) for source in elsewhere for name in own if f'"{name}"' in source.text] == []

"""Commands in README and site work as written, or say why they cannot be tried here."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from pipeline.cli.app import app
from tests.cli.conftest import Digsite
from tests.docs import blocks
from tests.server_process import serving

ALL = [block for page in blocks.list_pages() for block in blocks.read_blocks(page)]
RUN = sorted({block.page for block in ALL if block.language in ("sh", "python") and not block.reason})


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    with serving("serve-model") as (_, url):
        yield url


@pytest.mark.parametrize(
    "page", [page if page == "docs/quickstart.md" else pytest.param(page, marks=pytest.mark.slow) for page in RUN]
)
def test_the_blocks_of_a_page_run_in_their_order(
    page: str, out: Path, tmp_path: Path, digsite: Digsite, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(out, tmp_path / "outputs", symlinks=True)
    monkeypatch.chdir(tmp_path)
    reader = blocks.Reader(digsite, endpoint, monkeypatch)
    for block in ALL:
        if block.page == page and not block.reason:
            reader.take(block)


def test_every_block_says_what_it_is() -> None:
    assert len(ALL) > 50
    assert [f"{block.page}:{block.line}" for block in ALL if block.language not in blocks.LANGUAGES] == []
    fences = {page: (blocks.ROOT / page).read_text(encoding="utf-8").count("\n```") for page in blocks.list_pages()}
    read = {page: 2 * sum(block.page == page for block in ALL) for page in fences}
    assert fences == read


@pytest.mark.parametrize("block", [block for block in ALL if block.reason], ids=lambda block: f"{block[0]}:{block[1]}")
def test_a_command_that_is_not_run_is_one_all_the_same(block: blocks.Block) -> None:
    for program, *arguments in block.commands if block.language == "sh" else ():
        if program == "digsite":
            command = typer.main.get_command(app)
            while hasattr(command, "commands"):
                command = command.commands[arguments.pop(0)]
            command.make_context("digsite", arguments)

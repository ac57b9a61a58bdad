"""The reference matches the code: `python -m docs.write` gives the committed pages, and omits nothing."""

import re
import tomllib
from typing import Annotated, Any

import pyarrow as pa
import pytest
import typer
from pydantic import Field

from docs import columns, commands, settings, write
from pipeline.analysis import seed_rows as seeds
from pipeline.config.runtime import Runtime
from pipeline.exports.views import base
from pipeline.types import Data

WORDS = tomllib.loads(columns.WORDS.read_text(encoding="utf-8"))


COLUMNS = "columns.md"


@pytest.mark.parametrize(
    "name", [pytest.param(COLUMNS, marks=pytest.mark.slow), *(name for name in write.PAGES if name != COLUMNS)]
)
def test_a_page_is_what_the_code_gives(name: str) -> None:
    written = (write.FOLDER / name).read_text(encoding="utf-8")
    assert written == write.PAGES[name](), "make docs"


def test_columns_their_types_and_meanings_are_those_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare all but the examples, which come from recorded runs."""
    monkeypatch.setattr(columns, "examples", lambda rows: {})
    monkeypatch.setattr(columns, "_example", lambda *_: "example")
    written = (write.FOLDER / COLUMNS).read_text(encoding="utf-8")
    expected = {line.rpartition(" | ")[0] or line for line in columns.page().splitlines()}
    assert expected == {line.rpartition(" | ")[0] or line for line in written.splitlines()}, "make docs"


def test_a_setting_without_words_is_missed() -> None:
    class Fewer(Data):
        """A table of settings."""

        documented: int = 1
        """It has words."""
        undocumented: int = Field(2, ge=1)

    assert settings.words(Fewer, "documented") == "It has words."
    with pytest.raises(KeyError, match="Fewer.undocumented has no docstring"):
        settings.words(Fewer, "undocumented")


def test_a_command_or_its_option_without_words_is_missed() -> None:
    app = typer.Typer()

    @app.command()
    def wordless(loud: Annotated[bool, typer.Option("--loud")] = False, count: int = 3) -> None:
        """A command."""

    @app.command()
    def untold(count: Annotated[int, typer.Option(help="How many.")] = 3) -> None: ...

    commands_of: Any = typer.main.get_group(app).commands
    for missed, name in (("wordless --loud has no help", "wordless"), ("untold has no docstring", "untold")):
        with pytest.raises(KeyError, match=missed):
            commands.section(name, commands_of[name])


def test_a_column_without_words_or_example_is_missed() -> None:
    schema = pa.schema([("untold", pa.string())])
    with pytest.raises(KeyError, match="no words for qa.untold"):
        columns.section(schema, WORDS, "qa", {"qa": {}})
    with pytest.raises(KeyError, match="no example of qa.untold"):
        columns.section(schema, {"common": {"untold": "A word."}}, "qa", {"qa": {}})


def test_columns_toml_has_no_column_that_is_gone() -> None:
    schemas = {**{view: base.load(view).schema for view in base.names()}, "seeds": seeds.SCHEMA}
    anywhere = {name for schema in schemas.values() for name in schema.names}
    assert WORDS.keys() - {"common", "examples"} <= schemas.keys()
    gone = {view: set(WORDS.get(view, {})) - set(schema.names) for view, schema in schemas.items()}
    assert not {view: names for view, names in gone.items() if names}
    assert {*WORDS["common"], *WORDS["examples"]} <= anywhere


def test_every_setting_of_the_file_is_on_the_page() -> None:
    page = (write.FOLDER / "settings.md").read_text(encoding="utf-8")
    section = page.partition("## `[runtime]`")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(Runtime.model_fields)

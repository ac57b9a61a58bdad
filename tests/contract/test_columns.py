"""docs/columns.md has every column of every view and of the table of seeds, with its type, and no other."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.dataset import seeds
from pipeline.dataset.views import base

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "columns.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| ([\w<>]+) \| .{10,} \|$", re.MULTILINE)
SECTIONS = {
    title.strip("`"): dict(ROW.findall(text))
    for title, _, text in (part.partition("\n") for part in PAGE.split("\n## ")[1:])
}
COMMON = SECTIONS.pop("Columns of most views")
SEEDS = SECTIONS.pop("seeds.parquet")


def spelled(kind: pa.DataType) -> str:
    """As the page does: structs without their fields, JSON as such."""
    if pa.types.is_list(kind):
        return f"list<{spelled(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return "struct"
    return "json" if "json" in str(kind) else str(kind)


@pytest.mark.parametrize("view", base.names())
def test_the_page_describes_the_columns_of_a_view(view: str) -> None:
    schema = {field.name: spelled(field.type) for field in base.load(view).SCHEMA}
    own = SECTIONS[view]
    assert schema == {name: own.get(name) or COMMON.get(name, "not on the page") for name in schema}
    assert own.keys() <= schema.keys()


def test_the_page_describes_the_columns_of_the_table_of_seeds() -> None:
    assert {field.name: spelled(field.type) for field in seeds.SCHEMA} == SEEDS


def test_the_page_has_no_view_or_common_column_that_is_gone() -> None:
    assert SECTIONS.keys() == set(base.names())
    columns = {field.name for view in base.names() for field in base.load(view).SCHEMA}
    assert COMMON.keys() <= columns

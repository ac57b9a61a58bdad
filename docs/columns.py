"""The page of all columns: types from the schemas, words from `columns.toml`, examples from recorded runs.

The first is that of a strong model; what it has no rows of comes from runs in which every optional stage happened.
"""

import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa

from docs.tables import code, made, table
from pipeline import registry
from pipeline.analysis import seed_rows as seeds
from pipeline.exports.views import base
from tests.golden import recording, runs, strong

WORDS = Path(__file__).parent / "reference" / "columns.toml"
SHOWN = 48
"""Characters of an example."""
INTRODUCTION = (
    "Every column of every view, and of the table of all seeds, `seeds.parquet`. Types are Arrow's; `json` is JSON text "
    "that `datasets` 4.7 and later gives as objects, and text after `digsite export --plain`. Examples are cut after {SHOWN} characters; most are of a run in which a "
    "strong model played every role. What a view is for, and the rules that it follows, stand in its module, "
    "`pipeline/exports/views/<view>.py`."
).replace("{SHOWN}", str(SHOWN))
SEEDS = "One row for every seed of the plan, accepted or not, in the order of the plan. It lies beside the views and is in none of them."
Examples = dict[str, dict[str, str]]


def page() -> str:
    words = tomllib.loads(WORDS.read_text(encoding="utf-8"))
    shown = examples(words.pop("examples"))
    sections = [
        f"## {code(view)}\n\n{_about(view)}\n\n{section(base.load(view).schema, words, view, shown)}"
        for view in base.names()
    ]
    last = f"## {code('seeds.parquet')}\n\n{SEEDS}\n\n{section(seeds.SCHEMA, words, 'seeds', shown)}"
    return made("Columns", "\n\n".join([INTRODUCTION, *sections, last]).rstrip())


def _about(view: str) -> str:
    """Return the first paragraph of the module's docstring, without its name."""
    text = " ".join((registry.load("views", view).__doc__ or "").partition("\n\n")[0].split())
    return text.removeprefix(f"{code(view)}: ")[:1].upper() + text.removeprefix(f"{code(view)}: ")[1:]


def section(schema: pa.Schema, words: Any, view: str, shown: Examples) -> str:
    rows = [
        (code(one.name), spelled(one.type), meaning(words, view, one.name), _example(shown, view, one.name))
        for one in schema
    ]
    return table(["column", "type", "meaning", "example"], rows)


def _example(shown: Examples, view: str, column: str) -> str:
    """Of this view or of another. Raises KeyError where neither the runs nor `columns.toml` have one."""
    for one in (view, *shown):
        if found := shown[one].get(column):
            return found
    raise KeyError(f"columns.toml has no example of {view}.{column}")


def meaning(words: Any, view: str, column: str) -> str:
    """Return the description of a column in `columns.toml`. Raise KeyError if there is none."""
    found = words.get(view, {}).get(column) or (words["common"].get(column) if view != "seeds" else None)
    if not found:
        raise KeyError(f"columns.toml has no words for {view}.{column}")
    return str(found)


def spelled(kind: pa.DataType) -> str:
    """Name a type, with structs without their fields, and JSON as such."""
    if pa.types.is_list(kind):
        return f"list<{spelled(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return "struct"
    return "json" if "json" in str(kind) else str(kind)


def examples(given: dict[str, Any]) -> Examples:
    """Of each view and column the first value that is there; `given` are those of columns that no run fills."""
    found: Examples = {name: {} for name in (*base.names(), "seeds")}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for run in (strong.write_run(out / "strong")[0], *(_recorded(name, out / name) for name in runs.RUNS)):
            for view, shards in _tables(run / "dataset"):
                found[view] = _first(shards) | found[view]
    return found | {"examples": {name: _shown(value) for name, value in given.items()}}


def _recorded(name: str, out: Path) -> Path:
    return runs.replay(name, out, recording.Recorded(recording.read(name)))


def _tables(dataset: Path) -> Iterator[tuple[str, list[Path]]]:
    yield "seeds", [dataset / "seeds.parquet"]
    for view in base.names():
        if shards := sorted((dataset / view).glob("*.parquet")):
            yield view, shards


def _first(shards: list[Path]) -> dict[str, str]:
    rows = pl.read_parquet(shards).rows(named=True)
    return {
        name: shown
        for name in (rows[0] if rows else ())
        if (shown := next(filter(None, (_shown(row[name]) for row in rows)), ""))
    }


def _shown(value: Any) -> str:
    """Return a shortened value as code, or an empty text for an empty value."""
    if value in (None, "", [], {}):
        return ""
    if isinstance(value, list) and all(isinstance(part, str) and part[:1] in ("{", "[") for part in value):
        text = f"[{', '.join(value)}]"
    else:
        text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    text = " ".join(text.split())
    return code(text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…")

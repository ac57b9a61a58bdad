"""The page of the Python API, from signatures and docstrings."""

import inspect
import re
from typing import Any

import pipeline
from docs.tables import code, made, table
from pipeline import errors

INTRODUCTION = """The commands that make or change a data set are functions of `pipeline`; the others are on the command line alone. Each takes a configuration, or a run by its name or folder, and returns when its work is done;
it may be called from a notebook's cell. Progress goes to the log, or to an object with the methods of `pipeline.run.RunCallbacks` that is
given as `watch`.

```python
from pathlib import Path

from pipeline import build, export, generate, records

config = build(values={"corpus": {"name": "tiny"}, "steps": "1-2", "runtime": {"pairs": 2, "out": Path("outputs")}})
result = generate(config)
print(f"{result.accepted} of {result.planned} seeds")

for record in records(result.folder):
    if record.status == "accepted":
        print(record.draft.question, "->", record.draft.answer, record.difficulty)

manifest = export(result.folder, views=["qa", "sft"])  # writes these anew and leaves the other views
print({view: manifest.rows()[view] for view in ("qa", "sft")})
```"""


def page() -> str:
    functions = [_function(name) for name in pipeline.__all__ if not inspect.isclass(getattr(pipeline, name))]
    return made("Python", "\n\n".join([INTRODUCTION, *functions, _errors()]).rstrip())


def _function(name: str) -> str:
    function = getattr(pipeline, name)
    text = inspect.getdoc(function)
    if not text:
        raise KeyError(f"pipeline.{name} has no docstring")
    return f"## {code(name)}\n\n```python\n{name}{_short(str(inspect.signature(function)))}\n```\n\n{text}"


def _short(signature: str) -> str:
    """Types without quotes and modules, and defaults that are functions left out."""
    signature = re.sub(r"(: |-> )'([^']+)'", r"\1\2", signature)
    signature = re.sub(r"\b(?:\w+\.)+([A-Z])", r"\1", signature)
    return re.sub(r" = <function [^>]+>+( at \w+>)?", " = ...", signature)


def _errors() -> str:
    kinds: list[Any] = [
        kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
    ]
    rows = [(code(kind.__name__), (inspect.getdoc(kind) or "").partition("\n\n")[0]) for kind in kinds]
    return f"## Errors\n\nAll are in `pipeline.errors`.\n\n{table(['error', 'when'], rows)}"

"""Digsite generates multi-hop search QA data sets and verifies their difficulty with a solver agent.

    from pipeline import build, generate
    result = generate(build(values={"corpus": {"name": "wiki"}, "runtime": {"pairs": 30}}))

The functions of `pipeline.api`, with `RunConfig` and `build` of `pipeline.config`. They are imported when first
used.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.api import (
        branch,
        compare,
        compare_retrievers,
        complete,
        export,
        generate,
        measure,
        mix,
        preview,
        records,
        refresh,
        remeasure,
        report,
        resume,
    )
    from pipeline.config import RunConfig, build

# The allocator of polars, which reads this when it is loaded, prints a line for each background thread that it may not
# start (ulimit -u), and each of these tries takes so long that a run hardly moves.
os.environ.setdefault("_RJEM_MALLOC_CONF", "background_thread:false")

__all__ = [
    "RunConfig",
    "branch",
    "build",
    "compare",
    "compare_retrievers",
    "complete",
    "export",
    "generate",
    "measure",
    "mix",
    "preview",
    "records",
    "refresh",
    "remeasure",
    "report",
    "resume",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pipeline' has no attribute '{name}'")
    return getattr(import_module("pipeline.config" if name in ("RunConfig", "build") else "pipeline.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

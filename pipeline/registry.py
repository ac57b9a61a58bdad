"""Find plug-ins by folder: each plug-in is a file in the folder of its kind, and has the file's name."""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from pipeline.errors import UsageError, unknown

T = TypeVar("T")

FOLDERS = {
    "branching": "pipeline.exports.branching",
    "checks": "pipeline.loop.checks",
    "distractors": "pipeline.distractors.kinds",
    "gates": "pipeline.gates",
    "operations": "pipeline.operations",
    "readers": "pipeline.corpus.readers",
    "retrievers": "pipeline.retrieval.engines",
    "strategies": "pipeline.loop.strategies",
    "views": "pipeline.exports.views",
}
"""The package of each kind of plug-in."""

_SINGULAR = {"branching": "branching method", "distractors": "kind of distractor", "strategies": "strategy"}
"""The singular of a kind that is not the word without its `s`."""


def names(kind: str) -> list[str]:
    """Return the plug-ins of a kind, sorted. `base` holds their contract and is not one of them."""
    return list(_list_modules(tuple(import_module(FOLDERS[kind]).__path__)))


@cache
def _list_modules(folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        sorted(module.name for module in pkgutil.iter_modules(folders) if module.name != "base" and not module.ispkg)
    )


def instance(kind: str, name: str, contract: type[T]) -> T:
    """Return the object of the type `contract` that the module of this name defines.

    Raise UsageError if the name is unknown, or the module defines none or several.
    """
    module = load(kind, name)
    values = [value for value in vars(module).values() if isinstance(value, contract)]
    if len(values) != 1:
        raise UsageError(f"{module.__file__} must define exactly one {contract.__name__}; it defines {len(values)}")
    return values[0]


def describe(kind: str, name: str) -> str:
    """Return the first line of the docstring of the module of this name."""
    return (load(kind, name).__doc__ or "").split("\n")[0]


def load(kind: str, name: str) -> Any:
    """Return the module of this name. Raise UsageError, which lists the known names, if there is none."""
    if name not in names(kind):
        raise unknown(_SINGULAR.get(kind, kind.removesuffix("s")), name, names(kind))
    return import_module(f"{FOLDERS[kind]}.{name}")

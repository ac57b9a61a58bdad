"""The directory is the registry: a plug-in is one file of its folder, and its name is the file's."""

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
"""Every kind of plug-in, with the package that holds its files."""

_ONE = {"branching": "branching method", "distractors": "kind of distractor", "strategies": "strategy"}
"""What one of them is called, where that is not the word without its `s`."""


def names(kind: str) -> list[str]:
    """The plug-ins of that kind, sorted; `base` is their contract and none of them."""
    return list(_listed(tuple(import_module(FOLDERS[kind]).__path__)))


@cache
def _listed(folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        sorted(module.name for module in pkgutil.iter_modules(folders) if module.name != "base" and not module.ispkg)
    )


def instance(kind: str, name: str, contract: type[T]) -> T:
    """Return the one object of the type `contract` that the module of that name defines.

    Raises UsageError for an unknown name, and for a module that defines none or several.
    """
    module = load(kind, name)
    values = [value for value in vars(module).values() if isinstance(value, contract)]
    if len(values) != 1:
        raise UsageError(f"{module.__file__} must define one {contract.__name__}; it defines {len(values)}")
    return values[0]


def load(kind: str, name: str) -> Any:
    """The module of that name. Raises UsageError, listing the known ones, for any other."""
    if name not in names(kind):
        raise unknown(_ONE.get(kind, kind.removesuffix("s")), name, names(kind))
    return import_module(f"{FOLDERS[kind]}.{name}")

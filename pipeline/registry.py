"""The directory is the registry: a plug-in is one file of its package, and its name is the file's."""

import pkgutil
from importlib import import_module
from typing import Any

from pipeline.errors import UsageError


def names(package: str) -> list[str]:
    """The plug-ins of `pipeline.<package>`; `base` is its contract and none of them."""
    home = import_module(f"pipeline.{package}")
    modules = (module.name for module in pkgutil.iter_modules(home.__path__))
    return sorted(name for name in modules if name != "base")


def load(package: str, name: str) -> Any:
    """The module of that name. Raises UsageError, listing the known ones, for any other."""
    if name not in names(package):
        raise UsageError(f"no '{name}' among the {package}; known: {', '.join(names(package))}")
    return import_module(f"pipeline.{package}.{name}")

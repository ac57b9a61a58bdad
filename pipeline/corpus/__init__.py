"""Corpora: manifest → documents → passages on disk, with every loss counted. Each name is imported when it is used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.corpus.loading import load
    from pipeline.corpus.manifest import Manifest, names, resolve
    from pipeline.corpus.prepared import Corpus
    from pipeline.corpus.read_and_left_out import Counts

__all__ = ["Corpus", "Counts", "Manifest", "load", "names", "resolve"]
_HOMES = {"Corpus": "prepared", "Counts": "read_and_left_out", "load": "loading"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pipeline.corpus' has no attribute '{name}'")
    return getattr(import_module(f"pipeline.corpus.{_HOMES.get(name, 'manifest')}"), name)

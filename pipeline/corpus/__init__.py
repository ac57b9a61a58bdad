"""Corpora: manifest → documents → passages, with every loss counted."""

from pipeline.corpus.loading import Corpus, Counts, load
from pipeline.corpus.manifest import Manifest, names, resolve

__all__ = ["Corpus", "Counts", "Manifest", "load", "names", "resolve"]

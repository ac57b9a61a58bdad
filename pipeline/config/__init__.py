"""The configuration of a run: one typed tree of settings, read from TOML files and `a.b=c` options.

Settings that say *what* a run makes are part of its digest: another value gives another data set, in another folder.
Settings that say *how* it is made (number of pairs, concurrency, folders, timeouts) are not, and may change between two
commands that continue the same run.
"""

from pipeline.config.load import build
from pipeline.config.run import CorpusConfig, RunConfig

__all__ = ["CorpusConfig", "RunConfig", "build"]

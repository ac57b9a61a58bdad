"""A run: the plan of its seeds, their execution, and what is owed after any interruption."""

from pipeline.run.attempts import Attempt
from pipeline.run.plan import askable, judged
from pipeline.run.resume import RunFile, read, regate, resumable, unchanged
from pipeline.run.watch import LogWatch, Watch
from pipeline.run.work import Run, RunResult

__all__ = [
    "Attempt",
    "LogWatch",
    "Run",
    "RunFile",
    "RunResult",
    "Watch",
    "askable",
    "judged",
    "read",
    "regate",
    "resumable",
    "unchanged",
]

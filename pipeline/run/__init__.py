"""A run: the plan of its seeds, their execution, and what is owed after any interruption."""

from pipeline.run.attempts import Attempt
from pipeline.run.result import RunResult
from pipeline.run.resume import RunFile, read
from pipeline.run.watch import LogWatch, Watch
from pipeline.run.work import Run

__all__ = ["Attempt", "LogWatch", "Run", "RunFile", "RunResult", "Watch", "read"]

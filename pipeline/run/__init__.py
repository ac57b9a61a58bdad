"""A run: the plan of its seeds, their execution, and what remains to be done after an interruption."""

from pipeline.run.attempts import Attempt
from pipeline.run.callbacks import LogCallbacks, RunCallbacks, RunView
from pipeline.run.coordinator import Run
from pipeline.run.result import RunResult
from pipeline.run.resume import read

__all__ = ["Attempt", "LogCallbacks", "Run", "RunCallbacks", "RunResult", "RunView", "read"]

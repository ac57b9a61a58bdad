"""The command line: `digsite`. Commands import heavy modules inside their functions, so that `--help` is quick.

The console script is `pipeline.flow.main:main`, which passes `main` a runner that goes through Prefect. `python -m
pipeline.cli` is the same without Prefect.
"""

from pipeline.cli.app import main

__all__ = ["main"]

"""The command line: `digsite`. Nothing heavy is imported before a command needs it, so that help is quick.

The console script is `pipeline.flow.main:main`, which hands `main` a way to run through Prefect; `python -m
pipeline.cli` is the same without Prefect.
"""

from pipeline.cli.app import main

__all__ = ["main"]

"""A preload script for Dask's workers that makes the process look like another machine."""

from pipeline.run import worker

worker.machine = lambda: "another machine"  # type: ignore[assignment]

"""Benchmarks: scripts that measure and print, `python -m bench.<name> --help`. `docs/bench.md` holds what they printed.

With the demo model their figures describe the pipeline, not the quality of the data.
"""

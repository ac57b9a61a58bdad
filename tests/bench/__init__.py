"""Benches: scripts that measure and print, `python tests/bench/<name>.py --help`. Figures of the loop, not of the data.

None of them is collected by pytest; `docs/bench.md` holds what they printed.
"""

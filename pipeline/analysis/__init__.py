"""Analyses the records of a run: table of seeds, figures, comparison, forecast and traces.

It may import gates, loop and what is below them; exports, run and view show its results.
"""

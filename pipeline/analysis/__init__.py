"""Says what the records of a run hold: table of seeds, figures, comparison, forecast and traces.

It may import gates, loop and what lies below; exports, run and view show what it finds.
"""

"""The pages of `digsite view`: every item of a run, its figures, a comparison, people's marks.

This package may import exports and analysis. It gets runs as `analysis.run_source.Source`.
"""

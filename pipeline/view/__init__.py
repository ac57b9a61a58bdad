"""Serves the pages of `digsite view`: every item of a run, its figures, a comparison, marks of people.

It may import exports and analysis; runs come to it as `analysis.run_source.Source`.
"""

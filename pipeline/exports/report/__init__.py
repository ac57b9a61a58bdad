"""Writes the report of a run: one page of figures and items, made from records and settings alone.

It may import the glossary of the card and the templates that lie here; `view` shows the same templates.
"""

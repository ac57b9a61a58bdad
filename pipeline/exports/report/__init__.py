"""Writes the report of a run: one page of figures and items, made from records and settings only.

It may import the glossary of the card and the templates in this folder; `view` shows the same templates.
"""

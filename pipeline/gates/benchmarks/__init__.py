"""Reads published files of questions, and recognises a generated question that is one of them.

It may import the corpus readers, text and types.
"""

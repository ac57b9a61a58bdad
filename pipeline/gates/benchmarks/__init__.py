"""Reads files of questions that people published, and tells whether a question of ours is one of them.

It may import the corpus readers, text and types.
"""

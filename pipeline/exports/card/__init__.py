"""Writes the data card, and the glossary of card, report and commands.

It may import views and gates, which it describes.
"""

"""Writes the data card, and the words that card, report and commands explain.

It may import views and gates, which it describes.
"""

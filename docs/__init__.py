"""The documents: pages for people, and what writes the reference from the code."""

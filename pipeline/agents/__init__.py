"""Agents: the tool loop, and every role that a model plays in it."""

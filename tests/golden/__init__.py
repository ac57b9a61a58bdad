"""Recorded runs, replayed through the real loop, and the frozen bytes of all that they give. See README.md."""

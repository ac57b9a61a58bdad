"""Tests of what a machine and its models can do, with advice on how to get what is missing."""

"""The documents are tried with the command line's own fixture."""

from tests.cli.conftest import digsite

__all__ = ["digsite"]

"""Promises that ruff, mypy and import-linter cannot check; each test is shown to catch a planted violation."""

"""Measurements against questions with known answers: solvers and retrievers."""

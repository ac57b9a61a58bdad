"""The English of names and docstrings, measured. The limits are what the code keeps today: they may only fall."""

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.rules.source import ROOT

VAGUE_NAMES = frozenset(
    "asked begun both counted found given held kept known left made met more one other others own rest said seen shown "
    "stated taken there those told wanted whole".split()
)
"""Names of variables that say nothing about their value."""
IRREGULAR_PARTICIPLES = frozenset(
    "begun bound built chosen done drawn found given gone held kept known laid lost made meant met paid said seen sent "
    "shown sought spent taken told written".split()
)
DESCRIPTIVE_STARTS = frozenset(
    "a all an are as at both by can did do does each every for from has have how if in is it may must no none not of "
    "one only that the these this those to what when where whether which who whose why with without".split()
)
"""First words of a docstring that describes or asks, where an imperative is expected."""
LIMITS = {
    "pipeline": {"descriptive docstring": 0.01, "participle": 0.003, "vague name": 0.003, "docstring": 0.455},
    "tests": {"descriptive docstring": 0.18, "participle": 0.008, "vague name": 0.005, "docstring": 0.13},
    "bench": {"descriptive docstring": 0.0, "participle": 0.0, "vague name": 0.004, "docstring": 0.35},
}
"""Largest shares: of docstrings, of functions, of bindings, of functions."""


def bound_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, ast.arg):
        yield node.arg


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {getattr(decorator, "id", getattr(decorator, "attr", "")) for decorator in function.decorator_list}
    return not names.isdisjoint({"property", "cached_property"})


def is_bare_participle(name: str) -> bool:
    word = name.strip("_")
    return word in IRREGULAR_PARTICIPLES or ("_" not in word and word.endswith("ed") and len(word) > 4)


def is_descriptive(docstring: str) -> bool:
    first = docstring.split()[0].rstrip(",:").lower()
    return first in DESCRIPTIVE_STARTS or first.startswith("`") or first.endswith(("ed", "s'"))


def measure(sources: list[str]) -> dict[str, float]:
    counts = Counter[str]()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            for name in bound_names(node):
                counts["bindings"] += 1
                counts["vague"] += name in VAGUE_NAMES
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                counts["functions"] += 1
                counts["participles"] += is_bare_participle(node.name) and not is_property(node)
                if docstring := ast.get_docstring(node):
                    counts["docstrings"] += 1
                    counts["descriptive"] += is_descriptive(docstring)
    return {
        "descriptive docstring": counts["descriptive"] / max(1, counts["docstrings"]),
        "participle": counts["participles"] / max(1, counts["functions"]),
        "vague name": counts["vague"] / max(1, counts["bindings"]),
        "docstring": counts["docstrings"] / max(1, counts["functions"]),
    }


@pytest.mark.parametrize("folder", LIMITS)
def test_the_english_of_a_folder_gets_no_worse(folder: str) -> None:
    shares = measure([path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.py"))])
    assert {name: share for name, share in shares.items() if share > LIMITS[folder][name]} == {}


@pytest.mark.parametrize(
    ("source", "measured"),
    [
        ("def load(path): 'Load the file.'", {"docstring": 1.0}),
        ("def load(path): 'The file, loaded.'", {"docstring": 1.0, "descriptive docstring": 1.0}),
        ("def load(path): 'Loaded once.'", {"docstring": 1.0, "descriptive docstring": 1.0}),
        ("def opened(path): pass", {"participle": 1.0}),
        ("def _kept(path): pass", {"participle": 1.0}),
        ("class A:\n    @property\n    def kept(self): pass", {}),
        ("def load_opened(path): pass", {}),
        ("found = 1", {"vague name": 1.0}),
        ("def load(said): pass", {"vague name": 1.0}),
    ],
)
def test_a_planted_riddle_is_counted(source: str, measured: dict[str, float]) -> None:
    assert {name: share for name, share in measure([source]).items() if share} == measured

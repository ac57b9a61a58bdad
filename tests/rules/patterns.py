"""Every regular expression of the product, and the methods it is called by."""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import pipeline
from tests.rules.source import FOREIGN, Source, called, tree

SCANS = ("finditer", "findall", "search", "split", "sub", "subn")
"""Methods that try every start in the text, as finditer does."""
METHODS = frozenset({"match", "fullmatch", "finditer"})
WRITERS = {"re.compile": METHODS, "matching": frozenset({"fullmatch"})} | {
    f"re.{name}": frozenset({"finditer" if name in SCANS else name}) for name in (*SCANS, "match", "fullmatch")
}
"""Functions whose first argument is a pattern, and the methods by which they use it."""
FLAGS_AT = {"re.compile": 1, "re.split": 3, "re.sub": 4, "re.subn": 4}
STAND_IN = "Aa"
"""Takes the place of a name, an alias or an answer that only a call knows."""


@dataclass(frozen=True)
class PatternUse:
    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


@cache
def all_patterns() -> tuple[list[PatternUse], list[str]]:
    """Return each pattern once, and the places in the source whose pattern could not be worked out."""
    uses: dict[re.Pattern[Any], PatternUse] = {}
    unread: list[str] = []

    def add(place: str, pattern: re.Pattern[Any], methods: frozenset[str]) -> None:
        earlier = uses.get(pattern)
        uses[pattern] = PatternUse(
            earlier.place if earlier else place, pattern, methods | (earlier.methods if earlier else frozenset())
        )

    for module in _modules():
        for name, value in vars(module).items():
            for pattern in _patterns_in(value, depth=3):
                add(f"{module.__name__}.{name}", pattern, _methods_of(module, name) if value is pattern else METHODS)
    constants = set(uses)
    for source in tree("pipeline"):
        for place, written, methods in _written_in_functions(source) if not source.module.startswith(FOREIGN) else ():
            if written is None:
                unread.append(place)
            elif written not in constants:
                add(place, written, methods)
    return list(uses.values()), unread


def _modules() -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(pipeline.__path__, "pipeline."):
        if not info.name.startswith(FOREIGN) and not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def _patterns_in(value: object, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        for part in (*value.keys(), *value.values()):
            yield from _patterns_in(part, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _patterns_in(part, depth - 1)


@cache
def _methods_called(source: Source) -> dict[str, frozenset[str]]:
    """Return the methods that a module calls on each name; all of them if it also passes the name on as a value."""
    methods: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    receivers = set()
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            receivers.add(id(node.value))
            name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            methods[name] |= WRITERS.get(f"re.{node.attr}", frozenset())
    for node in source.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in receivers:
            methods[node.id] |= METHODS
    return {name: used for name, used in methods.items() if used}


def _methods_of(module: ModuleType, name: str) -> frozenset[str]:
    """Return the methods by which the product uses a module's constant."""
    private = name.startswith("_")
    sources = [source for source in tree("pipeline") if not private or source.module == module.__name__]
    return frozenset().union(*(_methods_called(source).get(name, ()) for source in sources)) or METHODS


def _written_in_functions(source: Source) -> Iterator[tuple[str, re.Pattern[Any] | None, frozenset[str]]]:
    names = vars(importlib.import_module(source.module))
    for function in source.nodes:
        if not isinstance(function, ast.FunctionDef):
            continue
        nodes = list(ast.walk(function))
        calls = [node for node in nodes if isinstance(node, ast.Call) and node.args and called(node) in WRITERS]
        assigned = {
            target.id: node.value
            for node in (nodes if calls else ())
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in calls:
            yield source.at(call, ast.unparse(call)), _compiled(call, names, assigned), WRITERS[called(call)]


def _compiled(call: ast.Call, names: dict[str, Any], assigned: Mapping[str, ast.expr]) -> re.Pattern[Any] | None:
    """Return the pattern of a call, or None where it comes from elsewhere."""
    at = FLAGS_AT.get(called(call), 2)
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"] or call.args[at : at + 1]
    written = call.args[0]
    if isinstance(written, ast.Name) and written.id in assigned:
        written = assigned[written.id]
    if isinstance(written, ast.Name | ast.Subscript) and not _known(written, names):
        return None
    filled = _Filled(names).visit(ast.parse(ast.unparse(written), mode="eval").body)
    try:
        given = eval(ast.unparse(flags[0]), dict(names)) if flags else 0
        return re.compile(eval(ast.unparse(filled), dict(names)), given)
    except (NameError, AttributeError, TypeError):
        return None


def _known(node: ast.expr, names: Mapping[str, Any]) -> bool:
    try:
        eval(ast.unparse(node), dict(names))
    except (NameError, KeyError, AttributeError):
        return False
    return True


class _Filled(ast.NodeTransformer):
    """Puts the stand-in where an expression takes a value of a call's own."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and not _known(node.func, self._names):
            return ast.Constant(STAND_IN)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return node if _known(node, self._names) else ast.Constant(STAND_IN)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if _known(node, self._names) else ast.Constant(STAND_IN)

"""Calls and dictionaries in Python's syntax, of which literals are read and nothing is run."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_LONGEST = 20_000
"""Characters that are given to Python's parser."""
_MOST_CALLS, _DEEPEST = 50, 30
_PART = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?|[\[\](){}]")
_LOOK_BACK = 100
_LINE = re.compile(r"(?:\A|[>\]\n])[ \t]{0,8}([\[(]?\s{0,9}(?:print\()?(?:\w{1,40}\.)?)\Z")
_END = re.compile(r"```|</|<[|｜]|\n[ \t]*\n")
_END_IN_FENCE = re.compile(r"```")
_BROKEN = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)


class PythonCall(NamedTuple):
    name: str
    arguments: dict[str, Any]
    named: bool
    """Are all arguments given by name?"""


def calls(text: str, properties: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, int, list[PythonCall]]]:
    """Where calls of these functions stand, and nothing else, from the beginning of a line or tag to a mark or an empty
    line, or in a whole fenced block. `properties` are the names of each function's arguments, in order."""
    if not properties:
        return
    head = re.compile(rf"\b(?:{'|'.join(map(re.escape, properties))})(?:\.call)?\(")
    at = 0
    for _ in range(_MOST_CALLS):
        if not (found := head.search(text, at)):
            return
        at = found.end()
        if not (line := _LINE.search(text[max(0, found.start() - _LOOK_BACK) : found.start()])):
            continue
        start = found.start() - len(line[1])
        fenced = text.count("```", 0, start) % 2 == 1
        if fenced and text[text.rfind("```", 0, start) : start].partition("\n")[2].strip():
            continue
        closing = (_END_IN_FENCE if fenced else _END).search(text, start, start + _LONGEST)
        end = closing.start() if closing else len(text)
        if made := _read(text[start:end], properties):
            yield start, end, made
            at = end


def literal(text: str, start: int) -> tuple[dict[Any, Any] | None, int]:
    """The dictionary that begins there, or None; and where it ends, or how far it was read."""
    depth = 0
    for part in _PART.finditer(text, start, start + _LONGEST):
        depth += (part[0] in "[({") - (part[0] in "])}")
        if depth <= 0 or depth > _DEEPEST:
            break
    else:
        return None, min(len(text), start + _LONGEST)
    try:
        tree = ast.literal_eval(text[start : part.end()]) if depth == 0 else None
    except _BROKEN:
        tree = None
    return (tree if isinstance(tree, dict) else None), part.end()


def _read(source: str, properties: Mapping[str, Sequence[str]]) -> list[PythonCall]:
    """All the calls that a piece of code is; nothing where it is anything else."""
    try:
        body = ast.parse(source.strip()).body if len(source) <= _LONGEST else []
        return [_call(node, properties) for statement in body for node in _expressions(statement)]
    except _BROKEN:
        return []


def _expressions(statement: ast.AST) -> list[ast.expr]:
    node = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and not node.keywords:
        return node.args
    if isinstance(node, ast.List | ast.Tuple):
        return node.elts
    if isinstance(node, ast.expr):
        return [node]
    raise ValueError("no expression")


def _call(node: ast.expr, properties: Mapping[str, Sequence[str]]) -> PythonCall:
    if not isinstance(node, ast.Call):
        raise TypeError("no call")
    said = ast.unparse(node.func)
    parts = [part for part in said.split(".") if part != "call"]
    if not parts or parts[-1] not in properties or len(parts) > 2:
        raise ValueError("another function")
    given = [ast.literal_eval(argument) for argument in node.args]
    named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
    if len(named) < len(node.keywords):
        raise ValueError("arguments from a dictionary")
    if len(given) == 1 and isinstance(given[0], dict) and not named:
        return PythonCall(said, given[0], named=True)
    return PythonCall(said, dict(zip(properties[parts[-1]], given, strict=False)) | named, named=not given)

"""Calls and dictionaries in Python's syntax. Only literals are read, and nothing is executed."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_LONGEST = 20_000
"""Most characters that Python's parser gets."""
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
    has_keywords_only: bool
    """Whether all arguments are passed by name."""


def find_calls(text: str, properties: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, int, list[PythonCall]]]:
    """Yield the start, the end and the calls of each part of a text that consists only of calls of these functions.

    Such a part reaches from the beginning of a line or tag to a mark or an empty line, or is a whole fenced block.

    Args:
        text: A model's text.
        properties: The names of each function's arguments, in order.
    """
    if not properties:
        return
    head = re.compile(rf"\b(?:{'|'.join(map(re.escape, properties))})(?:\.call)?\(")
    position = 0
    for _ in range(_MOST_CALLS):
        if not (match := head.search(text, position)):
            return
        position = match.end()
        if not (line := _LINE.search(text[max(0, match.start() - _LOOK_BACK) : match.start()])):
            continue
        start = match.start() - len(line[1])
        fenced = text.count("```", 0, start) % 2 == 1
        if fenced and text[text.rfind("```", 0, start) : start].partition("\n")[2].strip():
            continue
        closing = (_END_IN_FENCE if fenced else _END).search(text, start, start + _LONGEST)
        end = closing.start() if closing else len(text)
        if calls := _parse(text[start:end], properties):
            yield start, end, calls
            position = end


def parse_dict(text: str, start: int) -> tuple[dict[Any, Any] | None, int]:
    """Return the dictionary that begins at `start`, or None, and the position up to which the text was read."""
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


def _parse(source: str, properties: Mapping[str, Sequence[str]]) -> list[PythonCall]:
    try:
        body = ast.parse(source.strip()).body if len(source) <= _LONGEST else []
        return [_read_call(node, properties) for statement in body for node in _unwrap_list_or_print(statement)]
    except _BROKEN:
        return []


def _unwrap_list_or_print(statement: ast.AST) -> list[ast.expr]:
    node = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and not node.keywords:
        return node.args
    if isinstance(node, ast.List | ast.Tuple):
        return node.elts
    if isinstance(node, ast.expr):
        return [node]
    raise ValueError("not an expression")


def _read_call(node: ast.expr, properties: Mapping[str, Sequence[str]]) -> PythonCall:
    if not isinstance(node, ast.Call):
        raise TypeError("not a call")
    function = ast.unparse(node.func)
    parts = [part for part in function.split(".") if part != "call"]
    if not parts or parts[-1] not in properties or len(parts) > 2:
        raise ValueError("another function")
    positional = [ast.literal_eval(argument) for argument in node.args]
    keywords = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
    if len(keywords) < len(node.keywords):
        raise ValueError("arguments from a dictionary")
    if len(positional) == 1 and isinstance(positional[0], dict) and not keywords:
        return PythonCall(function, positional[0], has_keywords_only=True)
    arguments = dict(zip(properties[parts[-1]], positional, strict=False)) | keywords
    return PythonCall(function, arguments, has_keywords_only=not positional)

"""Calls of tools that stand in a text: of models whose server has no parser, or has the wrong one.

Read are the forms that open models are trained on: Hermes' and Qwen's tags, the XML of Qwen-Coder, GLM and MiniMax,
bare JSON, Mistral's, Llama's, DeepSeek's, Kimi's and gpt-oss' special tokens, JSON in Markdown fences, calls in Python.
A call that no such mark announces counts where it names an offered tool and its arguments fit the tool's schema, or
where it is the whole text. The time is linear in the text, whatever it holds.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pipeline.llm import python_calls
from pipeline.llm.base import Tool
from pipeline.llm.schemas import decoded, fits, inlined, read_json, scrubbed, written
from pipeline.types import ToolCall

_NAMES = ("name", "tool_name", "function_name", "tool", "function", "action", "recipient_name")
_ARGUMENTS = (
    "arguments", "parameters", "args", "input", "params", "kwargs", "tool_input", "action_input", "tool_args",
    "function_arguments",
)  # fmt: skip
_WRAPPERS = ("tool_calls", "tool_call", "function_call", "function", "tool_uses", "calls")
_OF_CALLS = frozenset({"id", "type", "index", "call_id", "tool_call_id"})
"""Keys of a call that are no arguments."""

_TOKEN = r"<[|｜][^|｜<>]{1,40}[|｜]>"  # noqa: S105 - a special token of a model
_FENCE = r"```[ \t]{0,3}\w{0,20}"
_VENDOR = r"(?:[｜|]{1,2}\w{1,12}[｜|]{1,2}|\w{1,12}:)?"
_MARKS = rf"</?{_VENDOR}tool_calls?>|\[TOOL_CALLS\]|\bfunctools\b|{_TOKEN}"
_WRAPPING = rf"{_MARKS}|{_FENCE}|</?{_VENDOR}(?:function_calls|function|invoke)>"
_BETWEEN = re.compile(rf"{_WRAPPING}|[\s\[\],;}}]")
"""What may stand around calls that are the whole text."""
_OPENING = re.compile(rf"{_WRAPPING}|[\s\[]")
_MARKED = re.compile(rf"(?:{_MARKS})[\s\[]*(?:{_FENCE}\s*)?$")
_NAME_BEFORE = re.compile(
    rf"(?:<\|channel\|>\w{{1,20}}\s+to=|(?:<\|start\|>assistant\s+)?\bto=|{_TOKEN}function{_TOKEN}|\[TOOL_CALLS\]|{_TOKEN}|<tool_call>|<function="
    r"|>>>|\bAction:)\s*+"
    rf"(?P<name>[\w.:/-]{{1,80}}?)"
    rf"(?:>|\[CALL_ID\]\w{{1,40}}|\[ARGS\]|Action Input:|{_TOKEN}|\b(?:commentary|analysis|json)\b|{_FENCE}|\s)*+$"
)
_LOOK_BACK = 300
_FUNCTION = re.compile(
    rf"<{_VENDOR}(?:function|invoke)(?:=|\s{{1,9}}name\s{{0,9}}=)\s{{0,9}}[\"']?(?P<name>[\w.:/-]{{1,80}})[\"']?\s{{0,9}}>"
    r"|<tool_call>\s{0,9}(?P<before>[\w.:/-]{1,80})\s{0,9}(?=<arg_key>)"
)
_FUNCTION_END = re.compile(rf"</{_VENDOR}(?:function|invoke|tool_call)>")
_PARAMETER = re.compile(
    rf"<{_VENDOR}parameter(?:=|\s{{1,9}}name\s{{0,9}}=)\s{{0,9}}[\"']?([\w.-]{{1,80}})[\"']?[^<>]{{0,40}}>"
    r"|<arg_key>\s{0,9}([\w.-]{1,80})\s{0,9}</arg_key>\s{0,9}<arg_value>"
)
_PARAMETER_END = re.compile(rf"</{_VENDOR}(?:parameter|arg_value)>")
_OBJECT = re.compile(r"\{\s*[\"']")
_JSON = json.JSONDecoder(strict=False)
_MOST_OBJECTS, _MOST_FAILURES = 1000, 2000

_LEAK = re.compile(r"<[|｜][^|｜<>]*[|｜]?>?|[\s\"'`]+")
_PREFIX = re.compile(r"^(?:to=)?(?:(?:functions?|tools?|default_api)[.:/])?(.*?)(?::\d{1,6})?(?:\.call)?$")
_LONGEST_NAME = 300


class Offered:
    """The tools of a request, by name, each with the inlined schema of its arguments."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.schemas: dict[str, dict[str, Any]] = {tool.name: inlined(tool.parameters) for tool in tools}

    def name(self, said: str) -> str:
        """The tool that is meant, where a special token leaked into its name or a namespace stands before it and no
        other is named; else what was said."""
        if said in self.schemas:
            return said
        parts = (_PREFIX.sub(r"\1", part) for part in _LEAK.split(said[:_LONGEST_NAME]))
        meant = {part for part in parts if part in self.schemas}
        return meant.pop() if len(meant) == 1 else said

    def fits(self, name: str, arguments: Any) -> bool:
        """Is it an offered tool, and do the arguments fit its schema?"""
        return name in self.schemas and isinstance(arguments, dict) and fits(arguments, self.schemas[name])

    def repaired(self, call: ToolCall) -> ToolCall:
        """The call with an offered name, and with arguments decoded that were encoded twice; the very call where
        there is nothing to repair."""
        name = self.name(call.name)
        given = read_json(call.arguments)
        read = self.decoded(name, given)
        if name == call.name and read is given:
            return call
        arguments = call.arguments if read is given else written(read)
        return call.model_copy(update={"name": name, "arguments": arguments, "repaired": True})

    def decoded(self, name: str, arguments: Any) -> Any:
        """The arguments of that tool, with structures in place of their JSON texts."""
        return decoded(arguments, self.schemas[name]) if name in self.schemas else arguments


class _Written(NamedTuple):
    start: int
    end: int
    name: str
    arguments: Any
    marked: bool
    """Does one of the forms that are made for calls announce it?"""
    strict: bool = False
    """Would Hermes' own parser, which most trainers have, read the same in the content?"""


def calls(text: str, offered: Offered) -> tuple[str, tuple[ToolCall, ...]]:
    """The text before the first call, and the calls."""
    found = _found(text, offered)
    whole = not _BETWEEN.sub("", _beside(text, found))
    kept = [one for one in found if _counts(one, offered, whole=whole)]
    return (_opened(text[: kept[0].start]), _numbered(kept, offered)) if kept else (text, ())


def last_calls(thoughts: str, offered: Offered) -> tuple[str, tuple[ToolCall, ...]]:
    """The same of thoughts that end with a call, or with several in a row, that fit; no other is meant."""
    kept: list[_Written] = []
    end = len(thoughts)
    for one in reversed(_found(thoughts, offered)):
        if _BETWEEN.sub("", thoughts[one.end : end]) or not offered.fits(one.name, one.arguments):
            break
        kept.insert(0, one._replace(strict=False))
        end = one.start
    return (_opened(thoughts[:end]), _numbered(kept, offered)) if kept else (thoughts, ())


def first_object(text: str, schema: dict[str, Any]) -> str:
    """The first JSON object in a text that fits the schema, with its structures decoded, or else the first that is
    whole; the very text where it is one or holds none."""
    shape = inlined(schema)
    whole = read_json(text)
    found = [(text, whole)] if isinstance(whole, dict) else [(text[a:b], tree) for a, b, tree in _objects(text)]
    if isinstance(whole, str) and not found and isinstance(again := read_json(whole), dict):
        found = [(whole, again)]
    read = [(said, tree, decoded(tree, shape, scalars=True)) for said, tree in found]
    if not read:
        return text
    said, tree, answer = next((one for one in read if fits(one[-1], shape)), read[0])
    # In the model's own words, but for Python's.
    return said if answer is tree and isinstance(read_json(said), dict) else written(answer)


def last_object(thoughts: str, schema: dict[str, Any]) -> tuple[str, str]:
    """Thoughts, and the object of that schema that they end with; no other is meant."""
    shape = inlined(schema)
    for start, end, tree in [*_objects(thoughts)][-1:]:
        answer = decoded(tree, shape, scalars=True)
        if not _BETWEEN.sub("", thoughts[end:]) and fits(answer, shape):
            return _opened(thoughts[:start]), written(answer)
    return thoughts, ""


def _counts(one: _Written, offered: Offered, *, whole: bool) -> bool:
    if one.name in offered.schemas:
        return one.marked or whole or offered.fits(one.name, one.arguments)
    return one.marked and whole


def _numbered(found: Sequence[_Written], offered: Offered) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=f"text{number}",
            name=scrubbed(one.name),
            arguments=one.arguments if isinstance(one.arguments, str) else written(one.arguments),
            repaired=not one.strict,
        )
        for number, one in enumerate(found)
    )


def _beside(text: str, found: Sequence[_Written]) -> str:
    ends = [0, *(one.end for one in found)]
    starts = [*(one.start for one in found), len(text)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _opened(before: str) -> str:
    """The text without what opens a call at its end."""
    end = len(before)
    for mark in reversed(list(_OPENING.finditer(before))):
        if mark.end() != end:
            break
        end = mark.start()
    return before[:end]


def _found(text: str, offered: Offered) -> list[_Written]:
    """All that has the form of a call, in order."""
    found: list[_Written] = []
    for reader in (_tagged, _in_json, _in_python):
        taken = [(one.start, one.end) for one in found]
        for one in reader(text, offered):
            if all(one.end <= start or one.start >= end for start, end in taken):
                found.append(one)
    return sorted(found, key=lambda one: one.start)


def _tagged(text: str, offered: Offered) -> Iterator[_Written]:
    """Calls whose arguments stand one by one between tags. One that was cut off within its last argument is none."""
    heads = list(_FUNCTION.finditer(text))
    for place, head in enumerate(heads):
        following = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        closing = _FUNCTION_END.search(text, head.end(), following)
        body = text[head.end() : closing.start() if closing else following]
        _, *pieces = _PARAMETER.split(body)
        name = offered.name(head["name"] or head["before"])
        if not pieces or name not in offered.schemas:
            continue
        schema = offered.schemas[name].get("properties", {})
        arguments = {}
        for named, other, rest in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
            last = _PARAMETER_END.search(rest)
            value = (rest[: last.start()] if last else rest).removeprefix("\n").removesuffix("\n")
            arguments[named or other] = decoded(value, schema.get(named or other, {}), scalars=True)
        closed = closing.end() if closing else last and head.end() + len(body) - len(rest) + last.end()
        if closed:
            yield _Written(head.start(), closed, name, arguments, marked=True)


def _in_json(text: str, offered: Offered) -> Iterator[_Written]:
    for start, end, tree in _objects(text):
        before = text[max(0, start - _LOOK_BACK) : start]
        inside = list(_of_object(tree, offered))
        head = _NAME_BEFORE.search(before)
        named = offered.name(head["name"]) if head else ""
        if head and named in offered.schemas and (not inside or offered.fits(named, tree)):
            opened = start - len(before) + head.start()
            yield _Written(opened, end, named, offered.decoded(named, tree), marked=True)
            continue
        marked = bool(_MARKED.search(before))
        for said, given in inside:
            name = offered.name(said)
            read = read_json(given) if isinstance(given, str) else given
            arguments = offered.decoded(name, read if isinstance(read, dict) else given)
            strict = name == said and arguments is given and _is_hermes(text, start, end, tree)
            yield _Written(start, end, name, arguments, marked, strict)


def _is_hermes(text: str, start: int, end: int, tree: dict[str, Any]) -> bool:
    """Is it strict JSON between Hermes' tags? Its own parser reads nothing else."""
    before = text[max(0, start - _LOOK_BACK) : start].rstrip()
    if tree.keys() != {"name", "arguments"} or not before.endswith("<tool_call>"):
        return False
    return text[end : end + 100].lstrip().startswith("</tool_call>") and read_json(text[start:end], strict=True) == tree


def _of_object(tree: dict[str, Any], offered: Offered, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The names and arguments of the calls that an object is or wraps."""
    key = next((key for key in _NAMES if isinstance(tree.get(key), str)), None)
    if key:
        given = next((tree[name] for name in _ARGUMENTS if name in tree and name != key), None)
        rest = {name: value for name, value in tree.items() if name != key and name not in _OF_CALLS}
        yield tree[key], rest if given is None else given
        return
    if len(tree) == 1 and isinstance(value := next(iter(tree.values())), dict) and next(iter(tree)) in offered.schemas:
        yield next(iter(tree)), value
        return
    for wrapper in _WRAPPERS if depth < 2 else ():
        inner = tree.get(wrapper)
        for item in inner if isinstance(inner, list) else [inner]:
            if isinstance(item, dict):
                yield from _of_object(item, offered, depth + 1)


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The outermost JSON objects in a text, and Python's of the same form, with where they begin and end.

    What is begun and not ended is read again at most as often as keeps the time linear.
    """
    at, read, failures, most = 0, 0, 0, 4 * len(text)
    for _ in range(_MOST_OBJECTS + _MOST_FAILURES):
        head = _OBJECT.search(text, at)
        if not head or failures > _MOST_FAILURES or read > most:
            return
        start = at = head.start()
        try:
            tree, at = _JSON.raw_decode(text, start)
        except json.JSONDecodeError as error:
            read += (len(text) if error.msg.startswith("Unterminated") else error.pos) - start
            tree, at = python_calls.literal(text, start)
            # Five times as slow as JSON.
            read += 0 if tree else 4 * (at - start)
        except RecursionError:
            tree, read = None, read + len(text) - start
        if tree:
            yield start, at, tree
        else:
            at, failures = start + 1, failures + 1


def _in_python(text: str, offered: Offered) -> Iterator[_Written]:
    properties = {name: list(schema.get("properties", ())) for name, schema in offered.schemas.items()}
    for start, end, made in python_calls.calls(text, properties):
        marked = bool(_MARKED.search(text[max(0, start - _LOOK_BACK) : start]))
        alone = marked or all(call.named for call in made) or not _BETWEEN.sub("", text[:start] + text[end:])
        for said, arguments, _ in made if alone else ():
            if (name := offered.name(said)) in offered.schemas:
                yield _Written(start, end, name, offered.decoded(name, arguments), marked)

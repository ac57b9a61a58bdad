"""Tool calls that a text contains, for models whose server has no parser or the wrong one.

The forms are those that open models are trained on: the tags of Hermes and Qwen, the XML of Qwen-Coder, GLM and
MiniMax, bare JSON, the special tokens of Mistral, Llama, DeepSeek, Kimi and gpt-oss, JSON in Markdown fences, and
Python calls. A call without such a mark counts if it names an offered tool and its arguments fit the tool's schema, or
if it is the whole text. The time is linear in the length of any text.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pipeline.llm import python_calls
from pipeline.llm.base import Tool
from pipeline.llm.schemas import decode_texts, dump_json, fits, inline_refs, read_json, replace_surrogates
from pipeline.types import ToolCall

_NAMES = ("name", "tool_name", "function_name", "tool", "function", "action", "recipient_name")
_ARGUMENTS = (
    "arguments", "parameters", "args", "input", "params", "kwargs", "tool_input", "action_input", "tool_args",
    "function_arguments",
)  # fmt: skip
_WRAPPERS = ("tool_calls", "tool_call", "function_call", "function", "tool_uses", "calls")
_CALL_KEYS = frozenset({"id", "type", "index", "call_id", "tool_call_id"})
"""Keys of a call that are not arguments."""

_TOKEN = r"<[|｜][^|｜<>]{1,40}[|｜]>"  # noqa: S105 - a special token of a model
_FENCE = r"```[ \t]{0,3}\w{0,20}"
_VENDOR = r"(?:[｜|]{1,2}\w{1,12}[｜|]{1,2}|\w{1,12}:)?"
_MARKS = rf"</?{_VENDOR}tool_calls?>|\[TOOL_CALLS\]|\bfunctools\b|{_TOKEN}"
_WRAPPING = rf"{_MARKS}|{_FENCE}|</?{_VENDOR}(?:function_calls|function|invoke)>"
_BETWEEN = re.compile(rf"{_WRAPPING}|[\s\[\],;}}]")
"""What may surround calls that are the whole text."""
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


class OfferedTools:
    """The tools of a request, by name, each with the inlined schema of its arguments."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.schemas: dict[str, dict[str, Any]] = {tool.name: inline_refs(tool.parameters) for tool in tools}

    def resolve_name(self, name: str) -> str:
        """Return the name without special tokens that leaked into it and without a namespace.

        It stays as it is if that leaves no offered tool, or several.
        """
        if name in self.schemas:
            return name
        parts = (_PREFIX.sub(r"\1", part) for part in _LEAK.split(name[:_LONGEST_NAME]))
        tool_names = {part for part in parts if part in self.schemas}
        return tool_names.pop() if len(tool_names) == 1 else name

    def fits(self, name: str, arguments: Any) -> bool:
        return name in self.schemas and isinstance(arguments, dict) and fits(arguments, self.schemas[name])

    def repair(self, call: ToolCall) -> ToolCall:
        """Resolve the name of a call, and decode arguments that were encoded twice.

        Returns the same object if there is nothing to repair.
        """
        name = self.resolve_name(call.name)
        parsed = read_json(call.arguments)
        decoded = self.decode(name, parsed)
        if name == call.name and decoded is parsed:
            return call
        arguments = call.arguments if decoded is parsed else dump_json(decoded)
        return call.model_copy(update={"name": name, "arguments": arguments, "repaired": True})

    def decode(self, name: str, arguments: Any) -> Any:
        return decode_texts(arguments, self.schemas[name]) if name in self.schemas else arguments


class _WrittenCall(NamedTuple):
    start: int
    end: int
    name: str
    arguments: Any
    is_marked: bool
    """Whether a mark that is made for calls precedes it."""
    is_strict: bool = False
    """Whether Hermes' own parser, which most trainers use, would read the same call."""


def extract_calls(text: str, tools: OfferedTools) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the text before the first call, and all calls."""
    candidates = _find_candidates(text, tools)
    is_whole_text = not _BETWEEN.sub("", _text_between(text, candidates))
    calls = [call for call in candidates if _is_meant(call, tools, is_whole_text=is_whole_text)]
    return (_strip_opening(text[: calls[0].start]), _to_tool_calls(calls)) if calls else (text, ())


def extract_last_calls(thoughts: str, tools: OfferedTools) -> tuple[str, tuple[ToolCall, ...]]:
    """Split thoughts before the calls at their very end. Other calls in thoughts are not meant as such."""
    calls: list[_WrittenCall] = []
    end = len(thoughts)
    for call in reversed(_find_candidates(thoughts, tools)):
        if _BETWEEN.sub("", thoughts[call.end : end]) or not tools.fits(call.name, call.arguments):
            break
        calls.insert(0, call._replace(is_strict=False))
        end = call.start
    return (_strip_opening(thoughts[:end]), _to_tool_calls(calls)) if calls else (thoughts, ())


def extract_object(text: str, schema: dict[str, Any]) -> str:
    """Return the first JSON object in a text that fits the schema, or else the first complete object.

    Texts in it that should be structures are decoded. If there is no object, returns the text.
    """
    shape = inline_refs(schema)
    value = read_json(text)
    if isinstance(value, dict):
        objects = [(text, value)]
    else:
        objects = [(text[start:end], tree) for start, end, tree in _find_objects(text)]
    if isinstance(value, str) and not objects and isinstance(inner := read_json(value), dict):
        objects = [(value, inner)]
    answers = [(source, tree, decode_texts(tree, shape, scalars=True)) for source, tree in objects]
    if not answers:
        return text
    source, tree, answer = next((entry for entry in answers if fits(entry[-1], shape)), answers[0])
    # Keep the model's own text, unless it is Python.
    return source if answer is tree and isinstance(read_json(source), dict) else dump_json(answer)


def extract_last_object(thoughts: str, schema: dict[str, Any]) -> tuple[str, str]:
    """Split thoughts before the object at their very end, if it fits the schema."""
    shape = inline_refs(schema)
    for start, end, tree in [*_find_objects(thoughts)][-1:]:
        answer = decode_texts(tree, shape, scalars=True)
        if not _BETWEEN.sub("", thoughts[end:]) and fits(answer, shape):
            return _strip_opening(thoughts[:start]), dump_json(answer)
    return thoughts, ""


def _is_meant(call: _WrittenCall, tools: OfferedTools, *, is_whole_text: bool) -> bool:
    if call.name in tools.schemas:
        return call.is_marked or is_whole_text or tools.fits(call.name, call.arguments)
    return call.is_marked and is_whole_text


def _to_tool_calls(calls: Sequence[_WrittenCall]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=f"text{index}",
            name=replace_surrogates(call.name),
            arguments=call.arguments if isinstance(call.arguments, str) else dump_json(call.arguments),
            repaired=not call.is_strict,
        )
        for index, call in enumerate(calls)
    )


def _text_between(text: str, calls: Sequence[_WrittenCall]) -> str:
    ends = [0, *(call.end for call in calls)]
    starts = [*(call.start for call in calls), len(text)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _strip_opening(text: str) -> str:
    end = len(text)
    for mark in reversed(list(_OPENING.finditer(text))):
        if mark.end() != end:
            break
        end = mark.start()
    return text[:end]


def _find_candidates(text: str, tools: OfferedTools) -> list[_WrittenCall]:
    calls: list[_WrittenCall] = []
    for find in (_find_tagged, _find_in_json, _find_in_python):
        spans = [(call.start, call.end) for call in calls]
        calls += [
            call for call in find(text, tools) if all(call.end <= start or call.start >= end for start, end in spans)
        ]
    return sorted(calls, key=lambda call: call.start)


def _find_tagged(text: str, tools: OfferedTools) -> Iterator[_WrittenCall]:
    """Find calls with a tag around each argument. A call that was cut off in its last argument does not count."""
    heads = list(_FUNCTION.finditer(text))
    for index, head in enumerate(heads):
        following = heads[index + 1].start() if index + 1 < len(heads) else len(text)
        closing = _FUNCTION_END.search(text, head.end(), following)
        body = text[head.end() : closing.start() if closing else following]
        _, *pieces = _PARAMETER.split(body)
        name = tools.resolve_name(head["name"] or head["before"])
        if not pieces or name not in tools.schemas:
            continue
        properties = tools.schemas[name].get("properties", {})
        arguments = {}
        for parameter, arg_key, tail in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
            value_end = _PARAMETER_END.search(tail)
            value = (tail[: value_end.start()] if value_end else tail).removeprefix("\n").removesuffix("\n")
            key = parameter or arg_key
            arguments[key] = decode_texts(value, properties.get(key, {}), scalars=True)
        end = closing.end() if closing else value_end and head.end() + len(body) - len(tail) + value_end.end()
        if end:
            yield _WrittenCall(head.start(), end, name, arguments, is_marked=True)


def _find_in_json(text: str, tools: OfferedTools) -> Iterator[_WrittenCall]:
    for start, end, tree in _find_objects(text):
        before = text[max(0, start - _LOOK_BACK) : start]
        inner_calls = list(_read_calls(tree, tools))
        head = _NAME_BEFORE.search(before)
        name_before = tools.resolve_name(head["name"]) if head else ""
        if head and name_before in tools.schemas and (not inner_calls or tools.fits(name_before, tree)):
            head_start = start - len(before) + head.start()
            yield _WrittenCall(head_start, end, name_before, tools.decode(name_before, tree), is_marked=True)
            continue
        is_marked = bool(_MARKED.search(before))
        for raw_name, raw_arguments in inner_calls:
            name = tools.resolve_name(raw_name)
            parsed = read_json(raw_arguments) if isinstance(raw_arguments, str) else raw_arguments
            arguments = tools.decode(name, parsed if isinstance(parsed, dict) else raw_arguments)
            is_strict = name == raw_name and arguments is raw_arguments and _is_hermes(text, start, end, tree)
            yield _WrittenCall(start, end, name, arguments, is_marked, is_strict)


def _is_hermes(text: str, start: int, end: int, tree: dict[str, Any]) -> bool:
    """Return whether this is strict JSON between Hermes' tags. Its own parser reads nothing else."""
    before = text[max(0, start - _LOOK_BACK) : start].rstrip()
    if tree.keys() != {"name", "arguments"} or not before.endswith("<tool_call>"):
        return False
    return text[end : end + 100].lstrip().startswith("</tool_call>") and read_json(text[start:end], strict=True) == tree


def _read_calls(tree: dict[str, Any], tools: OfferedTools, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the names and arguments of the calls that an object is or wraps."""
    key = next((key for key in _NAMES if isinstance(tree.get(key), str)), None)
    if key:
        arguments = next((tree[name] for name in _ARGUMENTS if name in tree and name != key), None)
        other_fields = {name: value for name, value in tree.items() if name != key and name not in _CALL_KEYS}
        yield tree[key], other_fields if arguments is None else arguments
        return
    if len(tree) == 1 and isinstance(value := next(iter(tree.values())), dict) and next(iter(tree)) in tools.schemas:
        yield next(iter(tree)), value
        return
    for wrapper in _WRAPPERS if depth < 2 else ():
        inner = tree.get(wrapper)
        for part in inner if isinstance(inner, list) else [inner]:
            if isinstance(part, dict):
                yield from _read_calls(part, tools, depth + 1)


def _find_objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the start, the end and the value of the outermost JSON objects in a text, and of Python dictionaries.

    Unfinished objects may be read several times, but the characters read are limited, so that the time stays linear.
    """
    position, read, failures, most = 0, 0, 0, 4 * len(text)
    for _ in range(_MOST_OBJECTS + _MOST_FAILURES):
        head = _OBJECT.search(text, position)
        if not head or failures > _MOST_FAILURES or read > most:
            return
        start = position = head.start()
        try:
            tree, position = _JSON.raw_decode(text, start)
        except json.JSONDecodeError as error:
            read += (len(text) if error.msg.startswith("Unterminated") else error.pos) - start
            tree, position = python_calls.parse_dict(text, start)
            # Python's parser is five times as slow as that of JSON.
            read += 0 if tree else 4 * (position - start)
        except RecursionError:
            tree, read = None, read + len(text) - start
        if tree:
            yield start, position, tree
        else:
            position, failures = start + 1, failures + 1


def _find_in_python(text: str, tools: OfferedTools) -> Iterator[_WrittenCall]:
    properties = {name: list(schema.get("properties", ())) for name, schema in tools.schemas.items()}
    for start, end, calls in python_calls.find_calls(text, properties):
        is_marked = bool(_MARKED.search(text[max(0, start - _LOOK_BACK) : start]))
        is_whole_text = not _BETWEEN.sub("", text[:start] + text[end:])
        if not (is_marked or is_whole_text or all(call.has_keywords_only for call in calls)):
            continue
        for call in calls:
            if (name := tools.resolve_name(call.name)) in tools.schemas:
                yield _WrittenCall(start, end, name, tools.decode(name, call.arguments), is_marked)

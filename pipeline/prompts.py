"""Prompts are files: TOML front matter that declares the inputs, then a Jinja body of `system` and `user` parts.

Corpus and model text enters only as the value of an input, never as a template. `{{ inputs }}` in the body stands for
the fenced JSON block of all declared inputs: the demo model reads only this block, and a strong model finds the data
there, apart from the instructions. Line breaks within a paragraph or list item are for editors; models, and rows made
from prompts, get each as one line. A file whose name begins with an underscore holds text that several prompts share;
`{% include "folder/_name.md" %}` on a line of its own inserts it.
"""

import re
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import orjson
from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pipeline.store.shipped_folders import folder
from pipeline.text.control_tokens import escape_tokens
from pipeline.types import Message, sha256

ROOT = folder("prompts")
IN_BAND = {name: f"{name}_in_band" for name in ("generator/propose", "refiner/harden", "refiner/revise")}
"""The prompts that replace others if a solve rate is the target."""
HARDENING = ("generator/ground", "refiner/harden", IN_BAND["refiner/harden"])
"""The prompts for questions that the user brings."""
WRITE_IN = "language/_write"
"""The note for writers over a corpus that is not in English."""
_WRITERS = re.compile(
    r"generator/|refiner/|composer/|curator/|twin/change|writer/question|distractor/|hard_passage/altered"
)
_INCLUDE = re.compile(r'^\{% include "([a-z_]+/_[a-z_]+\.md)" %\}\n', re.MULTILINE)
_PART = re.compile(r"^<!-- (system|user) -->\n", re.MULTILINE)
_FENCE = re.compile(r"^<<<inputs ([0-9a-f]{16})>>>\n(.*)\n<<<end \1>>>$", re.MULTILINE)
_ALONE = re.compile(r"\s*(?:```|#|\||<|>|\{[{%#].*[}%#]\}\s*$)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_JINJA = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)


class Prompt:
    """A prompt file. `inputs` are the names that it declares; `digest` covers them and all text that a model sees."""

    def __init__(self, name: str) -> None:
        source = (ROOT / f"{name}.md").read_text(encoding="utf-8")
        _, front, body = source.split("+++\n", 2)
        self.name = name
        body = unwrap_lines(_insert_includes(body))
        self.digest = sha256(f"{front}+++\n{body}")
        self.inputs: tuple[str, ...] = tuple(tomllib.loads(front)["inputs"])
        pieces: list[Any] = _PART.split(body)[1:]
        self._parts = [
            (role, _JINJA.from_string(text.strip())) for role, text in zip(pieces[::2], pieces[1::2], strict=True)
        ]

    def render(self, boundary: str, **inputs: Any) -> tuple[Message, ...]:
        """Return the messages. Raise ValueError if the inputs are not those that the prompt declares.

        `boundary` and the inputs determine the marks of the fence.
        """
        if set(inputs) != set(self.inputs):
            raise ValueError(f"prompt {self.name} takes {sorted(self.inputs)}, got {sorted(inputs)}")
        variables = {"inputs": fence(inputs, boundary), **inputs}
        return tuple(Message(role=role, content=template.render(variables)) for role, template in self._parts)


def _insert_includes(text: str) -> str:
    return _INCLUDE.sub(lambda match: _insert_includes((ROOT / match[1]).read_text(encoding="utf-8")), text)


def unwrap_lines(text: str) -> str:
    """Join the lines of each paragraph and list item. Headings, tables, fences and lines of Jinja stay as they are.

    Further lines of an item are indented.
    """
    lines: list[str] = []
    fenced = joins = item = False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        alone = fenced or not line.strip() or _ALONE.match(line) is not None
        starts = _ITEM.match(line) is not None
        if joins and not alone and not starts and (line[0].isspace() or not item):
            lines[-1] += f" {line.strip()}"
            continue
        lines.append(line)
        joins, item = not alone, starts
    return "\n".join(lines)


@lru_cache
def note(name: str) -> str:
    """Return the text of a note such as `list/_write`, which some settings add to prompts."""
    return unwrap_lines((ROOT / f"{name}.md").read_text(encoding="utf-8")).strip()


def add_notes(messages: tuple[Message, ...], names: Iterable[str]) -> tuple[Message, ...]:
    """Add notes at the end of the system message."""
    system, *later = messages
    content = "\n\n".join([system.content, *map(note, names)])
    return (system.model_copy(update={"content": content}), *later)


def add_quoted(messages: tuple[Message, ...], name: str, value: Any) -> tuple[Message, ...]:
    """Add a note at the end of the system message, and below it a value of the user as one line of JSON."""
    system, *later = messages
    content = f"{system.content}\n\n{note(name)}\n\n{escape_tokens(orjson.dumps(value).decode())}"
    return (system.model_copy(update={"content": content}), *later)


def in_language(messages: tuple[Message, ...], prompt: str, code: str) -> tuple[Message, ...]:
    """Add the language to write in to the prompt of a writer over texts that are not in English."""
    if not _WRITERS.match(prompt) or code.partition("-")[0] in ("en", "unknown"):
        return messages
    system, *later = messages
    content = f"{system.content}\n\n{note(WRITE_IN).replace('LANGUAGE', code)}"
    return (system.model_copy(update={"content": content}), *later)


@lru_cache
def load(name: str) -> Prompt:
    return Prompt(name)


def names() -> list[str]:
    return sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.glob("*/[!_]*.md"))


def fence(inputs: dict[str, Any], boundary: str) -> str:
    """Return one line of JSON between two marks.

    JSON has no raw line breaks, so no value can close the fence; and control tokens are escaped, so no value can end
    the message. The marks belong to this prompt alone: no model can have seen them before.
    """
    data = escape_tokens(orjson.dumps(inputs).decode())
    mark = sha256(f"{boundary}\n{data}")[:16]
    return f"<<<inputs {mark}>>>\n{data}\n<<<end {mark}>>>"


def unfence(content: str) -> dict[str, Any] | None:
    """Return the inputs of a rendered message, or None if it has no fence."""
    match = _FENCE.search(content)
    return orjson.loads(match.group(2)) if match else None

"""Prompts are files: TOML front matter that declares the inputs, then a Jinja body of `system` and `user` parts.

Corpus and model text enters only as the value of an input, never as a template. `{{ inputs }}` in the body stands for
the fenced JSON block of all declared inputs: what a model without eyes for prose reads, and where a strong model finds
the data apart from the instructions. Lines are broken in the files for whoever edits them; a paragraph and an item of a
list reach the model, and the rows made from it, as one line. What several prompts have in common is a file whose name
begins with an underscore; `{% include "folder/_name.md" %}` on a line of its own stands for its text.
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
"""What an author is told in place of a prompt where a solve rate is a target."""
HARDENING = ("generator/ground", "refiner/harden", IN_BAND["refiner/harden"])
"""What the authors are told of a question that somebody brings."""
WRITE_IN = "language/_write"
"""What whoever writes is told of the language of a corpus that is not in English."""
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
    """One prompt file. `inputs` are the names it declares; `digest` covers these and all that a model sees."""

    def __init__(self, name: str) -> None:
        source = (ROOT / f"{name}.md").read_text(encoding="utf-8")
        _, front, body = source.split("+++\n", 2)
        self.name = name
        body = unwrapped(_included(body))
        self.digest = sha256(f"{front}+++\n{body}")
        self.inputs: tuple[str, ...] = tuple(tomllib.loads(front)["inputs"])
        pieces: list[Any] = _PART.split(body)[1:]
        self._parts = [
            (role, _JINJA.from_string(text.strip())) for role, text in zip(pieces[::2], pieces[1::2], strict=True)
        ]

    def render(self, boundary: str, **inputs: Any) -> tuple[Message, ...]:
        """The messages; `boundary` and the inputs make the mark that closes the fence. Raises ValueError on undeclared
        inputs."""
        if set(inputs) != set(self.inputs):
            raise ValueError(f"prompt {self.name} takes {sorted(self.inputs)}, got {sorted(inputs)}")
        variables = {"inputs": fence(inputs, boundary), **inputs}
        return tuple(Message(role=role, content=template.render(variables)) for role, template in self._parts)


def _included(text: str) -> str:
    return _INCLUDE.sub(lambda found: _included((ROOT / found[1]).read_text(encoding="utf-8")), text)


def unwrapped(text: str) -> str:
    """Each paragraph and each item of a list on one line; headings, tables, fences and Jinja's lines as they stand.

    What goes on in an item is indented under it.
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
    """What a file whose name begins with an underscore says, such as `list/_write`: it is added to prompts where a
    setting asks for it."""
    return unwrapped((ROOT / f"{name}.md").read_text(encoding="utf-8")).strip()


def add_notes(messages: tuple[Message, ...], names: Iterable[str]) -> tuple[Message, ...]:
    """The messages with these notes at the end of the system part."""
    system, *others = messages
    said = "\n\n".join([system.content, *map(note, names)])
    return (system.model_copy(update={"content": said}), *others)


def in_language(messages: tuple[Message, ...], prompt: str, code: str) -> tuple[Message, ...]:
    """The messages of a prompt; for who writes over texts that are not in English, with the language to write in."""
    if not _WRITERS.match(prompt) or code.partition("-")[0] in ("en", "unknown"):
        return messages
    system, *others = messages
    said = f"{system.content}\n\n{note(WRITE_IN).replace('LANGUAGE', code)}"
    return (system.model_copy(update={"content": said}), *others)


@lru_cache
def load(name: str) -> Prompt:
    """The prompt of that name, such as `generator/propose`."""
    return Prompt(name)


def names() -> list[str]:
    return sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.glob("*/[!_]*.md"))


def fence(inputs: dict[str, Any], boundary: str) -> str:
    """One line of JSON between two marks; JSON has no raw line ends, so no value can close it. The marks are of this
    prompt alone: no model can have seen them before. No value can end the message either."""
    data = escape_tokens(orjson.dumps(inputs).decode())
    mark = sha256(f"{boundary}\n{data}")[:16]
    return f"<<<inputs {mark}>>>\n{data}\n<<<end {mark}>>>"


def unfence(content: str) -> dict[str, Any] | None:
    """The inputs of a rendered message, or none where it has no fence."""
    match = _FENCE.search(content)
    return orjson.loads(match.group(2)) if match else None

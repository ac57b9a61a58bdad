"""Marks in Markdown that a generator of sites reads and no reader of the page sees: shortcodes of Hugo and Jekyll,
directives, roles and labels of Sphinx, imports, expressions and components of MDX, admonitions of MkDocs and
Docusaurus.

What stands between them stays, and so do their titles. Code keeps all that is in it.
"""

import re
from collections.abc import Iterator

_SEEN_BY = re.compile(r"\{|:::|!!!|\?\?\?|\[!|\[\[|^(?:import|export)\b|^\(", re.MULTILINE)
_FENCE = re.compile(r"(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,}|:{3,})(?P<info>[^`\n]*)$")
_DIRECTIVE = re.compile(r"\s*\{(?P<name>[\w:.-]+)\}\s*(?P<title>.*)")
_CONTAINER = re.compile(r"\s*(?:\{[^}]*\}|[\w-]+)?\s*(?:\[(?P<bracketed>[^\]]*)\])?\s*(?:\{[^}]*\})?\s*(?P<title>.*)")
_OPTION = re.compile(r"[ \t>]*(?::[\w-]+:(?:\s.*)?)?$")
_ADMONITION = re.compile(r"(?P<indent>[ \t]*)(?:!!!|\?\?\?\+?)\s+[\w-]+(?:\s+[\w-]+)*(?:\s+\"(?P<title>[^\"]*)\")?\s*$")
_LINES = re.compile(r"[ \t>]*\[!\w+\][-+]?\s*$|\([\w:./-]+\)=\s*$|\[\[(?:open-in-colab|toc)\]\]\s*$", re.IGNORECASE)
_AUTODOC = re.compile(r"\[\[autodoc\]\]")
_IMPORT = re.compile(r"import\s+(?:[\w$*{][^'\"]*\sfrom\s+)?(['\"])[^'\"]+\1;?\s*$")
_MODULE = re.compile(r"(?:import|export)\b")
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_ATTRIBUTES = re.compile(r"\{:?\s*[#.][^{}]*\}$")
_STRING = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
_CODE = r"(?P<code>(?<!`)(?P<ticks>`++)[^\n]{1,300}?(?<!`)(?P=ticks)(?!`))"
_MATH = r"(?P<math>\$\$.{1,1000}?\$\$|\$[^$\n]{1,200}\$)"
_ROLE = r"\{[A-Za-z][\w:.-]*\}(?P<quote>`{1,2})(?P<role>[^`\n]{1,300})(?P=quote)"
_SHORTCODE = r"\{\{[<%].{0,1000}?[%>]\}\}|\{%-?\s*[a-z].{0,500}?%\}"
_VALUE = r"""[^<>{}"']|"[^"]*"|'[^']*'"""
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}"
_WITH_BRACES = rf"<[A-Za-z][\w.]*+\s(?:{_VALUE})*+{_BRACES}(?:{_VALUE}|{_BRACES})*+>"
_COMPONENT = rf"</?[A-Z][\w.]*+(?:\s(?:{_VALUE}|{_BRACES})*+)?>|</?>|\{{/\*.{{0,2000}}?\*/\}}|\{{[^{{}}\n]{{0,200}}\}}"
_INLINE = f"{_ROLE}|{_CODE}|{_MATH}|{_SHORTCODE}|{_WITH_BRACES}"
_IN_MARKDOWN = re.compile(_INLINE, re.DOTALL)
_IN_MDX = re.compile(f"{_INLINE}|{_COMPONENT}", re.DOTALL)
_PROSE = frozenset(
    "note tip hint warning caution danger attention error important seealso admonition versionadded versionchanged "
    "deprecated topic sidebar margin aside epigraph highlights pull-quote dropdown details tab-set tab-item tabs tab "
    "grid grid-item grid-item-card card figure glossary div container rubric exercise solution list-table".split()
)
_DROPPED = frozenset(
    "toctree image include literalinclude contents tableofcontents eval-rst bibliography raw index iframe video".split()
)
_UNTITLED = frozenset("figure tab-set grid grid-item list-table div container".split())


def removed(source: str, *, mdx: bool = False) -> str:
    """The page without its marks; one that has none as it is."""
    if not (mdx or _SEEN_BY.search(source)):
        return source
    inline, pieces, text = _IN_MDX if mdx else _IN_MARKDOWN, list[str](), list[str]()
    for line, code in _Blocks(mdx=mdx).lines(source.split("\n")):
        if not code:
            text.append(line)
            continue
        if text:
            pieces.append(inline.sub(_words, "\n".join(text)))
            text = []
        pieces.append(line)
    return "\n".join([*pieces, inline.sub(_words, "\n".join(text))] if text else pieces)


def _words(found: re.Match[str]) -> str:
    if role := found["role"]:
        return _label(role).lstrip("~!")
    if found[0][:2] in {"{'", '{"'}:  # a text that MDX needs quotes for, such as a blank
        return found[0][2:-2]
    return found["code"] or found["math"] or ""


def _label(role: str) -> str:
    """Return the words of `words <target>`, or the role itself where it has no target."""
    words, _, target = role.rpartition("<")
    is_labelled = words.strip() and role.endswith(">") and target.count(">") == 1
    return words.rstrip() if is_labelled else role


class _Blocks:
    """Reads a page line by line, and gives those that stay, each with whether it is code."""

    def __init__(self, *, mdx: bool) -> None:
        self._mdx = mdx
        self._code = self._dropped = ""
        """The mark that closes it, while one is open."""
        self._open: list[str] = []
        """The marks that close the directives around this line."""
        self._options = self._autodoc = False
        self._module = 0
        """One more than the brackets that a module's statement has open; 0 outside of one."""
        self._admonition: str | None = None
        """Its indent."""

    def lines(self, lines: list[str]) -> Iterator[tuple[str, bool]]:
        for number, line in enumerate(lines):
            if self._code or self._dropped:
                stays = bool(self._code) and not (self._options and self._is_option(line))
                if _closes(line, self._code or self._dropped):
                    self._code = self._dropped = ""
                if stays:
                    yield line, True
            elif self._options and self._is_option(line):
                continue
            elif fence := _FENCE.match(line):
                yield from self._fence(line, fence)
            elif (kept := self._text(line, before=lines[number - 1] if number else "")) is not None:
                yield kept, False

    def _is_option(self, line: str) -> bool:
        found = _OPTION.match(line)
        self._options = bool(found and line.strip())
        return bool(found)

    def _fence(self, line: str, fence: re.Match[str]) -> Iterator[tuple[str, bool]]:
        indent, mark, info = fence["indent"], fence["mark"], fence["info"].strip()
        directive = _DIRECTIVE.match(info)
        name = directive["name"] if directive else ""
        if not info and self._open and _closes(line, self._open[-1]):
            self._open.pop()
            yield indent, False
        elif name in _DROPPED or name.startswith("auto"):
            self._dropped = mark
        elif directive and (name in _PROSE or mark[0] == ":"):
            self._open.append(mark)
            self._options = True
            title = "" if name in _UNTITLED else directive["title"]
            yield from ((part, False) for part in (indent, indent + title, indent))
        elif mark[0] == ":":
            container = _CONTAINER.match(info)
            title = (container["bracketed"] or container["title"]) if container else ""
            yield from ((part, False) for part in (indent, indent + title, indent))
        else:
            self._code, self._options = mark, bool(directive)
            yield line, True

    def _text(self, line: str, before: str) -> str | None:
        """The line as it stays, or None."""
        if _HEADING.match(line):
            self._module = 0
            marks = _ATTRIBUTES.search(line.rstrip(), max(0, line.rfind("{")))
            return line[: marks.start()].rstrip() if marks else line
        if self._module or (not before.strip() and self._opens_module(line)):
            bare = _STRING.sub("", line)
            brackets = sum(map(bare.count, "({[")) - sum(map(bare.count, ")}]"))
            self._module = max(1, self._module or 1) + brackets if line.strip() or self._module > 1 else 0
            return None
        if self._autodoc and (not line.strip() or line[0] in " \t"):
            return None
        self._autodoc = bool(_AUTODOC.match(line))
        if self._autodoc or _LINES.match(line):
            return None
        if admonition := _ADMONITION.match(line):
            self._admonition = admonition["indent"]
            return f"{self._admonition}{admonition['title'] or ''}"
        if self._admonition is not None and line.strip():
            inner = f"{self._admonition}    "
            if line.startswith(inner):
                return f"{self._admonition}{line.removeprefix(inner)}"
            self._admonition = None
        return line

    def _opens_module(self, line: str) -> bool:
        return bool(_MODULE.match(line) if self._mdx else _IMPORT.match(line))


def _closes(line: str, mark: str) -> bool:
    bare = line.strip(" \t>")
    return len(bare) >= len(mark) and bare == mark[0] * len(bare)

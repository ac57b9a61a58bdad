"""Remove markup in Markdown that programs interpret and readers of the page do not see.

That is: shortcodes of Hugo and Jekyll; directives, roles and labels of Sphinx; imports, expressions and components of
MDX; admonitions of MkDocs and Docusaurus; attributes of Pandoc; macros of Confluence; links, embeds, callouts,
highlights, comments, block ids, templates and boxes of tasks of Obsidian; footnote marks.
"""

import re
from collections.abc import Iterator

from pipeline.corpus.document_links import WIKI_LINK, link_words

_SEEN_BY = re.compile(
    r"\{|:::|!!!|\?\?\?|\[!|\[\[|==|%%|\^\w|\[\^|\^\[|<%|\[.\][ ]|\|\d+"
    r"|```\w*(?:data|query|tasks)|^(?:import|export)\b|^\(",
    re.MULTILINE,
)
_FENCE = re.compile(r"(?P<indent>[ \t>]*)(?P<mark>`{3,}+|~{3,}+|:{3,}+)(?P<info>[^`\n]*)$")
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
_ATTRIBUTE = r"[#.][\w-]++|[\w-]++=(?:\"[^\"\n]*+\"|[^\s{}\"]++)"
_PANDOC = rf"(?<=[)\]])\{{(?:(?:{_ATTRIBUTE})\s*+)++\}}"
_MACRO = (
    r"\{(?:toc|info|note|tip|warning|panel|code|noformat|excerpt|expand|color|anchor|section|column|quote|status|jira"
    r"|children|include|attachments|gallery)(?::(?P<parameters>[^{}\n]{1,300}))?\}"
)
_OBSIDIAN = r"%%.{0,5000}?%%|(?P<embed>!?)(?P<link>\[\[[^\[\]\n]{1,600}\]\])|==(?=\S)(?P<marked>[^\n=]{1,500})(?<=\S)=="
_FOOTNOTE = r"\[\^[^\s\[\]]{1,40}\]:?|\^\[(?P<note>[^\[\]\n]{1,500})\]"
_SIZE = r"\|\d{1,4}(?:x\d{1,4})?(?=\]\()"
"""The size of a picture, behind its caption."""
_TEMPLATE = r"<%.{0,1000}?%>"
_MARKS = f"{_OBSIDIAN}|{_FOOTNOTE}|{_SIZE}|{_TEMPLATE}"
_INLINE = f"{_ROLE}|{_CODE}|{_MATH}|{_SHORTCODE}|{_MACRO}|{_PANDOC}|{_WITH_BRACES}|{_MARKS}"
_FILE = re.compile(r"\.(?!md\b)\w{2,5}$")
_WIDTH = re.compile(r"(?:\d+(?:x\d+)?)?")
_MARKUP = re.compile(r"\A(\d*)([.)#>+*-])")
_CALLOUT = re.compile(r"(?P<indent>[ \t>]*)\[!\w+\][-+]?[ \t]+(?P<title>\S.*)$")
_BLOCK_ID = re.compile(r"\^(?=[\d-]*+[A-Za-z])[\w-]++\s*$")
_QUERIES = frozenset(("dataview", "dataviewjs", "query", "tasks"))
"""Languages of code blocks that Obsidian replaces by a table or a list."""
_TASK = re.compile(r"(?P<item>[ \t>]*(?:[-*+]|\d{1,4}[.)])[ \t]+)\[.\][ \t]+")
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


def remove(source: str, *, mdx: bool = False) -> str:
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


def _words(match: re.Match[str]) -> str:
    if role := match["role"]:
        return role_words(role).lstrip("~!")
    if match["link"]:
        return _link_words(match)
    if highlighted := match["marked"]:
        return _IN_MARKDOWN.sub(_words, highlighted)
    if note := match["note"]:
        return f" ({note})"
    if parameters := match["parameters"]:
        titles = (part.partition("=") for part in parameters.split("|"))
        return next((value for name, _, value in titles if name.strip() == "title"), "")
    if match[0][:2] in {"{'", '{"'}:  # a text that needs quotes in MDX, such as a blank
        return match[0][2:-2]
    return match["code"] or match["math"] or ""


def _link_words(match: re.Match[str]) -> str:
    """Return the words of a link or an embed. The words of a picture are its caption, unless that is a width."""
    if not (link := WIKI_LINK.fullmatch(match["link"])):
        return match[0]
    if match["embed"] and _FILE.search(link["target"]):
        return "" if _WIDTH.fullmatch(link["alias"] or "") else link["alias"]
    # At the beginning of a line a title such as "1. FC Union" is not an item of a list.
    return _MARKUP.sub(r"\1\\\2", link_words(link))


def role_words(role: str) -> str:
    """Return the words of `words <target>`, or the role itself if it has no target."""
    words, _, target = role.rpartition("<")
    is_labelled = words.strip() and role.endswith(">") and target.count(">") == 1
    return words.rstrip() if is_labelled else role


def is_dropped_directive(name: str) -> bool:
    """Return whether a directive of Sphinx only lists or includes pages and pictures."""
    return name in _DROPPED or name.startswith("auto")


class _Blocks:
    """Reads a page line by line, and yields the lines that are kept, each with whether it is code."""

    def __init__(self, *, mdx: bool) -> None:
        self._mdx = mdx
        self._code = self._dropped = ""
        """The mark that closes the open block, if any."""
        self._open: list[str] = []
        """The marks that close the directives around this line."""
        self._options = self._autodoc = False
        self._module = 0
        """The number of open brackets in a module's statement plus one; 0 outside of a statement."""
        self._admonition: str | None = None
        """The indent of the open admonition."""

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
            elif (text := self._text(line, before=lines[number - 1] if number else "")) is not None:
                yield text, False

    def _is_option(self, line: str) -> bool:
        match = _OPTION.match(line)
        self._options = bool(match and line.strip())
        return bool(match)

    def _fence(self, line: str, fence: re.Match[str]) -> Iterator[tuple[str, bool]]:
        indent, mark, info = fence["indent"], fence["mark"], fence["info"].strip()
        directive = _DIRECTIVE.match(info)
        name = directive["name"] if directive else ""
        if not info and self._open and _closes(line, self._open[-1]):
            self._open.pop()
            yield indent, False
        elif is_dropped_directive(name) or info in _QUERIES:
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
        """Return the line without its markup, or None to remove the line."""
        if _HEADING.match(line):
            self._module = 0
            marks = _ATTRIBUTES.search(line.rstrip(), max(0, line.rfind("{")))
            return line[: marks.start()].rstrip() if marks else line
        opens_module = _MODULE.match(line) if self._mdx else _IMPORT.match(line)
        if self._module or (opens_module and not before.strip()):
            bare = _STRING.sub("", line)
            brackets = sum(map(bare.count, "({[")) - sum(map(bare.count, ")}]"))
            self._module = max(1, self._module or 1) + brackets if line.strip() or self._module > 1 else 0
            return None
        if self._autodoc and (not line.strip() or line[0] in " \t"):
            return None
        self._autodoc = bool(_AUTODOC.match(line))
        if self._autodoc or _LINES.match(line):
            return None
        if callout := _CALLOUT.match(line):
            return f"{callout['indent']}{callout['title']}\n{callout['indent']}"
        if task := _TASK.match(line):
            line = task["item"] + line[task.end() :]
        at = line.rfind("^")
        if at >= 0 and (at == 0 or line[at - 1].isspace()) and _BLOCK_ID.match(line, at):
            line = line[:at].rstrip()
        if admonition := _ADMONITION.match(line):
            self._admonition = admonition["indent"]
            return f"{self._admonition}{admonition['title'] or ''}"
        if self._admonition is not None and line.strip():
            inner = f"{self._admonition}    "
            if line.startswith(inner):
                return f"{self._admonition}{line.removeprefix(inner)}"
            self._admonition = None
        return line


def _closes(line: str, mark: str) -> bool:
    bare = line.strip(" \t>")
    return len(bare) >= len(mark) and bare == mark[0] * len(bare)

"""A reStructuredText file as one document. Files that it includes and raw HTML stay out.

docutils does not know the directives and roles of Sphinx and of other extensions. The words of unknown roles and the
content of unknown directives are kept, except of those that only list or include pages.
"""

import re
from functools import partial
from typing import Any

from pipeline.corpus import shortcodes
from pipeline.corpus.document_blocks import Parsed
from pipeline.corpus.html_blocks import parse_html
from pipeline.corpus.readers.base import LONGEST, Package, Reader, decode, read_in_parser_process
from pipeline.errors import CorpusError

_ROLE = re.compile(r":([\w.+:-]{1,80}):`|`:([\w.+:-]{1,80}):")
_DIRECTIVE = re.compile(r"^[ \t]*\.\. (?:\|[^|\n]{1,200}\| )?([\w.+:-]{1,80})::", re.MULTILINE)
_OPTION = re.compile(r"\s*:[\w-]+:")
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "doctitle_xform": False,
    "math_output": "LaTeX",
    "syntax_highlight": "none",
    "smart_quotes": False,
    "embed_stylesheet": False,
    "stylesheet_path": "",
}


def parse(data: bytes) -> Parsed:
    from docutils.core import publish_parts

    if len(data) > LONGEST:
        raise CorpusError(f"longer than {LONGEST >> 20} MiB")
    source = decode(data)
    _register_unknown_markup(source)
    page = publish_parts(source, writer="html5", settings_overrides=_SETTINGS)
    return parse_html(page["body"])._replace(title="")


def _register_unknown_markup(source: str) -> None:
    from docutils.parsers.rst import directives, languages, roles

    language = languages.get_language("en")
    for name in {name.lower() for match in _ROLE.finditer(source) for name in match.groups() if name}:
        if name not in language.roles and name not in roles._roles:
            roles.register_local_role(name, _keep_words)
    for name in {match[1].lower() for match in _DIRECTIVE.finditer(source)}:
        if name not in language.directives and name not in directives._directives:
            directives.register_directive(name, _build_directive(name))


def _keep_words(name: str, raw: str, text: str, *_: Any, **__: Any) -> tuple[list[Any], list[Any]]:
    from docutils import nodes, utils

    words = shortcodes.role_words(utils.unescape(text)).lstrip("!~")
    return [nodes.inline("", words)], []


def _build_directive(name: str) -> Any:
    from docutils import nodes
    from docutils.parsers.rst import Directive

    is_dropped = shortcodes.is_dropped_directive(name)

    class Kept(Directive):  # type: ignore[misc]  # docutils is untyped here
        optional_arguments, final_argument_whitespace, has_content = 1, True, True

        def run(self) -> list[Any]:
            if is_dropped:
                return []
            container = nodes.container()
            if self.arguments:
                lines = (line for line in self.arguments[0].split("\n") if not _OPTION.match(line))
                words, _ = self.state.inline_text(" ".join(lines), self.lineno)
                container += nodes.paragraph("", "", *words)
            # The options of a directive that is not known are lines of its content.
            place = next((place for place, line in enumerate(self.content) if not _OPTION.match(line)), 0)
            self.state.nested_parse(self.content[place:], self.content_offset + place, container)
            return [container]

    return Kept


READER = Reader(
    read=partial(read_in_parser_process, "rst"),
    suffixes=(".rst", ".rest"),
    kind="RST",
    parse=parse,
    package=Package("docutils", "office"),
)

"""What a document says that it points to: a field `links`, of ids or titles, and links of wiki text in the text."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

LINKS = "links"
WIKI_LINK = re.compile(
    r"\[\[(?P<target>[^\[\]|#\n]{0,200})(?:#(?P<section>[^\[\]|\n]{0,200}))?(?:\|(?P<alias>[^\[\]\n]{1,200}))?\]\]"
)
"""A link of wiki text, of Obsidian's too."""
_MOST = 1000
"""Links of a document, at most."""


def stated(values: Mapping[str, Any], text: str) -> Iterator[str]:
    """Each link as `Document.links` has it."""
    given = values.get(LINKS)
    for link in given[:_MOST] if isinstance(given, list) else ():
        if isinstance(link, str | int) and str(link).strip():
            target, tab, words = str(link).partition("\t")
            yield " ".join(target.split()) + tab + " ".join(words.split())
    yield from wiki_links(text)


def wiki_links(text: str) -> Iterator[str]:
    for link in islice(WIKI_LINK.finditer(text), _MOST):
        if link["target"].strip():
            yield f"{link['target'].strip()}\t{link_words(link)}"


def link_words(link: re.Match[str]) -> str:
    """Return what a reader sees of a link of wiki text. The folder that a page lies in is no part of its name."""
    name = link["target"].rpartition("/")[2].removesuffix(".md") or link["section"] or ""
    return (link["alias"] or name).strip().lstrip("#^")

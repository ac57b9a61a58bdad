"""Extract the links of a document: from its field `links` (ids or titles) and from wiki links in its text."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

LINKS = "links"
WIKI_LINK = re.compile(
    r"\[\[(?P<target>[^\[\]|#\n]{0,200}?)(?:#(?P<section>[^\[\]|\n]{0,200}?))?(?:\\?\|(?P<alias>[^\[\]\n]{1,200}))?\]\]"
)
r"""A wiki link, as in MediaWiki and Obsidian. The bar of a link in a table is written as `\|`."""
_MOST = 1000
"""Most links of a document."""


def extract_links(values: Mapping[str, Any], text: str) -> Iterator[str]:
    """Yield each link in the format of `Document.links`."""
    links = values.get(LINKS)
    for link in links[:_MOST] if isinstance(links, list) else ():
        if isinstance(link, str | int) and str(link).strip():
            target, tab, anchor = str(link).partition("\t")
            yield " ".join(target.split()) + tab + " ".join(anchor.split())
    yield from wiki_links(text)


def wiki_links(text: str) -> Iterator[str]:
    for link in islice(WIKI_LINK.finditer(text), _MOST):
        if link["target"].strip():
            yield f"{link['target'].strip()}\t{link_words(link)}"


def link_words(link: re.Match[str]) -> str:
    """Return the visible words of a wiki link. A page's folder is not part of its name."""
    name = link["target"].rpartition("/")[2].removesuffix(".md") or link["section"] or ""
    return (link["alias"] or name).strip().lstrip("#^")

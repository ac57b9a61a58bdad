"""What a document says that it points to: a field `links`, of ids or titles, and links of wiki text in the text."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

LINKS = "links"
_WIKI = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]*)?(?:\|([^\[\]\n]{1,200}))?\]\]")
_MOST = 1000
"""Links of a document, at most."""


def stated(values: Mapping[str, Any], text: str) -> Iterator[str]:
    """Each link as `Document.links` has it."""
    given = values.get(LINKS)
    for link in given[:_MOST] if isinstance(given, list) else ():
        if isinstance(link, str | int) and str(link).strip():
            target, tab, words = str(link).partition("\t")
            yield " ".join(target.split()) + tab + " ".join(words.split())
    for found in islice(_WIKI.finditer(text), _MOST):
        yield f"{found[1].strip()}\t{(found[2] or found[1]).strip()}"

"""Entities of HTML in plain texts, such as `caf&eacute;`.

Rows and text files that were taken from pages often keep them. A search for `café` then finds nothing, and models take
them for noise.
"""

import html
import re
from html.entities import html5

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_IS_MARKUP = re.compile(r"<[A-Za-z/!?]|&&")
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`|\"&[^\"\s]{1,80};\"|'&[^'\s]{1,80};')", re.DOTALL)


def decode_entities(text: str) -> str:
    """Return the text with the letters that its entities stand for.

    Only entities that HTML knows and that end with a semicolon count. They are decoded once: `&amp;lt;` becomes `&lt;`.

    A text about HTML or a program must keep its entities. So a text with a tag or with `&&` is not changed: no text
    has these whose `<` and `&` are written as entities. Neither is code between the backticks of Markdown, or an entity
    alone in quotes, as in `replace("&amp;", "&")`.
    """
    if "&" not in text or not _ENTITY.search(text) or _IS_MARKUP.search(text):
        return text
    parts = _CODE.split(text)
    parts[::2] = (_ENTITY.sub(_to_letter, prose) for prose in parts[::2])
    return "".join(parts)


def _to_letter(entity: re.Match[str]) -> str:
    name = entity[0]
    return html.unescape(name) if name[1] == "#" or name[1:] in html5 else name

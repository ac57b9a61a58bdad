"""An HTML file as one document: the main text of the page without menus, footers and comments.

The encoding is that of a byte-order mark, else UTF-8 if the bytes are valid UTF-8, else the one that the page declares.
A page that was saved as UTF-8 often still declares its old encoding, and a text in another encoding is never valid
UTF-8 by chance.

trafilatura extracts the text as Markdown, which is converted by the same rules as other Markdown. It takes code with a
line end for a block of code, even inside a sentence, and may take the following text for one too; so meaningless line
ends are removed first.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from pipeline.corpus.document_blocks import WRAPPED_HAN
from pipeline.corpus.readers import markdown
from pipeline.corpus.readers.base import (
    Package,
    Reader,
    ReadLimits,
    Row,
    TooMuchMarkup,
    document_row,
    marked_encoding,
)
from pipeline.text import normalise

_HEAD = 4096
"""The first bytes, in which a page declares its encoding."""
_DECLARED = re.compile(
    rb"""<meta[^<>]*?\bcharset\s*+=\s*+["']?\s*+([\w.:-]+)|<\?xml[^<>]*?\bencoding\s*+=\s*+["']([\w.:-]+)""",
    re.IGNORECASE,
)
_LINK, _PARAMETER, _PAGE = "ac:link", "ac:parameter", "ri:content-title"
_ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>]*+))?+"""
_TAG = re.compile(f"<[A-Za-z][^\\s/>]*+((?:{_ATTRIBUTE})*+)")
_WRAPPED = re.compile(r"(?<![ \t\r])[ \t\r]*+\n\s*+")
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)
_SEPARATOR = re.compile(" [|·»:–—-]{1,3} ")
"""What separates the title of a page from its site within `<title>`."""
_MOST_WORK = 50_000
"""The most tags of a page, which take seconds to parse. The parser compares each attribute of a tag with all others, so
a tag counts once more for every 100 attributes, squared."""
_MARKUP = 10
"""The most characters of a page for each character of text. A larger page is left out, since parsing it could take
minutes."""


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    READER.require_package(path)
    yield document_row(path, limits, _document, longest=_MARKUP * limits.doc_chars, encoding=_encoding)


def _encoding(data: bytes) -> str:
    declaration = _DECLARED.search(data[:_HEAD])
    if (marked := marked_encoding(data)) or not declaration:
        return marked
    import webencodings  # optional

    # Like browsers, it replaces some encodings by their supersets, and it knows encodings of texts only.
    encoding = webencodings.lookup((declaration[1] or declaration[2]).decode("ascii", "replace"))
    if encoding is None or encoding.name.startswith("utf"):
        return ""
    try:
        if not data.isascii():
            data.decode()
            return ""
    except UnicodeDecodeError:
        pass
    return str(encoding.codec_info.name)


def _document(source: str) -> tuple[str, str, list[str]]:
    import trafilatura

    if _work(source) > _MOST_WORK:
        raise TooMuchMarkup(f"more than {_MOST_WORK} tags, or too many attributes in one; split the page")
    page = trafilatura.load_html(_escape_cdata(source))
    links = list[str]()
    if page is not None:
        _rename_confluence(page)
        _unwrap(page)
        anchors = page.iter("a")  # trafilatura removes them
        links = [f"{a.get('href')}\t{' '.join(a.text_content().split())}" for a in anchors if a.get("href")]
    main_text = None if page is None else trafilatura.extract(page, output_format="markdown", include_comments=False)
    heading, text, _ = markdown.parse(main_text or "")
    return _choose_title(page, trafilatura.extract_metadata(source).title or "", heading), text, links


def _choose_title(page: Any, headline: str, heading: str) -> str:
    """Choose the title of a page.

    Its `<title>` mostly begins with the title and ends with the name of the site, or the other way round. The first
    headline is often right too, but may be that of a menu, a help box or the whole manual.

    Args:
        page: the parsed page, or None.
        headline: the title that trafilatura found, mostly the first headline; empty if there is none.
        heading: the first heading of the main text; empty if there is none.
    """
    headline = headline.rstrip("¶ ")
    if page is None or page.xpath("//meta[@property='og:title']"):
        return headline or heading
    title = " ".join((page.findtext(".//title") or "").split())
    parts = {normalise(part): part for part in _SEPARATOR.split(title) if normalise(part)}
    name, first = normalise(headline), next(iter(parts), "")
    if not parts or name in (first, normalise(title)):
        return headline or heading or title
    if name in parts:
        is_first_shown = any(normalise(element.text_content()) == first for element in page.iter("h1", "h2", "h3"))
        return parts[first] if is_first_shown else headline
    if name and name == normalise(heading):
        return headline
    return heading if normalise(heading) in parts else parts[first]


def _escape_cdata(source: str) -> str:
    """Convert CDATA, which is a comment in HTML, to text."""
    first, *parts = source.split("<![CDATA[")
    pairs = (part.partition("]]>") for part in parts)
    return first + "".join(f"{escape(text)}{after}" for text, _, after in pairs)


def _rename_confluence(page: Any) -> None:
    """Convert Confluence's elements to HTML: links between pages, and titles and contents of macros."""
    for element in [*page.iter(_PARAMETER, _LINK)]:
        if element.tag == _LINK:
            title = next((inner.get(_PAGE) for inner in element.iter() if inner.get(_PAGE)), "")
            words = element.text_content().strip() or title
            del element[:]
            element.tag, element.text = "a", words
            element.set("href", title)
        elif element.get("ac:name") == "title":
            element.tag = "p"
        else:
            element.drop_tree()
    for element in [*page.iter()]:
        if isinstance(element.tag, str) and element.tag.startswith(("ac:", "ri:")):
            element.drop_tag()


def _work(source: str) -> float:
    return sum(1 + (len(_ONE_ATTRIBUTE.findall(tag[1])) / 100) ** 2 for tag in _TAG.finditer(source))


def _unwrap(page: Any) -> None:
    """Join the lines of all text outside of `pre`, since a browser shows no line ends there."""
    blocks = set(page.iter("pre"))
    for block in blocks:
        block.text = "".join(block.itertext()).strip("\n")
        del block[:]
        # trafilatura takes this tag for code, whatever is in it.
        block.tag = "code" if "\n" in block.text else "pre"
    for element in page.iter():
        if element.text and element not in blocks:
            element.text = _join_lines(element.text)
        if element.tail:
            element.tail = _join_lines(element.tail)


def _join_lines(text: str) -> str:
    return _WRAPPED.sub(" ", WRAPPED_HAN.sub("", text))


READER = Reader(read=read, suffixes=(".html", ".htm", ".xhtml"), kind="HTML", package=Package("trafilatura", "html"))

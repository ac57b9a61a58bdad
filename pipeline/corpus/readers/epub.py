"""An EPUB as one document: its chapters in the order of the book, without its table of contents."""

import posixpath
from functools import partial
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from pipeline.corpus.document_blocks import Parsed
from pipeline.corpus.html_blocks import parse_html
from pipeline.corpus.readers.base import Reader, decode, read_in_parser_process
from pipeline.corpus.zip_archives import open_archive
from pipeline.errors import CorpusError

_PAGES = {"application/xhtml+xml", "text/html"}


def parse(data: bytes) -> Parsed:
    with open_archive(data) as archive:
        root = ET.fromstring(archive.read("META-INF/container.xml"))  # noqa: S314
        place = next((file.get("full-path", "") for file in root.iterfind(".//{*}rootfile")), "")
        package = ET.fromstring(archive.read(place))  # noqa: S314
        if package.find(".//{*}encryption") is not None or "META-INF/rights.xml" in archive.namelist():
            raise CorpusError("protected against copying; its text cannot be read")
        files = {item.get("id"): item for item in package.iterfind(".//{*}item") if item.get("media-type") in _PAGES}
        spine = [files[page.get("idref")] for page in package.iterfind(".//{*}itemref") if page.get("idref") in files]
        hrefs = [item.get("href", "") for item in spine if "nav" not in item.get("properties", "").split()]
        # Some books name a file once for each of its sections.
        chapters = [
            parse_html(decode(archive.read(name))) for name in dict.fromkeys(_path(place, href) for href in hrefs)
        ]
    title = next((" ".join("".join(element.itertext()).split()) for element in package.iterfind(".//{*}title")), "")
    blocks = [block for chapter in chapters for block in chapter.blocks]
    return Parsed(title, blocks, [link for chapter in chapters for link in chapter.links])


def _path(package: str, href: str) -> str:
    """Return the name in the archive of a file that the package names."""
    path = unquote(href.partition("#")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(package), path))


READER = Reader(
    read=partial(read_in_parser_process, "epub"),
    suffixes=(".epub",),
    kind="EPUB",
    parse=parse,
)

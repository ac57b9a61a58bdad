"""Small PDF, DOCX, PPTX and EPUB files for tests."""

import io
import zipfile
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pytest

HELVETICA = b"/Type /Font /Subtype /Type1 /BaseFont /Helvetica"
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def write_pdf(path: Path, pages: Iterable[Sequence[str]], font: bytes = HELVETICA, *others: bytes) -> Path:
    """Write lines of text, the first of a page in a larger font. `others` are further objects, from number 4 on."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< %s >>" % font, *others]
    kids = []
    for lines in pages:
        shown = [b"(%s) Tj" % line.encode("latin-1").translate(None, b"()\\") for line in lines]
        head, rest = (b"".join(shown[:1]), b" T* ".join(shown[1:]))
        content = b"BT 72 740 Td 26 TL /F1 20 Tf %s T* 14 TL /F1 11 Tf %s ET" % (head, rest)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        resources = b"/Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >>" % len(objects)
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] %s >>" % resources)
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    content, places = b"%PDF-1.4\n", []
    for number, value in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, value)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, b"".join(places))
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(content))
    path.write_bytes(content + table + trailer)
    return path


def zipped(files: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def paragraph(text: str, style: str = "") -> str:
    style = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{style}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def docx_files(body: str) -> dict[str, str | bytes]:
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in (("Title", "Title"), ("Heading1", "heading 1"), ("Heading2", "heading 2"))
    )
    return {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="xml" '
        'ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" Type="{_OFFICE}/officeDocument" '
        'Target="word/document.xml"/></Relationships>',
        "word/styles.xml": f"<w:styles {_WORD}>{styles}</w:styles>",
        "word/document.xml": f"<w:document {_WORD}><w:body>{body}</w:body></w:document>",
    }


def write_docx(path: Path, body: str) -> Path:
    path.write_bytes(zipped(docx_files(body)))
    return path


def write_pptx(path: Path, slides: Iterable[tuple[str, Sequence[str], str]]) -> Path:
    """Write slides, each with a title, paragraphs and notes."""
    pptx = pytest.importorskip("pptx")
    deck: Any = pptx.Presentation()
    for title, texts, notes in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(texts)
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    deck.save(path)
    return path


def write_epub(path: Path, title: str, chapters: dict[str, str]) -> Path:
    """Write chapters, in this order, that the archive holds in the order of their names."""
    items = "".join(f'<item id="{name}" href="{name}#top" media-type="application/xhtml+xml"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    files: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        "OPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata><dc:title>{title}</dc:title></metadata><manifest>{items}<item id='nav' href='nav.xhtml' "
        f"media-type='application/xhtml+xml' properties='nav'/></manifest><spine>{spine}<itemref idref='nav'/></spine>"
        "</package>",
        "OPS/nav.xhtml": "<html><body><nav>Contents of the book</nav><p>Contents of the book</p></body></html>",
    }
    for name in sorted(chapters):
        files[f"OPS/{name}"] = f"<html><head><title>{name}</title></head><body>{chapters[name]}</body></html>"
    path.write_bytes(zipped(files))
    return path

"""`contents` of passages in the format of Search-R1, FlashRAG and Pyserini: a title, a line end, a text."""

_TITLE = 200
"""The most characters of a first line that may be a title. A title in quotes may be longer."""


def split(contents: str, title: str = "") -> tuple[str, str]:
    """Return title and text.

    If no title is given, a short first line of several is the title, without the quotes of Wikipedia's passages. If one
    is given, a first line that repeats it is removed.
    """
    line, _, text = contents.partition("\n")
    first = " ".join(_unquote(line.strip()).split())
    if not text.strip():
        return title, contents
    if title:
        return title, text if first == title else contents
    return ("", contents) if len(line) > _TITLE and not line.lstrip().startswith('"') else (first, text)


def _unquote(line: str) -> str:
    return line[1:-1].replace('""', '"') if len(line) > 1 and line[0] == line[-1] == '"' else line

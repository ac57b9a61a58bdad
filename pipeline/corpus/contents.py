"""`contents` of passages, as Search-R1, FlashRAG and Pyserini have them: a title, a line end, a text."""

_TITLE = 200
"""Characters of a first line that may be a title. One in quotes may be longer."""


def split(contents: str, title: str = "") -> tuple[str, str]:
    """Title and text. A short first line of several is the title where there is none yet, without the quotes of
    Wikipedia's passages; of contents that begin with the title that is known, the rest is the text."""
    line, _, rest = contents.partition("\n")
    first = " ".join(_unquoted(line.strip()).split())
    if not rest.strip():
        return title, contents
    if title:
        return title, rest if first == title else contents
    return ("", contents) if len(line) > _TITLE and not line.lstrip().startswith('"') else (first, rest)


def _unquoted(line: str) -> str:
    return line[1:-1].replace('""', '"') if len(line) > 1 and line[0] == line[-1] == '"' else line

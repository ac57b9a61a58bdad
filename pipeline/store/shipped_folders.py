"""Where the prompts and corpora lie that come with the product: in the clone, or within the installed package."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """The folder `prompts` or `corpora`. A wheel holds them inside the package, where no other package's files lie."""
    installed = _PACKAGE / "_shipped" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name

"""The folders of the prompts and corpora that ship with the product: in the clone, or inside the installed package."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    # A wheel has them inside the package, so that they cannot collide with the files of another package.
    installed = _PACKAGE / "_shipped" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name

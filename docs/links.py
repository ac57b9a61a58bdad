"""A hook of MkDocs: a link to what is no part of the site becomes the path that it leads to, checked to be there."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#:]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    place = (ROOT / "docs" / page.file.src_uri).parent

    def path(link: re.Match[str]) -> str:
        target = (place / link[2]).resolve()
        if target.is_relative_to(ROOT / "docs"):
            known = files.get_file_from_path(target.relative_to(ROOT / "docs").as_posix())
            if known is None or not known.inclusion.is_excluded():
                return link[0]
        elif not target.exists():
            raise PluginError(f"{page.file.src_uri} links to {link[2]}, which is not there")
        name = f"`{target.relative_to(ROOT)}`"
        return name if link[1].strip("`") in (target.name, name.strip("`")) else f"{link[1]} ({name})"

    return _LINK.sub(path, markdown)

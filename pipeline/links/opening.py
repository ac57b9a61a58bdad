"""The links of a corpus, found once and kept in its folder."""

from pathlib import Path

from pydantic import ValidationError

from pipeline.config.links_settings import code
from pipeline.corpus import Corpus
from pipeline.links.building import build
from pipeline.links.stored import FILES, StoredLinks
from pipeline.store.files import atomic_write, empty_folder, growing_folder, write_json
from pipeline.types import Data

_MANIFEST, _CODE = "manifest.json", "code"


class _Manifest(Data):
    """Written last."""

    code: str
    """A digest of the code that found them."""
    files: dict[str, int]
    """The size of each, by its name."""


def open_links(corpus: Corpus, most: int) -> StoredLinks:
    """The links of phrases that at most so many documents hold. They are found where that was not done yet, which takes
    about as long as preparing the corpus did; another process that is at it is waited for."""
    home = corpus.folder / f"links-{most}"
    if not _whole(home):
        building = home.with_name(f"{home.name}.incomplete")
        with growing_folder(building) as install:
            if not _whole(home):
                _go_on(building)
                build(corpus, building, most)
                empty_folder(building, FILES)
                files = {name: (building / name).stat().st_size for name in FILES}
                write_json(building / _MANIFEST, _Manifest(code=code(), files=files).model_dump())
                install(home)
    return StoredLinks(corpus, home)


def _whole(folder: Path) -> bool:
    try:
        manifest = _Manifest.model_validate_json((folder / _MANIFEST).read_bytes())
        sizes = {name: (folder / name).stat().st_size for name in FILES}
    except (OSError, ValidationError):
        return False
    return manifest.code == code() and manifest.files == sizes


def _go_on(building: Path) -> None:
    """Keep what an earlier process has left, if the same code has made it."""
    mark = building / _CODE
    if not mark.exists() or mark.read_text(encoding="utf-8") != code():
        empty_folder(building)
        atomic_write(mark, code().encode())

"""Open the links of a corpus. They are built once and kept in its folder."""

from pathlib import Path

from pydantic import ValidationError

from pipeline.config.retrieval import links_code
from pipeline.corpus import Corpus
from pipeline.links.building import build
from pipeline.links.stored import FILES, StoredLinks
from pipeline.store.files import atomic_write, empty_folder, growing_folder, write_json
from pipeline.types import Data

_MANIFEST, _CODE = "manifest.json", "code"


class _Manifest(Data):
    """Description of complete links. It is written last."""

    code: str
    """Digest of the code that built the links."""
    files: dict[str, int]
    """Size of each file by name."""


def open_links(corpus: Corpus, most: int) -> StoredLinks:
    """Open the links of a corpus, by phrases that at most `most` documents contain.

    Builds them first if there are none, which takes about as long as preparing the corpus. If another process is
    building them, waits for it.
    """
    home = corpus.folder / f"links-{most}"
    if not _is_complete(home):
        building = home.with_name(f"{home.name}.incomplete")
        with growing_folder(building) as install:
            if not _is_complete(home):
                _resume(building)
                build(corpus, building, most)
                empty_folder(building, FILES)
                files = {name: (building / name).stat().st_size for name in FILES}
                write_json(building / _MANIFEST, _Manifest(code=links_code(), files=files).model_dump())
                install(home)
    return StoredLinks(corpus, home)


def _is_complete(folder: Path) -> bool:
    try:
        manifest = _Manifest.model_validate_json((folder / _MANIFEST).read_bytes())
        sizes = {name: (folder / name).stat().st_size for name in FILES}
    except (OSError, ValidationError):
        return False
    return manifest.code == links_code() and manifest.files == sizes


def _resume(building: Path) -> None:
    """Keep the files of an earlier process if the same code wrote them, else clear the folder."""
    mark = building / _CODE
    if not mark.exists() or mark.read_text(encoding="utf-8") != links_code():
        empty_folder(building)
        atomic_write(mark, links_code().encode())

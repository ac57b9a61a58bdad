"""A folder that no other user of the machine can look into."""

import os
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.store.real_paths import make_folder, refuse_links


def make_private(folder: Path) -> None:
    """Create the folder, or close it to other users.

    Raises StoreError if it belongs to another user or its file system has no such permissions, and UsageError if it
    contains a link.
    """
    make_folder(folder)
    if folder.stat().st_uid == os.geteuid():
        folder.chmod(0o700)
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise StoreError(f"{folder} is open to another user of this machine; move it away, and a private one is made")
    for path in folder.iterdir():
        refuse_links(path)

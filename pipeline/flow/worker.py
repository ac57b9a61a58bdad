"""Prefect's worker in our own process, which ends with the command that started it, even if that is killed.

`python -m pipeline.flow.worker ADDRESS_FILE ...`; the other arguments are those of `prefect`. A worker that outlived
its command would go on with its keys and settings, and take work from any server that another user starts on the port.
"""

import fcntl
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from pipeline.store.lock_files import open_private


def _wait_for_command() -> None:
    os.read(0, 1)  # returns when the other end of the pipe is closed


def _wait_for_server(address_file: Path) -> None:
    fcntl.flock(open_private(address_file), fcntl.LOCK_SH)  # our own server holds the lock until it ends


def _end_after(wait: Callable[[], None]) -> None:
    def end() -> None:
        wait()
        os._exit(1)

    Thread(target=end, daemon=True).start()


if __name__ == "__main__":
    _end_after(_wait_for_command)
    if server_file := sys.argv.pop(1):
        _end_after(lambda: _wait_for_server(Path(server_file)))
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)

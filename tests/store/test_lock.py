"""One process per run."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.store.lock import locked

_HOLD = "import sys, time; from pathlib import Path; from pipeline.store.lock import locked\n"
_HOLD += "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"


def test_a_second_process_is_refused_at_once_and_a_dead_one_holds_nothing(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", _HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        started = time.monotonic()
        with pytest.raises(StoreError, match=f"pid {holder.pid}"), locked(tmp_path):
            pass
        assert time.monotonic() - started < 1
    finally:
        holder.kill()
        holder.wait()
    with locked(tmp_path):
        pass


def test_a_folder_is_locked_once_within_a_process_too(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(StoreError), locked(tmp_path):
        pass

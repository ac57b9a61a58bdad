"""The deployments of `prefect.yaml`: `python -m pipeline.flow.deployments serve [FILE]`, or `deploy [FILE]`.

`serve` runs everything that they need on this machine until it is stopped: a server (unless PREFECT_API_URL names one),
a work pool, and a worker, which is restarted if it is killed. Prefect's database may be lost: the next start registers
everything again, and the results are in the folders of the runs. `deploy` registers the deployments with the server at
PREFECT_API_URL, for workers elsewhere. FILE is another file of deployments.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from pipeline.config.runtime import Runtime
from pipeline.errors import DigsiteError, UsageError
from pipeline.flow.server import PRIVATE, Server
from pipeline.store.lock import hold_lock
from pipeline.store.real_paths import real_root

POOL = "digsite"
_PREFECT = [sys.executable, "-m", "prefect", "--no-prompt"]
_RESTART_SECONDS = 5.0


def serve(file: str) -> int:
    """Run until a signal, and return the exit code. Raises RunLocked if another process uses the same folder."""
    # A script's background jobs ignore SIGINT, and the worker, which SIGINT must end, would inherit that.
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, signal.default_int_handler)
    prefect_home = os.environ.get("PREFECT_HOME")
    home = real_root(Path(prefect_home)) if prefect_home else real_root(Runtime().out) / ".prefect"
    port = os.environ.get("PREFECT_SERVER_API_PORT", "4200")
    if not port.strip().isdecimal():
        raise UsageError(f"PREFECT_SERVER_API_PORT must be a number, such as 4200, not '{port}'")
    server = Server(home, port=int(port))
    try:
        with hold_lock(home):
            server.start(PRIVATE)
            server.wait()
            register(file)
            login = f"; their password is in {server.password_file}" if server.is_own else ""
            _print(f"Prefect's pages: {server.url.removesuffix('/api')}{login}; end with Ctrl-C")
            while True:
                code = _run_worker(server)
                if server.has_ended():
                    raise DigsiteError("Prefect's server has ended; start make serve again")
                _print(f"the worker ended with {code}; another one starts in {_RESTART_SECONDS:.0f} s")
                time.sleep(_RESTART_SECONDS)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def deploy(file: str) -> int:
    if not os.environ.get("PREFECT_API_URL"):
        raise UsageError("where to? set PREFECT_API_URL, such as http://127.0.0.1:4200/api, or use make serve")
    Server(Path()).start(PRIVATE)
    register(file)
    _print(f"run this where the work is to be done: prefect worker start --pool {POOL}")
    return 0


def register(file: str) -> None:
    """Register the work pool, if it is missing, and all deployments of the file. Entrypoints are relative to here."""
    asyncio.run(_create_pool())
    command = [*_PREFECT, "deploy", "--all", "--prefect-file", file]
    process = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - Prefect's own command
    if process.returncode:
        raise DigsiteError(f"Prefect did not take the deployments of {file}: {process.stdout}{process.stderr}")


async def _create_pool() -> None:
    # importing Prefect takes a second
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectAlreadyExists
    from prefect.workers.process import ProcessWorker

    # Send a template, since the server would otherwise look for one on the web.
    pool = WorkPoolCreate(
        name=POOL, type=ProcessWorker.type, base_job_template=ProcessWorker.get_default_base_job_template()
    )
    with suppress(ObjectAlreadyExists):
        async with get_client() as client:
            await client.create_work_pool(pool)


def _run_worker(server: Server) -> int:
    """Run one worker until it ends, and return its exit code.

    It has its own session, since a second signal, from Ctrl-C, would make it leave its flow runs behind. The pipe shows
    it when this process ends.
    """
    address = str(server.address_file.absolute()) if server.is_own else ""
    arguments = ["--no-prompt", "worker", "start", "--pool", POOL, "--type", "process"]
    command = [sys.executable, "-m", "pipeline.flow.worker", address, *arguments]
    with subprocess.Popen(command, start_new_session=True, stdin=subprocess.PIPE) as worker:  # noqa: S603 - our own
        try:
            return worker.wait()
        except KeyboardInterrupt:
            worker.send_signal(signal.SIGTERM)
            worker.wait()
            raise


def _print(line: str) -> None:
    print(f"digsite: {line}", file=sys.stderr, flush=True)  # noqa: T201 - a command of make


if __name__ == "__main__":
    try:
        sys.exit({"serve": serve, "deploy": deploy}[sys.argv[1]]((sys.argv[2:] or ["prefect.yaml"])[0]))
    except DigsiteError as error:
        _print(str(error))
        sys.exit(error.exit_code)

"""Prefect's server: the user's, or else our own, which all commands on one folder share.

Prefect can start such a server itself, but in our process group, where a Ctrl-C kills it before the flow can report. It
prints tracebacks when it ends, and outlives a killed parent. Our own server has its own session and ends as soon as all
its commands have ended, even if they were killed: each holds a lock, which dies with it. All its files are in `home`,
where the next server finds them; it touches nothing of the user's.

The server knows settings and paths, and a worker lets it start programs. So it answers only this machine, under the
name 127.0.0.1, no page of another origin, and only requests with its password, since other users of the machine can
reach the port too. Each start has a new password: after a kill another user may get the port, and old clients would
send the old password there.
"""

import fcntl
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import DigsiteError, StoreError, UsageError, reason
from pipeline.store.files import clear_errors, remove
from pipeline.store.lock_files import open_locked, open_private, wait_for_lock, write_line
from pipeline.store.private_folder import make_private

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PRIVATE = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
"""Settings that keep Prefect from reporting to its makers."""
QUIET = PRIVATE | {
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    # If our own server does not answer, it is dead.
    "PREFECT_CLIENT_MAX_RETRIES": "2",
}
_START_SECONDS = 120.0
_LOCK_SECONDS = 10.0
"""Longest wait for a process that holds a lock briefly."""
_HOST = "127.0.0.1"
_USERS, _ADDRESS, _PASSWORD = "users.lock", "address", "password"


class Server:
    """A server that `start` finds or starts, and for which `wait` waits.

    Our own server runs at least as long as this process, since Prefect needs it up to the very end.
    """

    def __init__(self, home: Path, port: int = 0) -> None:
        self._home, self._port = home, port
        self._child: subprocess.Popen[bytes] | None = None
        self._password = ""
        self.is_own = False
        """Whether the server is our own and not the user's; known after `start`."""

    @property
    def password_file(self) -> Path:
        return self._home / _PASSWORD

    @property
    def address_file(self) -> Path:
        """Return the file whose lock our own server holds as long as it lives."""
        return self._home / _ADDRESS

    def start(self, settings: dict[str, str]) -> None:
        """Find or start the server, and set the environment. Call this before Prefect is imported.

        On the user's server, the user's settings of Prefect have precedence over `settings`; on our own, they are
        ignored. Raises UsageError if the user's server does not answer, and StoreError if ours cannot be started.
        """
        self.url = os.environ.get("PREFECT_API_URL") or _read_profile().get("PREFECT_API_URL", "")
        if self.url:
            os.environ.update(settings | os.environ)
            self.wait()
            return
        self.is_own = True
        for name in [name for name in os.environ if name.upper().startswith("PREFECT_")]:
            del os.environ[name]
        with clear_errors(self._home):
            self._join()
        without_proxy = ",".join(filter(None, [os.environ.get("NO_PROXY"), _HOST]))
        home = str(self._home.absolute())
        os.environ.update(settings, PREFECT_HOME=home, PREFECT_API_URL=self.url, NO_PROXY=without_proxy)
        os.environ["PREFECT_API_AUTH_STRING"] = self._password

    def wait(self) -> None:
        """Return when the server answers. Raises DigsiteError with its last error, or with what to do."""
        # Our own server is on this machine, which no proxy can reach.
        opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if self.is_own else []))
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(opener, f"{self.url}/health"):
            if not self.is_own:
                where = "PREFECT_API_URL, which the environment or Prefect's profile sets"
                raise UsageError(f"no server answers at {where}; start it, unset it, or use --no-flow")
            if time.monotonic() > deadline or self.has_ended():
                lines = (self._home / "server.log").read_text(errors="replace").strip().splitlines()
                last = next((line for line in reversed(lines) if "Error" in line), "".join(lines[-1:]))
                raise DigsiteError(f"Prefect's server did not start; use --no-flow. It said: {last}")
            time.sleep(0.1)

    def has_ended(self) -> bool:
        return self._child is not None and self._child.poll() is not None

    def _join(self) -> None:
        """Join the commands that use the server in `home`, and start it if it is not running."""
        make_private(self._home)
        users = self._home / _USERS

        def lock(handle: int) -> None:
            # A server that is ending holds the lock briefly.
            wait_for_lock(handle, fcntl.LOCK_SH, users, seconds=_LOCK_SECONDS)

        users_handle = open_locked(users, os.O_RDWR | os.O_CREAT, lock, self._home)
        starting_file = self._home / "starting.lock"
        starting, address = open_private(starting_file), open_private(self.address_file)
        try:
            wait_for_lock(starting, fcntl.LOCK_EX, starting_file, seconds=_LOCK_SECONDS)
            try:
                fcntl.flock(address, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a running server holds it
            except BlockingIOError:
                host, self.url = os.pread(address, 1000, 0).decode().split()
            else:
                host = socket.gethostname()
                self._start(address)
            self._password = self.password_file.read_text(encoding="ascii")
        finally:
            os.close(address)
            os.close(starting)
        if host != socket.gethostname():  # on a shared disk, each machine has its own server
            os.close(users_handle)
            self._home /= socket.gethostname()
            self._join()

    def _start(self, address: int) -> None:
        try:
            listening = socket.create_server((_HOST, self._port))
        except OSError as error:
            remedy = f"name another PREFECT_SERVER_API_PORT, or PREFECT_API_URL=http://{_HOST}:{self._port}/api"
            raise UsageError(f"cannot listen on {_HOST}:{self._port} ({error.strerror}); {remedy}") from error
        log = open_private(self._home / "server.log", "")
        remove(self.password_file)
        os.close(open_private(self.password_file, secrets.token_urlsafe(32)))
        with listening:
            self.url = f"http://{_HOST}:{listening.getsockname()[1]}/api"
            write_line(address, f"{socket.gethostname()} {self.url}")
            try:
                self._child = subprocess.Popen(  # noqa: S603 - our own module
                    [sys.executable, "-m", "pipeline.flow.server", str(listening.fileno()), self.url],
                    env=os.environ | PRIVATE | {"PREFECT_HOME": str(self._home.absolute())},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    pass_fds=(listening.fileno(), address),
                    start_new_session=True,
                )
            except OSError as error:
                raise StoreError(f"Prefect's server cannot be started ({reason(error)})") from error
            finally:
                os.close(log)


def _read_profile() -> dict[str, str]:
    """Read the user's active profile without Prefect, which takes seconds."""
    home = os.environ.get("PREFECT_HOME", "~/.prefect")
    try:
        file = Path(os.environ.get("PREFECT_PROFILES_PATH", f"{home}/profiles.toml")).expanduser()
        settings = tomllib.loads(file.read_text())
        return dict(settings["profiles"][os.environ.get("PREFECT_PROFILE") or settings["active"]])
    except (OSError, ValueError, KeyError):
        return {}


def _answers(opener: urllib.request.OpenerDirector, url: str) -> bool:
    """Return whether the server answers. An HTTP error counts: it may ask for a key, which Prefect will send."""
    try:
        opener.open(url, timeout=5).close()
    except (OSError, ValueError) as error:
        return isinstance(error, urllib.error.HTTPError)
    return True


def _refuse_others(app: "ASGIApp") -> "ASGIApp":
    """Refuse requests that use another name for this machine, and pages of other origins."""
    from starlette.datastructures import Headers  # the command, which imports this module too, does not need starlette
    from starlette.responses import PlainTextResponse

    refusal = PlainTextResponse("This server answers its own machine and its own pages.", 400)

    async def answer(scope: "Scope", receive: "Receive", send: "Send") -> None:
        headers = Headers(scope={"headers": [], **scope})
        host, origin = headers.get("host", _HOST), headers.get("origin")
        is_allowed = host.partition(":")[0] == _HOST and origin in (None, f"http://{host}")
        await (app if is_allowed else refusal)(scope, receive, send)

    return answer


def _serve(listening: int, url: str) -> None:
    threading.Thread(target=_end_with_users, daemon=True).start()
    home = Path(os.environ["PREFECT_HOME"])
    os.chdir(home)  # Prefect reads settings from files of the working folder
    if (package := find_spec("prefect")) and not os.access(Path(package.origin or "").parent / "server", os.W_OK):
        # Prefect copies its pages into its own package, which belongs to another user here.
        os.environ["PREFECT_SERVER_UI_STATIC_DIRECTORY"] = str(home / "pages")
    # A signal to all processes of a job, as from `scancel`, must not end the server before the flow has reported.
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, signal.SIG_IGN)
    os.environ.update(
        PREFECT__SERVER_FINAL="1",
        PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT="false",
        PREFECT_SERVER_UI_API_URL=url,
        PREFECT_SERVER_API_AUTH_STRING=(home / _PASSWORD).read_text(encoding="ascii"),
        PREFECT_LOGGING_LEVEL="ERROR",
        # We use none of Prefect's blocks, and registering them takes a second.
        PREFECT_API_BLOCKS_REGISTER_ON_START="false",
        # Store each event at once, since the server ends without a shutdown.
        PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE="1",
    )
    import uvicorn
    from prefect.server.api.server import create_app

    server = uvicorn.Server(uvicorn.Config(_refuse_others(create_app()), log_level="error", lifespan="on"))
    os.umask(0o077)  # only now, since other users of the installation may need the pages
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    server.run(sockets=[socket.socket(fileno=listening)])


def _end_with_users() -> None:
    fcntl.flock(open_private(Path(os.environ["PREFECT_HOME"]) / _USERS), fcntl.LOCK_EX)
    os._exit(0)  # without a shutdown, which would print tracebacks


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2])

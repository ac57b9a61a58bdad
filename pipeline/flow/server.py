"""Prefect's server: the one that the user has, else one of ours, which all commands over one folder share.

Prefect starts such a server by itself, but in our process group, where a Ctrl-C kills it before the flow can report, it
prints tracebacks on its way out, and a killed parent leaves it behind. Ours has a session of its own, and ends at once
when none of its commands is left, whatever ended them: each holds a lock, which dies with it. All that it keeps is in
`home`, where the next one finds it; nothing of the user's is touched.

It knows settings and paths, and with a worker it starts programs. So it answers this machine alone, by no other name
than 127.0.0.1, no page of another origin, and only requests with its password: other users of the machine reach the
port too. The password is new with each start, since a port that a killed server leaves can go to another user, whom old
clients would tell the old one.
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
"""What keeps Prefect from reporting to its makers."""
QUIET = PRIVATE | {
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    # A server of ours that does not answer is dead.
    "PREFECT_CLIENT_MAX_RETRIES": "2",
}
_START_SECONDS = 120.0
_LOCK_SECONDS = 10.0
"""Longest wait for a process that holds a lock for a moment."""
_HOST = "127.0.0.1"
_USERS, _ADDRESS, _PASSWORD = "users.lock", "address", "password"


class Server:
    """To be found or started with `start`, and awaited with `wait`. It is ours as long as this process lives, since
    Prefect's own farewell still needs it."""

    def __init__(self, home: Path, port: int = 0) -> None:
        """One that is started here listens on `port`, or on any that is free."""
        self._home, self._port = home, port
        self._child: subprocess.Popen[bytes] | None = None
        self._password = ""
        self.own = False
        """No server of the user's, once it was started."""

    @property
    def password_file(self) -> Path:
        """The file with the password that the pages of our own server ask for."""
        return self._home / _PASSWORD

    @property
    def address_file(self) -> Path:
        """The file that our own server keeps locked as long as it lives."""
        return self._home / _ADDRESS

    def start(self, settings: dict[str, str]) -> None:
        """Find or start the server, and set the environment: call it before prefect is imported.

        On the user's server the user's own settings of Prefect come before `settings`; on ours none of them counts.
        Raises UsageError if the user has named a server that does not answer, and StoreError if ours cannot be started.
        """
        self.url = os.environ.get("PREFECT_API_URL") or _profile().get("PREFECT_API_URL", "")
        if self.url:
            os.environ.update(settings | os.environ)
            self.wait()
            return
        self.own = True
        for name in [name for name in os.environ if name.upper().startswith("PREFECT_")]:
            del os.environ[name]
        with clear_errors(self._home):
            self._join()
        without_proxy = ",".join(filter(None, [os.environ.get("NO_PROXY"), _HOST]))
        home = str(self._home.absolute())
        os.environ.update(settings, PREFECT_HOME=home, PREFECT_API_URL=self.url, NO_PROXY=without_proxy)
        os.environ["PREFECT_API_AUTH_STRING"] = self._password

    def wait(self) -> None:
        """Return once the server answers. Raises DigsiteError with its last words, or what to do, where it does not."""
        # Ours is on this machine, where no proxy leads.
        opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if self.own else []))
        until = time.monotonic() + _START_SECONDS
        while not _answers(opener, f"{self.url}/health"):
            if not self.own:
                where = "PREFECT_API_URL, which the environment or Prefect's profile sets"
                raise UsageError(f"no server answers at {where}; start it, unset it, or use --no-flow")
            if time.monotonic() > until or self.has_ended():
                lines = (self._home / "server.log").read_text(errors="replace").strip().splitlines()
                last = next((line for line in reversed(lines) if "Error" in line), "".join(lines[-1:]))
                raise DigsiteError(f"Prefect's server did not start; use --no-flow. It said: {last}")
            time.sleep(0.1)

    def has_ended(self) -> bool:
        """Whether the process that this one has started, if it is one, has ended."""
        return self._child is not None and self._child.poll() is not None

    def _join(self) -> None:
        """Be one of the commands that use the server over `home`, and start it if none runs."""
        make_private(self._home)
        users = self._home / _USERS

        def join(handle: int) -> None:
            # A server that is ending keeps it locked for a moment.
            wait_for_lock(handle, fcntl.LOCK_SH, users, seconds=_LOCK_SECONDS)

        joined = open_locked(users, os.O_RDWR | os.O_CREAT, join, self._home)
        starting_file = self._home / "starting.lock"
        starting, address = open_private(starting_file), open_private(self.address_file)
        try:
            wait_for_lock(starting, fcntl.LOCK_EX, starting_file, seconds=_LOCK_SECONDS)
            try:
                fcntl.flock(address, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the server holds it
            except BlockingIOError:
                host, self.url = os.pread(address, 1000, 0).decode().split()
            else:
                host = socket.gethostname()
                self._start(address)
            self._password = self.password_file.read_text(encoding="ascii")
        finally:
            os.close(address)
            os.close(starting)
        if host != socket.gethostname():  # on a shared disk each machine has its own
            os.close(joined)
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


def _profile() -> dict[str, str]:
    """The user's active profile; to have Prefect read it takes seconds."""
    home = os.environ.get("PREFECT_HOME", "~/.prefect")
    try:
        file = Path(os.environ.get("PREFECT_PROFILES_PATH", f"{home}/profiles.toml")).expanduser()
        kept = tomllib.loads(file.read_text())
        return dict(kept["profiles"][os.environ.get("PREFECT_PROFILE") or kept["active"]])
    except (OSError, ValueError, KeyError):
        return {}


def _answers(opener: urllib.request.OpenerDirector, url: str) -> bool:
    """An error that the server itself gave (it may want a key, which Prefect will send) is an answer."""
    try:
        opener.open(url, timeout=5).close()
    except (OSError, ValueError) as error:
        return isinstance(error, urllib.error.HTTPError)
    return True


def _own_pages(app: "ASGIApp") -> "ASGIApp":
    """Refuse whoever names this machine otherwise, and pages of other origins."""
    from starlette.datastructures import Headers
    from starlette.responses import PlainTextResponse

    refused = PlainTextResponse("This server answers its own machine and its own pages.", 400)

    async def answer(scope: "Scope", receive: "Receive", send: "Send") -> None:
        headers = Headers(scope={"headers": [], **scope})
        host, origin = headers.get("host", _HOST), headers.get("origin")
        own = host.partition(":")[0] == _HOST and origin in (None, f"http://{host}")
        await (app if own else refused)(scope, receive, send)

    return answer


def _serve(listening: int, url: str) -> None:
    """The child: Prefect's server on a socket that the parent has bound. It keeps the lock that it was given."""
    threading.Thread(target=_end_with_users, daemon=True).start()
    home = Path(os.environ["PREFECT_HOME"])
    os.chdir(home)  # Prefect reads settings from files of the working folder
    if (package := find_spec("prefect")) and not os.access(Path(package.origin or "").parent / "server", os.W_OK):
        # Prefect copies its pages into its own package, which belongs to another user here.
        os.environ["PREFECT_SERVER_UI_STATIC_DIRECTORY"] = str(home / "pages")
    # Whoever signals all processes of a job, as `scancel` does, must not end this one before the flow has reported.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.environ.update(
        PREFECT__SERVER_FINAL="1",
        PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT="false",
        PREFECT_SERVER_UI_API_URL=url,
        PREFECT_SERVER_API_AUTH_STRING=(home / _PASSWORD).read_text(encoding="ascii"),
        PREFECT_LOGGING_LEVEL="ERROR",
        # Nothing here is kept in one of Prefect's blocks, and to write them all down takes a second.
        PREFECT_API_BLOCKS_REGISTER_ON_START="false",
        # What was told is kept at once: it ends without a farewell.
        PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE="1",
    )
    import uvicorn
    from prefect.server.api.server import create_app

    server = uvicorn.Server(uvicorn.Config(_own_pages(create_app()), log_level="error", lifespan="on"))
    os.umask(0o077)  # only now, as its pages may be for other users of the installation
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    server.run(sockets=[socket.socket(fileno=listening)])


def _end_with_users() -> None:
    """At once, without a farewell, which is made of tracebacks."""
    fcntl.flock(open_private(Path(os.environ["PREFECT_HOME"]) / _USERS), fcntl.LOCK_EX)
    os._exit(0)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2])

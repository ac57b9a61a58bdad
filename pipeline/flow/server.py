"""Prefect's server: the one that the user has, else one of ours, which all commands over one folder share.

Prefect starts such a server by itself, but in our process group, where a Ctrl-C kills it before the flow can report, it
prints tracebacks on its way out, and a killed parent leaves it behind. Ours has a session of its own, and ends at once
when none of its commands is left, whatever ended them: each holds a lock, which dies with it. All that it keeps is in
`home`, where the next one finds it; nothing of the user's is touched.

It knows settings and paths, and with a worker it starts programs. So it answers this machine alone, by no other name
than 127.0.0.1, and no page of another origin.
"""

import fcntl
import os
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
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import DigsiteError, UsageError
from pipeline.store.files import clear_errors, open_locked
from pipeline.store.lock import opened, written

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
_HOST = "127.0.0.1"
_USERS = "users.lock"


class Server:
    """To be found or started with `start`, and awaited with `wait`. It is ours as long as this process lives, since
    Prefect's own farewell still needs it."""

    def __init__(self, home: Path, port: int = 0) -> None:
        """One that is started here listens on `port`, or on any that is free."""
        self._home, self._port = home.resolve(), port
        self._child: subprocess.Popen[bytes] | None = None
        self.own = False
        """No server of the user's, once it was started."""

    def start(self, settings: dict[str, str]) -> None:
        """Find or start it. Sets the environment, `settings` where nothing else is set: call it before prefect is
        imported. Raises UsageError where the user has named a server that does not answer."""
        os.environ.update(settings | os.environ)
        self.url = os.environ.get("PREFECT_API_URL") or _profile().get("PREFECT_API_URL", "")
        if self.url:
            self.wait()
            return
        self.own = True
        with clear_errors(self._home):
            self._join()
        without_proxy = ",".join(filter(None, [os.environ.get("NO_PROXY"), _HOST]))
        os.environ.update(PREFECT_HOME=str(self._home), PREFECT_API_URL=self.url, NO_PROXY=without_proxy)

    def wait(self) -> None:
        """Return once the server answers. Raises DigsiteError with its last words, or what to do, where it does not."""
        # Ours is on this machine, where no proxy leads.
        opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if self.own else []))
        until = time.monotonic() + _START_SECONDS
        while not _answers(opener, f"{self.url}/health"):
            if not self.own:
                where = "PREFECT_API_URL, which the environment or Prefect's profile sets"
                raise UsageError(f"no server answers at {where}; start it, unset it, or use --no-flow")
            if time.monotonic() > until or (self._child and self._child.poll() is not None):
                lines = (self._home / "server.log").read_text(errors="replace").strip().splitlines()
                last = next((line for line in reversed(lines) if "Error" in line), "".join(lines[-1:]))
                raise DigsiteError(f"Prefect's server did not start; use --no-flow. It said: {last}")
            time.sleep(0.1)

    def _join(self) -> None:
        """Be one of the commands that use the server over `home`, and start it if none runs."""
        # It waits for a server that is ending.
        flags = os.O_RDWR | os.O_CREAT
        users = open_locked(self._home / _USERS, flags, lambda handle: fcntl.flock(handle, fcntl.LOCK_SH), self._home)
        starting, address = opened(self._home / "starting.lock"), opened(self._home / "address")
        try:
            fcntl.flock(starting, fcntl.LOCK_EX)
            try:
                fcntl.flock(address, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the server holds it
            except BlockingIOError:
                host, self.url = os.pread(address, 1000, 0).decode().split()
            else:
                host = socket.gethostname()
                self._start(address)
        finally:
            os.close(address)
            os.close(starting)
        if host != socket.gethostname():  # on a shared disk each machine has its own
            os.close(users)
            self._home /= socket.gethostname()
            self._join()

    def _start(self, address: int) -> None:
        try:
            listening = socket.create_server((_HOST, self._port))
        except OSError as error:
            remedy = f"name another PREFECT_SERVER_API_PORT, or PREFECT_API_URL=http://{_HOST}:{self._port}/api"
            raise UsageError(f"cannot listen on {_HOST}:{self._port} ({error.strerror}); {remedy}") from error
        log = opened(self._home / "server.log", "")
        with listening:
            self.url = f"http://{_HOST}:{listening.getsockname()[1]}/api"
            written(address, f"{socket.gethostname()} {self.url}")
            self._child = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "pipeline.flow.server", str(listening.fileno()), self.url],
                env=os.environ | {"PREFECT_HOME": str(self._home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=(listening.fileno(), address),
                start_new_session=True,
            )
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
    # Whoever signals all processes of a job, as `scancel` does, must not end this one before the flow has reported.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.environ.update(
        PREFECT__SERVER_FINAL="1",
        PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT="false",
        PREFECT_SERVER_UI_API_URL=url,
        PREFECT_LOGGING_LEVEL="ERROR",
        # Nothing here is kept in one of Prefect's blocks, and to write them all down takes a second.
        PREFECT_API_BLOCKS_REGISTER_ON_START="false",
        # What was told is kept at once: it ends without a farewell.
        PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE="1",
    )
    import uvicorn
    from prefect.server.api.server import create_app

    server = uvicorn.Server(uvicorn.Config(_own_pages(create_app()), log_level="error", lifespan="on"))
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    server.run(sockets=[socket.socket(fileno=listening)])


def _end_with_users() -> None:
    """At once, without a farewell, which is made of tracebacks."""
    fcntl.flock(opened(Path(os.environ["PREFECT_HOME"]) / _USERS), fcntl.LOCK_EX)
    os._exit(0)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2])

"""Prefect's server, for one command or for deployments: a child process that ends when we do, whatever ends us.

Prefect starts such a server by itself, but in our process group, where a Ctrl-C kills it before the flow can report, it
prints tracebacks on its way out, and a killed parent leaves it behind. This one has a session of its own and reads
its standard input, whose end is ours. Everything that it keeps is in `home`; nothing of the user's is touched. Who has
set PREFECT_API_URL has a server: then there is nothing to start here.

It knows settings and paths, so that of a command answers nobody else: a password that only we and it know, no other
name of this machine than 127.0.0.1, and no page of another origin. That of deployments has a port and pages for whoever
works on this machine, and therefore no password.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import DigsiteError, UsageError

PRIVATE = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
"""What keeps Prefect from reporting to its makers."""
QUIET = PRIVATE | {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    # A server of ours that does not answer is dead, and nobody starts another.
    "PREFECT_CLIENT_MAX_RETRIES": "2",
}
_START_SECONDS = 120.0
_HOST = "127.0.0.1"


class Server:
    """Nothing stops it but the end of this process, since Prefect's own farewell still needs it."""

    def __init__(self, home: Path, port: int = 0) -> None:
        """With a `port` it is one for deployments."""
        self._home, self._port = home.resolve(), port
        self._child: subprocess.Popen[bytes] | None = None
        self._stderr: deque[bytes] = deque(maxlen=40)

    def start(self) -> None:
        """Start it, unless PREFECT_API_URL names one. Sets the environment: call it before prefect is imported."""
        for name, value in (PRIVATE if self._port else QUIET).items():
            os.environ.setdefault(name, value)
        if not os.environ.get("PREFECT_API_URL"):
            self._start()

    def wait(self) -> None:
        """Return once the server answers. Raises DigsiteError with its last words, or what to do, where it does not."""
        url = f"{os.environ['PREFECT_API_URL']}/health"
        if self._child is None:
            if not _answers(urllib.request.build_opener(), url):
                raise UsageError("no server answers at PREFECT_API_URL; start it, unset the variable, or use --no-flow")
            return
        # Ours is on this machine, where no proxy leads.
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until and self._child.poll() is None:
            if _answers(direct, url):
                return
            time.sleep(0.1)
        remedy = "" if self._port else "; use --no-flow"
        raise DigsiteError(f"Prefect's server did not start{remedy}. It said: {self.last_words()}")

    def last_words(self) -> str:
        """The last error that the server wrote to its standard error, else its last line."""
        lines = [line.decode(errors="replace").strip() for line in self._stderr if line.strip()]
        return next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "nothing")

    def _start(self) -> None:
        os.environ["PREFECT_HOME"] = str(self._home)
        os.environ["NO_PROXY"] = ",".join(filter(None, [os.environ.get("NO_PROXY"), _HOST]))
        if not self._port:
            os.environ["PREFECT_API_AUTH_STRING"] = os.environ["PREFECT_SERVER_API_AUTH_STRING"] = (
                f"digsite:{secrets.token_urlsafe(32)}"
            )
        with self._listening() as listening:
            own = f"http://{_HOST}:{listening.getsockname()[1]}"
            os.environ.update(PREFECT_API_URL=f"{own}/api", PREFECT_SERVER_CORS_ALLOWED_ORIGINS=own)
            self._child = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "pipeline.flow.server", str(listening.fileno()), str(self._port)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[listening.fileno()],
                start_new_session=True,
            )
        threading.Thread(target=self._stderr.extend, args=(self._child.stderr,), daemon=True).start()

    def _listening(self) -> socket.socket:
        try:
            return socket.create_server((_HOST, self._port))
        except OSError as error:
            raise UsageError(
                f"cannot listen on {_HOST}:{self._port} ({error.strerror}); if a Prefect server runs there already, "
                f"set PREFECT_API_URL=http://{_HOST}:{self._port}/api, else name another PREFECT_SERVER_API_PORT"
            ) from error


def _answers(opener: urllib.request.OpenerDirector, url: str) -> bool:
    """An error that the server itself gave (it may want a key, which Prefect will send) is an answer."""
    try:
        opener.open(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False
    return True


def _serve(handle: int, port: int) -> None:
    """The child: Prefect's server on a socket that the parent has bound."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Whoever signals all processes of a job, as `scancel` does, must not end this one before the flow has reported.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.environ["PREFECT__SERVER_FINAL"] = "1"
    if port:
        os.environ["PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT"] = "false"
        os.environ["PREFECT_SERVER_UI_API_URL"] = f"http://{_HOST}:{port}/api"
    else:
        os.environ.update(PREFECT_UI_ENABLED="false", PREFECT__SERVER_EPHEMERAL="1")
    os.environ.update(PREFECT_LOGGING_LEVEL="ERROR", PREFECT_LOGGING_INTERNAL_LEVEL="ERROR")
    # Nothing here is kept in one of Prefect's blocks, and to write them all down takes a second.
    os.environ["PREFECT_API_BLOCKS_REGISTER_ON_START"] = "false"
    os.environ.pop("PREFECT_API_URL", None)
    import uvicorn
    from prefect.server.api.server import create_app
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    class WithoutSignals(uvicorn.Server):
        """Uvicorn's without its handlers of signals."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    app = TrustedHostMiddleware(create_app(), allowed_hosts=[_HOST])
    config = uvicorn.Config(app, log_level="error", lifespan="on", access_log=False)
    WithoutSignals(config).run(sockets=[socket.socket(fileno=handle)])


def _end_with_parent() -> None:
    """At once, without a farewell: what matters is committed, and the farewell is made of tracebacks."""
    while os.read(0, 1024):
        continue
    os._exit(0)


if __name__ == "__main__":
    _serve(*map(int, sys.argv[1:]))

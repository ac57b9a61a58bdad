"""Start a second Python process that runs code of this package.

`multiprocessing` would run the user's own script again in a process that it starts, and must not fork after the JVM has
started.
"""

import subprocess
import sys


def start_child(code: str, *arguments: object) -> "subprocess.Popen[bytes]":
    """Start a process. It has to end when its standard input closes, which it does when this process ends."""
    return subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def end_child(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    child.communicate()

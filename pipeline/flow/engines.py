"""Workers of Dask or Ray, through Prefect's own task runners: a batch of seeds is one task, and travels as bytes."""

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import Context
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.task_runners import TaskRunner

from pipeline.config.runtime import Runtime
from pipeline.errors import DigsiteError, UsageError, WorkerError, first_line
from pipeline.run.batches import AHEAD, Submit
from pipeline.run.worker import respond

CONNECT_SECONDS, LOOK_SECONDS, LOST_SECONDS = 15, 5, 120
DIED = ("KilledWorker", "WorkerCrashedError", "NodeDiedError", "OutOfMemoryError")
"""What engines raise where a process died with a batch more often than they try it again."""


# No retries: an engine gives the batch of a dead worker to another, and what the outside broke is tried again later.
@task(name="digsite-batch", cache_policy=NO_CACHE, persist_result=False)
def batch(request: bytes) -> bytes:
    """A batch of seeds, on a worker."""
    return respond(request)


@contextmanager
def started(how: Runtime, flow_run: Context) -> Iterator[Submit]:
    """Have the engine's workers: those of a cluster that runs already, or processes of this machine until it closes.

    Batches are tasks of the flow run of that context.
    """
    runner, options = {"dask": _dask, "ray": _ray}[how.engine](how)
    for name in ("distributed", "distributed.client"):  # each has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)

    def begun(request: bytes) -> Any:
        with options():
            return runner.submit(batch, parameters={"request": request})

    async def submit(request: bytes) -> bytes:
        try:
            return await _unless_lost(_result(flow_run.copy().run(begun, request)), runner)
        except WorkerError:
            raise
        except Exception as error:
            if type(error).__name__ in DIED:
                raise WorkerError(f"workers died with one batch again and again: {first_line(error)}") from error
            raise DigsiteError(f"the engine {how.engine} failed: {first_line(error)}") from error

    with ExitStack() as stack:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # how a cluster starts is nobody's news
        try:
            with _interrupts_held() if how.engine == "dask" and not how.address else nullcontext():
                stack.enter_context(runner)
                getattr(runner, "client", None)  # Dask's starts with its first use
        except Exception as error:
            # Ray's own are no more than that.
            if half_started := sys.modules.get("ray"):
                half_started.shutdown()
            where = f"at {how.address}" if how.address else "on this machine"
            raise UsageError(f"no workers of {how.engine} {where}: {first_line(error)}") from error
        yield submit


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Whatever thread or process begins within this never gets a Ctrl-C, nor do those that these begin later.

    A terminal sends it to all of a command's processes; workers are ended by the command.
    """
    resource_tracker.ensure_running()  # its start would let them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


async def _unless_lost(result: Coroutine[None, None, bytes], runner: TaskRunner[Any]) -> bytes:
    """Raises WorkerError where Dask has had no worker for a long time: it would wait for one for ever."""
    waiting, seen = asyncio.create_task(result), time.monotonic()
    try:
        while not (await asyncio.wait([waiting], timeout=LOOK_SECONDS))[0]:
            client = getattr(runner, "client", None)
            if client is None or client.scheduler_info(n_workers=1)["workers"]:
                seen = time.monotonic()
            elif time.monotonic() - seen > LOST_SECONDS:
                raise WorkerError(f"the engine has had no worker for {LOST_SECONDS} seconds")
        return await waiting
    finally:
        waiting.cancel()


async def _result(future: Any) -> bytes:
    """Wait in a thread that holds up no end of the process."""
    ended: Future[bytes] = Future()
    ended.set_running_or_notify_cancel()  # the event loop may go on without the result, the thread ends with it

    def wait() -> None:
        try:
            ended.set_result(future.result())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
            ended.set_exception(error)

    threading.Thread(target=wait, name="batch", daemon=True).start()
    return await asyncio.wrap_future(ended)


Options = Callable[[], AbstractContextManager[object]]
"""What holds while a batch is handed to the engine."""


def _dask(how: Runtime) -> tuple[TaskRunner[Any], Options]:
    import dask
    from distributed.security import Security
    from prefect_dask import DaskTaskRunner

    options = partial(dask.annotate, resources=how.resources) if how.resources else nullcontext
    if how.address:
        return DaskTaskRunner(address=how.address, client_kwargs={"timeout": CONNECT_SECONDS}), options
    dask.config.set({"distributed.worker.multiprocessing-method": "spawn"})  # a JVM may be running here
    processes = {"n_workers": how.workers, "threads_per_worker": AHEAD, "memory_limit": 0}
    # A port of this machine on which others would have their code run: a key of one command's own guards it.
    closed = {"host": "127.0.0.1", "dashboard_address": None, "security": Security.temporary()}
    own = {"resources": how.resources} if how.resources else {}
    return DaskTaskRunner(cluster_kwargs={**processes, **closed, **own, "silence_logs": logging.CRITICAL}), options


def _ray(how: Runtime) -> tuple[TaskRunner[Any], Options]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    # On a busy machine a node needs longer than the half minute that it has.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")
    os.environ.setdefault("RAY_agent_register_timeout_ms", "300000")
    from prefect_ray import RayTaskRunner
    from prefect_ray.context import remote_options

    options = partial(remote_options, **how.resources) if how.resources else nullcontext
    if how.address:
        return RayTaskRunner(address=how.address), options
    closed = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    return RayTaskRunner(init_kwargs={"num_cpus": how.workers, **closed, **quiet}), options

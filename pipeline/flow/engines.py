"""Workers of Dask or Ray, through Prefect's task runners: each batch of seeds is one task, sent as bytes."""

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
"""Errors of engines if processes died with a batch more often than it is retried."""


# No retries: an engine gives the batch of a dead worker to another, and outside failures are retried later.
@task(name="digsite-batch", cache_policy=NO_CACHE, persist_result=False)
def batch(request: bytes) -> bytes:
    """Run a batch of seeds on a worker."""
    return respond(request)


@contextmanager
def start_workers(runtime: Runtime, flow_run: Context) -> Iterator[Submit]:
    """Connect to the workers of a running cluster, or start processes on this machine, which end with the body.

    Yields a function that runs a batch as a task of the flow run in the context `flow_run`.
    """
    runner, options = {"dask": _dask, "ray": _ray}[runtime.engine](runtime)
    for name in ("distributed", "distributed.client"):  # each has its own level
        logging.getLogger(name).setLevel(logging.CRITICAL)

    def start_batch(request: bytes) -> Any:
        with options():
            return runner.submit(batch, parameters={"request": request})

    async def submit(request: bytes) -> bytes:
        try:
            return await _fail_if_lost(_await_result(flow_run.copy().run(start_batch, request)), runner)
        except WorkerError:
            raise
        except Exception as error:
            if type(error).__name__ in DIED:
                raise WorkerError(f"workers died repeatedly with one batch: {first_line(error)}") from error
            raise DigsiteError(f"the engine {runtime.engine} failed: {first_line(error)}") from error

    with ExitStack() as stack:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # users need no log of a starting cluster
        try:
            with _blocked_interrupts() if runtime.engine == "dask" and not runtime.address else nullcontext():
                stack.enter_context(runner)
                getattr(runner, "client", None)  # Dask's client starts with its first use
        except Exception as error:
            # Ray may be half started, and its runner does not end it.
            if ray := sys.modules.get("ray"):
                ray.shutdown()
            where = f"at {runtime.address}" if runtime.address else "on this machine"
            raise UsageError(f"no workers of {runtime.engine} {where}: {first_line(error)}") from error
        yield submit


@contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Block Ctrl-C in all threads and processes that the body starts, and in those that they start.

    A terminal sends it to all processes of a command, but the command must end its workers itself.
    """
    resource_tracker.ensure_running()  # starting it later would unblock the signal
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


async def _fail_if_lost(result: Coroutine[None, None, bytes], runner: TaskRunner[Any]) -> bytes:
    """Raise WorkerError if Dask has had no worker for a long time, since it would wait for one forever."""
    waiting, last_seen = asyncio.create_task(result), time.monotonic()
    try:
        while not (await asyncio.wait([waiting], timeout=LOOK_SECONDS))[0]:
            client = getattr(runner, "client", None)
            if client is None or client.scheduler_info(n_workers=1)["workers"]:
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > LOST_SECONDS:
                raise WorkerError(
                    f"no worker has been connected for {LOST_SECONDS} seconds: start one, then repeat the command"
                )
        return await waiting
    finally:
        waiting.cancel()


async def _await_result(future: Any) -> bytes:
    result: Future[bytes] = Future()
    result.set_running_or_notify_cancel()  # so that the event loop cannot cancel it while the thread waits

    def wait() -> None:
        try:
            result.set_result(future.result())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
            result.set_exception(error)

    # A daemon thread does not delay the end of the process.
    threading.Thread(target=wait, name="batch", daemon=True).start()
    return await asyncio.wrap_future(result)


Options = Callable[[], AbstractContextManager[object]]
"""The context in which a batch is submitted to the engine."""


def _dask(runtime: Runtime) -> tuple[TaskRunner[Any], Options]:
    import dask  # an optional dependency
    from distributed.security import Security
    from prefect_dask import DaskTaskRunner

    options = partial(dask.annotate, resources=runtime.resources) if runtime.resources else nullcontext
    if runtime.address:
        return DaskTaskRunner(address=runtime.address, client_kwargs={"timeout": CONNECT_SECONDS}), options
    dask.config.set(
        {"distributed.worker.multiprocessing-method": "spawn"}
    )  # a JVM may be running here, which a fork would break
    processes = {"n_workers": runtime.workers, "threads_per_worker": AHEAD, "memory_limit": 0}
    # Other users of this machine could run code through the open port, so each command has its own key.
    closed = {"host": "127.0.0.1", "dashboard_address": None, "security": Security.temporary()}
    resources = {"resources": runtime.resources} if runtime.resources else {}
    return DaskTaskRunner(
        cluster_kwargs={**processes, **closed, **resources, "silence_logs": logging.CRITICAL}
    ), options


def _ray(runtime: Runtime) -> tuple[TaskRunner[Any], Options]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report usage to its makers
    # On a busy machine a node needs longer than the default of half a minute.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")
    os.environ.setdefault("RAY_agent_register_timeout_ms", "300000")
    from prefect_ray import RayTaskRunner  # an optional dependency
    from prefect_ray.context import remote_options

    options = partial(remote_options, **runtime.resources) if runtime.resources else nullcontext
    if runtime.address:
        return RayTaskRunner(address=runtime.address), options
    closed = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    return RayTaskRunner(init_kwargs={"num_cpus": runtime.workers, **closed, **quiet}), options

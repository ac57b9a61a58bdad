"""The events of a run, which a flow in another thread displays."""

import logging
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, copy_context
from queue import SimpleQueue
from threading import Thread

from pipeline.config.runtime import Runtime
from pipeline.errors import BudgetExceeded, Interrupted, first_line
from pipeline.run import RunCallbacks, RunView
from pipeline.run.batches import Submit

logger = logging.getLogger(__name__)
_SIGNAL_SECONDS = 1.0
"""Longest wait for Prefect to learn of a signal."""


class RunFeed(RunCallbacks):
    """Forwards all events to other callbacks, and queues the stages, over which the flow iterates as they begin."""

    def __init__(self, callbacks: RunCallbacks) -> None:
        self.run: RunView | None = None
        """The run, once it has started."""
        self.joined: Future[Context] = Future()
        """The context of the flow run once it exists, or the error that prevents it."""
        self.failure: BaseException | None = None
        """The error that ended the run early."""
        self._callbacks, self._stages = callbacks, SimpleQueue[tuple[str, Future[None]] | None]()
        for name in ("record", "attempt", "gated", "trouble"):
            setattr(self, name, getattr(callbacks, name))
        self._stage = Future[None]()

    def __iter__(self) -> Iterator[tuple[str, Future[None]]]:
        return iter(self._stages.get, None)

    def stage(self, name: str) -> None:
        self._end_stage(None)
        self._callbacks.stage(name)
        self._stage = Future()
        self._stages.put((name, self._stage))

    def started(self, run: RunView) -> None:
        self._callbacks.started(run)
        self.run = run

    def engine(self, runtime: Runtime) -> AbstractContextManager[Submit]:
        """Start the workers of an engine, which need the flow run. Raises the error that prevents the flow run."""
        flow_run = self.joined.result()
        from pipeline.flow import engines  # importing Prefect takes a second

        return engines.start_workers(runtime, flow_run)

    @contextmanager
    def displayed_by(self, show: Callable[["RunFeed"], object]) -> Iterator[None]:
        """Call `show` in a thread, in a copy of this context, while the body runs, and wait for its end.

        Do not wait if the body fails before there is a flow run. An error of `show` becomes a warning.
        """
        problems: list[Exception] = []

        def target() -> None:
            try:
                show(self)
            except Exception as error:  # noqa: BLE001 - a run does not end with its display
                problems.append(error)
                if not self.joined.done():
                    self.joined.set_exception(error)

        thread = Thread(target=copy_context().run, args=(target,), name="prefect", daemon=True)
        thread.start()
        try:
            yield
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self._end_stage(failure := self.failure)
            self._stages.put(None)
            if failure is None or isinstance(failure, BudgetExceeded) or self.joined.done():
                thread.join(_SIGNAL_SECONDS if isinstance(failure, Interrupted | KeyboardInterrupt) else None)
            if problems and problems[0] is not failure:
                logger.warning("Prefect's server does not know how this run ended: %s", first_line(problems[0]))

    def _end_stage(self, error: BaseException | None) -> None:
        if self._stage.done():
            return
        if error is None or isinstance(error, BudgetExceeded):
            self._stage.set_result(None)
        else:
            is_ordinary = isinstance(error, Exception)
            self._stage.set_exception(error if is_ordinary else Interrupted("interrupted", signal.SIGINT))

"""What a run tells, for a flow in another thread to show."""

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
_FAREWELL = 1.0
"""Seconds in which Prefect may hear of a signal."""


class Shown(RunCallbacks):
    """Passes all on to other callbacks, and keeps the stages, over which the flow iterates as they begin."""

    def __init__(self, callbacks: RunCallbacks) -> None:
        self.run: RunView | None = None
        """Once it has started."""
        self.joined: Future[Context] = Future()
        """The context of the flow run, once there is one; or why there will be none."""
        self.failed: BaseException | None = None
        """What ended the run early."""
        self._callbacks, self._stages = callbacks, SimpleQueue[tuple[str, Future[None]] | None]()
        for name in ("record", "attempt", "gated", "trouble"):
            setattr(self, name, getattr(callbacks, name))
        self._now = Future[None]()

    def __iter__(self) -> Iterator[tuple[str, Future[None]]]:
        return iter(self._stages.get, None)

    def stage(self, name: str) -> None:
        self._end(None)
        self._callbacks.stage(name)
        self._now = Future()
        self._stages.put((name, self._now))

    def begin(self, run: RunView) -> None:
        self._callbacks.begin(run)
        self.run = run

    def engine(self, how: Runtime) -> AbstractContextManager[Submit]:
        """The workers of an engine: Prefect's, so they wait for the flow run. Raises what keeps it from coming."""
        flow_run = self.joined.result()
        from pipeline.flow import engines

        return engines.started(how, flow_run)

    @contextmanager
    def shown_by(self, show: Callable[["Shown"], object]) -> Iterator[None]:
        """Have `show` called in a thread while the body runs the run, in a copy of this context, and wait for its end.

        It is not waited for where the body fails before there is a flow run. What fails in `show` is a warning.
        """
        problem: list[Exception] = []

        def target() -> None:
            try:
                show(self)
            except Exception as error:  # noqa: BLE001 - a run does not end with its display
                problem.append(error)
                if not self.joined.done():
                    self.joined.set_exception(error)

        thread = Thread(target=copy_context().run, args=(target,), name="prefect", daemon=True)
        thread.start()
        try:
            yield
        except BaseException as error:
            self.failed = error
            raise
        finally:
            self._end(failed := self.failed)
            self._stages.put(None)
            if failed is None or isinstance(failed, BudgetExceeded) or self.joined.done():
                thread.join(_FAREWELL if isinstance(failed, Interrupted | KeyboardInterrupt) else None)
            if problem and problem[0] is not failed:
                logger.warning("Prefect's server does not know how this run ended: %s", first_line(problem[0]))

    def _end(self, error: BaseException | None) -> None:
        """End the stage that goes on."""
        if self._now.done():
            return
        if error is None or isinstance(error, BudgetExceeded):
            self._now.set_result(None)
        else:
            known = error if isinstance(error, Exception) else Interrupted("interrupted", signal.SIGINT)
            self._now.set_exception(known)

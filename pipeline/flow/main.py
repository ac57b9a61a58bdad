"""The console script `digsite`: the command line, which runs `generate` and `resume` through Prefect.

Prefect, and what imports it, is imported only when one of these two runs without `--no-flow`.
"""

import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pipeline.config import RunConfig
    from pipeline.flow.shown import RunFeed
    from pipeline.run import RunCallbacks, RunResult

logger = logging.getLogger("pipeline.flow.main")  # also where this module is `__main__`


def main() -> NoReturn:
    # A Ctrl-C during the imports, which take a second, must not print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pipeline.cli import main as command_line

    command_line(runner=run_in_prefect)


def run_in_prefect(config: "RunConfig", folder: Path | None, callbacks: "RunCallbacks", *, debug: bool) -> "RunResult":
    """Run while a Prefect flow displays it, on the user's server if there is one, or else on our own.

    Our own server starts in parallel with the run. The workers of an engine are Prefect's, so they wait for it.
    """
    import asyncio

    from pipeline import api
    from pipeline.cli import console
    from pipeline.errors import StoreError
    from pipeline.flow.server import QUIET, Server
    from pipeline.flow.shown import RunFeed
    from pipeline.run import stages

    server, feed = Server(config.runtime.out / ".prefect"), RunFeed(callbacks)
    # Errors reach the command line, which reports them once; Prefect would print their traceback twice before.
    level = "INFO" if debug else "CRITICAL"
    try:
        server.start(QUIET | {"PREFECT_LOGGING_LEVEL": level, "PREFECT_LOGGING_INTERNAL_LEVEL": level})
    except StoreError as error:
        if config.runtime.engine != "local":
            raise
        logger.warning("Prefect does not show this run: %s; --no-flow runs without it", error)
        return api.in_process(config, folder, callbacks)
    if server.is_own:
        pages = server.url.removesuffix("/api")
        console.message(f"Prefect shows this run at {pages}; the password is in {server.password_file}")
    run_path = folder or config.folder()

    def show(feed: "RunFeed") -> None:
        from pipeline.flow import display

        server.wait()
        display.show(f"{run_path.parent.name}/{run_path.name}", feed, is_own_server=server.is_own)

    engine = None if config.runtime.engine == "local" else feed.engine
    with feed.displayed_by(show):
        return asyncio.run(stages.generate(config, folder, feed, engine=engine))


if __name__ == "__main__":
    main()

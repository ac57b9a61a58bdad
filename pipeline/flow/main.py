"""The console script `digsite`: the command line, with Prefect as its way to run `generate` and `resume`.

Prefect is imported when one of those two runs without `--no-flow`, and never before.
"""

import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pipeline.config import RunConfig
    from pipeline.flow.shown import Shown
    from pipeline.run import RunCallbacks, RunResult

logger = logging.getLogger("pipeline.flow.main")  # also where this module is `__main__`


def main() -> NoReturn:
    # A Ctrl-C while the imports go on, which take a second, ends us without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pipeline.cli import main as command_line

    command_line(runner=in_prefect)


def in_prefect(config: "RunConfig", folder: Path | None, callbacks: "RunCallbacks", *, debug: bool) -> "RunResult":
    """Run while a Prefect flow shows it, on the user's server where there is one, else on one of our own.

    Our own starts while the run goes on. The workers of an engine are Prefect's, so that they wait for it.
    """
    import asyncio

    from pipeline import api
    from pipeline.cli import console
    from pipeline.errors import StoreError
    from pipeline.flow.server import QUIET, Server
    from pipeline.flow.shown import Shown
    from pipeline.run import stages

    server, shown = Server(config.how.out / ".prefect"), Shown(callbacks)
    # Every error comes up to the command line, which says it once; Prefect would show its traceback twice before.
    level = "INFO" if debug else "CRITICAL"
    try:
        server.start(QUIET | {"PREFECT_LOGGING_LEVEL": level, "PREFECT_LOGGING_INTERNAL_LEVEL": level})
    except StoreError as error:
        if config.how.engine != "local":
            raise
        logger.warning("Prefect does not show this run: %s; --no-flow runs without it", error)
        return api.in_process(config, folder, callbacks)
    if server.own:
        pages = server.url.removesuffix("/api")
        console.message(f"Prefect shows this run at {pages}; the password is in {server.password_file}")
    place = folder or config.folder()

    def show(shown: "Shown") -> None:
        from pipeline.flow import display

        server.wait()
        display.show(f"{place.parent.name}/{place.name}", shown, own=server.own)

    engine = None if config.how.engine == "local" else shown.engine
    with shown.shown_by(show):
        return asyncio.run(stages.generate(config, folder, shown, engine=engine))


if __name__ == "__main__":
    main()

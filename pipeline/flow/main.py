"""The console script `digsite`: the command line, with Prefect as its way to run `generate` and `resume`.

Prefect is imported when one of those two runs without `--no-flow`, and never before.
"""

import asyncio
import signal
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pipeline.run import RunResult
    from pipeline.run.job import Job


def main() -> NoReturn:
    # A Ctrl-C while the imports go on, which take a second, ends us without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pipeline.cli import main as command_line

    command_line(runner=in_prefect)


def in_prefect(job: "Job", *, debug: bool) -> "RunResult":
    """Run a job as a Prefect flow, on the user's server where there is one, else on one of our own.

    Our own starts while this process reads the corpus and opens the index; both take seconds, and a mistake in the
    corpus is told at once.
    """
    from pipeline.cli import console
    from pipeline.flow.server import QUIET, Server

    server = Server(job.config.how.out / ".prefect")
    # Every error comes up to the command line, which says it once; Prefect would show its traceback twice before.
    level = "INFO" if debug else "CRITICAL"
    server.start(QUIET | {"PREFECT_LOGGING_LEVEL": level, "PREFECT_LOGGING_INTERNAL_LEVEL": level})
    if server.own:
        job.read()
        job.index()
    job.watch.stage("starting Prefect")
    from pipeline.flow.generate import run

    server.wait()
    if server.own:
        console.message(f"Prefect shows this run at {server.url.removesuffix('/api')}")
    return asyncio.run(run(job, own=server.own))


if __name__ == "__main__":
    main()

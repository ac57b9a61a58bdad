"""The console script `digsite`: the command line, with Prefect as its way to run `generate` and `resume`.

It stands here because the product does not know its flows. Prefect is imported when one of those two runs without
`--no-flow`, and never before.
"""

import asyncio
from typing import TYPE_CHECKING, NoReturn

from flows.server import Server
from pipeline.cli import main as command_line

if TYPE_CHECKING:
    from pipeline.cli.stages import Job
    from pipeline.run import RunResult


def main() -> NoReturn:
    command_line(through=through)


def through(job: "Job") -> "RunResult":
    """Run a job as a Prefect flow, on the user's server where PREFECT_API_URL names one, else on one of our own."""
    with Server(job.config.how.out / ".prefect") as server:
        from flows.generate import run

        job.watch.stage("waiting for Prefect")
        server.wait()
        return asyncio.run(run(job))

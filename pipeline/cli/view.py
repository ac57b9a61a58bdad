"""The command `view`: shows every item of a run in a browser."""

import webbrowser
from typing import Annotated

from typer import Argument, Option

from pipeline.cli import console, options
from pipeline.cli.serve import LOOPBACK, Port
from pipeline.config.runtime import Runtime


def view(
    runs: Annotated[
        list[str] | None,
        Argument(metavar="[RUN]...", help="As for 'inspect', a data set's folder, or a journal.  [all in --out]"),
    ] = None,
    out: options.Out = None,
    port: Port = 8002,
    browser: Annotated[bool, Option("--open", help="Open the page in the browser of this machine.")] = False,
) -> None:
    """Show every item of runs in a browser until Ctrl-C: questions, evidence, rollouts, figures."""
    from pipeline.serve.browser import create
    from pipeline.serve.http_server import ServerConfig, serve, url
    from pipeline.view.browsing import Runs

    library = Runs(runs or [], out or Runtime().out)
    try:
        listening = ServerConfig(host=LOOPBACK, port=port, token_env="").bind()
        console.message("for a browser on this machine; Ctrl-C stops it")
        console.show(console.text(url(listening)))
        if browser:
            webbrowser.open(url(listening))
        serve(create(library), listening)
    finally:
        library.close()

"""The commands `serve`, an index for training, and `serve-model`, the demo model to try out a run through HTTP."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from pipeline.cli import console, options
from pipeline.config.retrieval import TOKEN_ENV
from pipeline.config.runtime import Runtime
from pipeline.corpus import resolve
from pipeline.errors import UsageError
from pipeline.run.locate import run_folder

if TYPE_CHECKING:
    from pipeline.serve.retrieval_app import Served

LOOPBACK, DEFAULT_PORT = "127.0.0.1", 8000
Host = Annotated[str, Option(help="Address to listen on; any other than the loopback needs a token.")]
Port = Annotated[int, Option(min=0, max=65535, help="0 takes any free one.")]
TokenEnv = Annotated[str, Option(metavar="NAME", help="The environment variable that holds the token.")]
_CORPUS_OPTIONS = "environment retriever config sets text_field title_field id_field language".split()
"""Options for a corpus only, because a run fixes these values."""


@dataclass(kw_only=True)
class Serve(options.CorpusOptions):
    """Serve the index of CORPUS or RUN until Ctrl-C: over HTTP, as Search-R1 and verl call it, or to MCP clients."""

    corpus: Annotated[
        str, Argument(metavar="CORPUS|RUN", help="A corpus, or a run, which is served in its data set's environment.")
    ]
    host: Host = LOOPBACK
    port: Annotated[int | None, Option(min=0, max=65535, help="0 takes any free one.  [8000]")] = None
    token_env: TokenEnv = TOKEN_ENV
    mcp: Annotated[
        bool,
        Option("--mcp", help="Serve MCP clients on standard input and output or, with --port, over HTTP at /mcp."),
    ] = False
    environment: Annotated[Path | None, Option(metavar="FILE", help="A data set's environment.json, for a CORPUS.")] = (
        None
    )
    retriever: options.Engine = None
    config: options.Config = None
    sets: options.Sets = None
    out: options.Out = None

    def __call__(self) -> None:
        if self.mcp and find_spec("mcp") is None:
            raise UsageError("--mcp needs more packages: pip install 'digsite[mcp]'")
        if self.mcp and self.port is None:
            self._serve_stdio()
        else:
            self._serve_http(DEFAULT_PORT if self.port is None else self.port)

    def _serve_stdio(self) -> None:
        from pipeline.serve import mcp_server

        served = self._open_index()
        self._describe(served, "the client stops it")
        mcp_server.serve_stdio(served)

    def _serve_http(self, port: int) -> None:
        from pipeline.serve.http_server import ServerConfig, create_app, serve, url
        from pipeline.serve.retrieval_app import router

        server = ServerConfig(host=self.host, port=port, token_env=self.token_env)
        listening = server.bind()
        served = self._open_index()
        routes, path = router(served), "/retrieve"
        if self.mcp:
            from pipeline.serve import mcp_server

            routes.include_router(mcp_server.router(served))
            path = mcp_server.PATH
        self._describe(served, "Ctrl-C stops it")
        console.show(console.text(f"{url(listening)}{path}"))
        serve(create_app(routes, server.token()), listening)

    def _describe(self, served: "Served", end: str) -> None:
        k = f"k = {served.environment.k}" + ("" if served.fixed else " unless the request asks for another")
        passages = f"{served.corpus.manifest.name}: {len(served.corpus.passages):,} passages"
        console.message(f"{passages} through {served.engine}, {k}; {end}")

    def _open_index(self) -> "Served":
        """Open a corpus, or a run if no corpus has the name: `wiki` is the corpus, `wiki/latest` the run."""
        from pipeline.serve import open_served

        try:
            if (Path(self.corpus) / "run.json").is_file():
                raise UsageError("a run")
            resolve(self.corpus)
        except UsageError as no_corpus:
            try:
                folder = run_folder(self.corpus, self.out or Runtime().out)
            except UsageError as no_run:
                raise UsageError(f"{no_corpus}; and {no_run}") from no_run
            if any(getattr(self, name) for name in _CORPUS_OPTIONS):
                line = "a run has its own environment, retriever, settings and fields: leave out these options"
                raise UsageError(line) from None
            return open_served.open_run(folder)
        return open_served.open_corpus(self.settings(), self.environment)


def serve_model(
    host: Host = LOOPBACK,
    port: Port = 8001,
    token_env: TokenEnv = TOKEN_ENV,
    seed: Annotated[int, Option(min=0, help="The --seed of the runs that will use it.")] = 0,
) -> None:
    """Serve the demo model over the OpenAI API until Ctrl-C. Runs through it give the same bytes as without HTTP."""
    from pipeline.serve.demo_server import router
    from pipeline.serve.http_server import ServerConfig, create_app, serve, url

    server = ServerConfig(host=host, port=port, token_env=token_env)
    listening = server.bind()
    base_url = f"{url(listening)}/v1"
    console.message(f"use it with: --model openai:embedded --base-url {base_url}; Ctrl-C stops it")
    console.show(console.text(base_url))
    serve(create_app(router(seed), server.token()), listening)

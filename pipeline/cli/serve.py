"""The commands that serve: `serve` an index for training, `serve-model` the embedded model for trials of the wire."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import options, tell
from pipeline.config import How
from pipeline.config.retrieval import TOKEN_ENV
from pipeline.errors import UsageError
from pipeline.run.locate import run_folder

if TYPE_CHECKING:
    from pipeline.serve.retrieval import Served

LOOPBACK = "127.0.0.1"
What = Annotated[
    str, typer.Argument(metavar="CORPUS|RUN", help="A corpus, or a run, under its data set's environment.")
]
Host = Annotated[str, typer.Option(help="Where to listen; anything but the loopback needs a token.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")]
TokenEnv = Annotated[str, typer.Option(metavar="NAME", help="The environment variable that holds the token.")]
EnvironmentFile = Annotated[
    Path | None, typer.Option("--environment", metavar="FILE", help="A data set's environment.json, for a CORPUS.")
]


def serve(  # noqa: PLR0913, PLR0917 - options of the user
    name: What,
    host: Host = LOOPBACK,
    port: Port = 8000,
    token_env: TokenEnv = TOKEN_ENV,
    environment: EnvironmentFile = None,
    retriever: options.Engine = None,
    text_field: options.TextField = None,
    title_field: options.TitleField = None,
    id_field: options.IdField = None,
    out: options.Out = None,
) -> None:
    """Serve the index of CORPUS or RUN over HTTP, by the contract of Search-R1 and verl, until Ctrl-C."""
    from pipeline.serve.door import Door
    from pipeline.serve.retrieval import endpoints

    given = {key: value for key, value in locals().items() if key in options.KEYS}
    door = Door(host, port, token_env)
    served = _opened(name, given, environment, out or How().out)
    k = f"k = {served.environment.k}" + ("" if served.fixed else " unless asked otherwise")
    tell.say(
        f"{served.corpus.manifest.name}: {len(served.corpus.passages):,} passages through {served.engine}, {k}; "
        "Ctrl-C stops it"
    )
    tell.show(tell.words(f"{door.url}/retrieve"))
    door.serve(endpoints(served))


def _opened(name: str, given: dict[str, object], environment: Path | None, out: Path) -> "Served":
    """A corpus before a run where both have the name: `wiki` is the corpus, `wiki/latest` the run."""
    from pipeline.corpus import resolve
    from pipeline.serve import opening

    try:
        if (Path(name) / "run.json").is_file():
            raise UsageError("a run")
        resolve(name)
    except UsageError as no_corpus:
        try:
            folder = run_folder(name, out)
        except UsageError as no_run:
            raise UsageError(f"{no_corpus}; and {no_run}") from no_run
        if environment or any(value is not None for key, value in given.items() if key != "out"):
            raise UsageError("a run has its own environment, retriever and fields: leave these options out") from None
        return opening.of_run(folder)
    return opening.of_corpus(options.settings({**given, "corpus": name}), environment)


def serve_model(
    host: Host = LOOPBACK,
    port: Port = 8001,
    token_env: TokenEnv = TOKEN_ENV,
    seed: Annotated[int, typer.Option(min=0, help="The --seed of the runs that will ask.")] = 0,
) -> None:
    """Serve the embedded model over OpenAI's wire, until Ctrl-C: the whole job through HTTP, the same bytes."""
    from pipeline.serve.door import Door
    from pipeline.serve.model import endpoints

    door = Door(host, port, token_env)
    tell.say(f"use it with: --model openai:embedded --base-url {door.url}/v1; Ctrl-C stops it")
    tell.show(tell.words(f"{door.url}/v1"))
    door.serve(endpoints(seed))

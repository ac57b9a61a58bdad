"""The options of `digsite generate`, each a name for one key of the configuration.

A flag that is not given says nothing, so that the TOML file and the preset keep their word.
"""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import typer

from pipeline.config import RunConfig, build
from pipeline.config.models import PROVIDERS
from pipeline.errors import UsageError

Through: TypeAlias = Callable[..., Any]
"""Runs a `job.Job` and returns its `RunResult`; `debug` says whether it may be talkative."""


Told = TypeVar("Told", int, None)
"""What a command returns: its exit code, if it has more than one."""


class Way(NamedTuple):
    """How the program was started: what every command can ask its context for."""

    through: Through | None
    debug: bool


MODELS = "embedded|openai:NAME|gguf:FILE"
BaseUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where an OpenAI-compatible model is served: http://localhost:8000/v1."),
]
Wait = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=0, help="Wait so long for an endpoint that is still loading.  [0]"),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--retriever", help="lucene, bm25 (no Java; small corpora), or a server: http://host/retrieve#NAME.  [lucene]"
    ),
]
Config = Annotated[Path | None, typer.Option("--config", help="A TOML file of settings.")]
Sets = Annotated[list[str] | None, typer.Option("--set", metavar="A.B=C", help="Any setting. Repeatable.")]
Out = Annotated[Path | None, typer.Option(file_okay=False, help="Where runs are kept.  [outputs]")]
Against = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Benchmark questions (.jsonl, .txt) that no pair may be like. Repeatable."),
]
TextField = Annotated[str | None, typer.Option(help="Field of the text, for a CORPUS that is a path.  [text]")]
TitleField = Annotated[str | None, typer.Option(help="Field of the title.  [title]")]
IdField = Annotated[str | None, typer.Option(help="Field of the id.  [id]")]
Language = Annotated[
    str | None, typer.Option(metavar="CODE", help="Language of a CORPUS that is a path, such as en.  [unknown]")
]
Licence = Annotated[str | None, typer.Option(metavar="SPDX", help="Its licence, such as CC-BY-4.0.  [unknown]")]
Attribution = Annotated[str | None, typer.Option(metavar="TEXT", help="Who it is to be credited to.  [unknown]")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout, everything else on stderr.")]
Corpus = Annotated[str, typer.Argument(metavar="CORPUS", help="A known name, or the path of a file or folder.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or wiki/latest, wiki, latest, its digest.")]


class WhatOptions:
    """What a run makes, beside `ModelOptions` and `FieldOptions`."""

    steps: Annotated[
        str | None, typer.Option(metavar="S|A-B", help="Target: searches that a pair needs at least.  [2-4]")
    ]
    seed: Annotated[int | None, typer.Option(min=0, help="Another seed, another data set.  [0]")]
    retriever: Engine
    strategy: Annotated[
        str | None, typer.Option(help="sage: from a passage by searching; ragshaper: from an information tree.  [sage]")
    ]
    preset: Annotated[
        str | None, typer.Option(help="default; sage: the paper's own loop; ragshaper: the paper's own tree.")
    ]


class ModelOptions:
    """By which models, and all that has no option of its own."""

    model: Annotated[
        str | None,
        typer.Option(
            metavar=MODELS,
            help="Model of all roles without one of their own; embedded: a demo, English prose only.  [embedded]",
        ),
    ]
    base_url: BaseUrl
    wait: Wait
    config: Config
    sets: Sets


class FieldOptions:
    """How a corpus that is a path calls its parts."""

    text_field: TextField
    title_field: TitleField
    id_field: IdField


class Provenance:
    """What every record says of a corpus that is a path."""

    language: Language
    licence: Licence
    attribution: Attribution


class HowOptions:
    """Where a run is kept, and what may end it."""

    out: Out
    max_seeds: Annotated[int | None, typer.Option(min=1, help="Give up after so many seeds (exit 3).  [10 a pair]")]
    concurrency: Annotated[int | None, typer.Option(min=1, help="Seeds at work at once.  [enough to keep models busy]")]
    budget_tokens: Annotated[int | None, typer.Option(min=1, help="Stop (exit 3) when so many tokens are paid for.")]
    budget_money: Annotated[
        float | None, typer.Option(help="Stop (exit 3) when so much is spent; needs models.default.prices.")
    ]
    budget_seconds: Annotated[float | None, typer.Option(help="Stop (exit 3) after so many seconds.")]


KEYS = {
    "corpus": "corpus.name",
    "text_field": "corpus.text_field",
    "title_field": "corpus.title_field",
    "id_field": "corpus.id_field",
    "language": "corpus.language",
    "licence": "corpus.licence",
    "attribution": "corpus.attribution",
    "retriever": "retrieval.retriever",
    "model": "models.default",
    "base_url": "models.default.base_url",
    "wait": "how.wait_seconds",
    "rollouts": "loop.rollouts",
    "strategy": "strategy",
    "steps": "steps",
    "seed": "seed",
    "pairs": "how.pairs",
    "seeds": "how.seeds",
    "max_seeds": "how.max_seeds",
    "concurrency": "how.concurrency",
    "budget_tokens": "how.budget_tokens",
    "budget_money": "how.budget_money",
    "budget_seconds": "how.budget_seconds",
    "out": "how.out",
    "against": "gates.against",
}


def settled(*groups: type, **fixed: Any) -> Callable[[Callable[..., Told]], Callable[..., Told]]:
    """Give a command CORPUS and the options of the groups, and what they and the `fixed` ones come to as `settings`.

    An option's default is the group's attribute of its name.
    """
    shared = {name: getattr(group, name, None) for group in groups for name in group.__annotations__}
    kinds = {"corpus": Corpus} | {name: kind for group in groups for name, kind in group.__annotations__.items()}

    def around(command: Callable[..., Told]) -> Callable[..., Told]:
        own = [one for one in signature(command).parameters.values() if one.name != "settings"]

        def run(**given: Any) -> Told:
            told = {name: given[name] for name in kinds if name in KEYS}
            config = settings(
                {**told, **fixed}, preset=given.get("preset"), file=given.get("config"), sets=given.get("sets")
            )
            return command(settings=config, **{one.name: given[one.name] for one in own})

        offered = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=shared.get(name, Parameter.empty), annotation=kind)
            for name, kind in kinds.items()
        ] + [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = Signature(offered)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in offered}
        return run

    return around


def settings(
    given: dict[str, Any], *, preset: str | None = None, file: Path | None = None, sets: list[str] | None = None
) -> RunConfig:
    """The configuration of a command's options; those in `given` that are None were not given."""
    tree: dict[str, Any] = {"preset": preset} if preset else {}
    for option, value in given.items():
        if value is not None:
            _put(tree, KEYS[option], _READ[option](value) if option in _READ else value)
    return build(file=file, values=tree, sets=sets or [])


def model(text: str) -> dict[str, str]:
    """`embedded`, or `openai:NAME` for every server that speaks OpenAI's protocol."""
    provider, _, name = text.strip().partition(":")
    if provider == "gguf" and name:
        return {"provider": provider, "file": name}
    if provider not in PROVIDERS or (provider == "embedded") == bool(name):
        raise UsageError(f"no model '{text}'; known: embedded, openai:NAME with --base-url URL, or gguf:FILE")
    return {"provider": provider, "model": name or provider}


def against(paths: list[Path]) -> list[str]:
    """As `resume` will find them, from wherever it is called."""
    return [str(path.expanduser().resolve()) for path in paths]


_READ: dict[str, Callable[[Any], Any]] = {"model": model, "against": against}


def _put(tree: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    for part in path:
        tree = tree.setdefault(part, {})
    tree[last] = {**tree.get(last, {}), **value} if isinstance(value, dict) else value

"""The options of the command line, each declared once, and the setting that each of them changes.

A command that takes a configuration is a dataclass that inherits from the groups below. Typer reads its fields as
options and builds an instance from the command line, which `app` calls. An option that the user left out is None and
changes nothing, so the TOML file and the preset apply.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from pipeline.config import RunConfig, build, toml
from pipeline.config.exports import GateConfig, SftConfig
from pipeline.config.loop import MOST_EXAMPLES
from pipeline.config.models import BUILT_IN, PROVIDERS, built_in
from pipeline.errors import UsageError

MODELS = "embedded|openai:NAME|gguf:FILE"
BaseUrl = Annotated[
    list[str] | None,
    Option(metavar="URL", help="Address of an OpenAI-compatible endpoint: http://localhost:8000/v1. Repeatable."),
]
Wait = Annotated[
    float | None, Option(metavar="SECONDS", min=0, help="Wait this long for an endpoint that is still loading.  [0]")
]
Engine = Annotated[
    str | None,
    Option(
        "--retriever",
        help="lucene, bm25 (for small corpora), dense, hybrid, or a server: http://host/retrieve#NAME.  [lucene]",
    ),
]
For = Annotated[
    str | None,
    Option("--for", metavar="NAME", help="The model that will be trained on the pairs.  [the run's own solver]"),
]
BudgetTokens = Annotated[int | None, Option(min=1, help="Stop (exit 3) after paying for this many tokens.")]
BudgetMoney = Annotated[
    float | None, Option(help="Stop (exit 3) after spending this much; needs models.default.prices.")
]
BudgetSeconds = Annotated[float | None, Option(help="Stop (exit 3) after this many seconds.")]
MaxSeeds = Annotated[int | None, Option(min=1, help="Give up after this many seeds (exit 3).  [10 per pair]")]
Config = Annotated[Path | None, Option(help="A TOML file of settings.")]
Sets = Annotated[list[str] | None, Option("--set", metavar="A.B=C", help="Any setting. Repeatable.")]
Out = Annotated[Path | None, Option(file_okay=False, help="The folder of all runs.  [outputs]")]
Against = Annotated[
    list[Path] | None,
    Option(metavar="FILE", help="Benchmark questions (.jsonl, .txt) that no pair may resemble. Repeatable."),
]
Seeder = Annotated[
    str | None,
    Option("--engine", metavar="local|dask|ray", help="Run the seeds in this process, or on workers.  [local]"),
]
Address = Annotated[
    str | None, Option(metavar="URL", help="A running Dask or Ray cluster.  [start workers on this machine]")
]
Workers = Annotated[
    int | None,
    Option(min=1, help="Processes for dask or ray. They share the budgets and the limits of endpoints.  [2]"),
]
Json = Annotated[bool, Option("--json", help="Print JSON on stdout and everything else on stderr.")]
Verify = Annotated[
    bool | None,
    Option("--verify", help="Read the corpus again even if names, sizes and times of its files are unchanged."),
]
AllowRemoval = Annotated[
    bool | None,
    Option("--allow-removal", help="Let pairs, views and files of the data set go that a trainer may be reading."),
]
NoFlow = Annotated[bool, Option("--no-flow", help="Run without Prefect: some seconds faster, the same bytes.")]
Run = Annotated[str, Argument(metavar="RUN", help="A run: its folder or digest, wiki/latest, wiki, or latest.")]


@dataclass(kw_only=True)
class CorpusOptions:
    """A corpus. The fields and the language apply only if it is a path."""

    corpus: Annotated[str, Argument(metavar="CORPUS", help="A corpus's name, or the path of a file or folder.")]
    text_field: Annotated[str | None, Option(help="Field of the text, for a CORPUS that is a path.  [text]")] = None
    title_field: Annotated[str | None, Option(help="Field of the title.  [title]")] = None
    id_field: Annotated[str | None, Option(help="Field of the id.  [id]")] = None
    language: Annotated[
        str | None, Option(metavar="CODE", help="Language of a CORPUS that is a path, such as en.  [detected]")
    ] = None
    chunks: Annotated[
        str | None,
        Option(metavar="split|as-is", help="as-is: a row is one passage, as your own search system cut it.  [split]"),
    ] = None

    def settings(self, **fixed: Any) -> RunConfig:
        """Build the configuration from the options; values in `fixed` replace options of the same name."""
        values = {**vars(self), **fixed}
        options = {name: value for name, value in values.items() if name in KEYS}
        return build_config(options, file=values.get("config"), sets=values.get("sets"))


@dataclass(kw_only=True)
class ProvenanceOptions(CorpusOptions):
    """The provenance of a corpus that is a path. Every record repeats it."""

    licence: Annotated[
        str | None, Option(metavar="SPDX", help="Licence of the corpus, such as CC-BY-4.0.  [unknown]")
    ] = None
    attribution: Annotated[str | None, Option(metavar="TEXT", help="Whom to credit for the corpus.  [unknown]")] = None
    as_of: Annotated[
        str | None, Option(metavar="DATE", help="Date of the corpus's texts: 2024, 2024-06 or a day.  [unknown]")
    ] = None


@dataclass(kw_only=True)
class ModelOptions:
    """The models, and `--config` and `--set` for all settings without an option."""

    model: Annotated[
        str | None,
        Option(
            metavar=MODELS,
            help="Model for all roles without one in the settings; embedded: a demo, English prose only.  [embedded]",
        ),
    ] = None
    base_url: BaseUrl = None
    wait: Wait = None
    config: Config = None
    sets: Sets = None


@dataclass(kw_only=True)
class PairOptions(ModelOptions, ProvenanceOptions):
    """The options that decide which pairs a run makes."""

    steps: Annotated[
        str | None, Option(metavar="S|A-B", help="Target: how many searches a pair needs at least.  [2-4]")
    ] = None
    solve_rate: Annotated[
        str | None, Option(metavar="A-B", help="Target: the solve rate of a pair, such as 0.2-0.8.")
    ] = None
    policy: For = None
    operations: Annotated[
        str | None,
        Option(metavar="NAME[,NAME]", help="How to compute answers: extreme, ratio, list, yes_no and so on."),
    ] = None
    seed: Annotated[int | None, Option(min=0, help="Random seed.  [0]")] = None
    retriever: Engine = None
    strategy: Annotated[
        str | None,
        Option(
            metavar="NAME[:WEIGHT,…]",
            help="compose: a writer turns an evidence graph into a question; sage: an agent searches; ragshaper: a "
            f"tree is explored.  [{RunConfig.model_fields['strategy'].default}]",
        ),
    ] = None
    like: Annotated[
        Path | None,
        Option(metavar="FILE", help="Up to 50 questions of your users (.txt, .jsonl); compose asks such questions."),
    ] = None
    persona: Annotated[
        str | None, Option(metavar="TEXT", help="Who asks, for the writer of compose: 'a nurse on a night shift'.")
    ] = None
    preset: Annotated[
        str | None, Option(help="default; sage: the loop of its paper; ragshaper: the tree of its paper.")
    ] = None


@dataclass(kw_only=True)
class RunOptions(PairOptions):
    """The options of a run: its pairs, its folder, and its limits."""

    out: Out = None
    verify: Verify = None
    allow_removal: AllowRemoval = None
    max_seeds: MaxSeeds = None
    concurrency: Annotated[
        int | None, Option(min=1, help="Seeds in progress at once.  [enough to keep models busy]")
    ] = None
    budget_tokens: BudgetTokens = None
    budget_money: BudgetMoney = None
    budget_seconds: BudgetSeconds = None


_SECTIONS = {
    "": "preset strategy steps solve_rate policy operations seed",
    "corpus.": "text_field title_field id_field language licence attribution as_of chunks",
    "runtime.": "pairs new_pairs seeds max_seeds concurrency budget_tokens budget_money budget_seconds engine address "
    "workers out verify allow_removal",
}
KEYS = {name: f"{section}{name}" for section, names in _SECTIONS.items() for name in names.split()} | {
    "corpus": "corpus.name",
    "retriever": "retrieval.retriever",
    "model": "models.default",
    "base_url": "models.default.base_urls",
    "wait": "runtime.wait_seconds",
    "rollouts": "loop.rollouts",
    "against": "gates.against",
    "like": "questions.like",
    "persona": "questions.persona",
}
"""Setting by option name."""


def build_config(options: dict[str, Any], *, file: Path | None = None, sets: list[str] | None = None) -> RunConfig:
    """Build the configuration from options; an option whose value is None changes nothing."""
    tree: dict[str, Any] = {}
    for option, value in options.items():
        if value is not None:
            parsed = _PARSERS[option](value) if option in _PARSERS else value
            tree = toml.merge(tree, toml.nest(KEYS[option], parsed))
    config = build(file=file, values=tree, sets=sets or [])
    addresses = [model.base_urls for model in config.models.all() if model.provider == "openai"]
    if options.get("base_url") and config.models.default.base_urls not in addresses:
        raise UsageError("no model is asked at --base-url: add --model openai:NAME, with the model's name there")
    return config


def build_gates_and_sft(command: str, before: dict[str, Any], sets: list[str]) -> tuple[GateConfig, SftConfig]:
    """Apply `--set` to the gates and the selection of rollouts. Raise UsageError for any other setting."""
    if wrong := next((text for text in sets if not text.strip().startswith(("gates.", "sft."))), None):
        allowed = "only gates and sft, such as gates.solve_rate=[0.2,0.8] or sft.per_pair=4"
        raise UsageError(f"{command} can set {allowed}, not '{wrong}'")
    config = build(values=before, sets=sets)
    return config.gates, config.sft


def parse_model(text: str) -> dict[str, str]:
    """Return the settings of `embedded`, `gguf:FILE`, or `openai:NAME` for any server that speaks OpenAI's protocol."""
    if built_in(text.strip()):
        return {"provider": BUILT_IN, "model": text.strip()}
    provider, _, name = text.strip().partition(":")
    if provider == "gguf" and name:
        return {"provider": provider, "file": name}
    if provider not in PROVIDERS or provider == BUILT_IN or not name:
        raise UsageError(f"no model '{text}'; known: embedded, openai:NAME with --base-url URL, or gguf:FILE")
    return {"provider": provider, "model": name}


def absolute_paths(paths: list[Path]) -> list[str]:
    # `resume` may be called from another folder.
    return [str(path.expanduser().resolve()) for path in paths]


def example_questions(path: Path) -> list[str]:
    """Return the questions of a file. Raise UsageError if it is unreadable, empty or too long."""
    from pipeline.gates.benchmarks import question_list

    questions = [" ".join(row.question.split()) for row in question_list.read(path.expanduser())]
    if not 1 <= len(questions) <= MOST_EXAMPLES:
        raise UsageError(f"{path} has {len(questions)} questions; --like takes 1 to {MOST_EXAMPLES}")
    return questions


def split_names(texts: list[str] | None) -> tuple[str, ...]:
    """Return the names in a repeatable option with values such as `a,b`."""
    return tuple(name.strip() for text in texts or () for name in text.split(",") if name.strip())


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "model": parse_model,
    "against": absolute_paths,
    "like": example_questions,
}

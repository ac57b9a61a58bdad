"""The options of the command line, each declared once, and the setting that each of them sets.

A command that takes a configuration is a dataclass made of the groups below: typer reads its fields as options, makes
one from the command line, and `app` calls it. An option that is not given is None and changes nothing, so that the
TOML file and the preset count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from pipeline.config import RunConfig, build, toml
from pipeline.config.gates import GateConfig
from pipeline.config.providers import BUILT_IN, PROVIDERS, built_in
from pipeline.config.questions import MOST_EXAMPLES
from pipeline.config.sft_settings import SftConfig
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
    Option("--for", metavar="NAME", help="The model to be trained that pairs are for.  [the run's own solver]"),
]
BudgetTokens = Annotated[int | None, Option(min=1, help="Stop (exit 3) when this many tokens are paid for.")]
BudgetMoney = Annotated[
    float | None, Option(help="Stop (exit 3) when this much is spent; needs models.default.prices.")
]
BudgetSeconds = Annotated[float | None, Option(help="Stop (exit 3) after this many seconds.")]
Config = Annotated[Path | None, Option(help="A TOML file of settings.")]
Sets = Annotated[list[str] | None, Option("--set", metavar="A.B=C", help="Any setting. Repeatable.")]
Out = Annotated[Path | None, Option(file_okay=False, help="The folder of all runs.  [outputs]")]
Against = Annotated[
    list[Path] | None,
    Option(metavar="FILE", help="Benchmark questions (.jsonl, .txt) that no pair may resemble. Repeatable."),
]
Seeder = Annotated[
    str | None,
    Option("--engine", metavar="local|dask|ray", help="Who runs the seeds: this process, or workers.  [local]"),
]
Address = Annotated[
    str | None, Option(metavar="URL", help="A Dask or Ray cluster that runs already.  [workers are started here]")
]
Workers = Annotated[
    int | None,
    Option(min=1, help="Processes for dask or ray; they share the limits of endpoints and the budgets.  [2]"),
]
Json = Annotated[bool, Option("--json", help="Print JSON on stdout and everything else on stderr.")]
Verify = Annotated[
    bool | None,
    Option("--verify", help="Read the corpus again even if size, time and name of its files are as they were."),
]
NoFlow = Annotated[bool, Option("--no-flow", help="Run without Prefect: some seconds faster, the same bytes.")]
Run = Annotated[str, Argument(metavar="RUN", help="A run's folder, or wiki/latest, wiki, latest, its digest.")]


@dataclass(kw_only=True)
class CorpusOptions:
    """A corpus, and the names of its fields and its language where it is a path."""

    corpus: Annotated[str, Argument(metavar="CORPUS", help="A known name, or the path of a file or folder.")]
    text_field: Annotated[str | None, Option(help="Field of the text, for a CORPUS that is a path.  [text]")] = None
    title_field: Annotated[str | None, Option(help="Field of the title.  [title]")] = None
    id_field: Annotated[str | None, Option(help="Field of the id.  [id]")] = None
    language: Annotated[
        str | None, Option(metavar="CODE", help="Language of a CORPUS that is a path, such as en.  [detected]")
    ] = None

    def settings(self, **fixed: Any) -> RunConfig:
        """The configuration that the options give, with `fixed` values for some of them."""
        given = {**vars(self), **fixed}
        named = {name: value for name, value in given.items() if name in KEYS}
        return settings(named, file=given.get("config"), sets=given.get("sets"))


@dataclass(kw_only=True)
class ProvenanceOptions(CorpusOptions):
    """What every record states of a corpus that is a path."""

    licence: Annotated[str | None, Option(metavar="SPDX", help="Its licence, such as CC-BY-4.0.  [unknown]")] = None
    attribution: Annotated[str | None, Option(metavar="TEXT", help="Whom to credit for it.  [unknown]")] = None
    as_of: Annotated[
        str | None, Option(metavar="DATE", help="When its texts were true: 2024, 2024-06 or a day.  [unknown]")
    ] = None


@dataclass(kw_only=True)
class ModelOptions:
    """The models, and everything that has no option of its own."""

    model: Annotated[
        str | None,
        Option(
            metavar=MODELS,
            help="Model of every role that has none of its own; embedded: a demo, English prose only.  [embedded]",
        ),
    ] = None
    base_url: BaseUrl = None
    wait: Wait = None
    config: Config = None
    sets: Sets = None


@dataclass(kw_only=True)
class PairOptions(ModelOptions, ProvenanceOptions):
    """What determines the pairs of a run."""

    steps: Annotated[
        str | None, Option(metavar="S|A-B", help="Target: the least searches that a pair needs.  [2-4]")
    ] = None
    solve_rate: Annotated[
        str | None, Option(metavar="A-B", help="Target: the solve rate of a pair, such as 0.2-0.8.")
    ] = None
    policy: For = None
    operations: Annotated[
        str | None,
        Option(metavar="NAME[,NAME]", help="How answers may be computed: extreme, ratio, list, yes_no and so on."),
    ] = None
    seed: Annotated[int | None, Option(min=0, help="Random seed.  [0]")] = None
    retriever: Engine = None
    strategy: Annotated[
        str | None,
        Option(
            metavar="NAME[:WEIGHT,…]",
            help="compose: an evidence graph that a writer words; sage: by searching; ragshaper: from a tree.  "
            f"[{RunConfig.model_fields['strategy'].default}]",
        ),
    ] = None
    like: Annotated[
        Path | None,
        Option(metavar="FILE", help="Up to five questions (.txt, .jsonl) whose style the writer of compose follows."),
    ] = None
    preset: Annotated[
        str | None, Option(help="default; sage: the paper's own loop; ragshaper: the paper's own tree.")
    ] = None


@dataclass(kw_only=True)
class RunOptions(PairOptions):
    """A run: what it makes, where it is kept, and what ends it."""

    out: Out = None
    verify: Verify = None
    max_seeds: Annotated[int | None, Option(min=1, help="Give up after this many seeds (exit 3).  [10 a pair]")] = None
    concurrency: Annotated[
        int | None, Option(min=1, help="Seeds in progress at once.  [enough to keep models busy]")
    ] = None
    budget_tokens: BudgetTokens = None
    budget_money: BudgetMoney = None
    budget_seconds: BudgetSeconds = None


_SECTIONS = {
    "": "preset strategy steps solve_rate policy operations seed",
    "corpus.": "text_field title_field id_field language licence attribution as_of",
    "how.": "pairs seeds max_seeds concurrency budget_tokens budget_money budget_seconds engine address workers out "
    "verify",
}
KEYS = {name: f"{section}{name}" for section, names in _SECTIONS.items() for name in names.split()} | {
    "corpus": "corpus.name",
    "retriever": "retrieval.retriever",
    "model": "models.default",
    "base_url": "models.default.base_urls",
    "wait": "how.wait_seconds",
    "rollouts": "loop.rollouts",
    "against": "gates.against",
    "like": "questions.like",
}
"""The setting that an option sets, by the option's name."""


def settings(given: dict[str, Any], *, file: Path | None = None, sets: list[str] | None = None) -> RunConfig:
    """The configuration that options give; those in `given` that are None were not given."""
    tree: dict[str, Any] = {}
    for option, value in given.items():
        if value is not None:
            tree = toml.merged(tree, toml.nested(KEYS[option], _READ[option](value) if option in _READ else value))
    config = build(file=file, values=tree, sets=sets or [])
    asked = [one.base_urls for one in config.models.all() if one.provider == "openai"]
    if given.get("base_url") and config.models.default.base_urls not in asked:
        raise UsageError("no model is asked at --base-url: add --model openai:NAME, with the model's name there")
    return config


def gates_and_sft(command: str, before: dict[str, Any], sets: list[str]) -> tuple[GateConfig, SftConfig]:
    """The gates and the selection of rollouts that were before, with `--set` on top. Raises UsageError for a setting of
    anything else."""
    if wrong := next((one for one in sets if not one.strip().startswith(("gates.", "sft."))), None):
        known = "gates and sft alone, such as gates.solve_rate=[0.2,0.8] or sft.per_pair=4"
        raise UsageError(f"{command} can set {known}, not '{wrong}'")
    found = build(values=before, sets=sets)
    return found.gates, found.sft


def model(text: str) -> dict[str, str]:
    """The settings of `embedded`, `gguf:FILE`, or `openai:NAME` for every server that speaks OpenAI's protocol."""
    if built_in(text.strip()):
        return {"provider": BUILT_IN, "model": text.strip()}
    provider, _, name = text.strip().partition(":")
    if provider == "gguf" and name:
        return {"provider": provider, "file": name}
    if provider not in PROVIDERS or provider == BUILT_IN or not name:
        raise UsageError(f"no model '{text}'; known: embedded, openai:NAME with --base-url URL, or gguf:FILE")
    return {"provider": provider, "model": name}


def against(paths: list[Path]) -> list[str]:
    """Absolute paths: `resume` may be called from another folder."""
    return [str(path.expanduser().resolve()) for path in paths]


def example_questions(path: Path) -> list[str]:
    """Return the questions of a file. Raises UsageError if it cannot be read, or holds none or too many."""
    from pipeline.gates.benchmarks import question_list

    questions = [" ".join(row.question.split()) for row in question_list.read(path.expanduser())]
    if not 1 <= len(questions) <= MOST_EXAMPLES:
        raise UsageError(f"{path} holds {len(questions)} questions; --like takes 1 to {MOST_EXAMPLES} of them")
    return questions


def parts(given: list[str] | None) -> tuple[str, ...]:
    """`a,b` and repeated options alike."""
    return tuple(part.strip() for text in given or () for part in text.split(",") if part.strip())


_READ: dict[str, Callable[[Any], Any]] = {"model": model, "against": against, "like": example_questions}

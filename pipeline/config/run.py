"""The configuration of a run: one typed tree of settings, read from TOML files and `a.b=c` options.

Settings that say *what* a run makes are part of its digest: another value gives another data set, in another folder.
Settings that say *how* it is made (number of pairs, concurrency, folders, timeouts) are not, and may change between two
commands that continue the same run.
"""

import re
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import Field, field_validator, model_validator

from pipeline import prompts
from pipeline.config.exports import GateConfig, RefreshConfig, SftConfig
from pipeline.config.loop import (
    LINKED,
    MOST_STEPS,
    MOST_TRIES,
    SHORTEST_CHAIN,
    AgentLimits,
    AuthorLimits,
    ChecksConfig,
    DifficultyConfig,
    DistractorConfig,
    EnvironmentConfig,
    LoopConfig,
    Operations,
    QuestionsConfig,
    StrategyMix,
    TeacherConfig,
    TreeConfig,
    default_operations,
    reader_checks,
    strategy_weights,
)
from pipeline.config.models import ModelConfig, Models
from pipeline.config.retrieval import LinksConfig, RetrievalConfig, links_code
from pipeline.config.runtime import MOST_SEEDS, Runtime
from pipeline.operations import operation
from pipeline.types import AnswerType, AsOf, Data, TargetRange, sha256
from pipeline.types.distractor import Kind

ADDRESSED = re.compile(r"(hf|lucene):(.*)", re.DOTALL)
"""A corpus with an explicit reader, and that reader's address."""
_FORMAT = re.compile(r"\.(?:jsonl|ndjson|json|csv|tsv|parquet)(?:\.(?:gz|bz2|zst|xz))?$", re.IGNORECASE)


def identity(name_or_path: str) -> str:
    """Return the last part of the path without its format, so that moving or compressing a corpus changes nothing."""
    return _FORMAT.sub("", _last_part(name_or_path))


def slug(name_or_path: str) -> str:
    """Return a folder name: the last part of the path up to the first dot or `@`, in lower-case letters."""
    stem = re.split(r"[.@]", _last_part(name_or_path))[0]
    return re.sub(r"[^a-z0-9_-]+", "-", stem.lower()).strip("-_")[:64] or "corpus"


def _last_part(name_or_path: str) -> str:
    return Path(ADDRESSED.sub(r"\2", name_or_path)).name


def may_ask(prompt: str, config: "RunConfig") -> bool:
    """Return whether the run may use a prompt, so that a new prompt of an optional feature changes no other run."""
    strategies = {*prompt.removesuffix("_in_band").split("/")} & {*LINKED}
    if not strategies <= config.strategies.keys():
        return False
    if prompt in prompts.HARDENING and not config.hardens:
        return False
    if prompt in prompts.IN_BAND.values():
        return config.solve_rate is not None
    if prompt.startswith("seeker/"):
        return config.difficulty.adversarial
    if prompt.startswith("twin/"):
        return config.questions.unanswerable > 0
    if prompt.startswith("hard_passage/"):
        return prompt.removeprefix("hard_passage/") in config.distractors.kinds
    kind = prompt.removeprefix("distractor/")
    return kind == prompt or kind in (*Kind, *config.distractors.kinds)


LOCAL_SEEDS = 8
"""Seeds that run at once if no model is at an endpoint."""


Chunks = Literal["split", "as-is"]
"""Whether the texts of a corpus are cut into passages."""


class CorpusConfig(Data):
    """The corpus, and the names of its fields if it has no manifest."""

    name: str = "wiki"
    """Name of a manifest, path of a file or folder, or a reader with its source: `hf:ORG/NAME`, `lucene:PATH`."""
    text_field: str = "text"
    """Field of a row that contains its text."""
    title_field: str = "title"
    """Field of a row that contains its title."""
    id_field: str = "id"
    """Field of a row that contains its id. A row without an id gets one from its file and line."""
    language: str | None = None
    """Language of the texts, such as `en`. If left out, it is detected. This setting and the next three apply only to a
    corpus that is a path. Every record contains them, so another value makes another run."""
    licence: str | None = None
    """Licence of the texts, as an SPDX expression."""
    attribution: str | None = None
    """Whom to credit for the texts."""
    as_of: AsOf | None = None
    """Date of the texts: the year, month or day whose state of the world they describe."""
    chunks: Chunks | None = None
    """`split`: texts are cut into passages of about 100 words. `as-is`: each row or file is one passage, for texts that
    your own search system has cut already. If left out: as `corpus.toml` says, else `split`."""

    @property
    def identity(self) -> str:
        """Return the last part of a path, without its format, for the digest. The texts have their own fingerprint."""
        return identity(self.name)


class RunConfig(Data):
    """The whole configuration of a run."""

    preset: str = "default"
    """Set of values to start from: `default`, `sage` or `ragshaper`. Other settings override it."""
    corpus: CorpusConfig = CorpusConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    links: LinksConfig = LinksConfig()
    models: Models = Models()
    strategy: StrategyMix = "compose"
    """How drafts are made. `compose` plans an evidence graph, and a writer turns it into a question. `sage` searches
    from a passage. `ragshaper` explores an information tree. With weights, such as `compose:2,sage:1`, each seed draws
    one of them."""
    seed: int = Field(0, ge=0)
    """Random seed. The same value gives the same seeds, targets and samples."""
    steps: tuple[int, int] = (2, 4)
    """Target: smallest and largest number of steps that a question should take. Each seed draws its own target in this
    range. With `difficulty.adversarial`, every pair with at least the smallest number is accepted."""
    solve_rate: tuple[float, float] | None = None
    """Target: lowest and highest solve rate of a pair for `policy`, in addition to `steps`. If left out, any solve rate
    is accepted."""
    policy: str = ""
    """Name in `models.policies` of the model that will be trained on the pairs. Also sets `gates.policy`. If empty, the
    run's own solver."""
    steps_required: bool = True
    """Whether a pair must take its target number of steps. If false, only `solve_rate` is a target, and `steps` merely
    guides the generator. If left out: false if `solve_rate` is set without `steps`, otherwise true."""
    operations: Operations = Field(default_factory=default_operations)
    """Operations that may compute answers: `count`, `difference`, `extreme`, `filter`, `intersect`, `list`, `product`,
    `ratio`, `sum`, `yes_no`. If empty, every answer is stated in a passage."""
    questions: QuestionsConfig = QuestionsConfig()
    loop: LoopConfig = LoopConfig()
    checks: ChecksConfig = ChecksConfig()
    difficulty: DifficultyConfig = DifficultyConfig()
    tree: TreeConfig = TreeConfig()
    teacher: TeacherConfig = TeacherConfig()
    distractors: DistractorConfig = DistractorConfig()
    generator: AuthorLimits = AuthorLimits(searches=80, turns=48, tokens=400_000, calls_per_turn=16)
    solver: AgentLimits = AgentLimits(searches=12, turns=16)
    environment: EnvironmentConfig = EnvironmentConfig()
    gates: GateConfig = GateConfig()
    """Which accepted pairs count. Not part of the digest, because gates run after the journal is written."""
    sft: SftConfig = SftConfig()
    """Which rollouts the views train on. Not part of the digest, like the gates."""
    refresh: RefreshConfig = RefreshConfig()
    runtime: Runtime = Runtime()

    @field_validator("steps", mode="before")
    @classmethod
    def _parse_steps(cls, value: Any) -> tuple[int, int]:
        """Parse `3`, `"2-5"` or `[2, 5]`."""
        text = "-".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        match = re.fullmatch(r"(\d{1,3})(?:-(\d{1,3}))?", text.strip())
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= low <= high <= MOST_STEPS:
            raise ValueError(f"takes N or A-B between 1 and 20, such as 3 or 2-4, not '{text}'")
        return low, high

    @field_validator("solve_rate", mode="before")
    @classmethod
    def _parse_solve_rate(cls, value: Any) -> tuple[float, float] | None:
        """Parse `"0.2-0.8"` or `[0.2, 0.8]`."""
        if value is None:
            return None
        text = "-".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)-(\d+(?:\.\d+)?|\.\d+)", text.strip())
        low, high = (float(match[1]), float(match[2])) if match else (1.0, 0.0)
        if not 0 <= low <= high <= 1:
            raise ValueError(f"takes A-B between 0 and 1, such as 0.2-0.8, not '{text}'")
        return low, high

    @model_validator(mode="after")
    def _check_consistency(self) -> "RunConfig":
        if self.policy and self.policy not in self.models.policies:
            names = ", ".join(self.models.policies) or "none; name one in [models.policies.NAME]"
            raise ValueError(f"no policy '{self.policy}', as --for names it; known: {names}")
        if self.solve_rate is None and not self.steps_required:
            raise ValueError("steps_required = false needs a solve_rate, such as 0.2-0.8: nothing else is a target")
        if (self.questions.like or self.questions.persona) and "compose" not in self.strategies:
            raise ValueError("questions.like and persona are for the strategy compose: add --strategy compose")
        if self.band:
            self.band.check(MOST_TRIES)
        return self

    @property
    def aims(self) -> dict[int, int]:
        """Return how often a seed gets each target, by number of steps."""
        # Questions of a real model take fewer steps than it aims at, so it aims one step higher; each further unnamed
        # thing makes a question harder to read, so low aims are more frequent. Chains of two steps are an exception:
        # most take two steps. The demo model makes exactly what it aims at, and questions to harden have no aim.
        falls_short = self.models.of("generator").capabilities.understands and not self.hardens
        moves_up = falls_short and self.accepts_by_range
        low, high = (min(step + moves_up, MOST_STEPS) for step in self.steps)
        weights = {step: high - step + 1 if moves_up else 1 for step in range(low, high + 1)}
        if moves_up and self.steps[0] == SHORTEST_CHAIN:
            weights = {SHORTEST_CHAIN: 2} | weights
        return self.difficulty.aims or weights

    @property
    def band(self) -> TargetRange | None:
        return TargetRange(*self.solve_rate, self.loop.rollouts) if self.solve_rate else None

    @property
    def policy_model(self) -> ModelConfig:
        """Return the model that will be trained on the pairs, or the solver."""
        return self.models.policies[self.policy] if self.policy else self.models.of("solver")

    @property
    def uses_links(self) -> bool:
        if self.hardens:
            return self.models.of("refiner").capabilities.understands and self.loop.refiner_searches
        return not self.strategies.keys().isdisjoint(LINKED)

    @property
    def strategies(self) -> dict[str, int]:
        return strategy_weights(self.strategy)

    @property
    def hardens(self) -> bool:
        """Return whether the run starts from questions in a file of the user."""
        return bool(self.questions.file)

    def answer_notes(self) -> tuple[str, ...]:
        """Return the names of the prompt notes about answers that are not a short span."""
        types = {kind for name in self.operations for kind in operation(name).answer_types}
        return tuple(f"{kind.value}/_answer" for kind in AnswerType if kind in types and not kind.plain)

    def solver_notes(self) -> tuple[str, ...]:
        return (*self.answer_notes(), *self.environment.notes)

    def checks_enabled(self) -> tuple[str, ...]:
        if self.checks.enabled is not None:
            return self.checks.enabled
        if self.models.of("reader").capabilities.understands:
            return reader_checks()
        # The demo model reads as well as the demo solver does, so it cannot judge what a better solver would find.
        return () if self.models.of("solver").capabilities.understands else ("oracle",)

    @property
    def accepts_by_range(self) -> bool:
        """Return whether a pair is accepted if its measured steps reach the range, whatever its seed aimed at."""
        return self.difficulty.adversarial and self.steps_required

    def digest_input(self) -> dict[str, Any]:
        """Return the settings that are part of the run's digest, with the digests of all prompts."""
        untargeted = {"policy"} if self.solve_rate is None else set()
        tree = self.model_dump(
            mode="json", exclude={"runtime", "gates", "sft", "refresh", "models", "links"} | untargeted
        )
        tree["corpus"] |= {"name": self.corpus.identity}
        tree["retrieval"] = self.retrieval.digest_input()
        if self.uses_links:
            tree["links"] = {**self.links.model_dump(mode="json"), "code": links_code()}
        tree["questions"] = self.questions.digest_input()
        tree["models"] = self.models.digest_input()
        tree["prompts"] = {name: prompts.load(name).digest for name in prompts.names() if may_ask(name, self)}
        notes = (*self.solver_notes(), *self.questions.notes)
        tree["prompts"] |= {name: sha256(prompts.note(name)) for name in notes}
        if (self.corpus.language or "en").partition("-")[0] not in ("en", "unknown"):
            tree["prompts"][prompts.WRITE_IN] = sha256(prompts.note(prompts.WRITE_IN))
        return tree

    def public_settings(self) -> dict[str, Any]:
        """Return the settings for a card or report, without the prompts. They contain no path, address or key."""
        return {name: value for name, value in self.digest_input().items() if name != "prompts"}

    def with_runtime(self, **changes: Any) -> "RunConfig":
        return self.model_copy(update={"runtime": self.runtime.model_copy(update=changes)})

    def seeds_at_work(self) -> int:
        """Return how many seeds run at once: more than the calls that the endpoints take, since some seeds search."""
        if self.runtime.concurrency is not None:
            return self.runtime.concurrency
        calls = sum({m.model: m.concurrency for m in self.models.all() if not m.built_in}.values())
        return min(calls + max(calls // 4, LOCAL_SEEDS), MOST_SEEDS) if calls else LOCAL_SEEDS

    def digest(self) -> str:
        return sha256(orjson.dumps(self.digest_input(), option=orjson.OPT_SORT_KEYS).decode())

    def corpus_slug(self) -> str:
        return slug(self.corpus.name)

    def folder(self) -> Path:
        return self.runtime.out / self.corpus_slug() / self.digest()[:12]

"""One typed tree of settings: TOML in, `a.b=c` on top, digest out.

*What* a run makes is digested: another value is another data set, in another folder. *How* it is made (pairs wanted,
concurrency, folders, time-outs) is not: it may change between two calls that continue the same run.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import Field, ValidationError, field_validator, model_validator

from pipeline import prompts
from pipeline.config import address, toml
from pipeline.config.config_errors import config_error
from pipeline.config.corpus_name import identity, slug
from pipeline.config.derived_limits import derive_limits
from pipeline.config.difficulty_settings import MOST_STEPS, DifficultyConfig
from pipeline.config.environment_settings import EnvironmentConfig
from pipeline.config.gates import GateConfig
from pipeline.config.limits import AgentLimits, AuthorLimits
from pipeline.config.links_settings import LinksConfig
from pipeline.config.links_settings import code as links_code
from pipeline.config.loop_settings import MOST_TRIES, ChecksConfig, LoopConfig, asked_checks
from pipeline.config.models import ModelConfig
from pipeline.config.presets import PRESETS
from pipeline.config.prompts_of_run import may_ask
from pipeline.config.questions import Operations, QuestionsConfig, offered_by_default
from pipeline.config.ragshaper_settings import DistractorConfig, TeacherConfig, TreeConfig
from pipeline.config.retrieval_settings import RetrievalConfig
from pipeline.config.roles import Models
from pipeline.config.runtime import MOST_SEEDS, Runtime
from pipeline.config.sft_settings import SftConfig
from pipeline.config.strategy_mix import LINKED, StrategyMix, strategy_weights
from pipeline.errors import UsageError as UsageError
from pipeline.errors import unknown
from pipeline.operations import operation
from pipeline.store.real_paths import real_root
from pipeline.types import PLAIN as PLAIN
from pipeline.types import AnswerType, AsOf, Data, TargetRange, sha256

LOCAL_SEEDS = 8
"""Seeds at work at once where no endpoint is asked."""


class CorpusConfig(Data):
    """Which corpus, and how its fields are called where no manifest says so."""

    name: str = "wiki"
    """A manifest's name, the path of a file or folder, or a reader and its source: `hf:ORG/NAME`,
    `lucene:PATH`."""
    text_field: str = "text"
    """The field of a row that holds its text."""
    title_field: str = "title"
    """The field of a row that holds its title."""
    id_field: str = "id"
    """The field of a row that holds its id; a row without one is named by its file and line."""
    language: str | None = None
    """Language of the texts, such as `en`; left out, it is detected. This setting and the next three apply to a
    corpus that is a path; every record states them, so another value is another run."""
    licence: str | None = None
    """The SPDX expression of the licence of the texts."""
    attribution: str | None = None
    """Whom to credit for the texts."""
    as_of: AsOf | None = None
    """The year, month or day whose state of the world the texts describe."""

    @property
    def identity(self) -> str:
        """What is digested: of a path its last part, wherever it stands and in whatever format. Its texts have a
        fingerprint of their own."""
        return identity(self.name)


class RunConfig(Data):
    """The whole configuration of a run."""

    preset: str = "default"
    """Settings to begin with: `default`, `sage` or `ragshaper`."""
    corpus: CorpusConfig = CorpusConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    links: LinksConfig = LinksConfig()
    models: Models = Models()
    strategy: StrategyMix = "compose"
    """How a draft is made: `compose` plans an evidence graph that a writer words, `sage` searches from a passage,
    `ragshaper` grows an information tree. Several with weights, such as `compose:2,sage:1`, are drawn seed by seed."""
    seed: int = Field(0, ge=0)
    """Random seed: the same one gives the same seeds, targets and samples."""
    steps: tuple[int, int] = (2, 4)
    """Least and greatest number of steps that is asked for; each seed draws its own target. With
    `difficulty.adversarial` a pair is accepted from the least number on, whatever its seed's target."""
    solve_rate: tuple[float, float] | None = None
    """Least and greatest solve rate of a pair for `policy`, a target beside `steps`; left out, the solve rate is no
    target."""
    policy: str = ""
    """Name in `models.policies` of the model that the pairs are made for; sets `gates.policy` too. Empty: the run's
    own solver."""
    steps_required: bool = True
    """Whether a pair must take its target of steps. If false, `solve_rate` alone is the target, and `steps` only
    guides the generator. Left out: false where `solve_rate` is given without `steps`, else true."""
    operations: Operations = Field(default_factory=offered_by_default)
    """Names of the operations that generators may compute answers with: `count`, `difference`, `extreme`, `filter`,
    `intersect`, `list`, `product`, `ratio`, `sum`, `yes_no`. Empty: every answer is stated in a passage."""
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
    """Which of the accepted pairs count. Not digested: gates stand behind the journal and change nothing in it."""
    sft: SftConfig = SftConfig()
    """Which rollouts the views train on. Not digested, as the gates."""
    how: Runtime = Runtime()

    @field_validator("steps", mode="before")
    @classmethod
    def _range(cls, given: Any) -> tuple[int, int]:
        """`3`, `"2-5"` or `[2, 5]`."""
        text = "-".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
        match = re.fullmatch(r"(\d{1,3})(?:-(\d{1,3}))?", text.strip())
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= low <= high <= MOST_STEPS:
            raise ValueError(f"takes N or A-B between 1 and 20, such as 3 or 2-4, not '{text}'")
        return low, high

    @field_validator("solve_rate", mode="before")
    @classmethod
    def _band(cls, given: Any) -> tuple[float, float] | None:
        """`"0.2-0.8"` or `[0.2, 0.8]`."""
        if given is None:
            return None
        text = "-".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
        match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)-(\d+(?:\.\d+)?|\.\d+)", text.strip())
        low, high = (float(match[1]), float(match[2])) if match else (1.0, 0.0)
        if not 0 <= low <= high <= 1:
            raise ValueError(f"takes A-B between 0 and 1, such as 0.2-0.8, not '{text}'")
        return low, high

    @model_validator(mode="after")
    def _possible(self) -> "RunConfig":
        if self.policy and self.policy not in self.models.policies:
            known = ", ".join(self.models.policies) or "none; name one in [models.policies.NAME]"
            raise ValueError(f"no policy '{self.policy}', as --for names it; known: {known}")
        if self.solve_rate is None and not self.steps_required:
            raise ValueError("steps_required = false needs a solve_rate, such as 0.2-0.8: nothing else is a target")
        if self.questions.like and "compose" not in self.strategies:
            raise ValueError("questions.like is for the writer of the strategy compose: add --strategy compose")
        if self.band:
            self.band.check(MOST_TRIES)
        return self

    @property
    def aims(self) -> dict[int, int]:
        """How often a seed is given each target."""
        # A generator by rules makes as many steps as it aims at. A question that somebody brings has no aim.
        falls_short = self.models.of("generator").capabilities.understands and not self.hardens
        moves_up = falls_short and self.difficulty.adversarial and self.steps_required
        low, high = (min(step + moves_up, MOST_STEPS) for step in self.steps)
        return self.difficulty.aims or dict.fromkeys(range(low, high + 1), 1)

    @property
    def band(self) -> TargetRange | None:
        """The target that is a solve rate."""
        return TargetRange(*self.solve_rate, self.loop.rollouts) if self.solve_rate else None

    @property
    def policy_model(self) -> ModelConfig:
        """The model that the pairs are for."""
        return self.models.policies[self.policy] if self.policy else self.models.of("solver")

    @property
    def uses_links(self) -> bool:
        """Whether generators are shown the links of the corpus."""
        if self.hardens:
            return self.models.of("refiner").capabilities.understands and self.loop.refiner_searches
        return not self.strategies.keys().isdisjoint(LINKED)

    @property
    def strategies(self) -> dict[str, int]:
        """The weight of each strategy, by name."""
        return strategy_weights(self.strategy)

    @property
    def hardens(self) -> bool:
        """Does it start from questions that somebody brings?"""
        return bool(self.questions.file)

    def answer_notes(self) -> tuple[str, ...]:
        """Return the names of the prompt notes about answers that are no short span."""
        types = {kind for name in self.operations for kind in operation(name).answer_types}
        return tuple(f"{kind.value}/_answer" for kind in AnswerType if kind in types and not kind.plain)

    def solver_notes(self) -> tuple[str, ...]:
        """What whoever answers by searching is told beside its prompt."""
        return (*self.answer_notes(), *self.environment.notes)

    def checks_run(self) -> tuple[str, ...]:
        if self.checks.run is not None:
            return self.checks.run
        if self.models.of("reader").capabilities.understands:
            return asked_checks()
        # Rules read what a solver by rules does: no judge of what better ones may.
        return () if self.models.of("solver").capabilities.understands else ("oracle",)

    def screened(self) -> int | None:
        """The rollouts of the screen; none where all K decide."""
        return min(self.loop.screen, self.loop.rollouts) if self.loop.confirm else None

    def digested(self) -> dict[str, Any]:
        """Return the digested part, with the digests of all prompts."""
        untargeted = {"policy"} if self.solve_rate is None else set()
        tree = self.model_dump(mode="json", exclude={"how", "gates", "sft", "models", "links"} | untargeted)
        tree["corpus"] |= {"name": self.corpus.identity}
        tree["retrieval"] = self.retrieval.digested()
        if self.uses_links:
            tree["links"] = {**self.links.model_dump(mode="json"), "code": links_code()}
        del tree["questions"]["file"]
        tree["models"] = self.models.digested()
        tree["prompts"] = {name: prompts.load(name).digest for name in prompts.names() if may_ask(name, self)}
        notes = self.solver_notes()
        tree["prompts"] |= {name: sha256(prompts.note(name)) for name in notes}
        if (self.corpus.language or "en").partition("-")[0] not in ("en", "unknown"):
            tree["prompts"][prompts.WRITE_IN] = sha256(prompts.note(prompts.WRITE_IN))
        return tree

    def shown(self) -> dict[str, Any]:
        """`what`, for a card or report that lists the prompts apart: it holds no path, address or key."""
        return {name: value for name, value in self.digested().items() if name != "prompts"}

    def with_how(self, **changes: Any) -> "RunConfig":
        """The same run, done in another way."""
        return self.model_copy(update={"how": self.how.model_copy(update=changes)})

    def seeds_at_work(self) -> int:
        """How many seeds are run at once: somewhat more than the endpoints take calls, since some only search."""
        if self.how.concurrency is not None:
            return self.how.concurrency
        calls = sum({m.model: m.concurrency for m in self.models.all() if not m.built_in}.values())
        return min(calls + max(calls // 4, LOCAL_SEEDS), MOST_SEEDS) if calls else LOCAL_SEEDS

    def digest(self) -> str:
        return sha256(orjson.dumps(self.digested(), option=orjson.OPT_SORT_KEYS).decode())

    def corpus_slug(self) -> str:
        """A folder name for the corpus: its name, or one made of the path."""
        return slug(self.corpus.name)

    def folder(self) -> Path:
        return self.how.out / self.corpus_slug() / self.digest()[:12]


def build(*, file: Path | None = None, values: dict[str, Any] | None = None, sets: Sequence[str] = ()) -> RunConfig:
    """The configuration of preset, TOML file, `values` (a nested tree) and `a.b=c` settings, later ones winning. The
    last three may name the preset.

    Raises UsageError, one line that names the key, on anything unknown or out of range.
    """
    tree: dict[str, Any] = {}
    for layer in (toml.read(file) if file is not None else {}, values or {}, *map(toml.parse_setting, sets)):
        # As lists, so that a later base_url takes the place of earlier base_urls.
        tree = toml.merge(tree, address.normalize_urls(layer))
    toml.check(tree)
    if isinstance(policy := tree.get("policy"), str) and policy:
        tree = toml.merge({"gates": {"policy": policy}}, tree)
    if tree.get("solve_rate") is not None and "steps" not in tree:
        tree = {"steps_required": False, **tree}
    given, preset = tree, tree.get("preset", "default")
    if preset not in PRESETS:
        raise unknown("preset", str(preset), PRESETS)
    # Each agent's limits have defaults of their own, so that one of them can be set without the others.
    limits = RunConfig().model_dump(mode="json", include={"generator", "solver"})
    tree = toml.merge(toml.merge(limits, PRESETS[preset]), {**tree, "preset": preset})
    try:
        config = derive_limits(RunConfig.model_validate(tree), given)
    except ValidationError as error:
        raise config_error(RunConfig, error.errors()[0]) from error
    return config.with_how(out=real_root(config.how.out))

"""The settings of how a question is made and measured: agents, strategies, loop, checks, seekers and distractors."""

import re
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from pipeline import registry
from pipeline.config.models import Models
from pipeline.errors import unknown
from pipeline.operations import operations
from pipeline.types import Data, sha256


class AgentLimits(Data):
    """The limits of one agent. Each of them has its own `Stop`."""

    searches: int = Field(ge=0)
    """Largest number of searches, finds and opened documents of one agent, including repeats. Then it must answer. If
    left out, searches, turns and tokens grow with targets above 4 steps."""
    turns: int = Field(ge=1)
    """Largest number of turns of the model in one conversation."""
    tokens: int = Field(200_000, ge=1)
    """Largest number of prompt and completion tokens over all turns."""
    calls_per_turn: int = Field(8, ge=1)
    """Number of tool calls that are run in one turn. Further ones get an error."""
    format_errors: int = Field(3, ge=1)
    """Number of unreadable answers in a row after which the agent stops."""


class AuthorLimits(AgentLimits):
    """The limits of generator, refiner and composer."""

    checks: int = Field(6, ge=0)
    """Number of drafts that a generator or refiner may have checked before it ends. These do not count as searches."""
    give_up_tokens: int = Field(40_000, ge=1)
    """Number of prompt tokens, without those that the server had cached, after which a conversation without a proposal
    is ended. It grows with the searches."""
    request_tokens: int = Field(32_000, ge=4096)
    """Largest request in tokens, even if the model's context allows more. Passages are cut to fit, the oldest first,
    and those that look like evidence last."""


class EnvironmentConfig(Data):
    """`[environment]`: tools beyond `search`, `open` and `answer`.

    `environment.json`, `digsite serve` and the views follow these settings.
    """

    pages: bool = False
    """Whether `open` takes a position to start at, so that all of a long document can be read. If false, it only shows
    the passages around one."""
    find: bool = False
    """Whether solver, policies and teacher have the tool `find`, which searches within one document. It returns as many
    passages as a search and counts as a search."""

    @property
    def notes(self) -> tuple[str, ...]:
        return ("solver/_find",) if self.find else ()


LINKED = ("compose",)
"""Strategies that use the links of the corpus and have their own prompts."""


def strategy_weights(strategies: str) -> dict[str, int]:
    """Return the weights by name, sorted. Raise ValueError for an invalid text."""
    weights: dict[str, int] = {}
    for part in sorted(text.strip() for text in strategies.split(",")):
        match = re.fullmatch(r"([^:,]+)(?::([1-9]\d{0,3}))?", part)
        if not match or match[1] in weights:
            raise ValueError(f"takes NAME, or several NAME:WEIGHT, such as compose:2,sage:1, not '{strategies}'")
        weights[match[1]] = int(match[2] or 1)
    return weights


def _normalise(strategies: str) -> str:
    """Sort the strategies, so that their order does not change the run."""
    weights = strategy_weights(strategies)
    return ",".join(f"{name}:{weight}" for name, weight in weights.items()) if len(weights) > 1 else next(iter(weights))


StrategyMix = Annotated[str, AfterValidator(_normalise)]


def draw_strategy(strategies: str, key: str) -> str:
    """Return the strategy of the seed with this key. A hash decides, so the order of seeds does not matter."""
    weights = strategy_weights(strategies)
    index = int(sha256(f"strategy:{key}")[:8], 16) * sum(weights.values()) >> 32
    return [name for name, weight in weights.items() for _ in range(weight)][index]


MOST_TRIES = 64


class LoopConfig(Data):
    """SAGE's loop (arXiv 2601.18202, Alg. 1 and 2), and the stages that Digsite adds to it."""

    rollouts: int = Field(4, ge=1, le=MOST_TRIES)
    """K: number of rollouts that measure a draft. If a solve rate is the target, K fresh ones, which had no part in
    choosing the draft, measure that rate."""
    rounds: int = Field(4, ge=0, le=8)
    """R: largest number of revisions of a draft. SAGE uses 2."""
    audit: bool = True
    """Review the graph and the wording of a draft before its first rollout."""
    early_stop: bool = True
    """Stop the rollouts of a draft at the first correct one. If that is not too short, seekers follow, and then the
    rest of K. SAGE makes all K at once."""
    refiner_searches: bool = True
    """Let the refiner search the corpus. In SAGE it only sees the traces."""
    feedback_rollouts: Literal["all", "one"] = "all"
    """Rollouts that the refiner sees: `all`, or `one` as in SAGE, which is the correct one with the fewest searches, or
    any with an answer."""
    last_round_relaxed: bool = False
    """Accept a draft of the last round if any rollout solved it, even below the target, as SAGE's post-filter does."""


_REMOVED = frozenset("clues complete_list end leave_one_out naturalness same_name seeker".split())
"""Checks of earlier versions."""


def reader_checks() -> tuple[str, ...]:
    """Return the names of the checks by readers, in the order in which they run."""
    return _sort_checks(tuple(registry.names("checks")))


@cache
def _sort_checks(names: tuple[str, ...]) -> tuple[str, ...]:
    places = {name: registry.load("checks", name).CHECK.place for name in names}
    return tuple(sorted(names, key=places.__getitem__))


def validate_check(name: str) -> str:
    if name in _REMOVED:
        raise ValueError(
            f"'{name}' was removed: every draft's graph and wording are reviewed; known: {', '.join(reader_checks())}"
        )
    if name not in reader_checks():
        raise ValueError(str(unknown("check by a reader", name, reader_checks())))
    return name


class ChecksConfig(Data):
    """`[checks]`: the checks of a draft that only a model can make."""

    enabled: tuple[Annotated[str, AfterValidator(validate_check)], ...] | None = None
    """The checks by readers, which run on drafts whose graph and wording have passed review. If left out, all of them
    with a real model, and only `oracle` with the demo model."""
    tries: int = Field(3, ge=1, le=32)
    """Number of attempts to answer from memory. A draft is sent back if every model in `models.policies` is right in
    most of them."""
    oracle_tries: int = Field(2, ge=1, le=32)
    """Largest number of attempts to answer with all the evidence in the prompt. One must succeed."""
    naturalness: int = Field(3, ge=1, le=5)
    """Lowest grade of a question's wording by the reader, from 1 to 5. 1 accepts every wording."""


SHORTEST_CHAIN, MOST_STEPS = 2, 20
Way = Literal["end", "clues", "guess", "free"]
Aim = Annotated[int, Field(ge=1, le=MOST_STEPS)]
WAYS: tuple[Way, ...] = get_args(Way)


def way_of(sample: int) -> Way:
    return WAYS[sample % len(WAYS)]


class DifficultyConfig(Data):
    """Seekers look for shortcuts to the answer of every question that the solver has solved."""

    adversarial: bool = True
    """Whether there are seekers. If true, every pair with at least the lower end of `steps` is accepted. If false, only
    the solver's steps count, and a pair must reach the target of its own seed, as in SAGE."""
    seekers: tuple[Way, ...] = Field(("clues", "guess"), min_length=1)
    """The ways in which seekers look for a shortcut, one try each: `end` begins at the pages that could state the
    answer, `clues` searches with several clues at once, `guess` guesses hidden things and checks the guesses, `free`
    chooses."""

    again: float = Field(0.1, ge=0, le=1)
    """Share of the accepted pairs that new seekers try again. Card and report say how many of them keep their number of
    steps."""
    aims: dict[Aim, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)
    """Number of steps that generators aim at, with weights, such as `{3 = 1, 4 = 2}`. If left out, the numbers in the
    range `steps` plus one, the lower ones more often, and 2 if the range begins there: `{2 = 2, 3 = 3, 4 = 2, 5 = 1}`
    for 2 to 4. Without `adversarial`, or with the demo model, the numbers in `steps` itself, all equally often.
    `digsite stats` shows which aims suit a corpus."""

    @field_validator("seekers")
    @classmethod
    def _sort(cls, ways: tuple[Way, ...]) -> tuple[Way, ...]:
        return tuple(way for way in WAYS if way in ways)


MOST_EXAMPLES = 50
"""Largest number of example questions. Each seed shows the few that are nearest to its passage."""
LIKE, PERSONA = "generator/_like", "writer/_persona"
"""Notes that are added to prompts if there are examples, or a person who asks."""


def default_operations() -> tuple[str, ...]:
    return tuple(name for name, operation in operations().items() if operation.is_offered)


def _parse_operations(value: Any) -> Any:
    """Return the sorted names in `"list,ratio"` or `["list", "ratio"]`. Raise ValueError for an unknown one."""
    names = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        return names
    if wrong := [name for name in names if name not in operations()]:
        raise ValueError(str(unknown("operation", str(wrong[0]), operations())))
    return tuple(sorted(dict.fromkeys(names)))


Operations = Annotated[tuple[str, ...], BeforeValidator(_parse_operations)]


class QuestionsConfig(Data):
    """`[questions]`: unanswerable twins, examples, the person who asks, and questions to harden."""

    unanswerable: float = Field(0.0, ge=0, le=1)
    """Share of the accepted pairs that get an unanswerable twin: the same question with one changed premise. 0 turns
    this off."""
    tries: int = Field(3, ge=1, le=16)
    """Largest number of changed premises to try for one pair until one passes all checks. The writer sees why the
    earlier ones were refused."""

    like: tuple[Annotated[str, Field(min_length=1, max_length=1000)], ...] = Field((), max_length=MOST_EXAMPLES)
    """Up to 50 questions of your users, for the strategy `compose`. Each seed shows the three that are nearest to its
    passage: to the generator for the kind of question, and to the writer for the style. `--like FILE` sets them."""
    persona: str = Field("", max_length=500)
    """Who asks the questions, such as "a nurse on a night shift who looks up a dose". Only the writer of the strategy
    `compose` sees it. `--persona TEXT` sets it."""
    file: str = ""
    """Your own questions to make harder, instead of seeds from passages: a path, or `hf:ORG/NAME`. `digsite harden`
    sets it. The content is part of the digest, not the path."""
    sha256: str = ""
    """Digest of the questions in `file`. `digsite harden` sets it."""

    def digest_input(self) -> dict[str, Any]:
        """Return the settings that are part of the run's digest; a missing persona leaves the digest as it was."""
        return self.model_dump(mode="json", exclude={"file"} if self.persona else {"file", "persona"})

    @property
    def notes(self) -> tuple[str, ...]:
        return (*([LIKE] if self.like else []), *([PERSONA] if self.persona else []))

    def twins(self, models: Models) -> float:
        """Return the share of pairs with a twin; 0 with the demo model, which cannot tell that a premise is false."""
        can_refuse = all(models.of(role).capabilities.understands for role in ("writer", "reader", "solver"))
        return self.unanswerable if can_refuse else 0.0


class TreeConfig(Data):
    """The curator's information tree (RAGShaper, arXiv 2601.08699, §3.1 and Fig. 11 to 12)."""

    depth: int = Field(20, ge=1, le=64)
    """Largest number of actions on one path of the tree. RAGShaper's 30 cost about 65 expansions per seed."""
    branching: float = Field(0.5, ge=0, le=1)
    """Probability that a node gets a second child."""
    branching_depth: int = Field(2, ge=0)
    """Number of levels that may branch. Below them, every path is a chain."""
    paths: int = Field(2, ge=1)
    """m: number of the best paths from which a question is composed."""
    hops: int = Field(2, ge=1)
    """Smallest number of dependent hops of a composed question, whatever its target. RAGShaper uses 3."""
    composer_searches: int = Field(12, ge=0)
    """Number of searches with which the composer may try out its question. RAGShaper's composer has none."""


class DistractorConfig(Data):
    """Misleading passages for every accepted pair.

    They are written (RAGShaper, arXiv 2601.08699, Table 1), altered, or taken from the corpus.
    """

    kinds: tuple[str, ...] = ()
    """Kinds of distractors, such as `doppelganger` or `hard_negative`. An empty list turns this off."""
    passages: int = Field(2, ge=1, le=16)
    """Largest number of distractors for one pair. The paper uses two. More would displace the evidence in the search
    results."""
    tries: int = Field(3, ge=1, le=32)
    """Largest number of attempts at one kind for the last hop until one passes all checks. The writer sees why the
    earlier ones were refused. For an earlier hop, a quarter as many."""
    hops: Literal["last", "any"] = "any"
    """Hops that a distractor may answer wrongly: only the `last`, or `any`, which uses earlier ones if the last hop has
    too few distractors."""
    rank: Literal["among", "above"] = "among"
    """Rank of a distractor in a search for its hop. `among`: in the first k passages. `above`: above the hop's evidence
    too."""
    keep_original: bool = False
    """Whether the original of an `altered` passage stays in the index of that question."""
    policies: bool = False
    """Whether every model in `models.policies` gets rollouts with the distractors too, to measure how much they harm
    it."""
    outright: bool = False
    """Let distractors state their claim without a limitation (another year, a part, a guess, an opinion), so that only
    the evidence shows that it is wrong."""
    rollouts: int = Field(4, ge=1, le=64)
    """Number of new rollouts of the solver without the distractors, and of as many with them."""


class TeacherConfig(Data):
    """Rollouts with injected distractors, to be imitated (RAGShaper, arXiv 2601.08699, §3.3 to 3.4)."""

    rollouts: int = Field(4, ge=0, le=64)
    """Number of teacher rollouts for every accepted pair that has distractors."""
    injected: int = Field(2, ge=1, le=16)
    """Number of distractors that are injected into the k passages of a search."""
    injected_again: float = Field(0.5, ge=0, le=1)
    """p_e: probability that a search after the first gets distractors if the search before it got none."""
    keep: Literal["correct", "f1"] = "correct"
    """Teacher rollouts that are kept for training: the `correct` ones or, as in the paper, those whose answer has a
    token F1 above 0.9 (`f1`)."""

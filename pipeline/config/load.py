"""Build a configuration from presets, files and options, and explain what is wrong with them in one line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from pipeline.config import endpoints, toml
from pipeline.config.run import RunConfig
from pipeline.errors import UsageError, in_words, unknown
from pipeline.store.real_paths import real_root

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # The paper's loop: without audit, checks, early stop and seekers; one rollout as feedback; a refiner that cannot
    # search.
    "sage": {
        "strategy": "sage",
        "loop": {
            "audit": False,
            "rounds": 2,
            "early_stop": False,
            "refiner_searches": False,
            "feedback_rollouts": "one",
            "last_round_relaxed": True,
        },
        "checks": {"enabled": ()},
        "difficulty": {"adversarial": False},
    },
    # The paper's tree, whose questions have at least three hops. The paper has no loop, so Digsite's is used.
    "ragshaper": {
        "strategy": "ragshaper",
        "steps": [3, 4],
        "tree": {"depth": 30, "hops": 3, "composer_searches": 0},
        "distractors": {"kinds": ["doppelganger", "false_shortcut", "fragmented_puzzle", "subjective_fallacy"]},
        "teacher": {"keep": "f1"},
        "difficulty": {"adversarial": False},
    },
}


_FORMER = {
    "checks.seeker_tries": "was removed, since nobody looks for shortcuts before the rollouts: leave it out",
    "loop.screen": "was removed, since the rollouts of a draft measure it too: leave it out",
    "loop.confirm": "was removed, since the rollouts of a draft measure it too: leave it out",
    "checks.run": "is now called 'checks.enabled'",
    "how": "is now called 'runtime'",
}
"""Settings of earlier versions, and what became of them."""


def config_error(model: Any, error: Any) -> UsageError:
    """Turn pydantic's first error about a tree of settings into one line."""
    *table, name = error["loc"] or [""]
    key = ".".join(str(part) for part in error["loc"] if part != "[key]")
    if error["type"] != "extra_forbidden":
        return UsageError(f"{key}: {in_words(error['msg'])}" if key else in_words(error["msg"]))
    if key in _FORMER:
        return UsageError(f"'{key}' {_FORMER[key]}")
    # A setting of this name in another table is a better guess than a similar name in this table.
    if same_name := [setting for setting in _all_settings(model) if setting.split(".")[-1] == name]:
        return UsageError(f"no setting '{key}'; did you mean '{same_name[0]}'?")
    return unknown("setting", name, _names_at(model, table), prefix="".join(f"{part}." for part in table))


def _all_settings(model: Any, prefix: str = "") -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        subtable = _table(field.annotation)
        names += _all_settings(subtable, f"{prefix}{name}.") if subtable else [f"{prefix}{name}"]
    return names


def _names_at(model: Any, path: Sequence[str | int]) -> list[str]:
    for part in path:
        if part in model.model_fields:  # otherwise it is a name that the user chose
            annotation = model.model_fields[part].annotation
            model = _table(annotation) or annotation
    return sorted(model.model_fields)


def _table(annotation: Any) -> Any:
    """Return the class of the table that an annotation allows, or None."""
    types = (annotation, *(inner for part in get_args(annotation) for inner in (part, *get_args(part))))
    return next((type_ for type_ in types if hasattr(type_, "model_fields")), None)


AUTHORS = ("generator", "refiner", "curator")
DETOURS = 4
"""Searches in addition to two for each step of the target, and turns in addition to one for each search."""
_AUTHOR_LIMITS = ("searches", "turns", "calls_per_turn", "request_tokens", "give_up_tokens")
DEFAULT_SEARCHES = 12
"""Searches that the default limits are made for, enough for a target of up to four steps."""


def derive_limits(config: RunConfig, user_tree: dict[str, Any]) -> RunConfig:
    """Raise the limits that the user did not set, so that the largest target and the longest answers are possible.

    Args:
        user_tree: the settings that the user set.

    Raises:
        UsageError: the limits that the user set make the target impossible.
    """
    return _raise_token_limits(_fit_target(config, user_tree), user_tree)


def _fit_target(config: RunConfig, user_tree: dict[str, Any]) -> RunConfig:
    limits, author = config.solver, config.generator
    most_steps = max((config.steps[1], *config.difficulty.aims))
    searches = 2 * most_steps + DETOURS
    if searches > DEFAULT_SEARCHES:
        # Each turn sends the results of all earlier searches again, so tokens grow with the square of the searches.
        growth = {
            "searches": searches,
            "turns": searches + DETOURS,
            "tokens": limits.tokens * searches**2 // DEFAULT_SEARCHES**2,
        }
        limits = limits.model_copy(update=_unless_set(growth, user_tree, "solver"))
        growth = {name: getattr(author, name) * searches // DEFAULT_SEARCHES for name in _AUTHOR_LIMITS}
        growth["tokens"] = author.tokens * searches**2 // DEFAULT_SEARCHES**2
        author = author.model_copy(update=_unless_set(growth, user_tree, "generator"))
    for name, possible in (("searches", limits.searches), ("turns", limits.turns * limits.calls_per_turn - 1)):
        if possible < most_steps and config.steps_required:
            raise UsageError(
                f"solver.{name} = {getattr(limits, name)} is too low for {most_steps} steps: "
                f"leave solver.{name} out, so that it follows the target, or ask for at most {possible} with --steps"
            )
    return config.model_copy(update={"solver": limits, "generator": author})


def _unless_set(limits: dict[str, int], user_tree: dict[str, Any], agent: str) -> dict[str, int]:
    return {name: limit for name, limit in limits.items() if name not in user_tree.get(agent, {})}


def _raise_token_limits(config: RunConfig, user_tree: dict[str, Any]) -> RunConfig:
    changes: dict[str, Any] = {}
    solvers = [*map(config.models.of, ("solver", "teacher")), *config.models.policies.values()]
    for agent, agent_models in (("solver", solvers), ("generator", map(config.models.of, AUTHORS))):
        limits, models = getattr(config, agent), [model for model in agent_models if model.capabilities.limited]
        longest = limits.turns * max((model.sampling.max_tokens for model in models), default=0)
        if longest > limits.tokens and "tokens" not in user_tree.get(agent, {}):
            tokens = limits.turns * max(model.context for model in models)
            changes[agent] = limits.model_copy(update={"tokens": tokens})
    return config.model_copy(update=changes)


def build(*, file: Path | None = None, values: dict[str, Any] | None = None, sets: Sequence[str] = ()) -> RunConfig:
    """Build a configuration from a preset, a TOML file, `values` (a nested tree) and `a.b=c` settings. The last wins.

    Any of the last three may name the preset.

    Raises:
        UsageError: a setting is unknown or out of range.
    """
    tree: dict[str, Any] = {}
    for layer in (toml.read(file) if file is not None else {}, values or {}, *map(toml.parse_setting, sets)):
        # A later base_url must replace earlier base_urls.
        tree = toml.merge(tree, endpoints.normalize_urls(layer))
    toml.check(tree)
    if isinstance(policy := tree.get("policy"), str) and policy:
        tree = toml.merge({"gates": {"policy": policy}}, tree)
    if tree.get("solve_rate") is not None and "steps" not in tree:
        tree = {"steps_required": False, **tree}
    user_tree, preset = tree, tree.get("preset", "default")
    if preset not in PRESETS:
        raise unknown("preset", str(preset), PRESETS)
    # A table with one limit of an agent is merged with that agent's defaults, which differ from those of the class.
    limits = RunConfig().model_dump(mode="json", include={"generator", "solver"})
    tree = toml.merge(toml.merge(limits, PRESETS[preset]), {**tree, "preset": preset})
    try:
        config = derive_limits(RunConfig.model_validate(tree), user_tree)
    except ValidationError as error:
        raise config_error(RunConfig, error.errors()[0]) from error
    return config.with_runtime(out=real_root(config.runtime.out))

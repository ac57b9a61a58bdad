"""Default limits of agents, derived from the target of a run and the longest answers of its models."""

from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.config import RunConfig


AUTHORS = ("generator", "refiner", "curator")
DETOURS = 4
"""Searches in addition to two for each step of the target, and turns in addition to one for each search."""
_AUTHOR_LIMITS = ("searches", "turns", "calls_per_turn", "request_tokens", "give_up_tokens")
DEFAULT_SEARCHES = 12
"""Searches that the default limits are made for, enough for a target of up to four steps."""


def derive_limits(config: "RunConfig", user_tree: dict[str, Any]) -> "RunConfig":
    """Raise the limits that the user did not set, so that the largest target and the longest answers are possible.

    Args:
        user_tree: the settings that the user set.

    Raises:
        UsageError: the limits that the user set make the target impossible.
    """
    return _fit_answers(_fit_target(config, user_tree), user_tree)


def _fit_target(config: "RunConfig", user_tree: dict[str, Any]) -> "RunConfig":
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
                f"no question can take {most_steps} steps with solver.{name} = {getattr(limits, name)}: "
                f"leave solver.{name} out, and it follows the target, or ask for at most {possible} with --steps"
            )
    return config.model_copy(update={"solver": limits, "generator": author})


def _unless_set(limits: dict[str, int], user_tree: dict[str, Any], agent: str) -> dict[str, int]:
    return {name: limit for name, limit in limits.items() if name not in user_tree.get(agent, {})}


def _fit_answers(config: "RunConfig", user_tree: dict[str, Any]) -> "RunConfig":
    changes: dict[str, Any] = {}
    solvers = [*map(config.models.of, ("solver", "teacher")), *config.models.policies.values()]
    for agent, agent_models in (("solver", solvers), ("generator", map(config.models.of, AUTHORS))):
        limits, models = getattr(config, agent), [model for model in agent_models if model.capabilities.limited]
        longest = limits.turns * max((model.sampling.max_tokens for model in models), default=0)
        if longest > limits.tokens and "tokens" not in user_tree.get(agent, {}):
            tokens = limits.turns * max(model.context for model in models)
            changes[agent] = limits.model_copy(update={"tokens": tokens})
    return config.model_copy(update=changes)

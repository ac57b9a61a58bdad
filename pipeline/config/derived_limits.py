"""Limits that follow from the target of a run and from how long its models may think."""

from typing import TYPE_CHECKING, Any

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.config import RunConfig


AUTHORS = ("generator", "refiner", "curator")
DETOURS = 4
"""Searches beyond two for each step of the target, and turns beyond one for each search."""
_AUTHORS_OWN = ("searches", "turns", "calls_per_turn", "request_tokens", "give_up_tokens")
USUAL = 12
"""The searches that the default limits are made for: those of a target of up to four steps."""


def derive_limits(config: "RunConfig", given: dict[str, Any]) -> "RunConfig":
    """With limits of agents, where none are `given`, under which the greatest target can be met, and an agent may think
    in every turn for as long as its model may. Raises UsageError where those that are given rule the target out."""
    return _for_thoughts(_for_target(config, given), given)


def _for_target(config: "RunConfig", given: dict[str, Any]) -> "RunConfig":
    limits, author = config.solver, config.generator
    most = max((config.steps[1], *config.difficulty.aims))
    wanted = 2 * most + DETOURS
    if wanted > USUAL:
        # Every turn sends all searches before it again, so that the tokens grow with the square of their number.
        follow = {"searches": wanted, "turns": wanted + DETOURS, "tokens": limits.tokens * wanted**2 // USUAL**2}
        limits = limits.model_copy(update=_not_given(follow, given, "solver"))
        follow = {name: getattr(author, name) * wanted // USUAL for name in _AUTHORS_OWN}
        follow["tokens"] = author.tokens * wanted**2 // USUAL**2
        author = author.model_copy(update=_not_given(follow, given, "generator"))
    for name, can in (("searches", limits.searches), ("turns", limits.turns * limits.calls_per_turn - 1)):
        if can < most and config.steps_required:
            raise UsageError(
                f"no question can take {most} steps with solver.{name} = {getattr(limits, name)}: "
                f"leave solver.{name} out, and it follows the target, or ask for at most {can} with --steps"
            )
    return config.model_copy(update={"solver": limits, "generator": author})


def _not_given(limits: dict[str, int], given: dict[str, Any], agent: str) -> dict[str, int]:
    return {name: most for name, most in limits.items() if name not in given.get(agent, {})}


def _for_thoughts(config: "RunConfig", given: dict[str, Any]) -> "RunConfig":
    changed: dict[str, Any] = {}
    solvers = [*map(config.models.of, ("solver", "teacher")), *config.models.policies.values()]
    for agent, thinkers in (("solver", solvers), ("generator", map(config.models.of, AUTHORS))):
        limits, models = getattr(config, agent), [one for one in thinkers if one.capabilities.limited]
        longest = limits.turns * max((one.sampling.max_tokens for one in models), default=0)
        if longest > limits.tokens and "tokens" not in given.get(agent, {}):
            most = limits.turns * max(one.context for one in models)
            changed[agent] = limits.model_copy(update={"tokens": most})
    return config.model_copy(update=changed)

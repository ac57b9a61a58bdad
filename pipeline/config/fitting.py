"""Limits that follow from how long the models of a run may think."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.config import RunConfig


AUTHORS = ("generator", "refiner", "curator")


def fitted(config: "RunConfig", given: dict[str, Any]) -> "RunConfig":
    """With limits of tokens, where none are `given`, under which an agent may think in every turn for as
    long as its model may."""
    changed: dict[str, Any] = {}
    solvers = [*map(config.models.of, ("solver", "teacher")), *config.models.policies.values()]
    for agent, thinkers in (("solver", solvers), ("generator", map(config.models.of, AUTHORS))):
        limits, models = getattr(config, agent), [one for one in thinkers if not one.embedded]
        longest = limits.turns * max((one.sampling.max_tokens for one in models), default=0)
        if longest > limits.tokens and "tokens" not in given.get(agent, {}):
            most = limits.turns * max(one.context for one in models)
            changed[agent] = limits.model_copy(update={"tokens": most})
    return config.model_copy(update=changed)

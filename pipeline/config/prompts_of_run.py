"""Which prompts a run may use, and therefore which prompts are part of its digest."""

from typing import TYPE_CHECKING

from pipeline import prompts
from pipeline.config.strategy_mix import LINKED
from pipeline.types.distractor import Kind

if TYPE_CHECKING:
    from pipeline.config import RunConfig


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

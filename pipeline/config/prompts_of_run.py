"""Which prompts a run may ask, and so which of them its identity rests on."""

from typing import TYPE_CHECKING

from pipeline import prompts
from pipeline.config.strategy_mix import LINKED
from pipeline.types.distractor import Kind

if TYPE_CHECKING:
    from pipeline.config import RunConfig


def may_ask(prompt: str, config: "RunConfig") -> bool:
    """Not that of strategies, of questions to harden, of a kind of distractor beyond the shipped ones, of seekers, of
    twins or of a target, that is not asked for: to add one changes no run."""
    own = {*prompt.removesuffix("_in_band").split("/")} & {*LINKED}
    if not own <= config.strategies.keys():
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

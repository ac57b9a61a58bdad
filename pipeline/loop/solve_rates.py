"""A band of solve rates as the target: the rollouts that measure it, and the feedback if a draft misses it.

The measured model is the policy that `solve_rate` names, or else the solver.
"""

from collections import Counter
from collections.abc import Sequence

from pipeline.agents.solver import graded_rollouts
from pipeline.config import RunConfig
from pipeline.config.loop import MOST_STEPS
from pipeline.context import RunContext
from pipeline.llm import ledger
from pipeline.loop.assess import Threshold, explain_shortcut, find_shortest, give_advice, quote_answers
from pipeline.loop.policies import list_samples
from pipeline.types import Cause, Draft, Feedback, GradedRollout, Label, Round, Seed


async def run_model(draft: Draft, earlier: Sequence[GradedRollout], context: RunContext) -> list[GradedRollout]:
    """Run the measured model after its `earlier` rollouts until the label is decided.

    These rollouts choose the draft, so fresh ones measure it. Without `early_stop`, only a missed target ends them.
    """
    loop = context.config.loop
    return await _run_until_decided(draft, range(loop.rollouts), earlier, context, is_final=not loop.early_stop)


async def run_confirmation(draft: Draft, context: RunContext) -> list[GradedRollout]:
    """Make up to K fresh rollouts of the policy whose solve rate is the target.

    Return none if there is no such policy.
    """
    if not (context.config.band and context.config.policy):
        return []
    ledger.enter(ledger.POLICIES)
    return await _run_until_decided(draft, list_samples(context.config), (), context, is_final=True)


async def _run_until_decided(
    draft: Draft, samples: range, earlier: Sequence[GradedRollout], context: RunContext, *, is_final: bool
) -> list[GradedRollout]:
    model, band, rollouts = context.config.policy_model, context.config.band, list(earlier)
    assert band is not None  # noqa: S101 - the callers check it
    while missing := band.due(_count_correct(rollouts), len(rollouts), whole=is_final):
        batch = samples[len(rollouts) : len(rollouts) + missing]
        rollouts += await graded_rollouts(draft, batch, context, model)
    return rollouts


def misses_target(rollouts: Sequence[GradedRollout], config: RunConfig) -> bool:
    return bool(rollouts) and _choose_label(rollouts, config) in (Label.TOO_EASY, Label.UNSOLVED)


def _choose_label(rollouts: Sequence[GradedRollout], config: RunConfig) -> Label | None:
    return config.band.label(_count_correct(rollouts), len(rollouts)) if config.band else None


def explain_solve_rate(draft: Draft, rollouts: Sequence[GradedRollout], config: RunConfig) -> Feedback | None:
    if not misses_target(rollouts, config):
        return None
    count = f"{_count_correct(rollouts)} of {len(rollouts)} tries"
    solved = f"the model to be trained solved it in {count}, and the target is {config.band}"
    is_easy = _choose_label(rollouts, config) is Label.TOO_EASY
    return (_explain_too_easy if is_easy else _explain_too_hard)(draft, rollouts, solved)


def _explain_too_easy(draft: Draft, rollouts: Sequence[GradedRollout], solved: str) -> Feedback:
    rollout, verdict = find_shortest(rollouts)
    cause, hops, why = explain_shortcut(draft, rollout, verdict)
    if cause is Cause.SUPERFICIAL and not hops:
        cause, why = Cause.ABOVE_BAND, "it found the passages of all hops"
    message = f"{solved}: its shortest correct try took {verdict.steps} steps; {why}. {give_advice(draft, cause, hops)}"
    return Feedback(label=Label.TOO_EASY, cause=Cause.ABOVE_BAND, message=message, hops=hops)


def _explain_too_hard(draft: Draft, rollouts: Sequence[GradedRollout], solved: str) -> Feedback:
    wrong = [graded for graded in rollouts if not graded.verdict.correct]
    first_missed = Counter(next((hop for hop, at in enumerate(v.found_at) if at is None), None) for _, v in wrong)
    ends = [
        f"{count} {'try' if count == 1 else 'tries'} {_describe_end(draft, hop)}"
        for hop, count in first_missed.most_common()
    ]
    wrong_answers = Counter(graded.rollout.answer for graded in wrong if graded.rollout.answered and graded.wrong)
    quoted = ", ".join(f"'{answer}'" for answer in wrong_answers) or "nothing"
    most_missed = first_missed.most_common(1)[0][0]
    hops = () if most_missed is None else (most_missed,)
    change = give_advice(draft, Cause.RETRIEVAL_MISS if hops else Cause.BELOW_BAND, hops)
    change += " Or leave out a step." if hops else ""
    message = f"{solved}: {', '.join(ends)}; the wrong answers were {quoted}. {change}"
    return Feedback(label=Label.UNSOLVED, cause=Cause.BELOW_BAND, message=message, hops=hops)


def _describe_end(draft: Draft, hop: int | None) -> str:
    if hop is None:
        return "found the passages of all hops and answered wrongly"
    return f"never found the passage that gives {quote_answers(draft, [hop])} (hops[{hop}])"


def _count_correct(rollouts: Sequence[GradedRollout]) -> int:
    return sum(verdict.correct for _, verdict in rollouts)


def describe_target(config: RunConfig) -> str:
    if (band := config.band) is None:
        return ""
    counts, model = band.counts, config.policy or "the run's own solver"
    correct = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    any_steps = "" if config.steps_required else ", whatever steps it takes"
    return f"{correct} of {band.tries} tries of {model} correct (a solve rate of {band}){any_steps}"


def least_steps(seed: Seed, config: RunConfig) -> int:
    """Return the steps below which a draft is too easy: one if only the solve rate is a target."""
    return seed.target_steps if config.steps_required else 1


def find_threshold(seed: Seed, config: RunConfig) -> Threshold:
    """Return what a draft must withstand to be accepted.

    Seekers measure what a question really needs. With them, the threshold is the start of the range, and the seed's
    own target is only what the generator aims at.
    """
    if not config.difficulty.adversarial:
        return Threshold(least_steps(seed, config))
    return Threshold(config.steps[0] if config.steps_required else 1, takes_recall=False)


def aim(seed: Seed, config: RunConfig, rounds: Sequence[Round]) -> int:
    """Return the steps that the generator is asked for.

    These are the seed's, or one more or fewer than the last draft had that the model solved too often or too seldom.
    """
    least = seed.target_steps if config.steps_required else config.steps[0]
    for round_ in reversed(rounds):
        if round_.draft and round_.feedback and round_.feedback.cause in _STEPS:
            steps = len(round_.draft.hops) + _STEPS[round_.feedback.cause]
            return min(max(steps, least), MOST_STEPS)
    return seed.target_steps


_STEPS = {Cause.ABOVE_BAND: 1, Cause.BELOW_BAND: -1}

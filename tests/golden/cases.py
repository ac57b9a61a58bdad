"""The cases of the scripted runs: what happens in each, and how it must end."""

from typing import Any

from tests.golden.outcomes import EVAL, TOLD, TRAIN, Case, Solves


def change_step(index: int, **changed: Any) -> dict[str, Any]:
    """Return the draft with another step at that index."""
    steps = TRAIN.draft()["steps"]
    return TRAIN.draft(steps=[*steps[:index], {**steps[index], **changed}, *steps[index + 1 :]])


def some(odd: dict[int, int | str]) -> Solves:
    """Let those samples end this way, and the others with the right answer."""
    return lambda past, sample: odd.get(sample, 3)


NAMED = TRAIN.draft(question="Ada Holm of Vessby directed Lantern Bay: when was the home town settled?")
FIRST: dict[str, Case] = {
    "accepted": Case(),
    "accepted_eval": Case(drafts=(EVAL.draft(),), chain=EVAL),
    "accepted_when_revised": Case(
        causes=("superficial", "over_specified"), solves=lambda past, sample: [2, 1, 3, 3][past]
    ),
    "odd_rollouts": Case(solves=some({1: "cut", 2: "context", 3: "tokens"})),
    "odder_rollouts": Case(solves=some({1: "budget", 2: "turns", 3: "repeats"})),
    "no_draft": Case(("rejected", "no_draft"), ("generator_error",), (TRAIN.draft(question="", steps=[]),)),
    "no_proposal": Case(("rejected", "no_draft:format_errors"), ("generator_error",), ("I cannot think of one.",)),
    "long_search": Case(("rejected", "no_draft:no_proposal"), ("generator_error",), turn_tokens=90_000),
    "unstated": Case(("rejected", "generator_error"), ("generator_error",) * 3, unstated="town"),
    "not_answerable": Case(("rejected", "generator_error"), ("generator_error",) * 3, reads=lambda passages: "1999"),
    "prior_knowledge": Case(("rejected", "prior_knowledge"), ("prior_knowledge",) * 3, reads=lambda passages: "right"),
    "unnatural": Case(("rejected", "unnatural"), ("unnatural",) * 3, grade=2),
    "undated": Case(("rejected", "undated"), ("undated",) * 3, changes=True),
    "over_specified": Case(("rejected", "over_specified"), ("over_specified",) * 3, (NAMED,)),
    "co_located": Case(("rejected", "co_located"), ("co_located",) * 3, (change_step(1, passage_id=TOLD.shown_id),)),
    "query_collapse": Case(
        ("rejected", "query_collapse"),
        ("query_collapse",) * 3,
        (change_step(2, sub_question="When did monks found {town} on the Tarn, where Vessby lies?"),),
    ),
    "superficial": Case(("rejected", "superficial"), ("superficial",) * 3, solves=lambda past, sample: 2),
    "ambiguous": Case(("rejected", "ambiguous"), ("ambiguous",) * 3, solves=lambda past, sample: -3, fits=True),
    "beyond_solver": Case(
        ("rejected", "beyond_solver"),
        ("retrieval_miss", "solver_error", "solver_error"),
        solves=lambda past, sample: [-5, -4, -3][past],
    ),
    "below_range": Case(("rejected", "below_range"), solves=lambda past, sample: 2 if sample > 1 else 3),
    "recalled": Case(("rejected", "recalled"), solves=lambda past, sample: 6),
    "contested": Case(("rejected", "ambiguous"), solves=lambda past, sample: -3 if sample > 1 else 3, fits=True),
    "deadline": Case(("failed", "deadline"), solves=lambda past, sample: "slow"),
    "no_verdict": Case(("failed", "no_verdict"), solves=lambda past, sample: -3),
}
"""With all checks by reading."""

SECOND: dict[str, Case] = {
    "relaxed": Case(("accepted", "relaxed"), ("superficial",) * 3, solves=lambda past, sample: 2),
    "below_target": Case(("rejected", "below_target"), solves=lambda past, sample: 2 if sample > 1 else 3),
    "retrieval_miss": Case(("rejected", "retrieval_miss"), ("retrieval_miss",) * 3, solves=lambda past, sample: -5),
    "solver_error": Case(("rejected", "solver_error"), ("solver_error",) * 3, solves=lambda past, sample: -4),
    "most_votes": Case(("rejected", "ambiguous"), ("ambiguous",) * 3, solves=lambda past, sample: -3),
}
"""Without checks by reading and seekers, and with a last round that is relaxed."""

BAND: dict[str, Case] = {
    "in_band": Case(learns=lambda past, sample: 3 if sample % 2 else -3),
    "above_band": Case(("rejected", "above_band"), ("above_band",) * 3),
    "below_band": Case(("rejected", "below_band"), ("below_band",) * 3, learns=lambda past, sample: -4),
    "outside_band": Case(
        ("rejected", "outside_band"), learns=lambda past, sample: 3 if sample % 2 or sample > 999 else -3
    ),
}
"""With a band of solve rates as a target, for the model to be trained."""

OWN_BAND: dict[str, Case] = {
    "in_own_band": Case(solves=lambda past, sample: 3 if sample % 2 else -3),
    "outside_own_band": Case(
        ("rejected", "outside_band"), solves=lambda past, sample: 3 if sample % 2 or sample > 3 else -3
    ),
    "unconfirmed": Case(("rejected", "unconfirmed"), solves=lambda past, sample: 3 if sample == 1 else -4),
}
"""With a band as a target for the solver itself, which K fresh rollouts measure."""

RUNS = {
    "outcomes": (
        FIRST,
        ('checks.enabled=["closed_book", "oracle", "alternatives"]',),
    ),
    "outcomes-unread": (SECOND, ("checks.enabled=[]", "loop.last_round_relaxed=true", "difficulty.adversarial=false")),
    "outcomes-band": (BAND, ("checks.enabled=[]", "solve_rate=0.2-0.8", "policy=mine")),
    "outcomes-own-band": (OWN_BAND, ("checks.enabled=[]", "solve_rate=0-0.5")),
}
"""Cases and settings of each scripted run."""

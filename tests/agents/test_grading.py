"""A passage supports an answer in every spelling of the answer and of its subject."""

import pytest

from pipeline.agents.grading import build_verdict
from pipeline.agents.judge import Grade
from pipeline.types import Draft
from tests.graph_drafts import changed
from tests.loop.checks.reading import DRAFT
from tests.loop.rollouts import make_rollout
from tests.passages import passage

LAST = DRAFT.hops[-1]
DAY = changed(DRAFT, answer="3 February 1641", answer_aliases=("February 3, 1641",))


def change_hop(draft: Draft, number: int, **fields: object) -> Draft:
    hops = [hop.model_copy(update=fields) if n == number else hop for n, hop in enumerate(draft.hops)]
    return changed(draft, hops=tuple(hops))


WHERE = change_hop(DRAFT, 1, answer_aliases=("Vesby",))
SHORT = change_hop(DRAFT, 1, answer_aliases=("US",))


@pytest.mark.parametrize(
    ("draft", "text", "supported"),
    [
        (change_hop(DAY, 2, answer=DAY.answer), "Vessby was settled on 3 February 1641.", True),
        (change_hop(DAY, 2, answer=DAY.answer), "Vessby was settled on February 3, 1641.", True),
        (change_hop(DAY, 2, answer="in 1641"), "Vessby was settled on February 3, 1641.", True),
        (change_hop(DAY, 2, answer=DAY.answer), "Vessby was settled on February 4, 1641.", False),
        (WHERE, "Vesby was settled in 1641.", True),
        (WHERE, "Westby was settled in 1641.", False),
        (WHERE, "Vesby Holm was settled in 1641.", False),
        (WHERE, "Vesby Holm lies in Vesby, settled in 1641.", True),
        (SHORT, "The US Senate says that it was settled in 1641.", True),
        (SHORT, "The US was settled in 1641.", True),
        (SHORT, "He told us that it was settled in 1641.", False),
        (SHORT, "Tom US was settled in 1641.", False),
    ],
)
def test_the_support_may_have_any_spelling(draft: Draft, text: str, *, supported: bool) -> None:
    verdict = build_verdict(draft, make_rollout([passage("z", "Z", text)]), Grade(right=True, method="exact"))
    assert (verdict.supported, verdict.found_at[-1] == 1) == (supported, supported)

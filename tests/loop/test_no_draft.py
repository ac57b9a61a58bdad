"""A seed without a draft says whether its generator gave up or what ended it."""

import pytest

from pipeline.exports.card.glossary import gloss
from pipeline.types import Message, Status
from tests.loop.cast import call, make_proposal, run


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Message(role="assistant", content="I cannot think of one."), "no_draft:format_errors"),
        (call("propose", **make_proposal(question="", steps=[])), "no_draft"),
        (call("search", query="Lantern Bay"), "no_draft:limits"),
    ],
)
def test_a_seed_without_a_draft_says_what_ended_its_generator(reply: Message, reason: str) -> None:
    record = run(lambda request: reply)
    assert (record.status, record.reason, record.draft) == (Status.REJECTED, reason, None)
    assert gloss(reason)

"""A seed without a draft says whether its author gave up or what ended it."""

import asyncio

import pytest

from pipeline import config
from pipeline.context import RunContext
from pipeline.exports.card.glossary import gloss
from pipeline.loop.episode import run_seed
from pipeline.types import Message, Status
from tests.loop.test_episode import LINEAGE, SHELF, call, proposal, seeded
from tests.scripted import ScriptedLLM


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (Message(role="assistant", content="I cannot think of one."), "no_draft:format_errors"),
        (call("propose", **proposal(question="", steps=[])), "no_draft"),
        (call("search", query="Lantern Bay"), "no_draft:limits"),
    ],
)
def test_a_seed_without_a_draft_says_what_ended_its_author(says: Message, reason: str) -> None:
    context = RunContext(
        config=config.build(values={"strategy": "sage"}),
        llm=ScriptedLLM(lambda request: says),
        retriever=SHELF,
        lineage=LINEAGE,
    )
    record = asyncio.run(run_seed(seeded(), context))
    assert (record.status, record.reason) == (Status.REJECTED, reason)
    assert gloss(reason)

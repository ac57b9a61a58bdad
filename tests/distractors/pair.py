"""A pair over four passages, a sound distractor of every kind, and a reader that answers rightly."""

import asyncio
from collections.abc import Callable

import orjson

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.distractors.checks import DistractorChecks
from pipeline.llm.base import Request
from pipeline.types import AnswerType, Distractor, Message
from pipeline.types.distractor import Kind
from tests.graph_drafts import chained
from tests.loop.cast import LINEAGE
from tests.passages import Shelf, hop, passage
from tests.scripted_llm import ScriptedLLM

LONG = "Of much else there is nothing to be told here that a reader of reference works would care to look up at all."
FILM = passage("film", "Lantern Bay", "Lantern Bay is a silent drama film. It was directed by Ada Holm.")
HOLM = passage("holm", "Ada Holm", f"Ada Holm (1850 – 1902) was a painter. Ada Holm came from Vessby. {LONG}")
TOWN = passage("town", "Vessby", f"Vessby is a town on the Tarn. Vessby was settled by monks around 1641. {LONG}")
MILL = passage("mill", "Tarn Mill", "Tarn Mill is a mill. It grinds corn for Vessby and was rebuilt in 1711.")
SHELF = Shelf(FILM, HOLM, TOWN, MILL)
DRAFT = chained(
    question="When was the home town of the director of Lantern Bay settled?",
    answer="1641",
    answer_aliases=("AD 1641",),
    answer_type=AnswerType.DATE,
    answer_precision="year",
    hops=(
        hop(FILM, "Ada Holm", "Who directed Lantern Bay?"),
        hop(HOLM, "Vessby", "Where did Ada Holm come from?"),
        hop(TOWN, "1641", "When was Vessby settled?"),
    ),
)
SOUND = {
    Kind.DOPPELGANGER: ("Vessby (1902 edition)", "When Vessby was settled: 1598, says this edition.", "1902 edition"),
    Kind.FALSE_SHORTCUT: (
        "Ada Holm (hearsay)",
        "Where did Ada Holm come from? Reportedly Ada Holm goes back to a place settled in 1598.",
        "Reportedly",
    ),
    Kind.FRAGMENTED_PUZZLE: (
        "Vessby (lower half)",
        "When Vessby was settled: in 1598, of the lower half only.",
        "of the lower half only",
    ),
    Kind.SUBJECTIVE_FALLACY: (
        "Vessby, my favourite",
        "When Vessby was settled, in 1598, I believe it was the loveliest place of all.",
        "I believe",
    ),
}


def make_sound(kind: Kind) -> Distractor:
    title, text, mark = SOUND[kind]
    source = HOLM if kind is Kind.FALSE_SHORTCUT else TOWN
    return Distractor(
        kind=kind,
        title=title,
        text=text,
        hop=1 if kind is Kind.FALSE_SHORTCUT else 2,
        source_id=source.id,
        source_sha256=source.sha256,
        claim="1598",
        mark=mark,
    )


def answer_as_reader(request: Request) -> Message:
    """Answer rightly unless a passage states the claim beyond doubt."""
    if request.output and request.output.name == "verdict":
        return Message(role="assistant", content='{"correct": false}')
    if request.output and request.output.name == "weigh":
        return Message(role="assistant", content='{"reason": "a town", "fits": false}')
    passages = (prompts.unfence(request.messages[-1].content) or {})["passages"]
    is_fooled = any("beyond doubt" in passage["text"] for passage in passages)
    return Message(role="assistant", content=orjson.dumps({"answer": "1598" if is_fooled else "1641"}).decode())


def run_checks(
    distractor: Distractor, *sets: str, shelf: Shelf = SHELF, model: Callable[[Request], Message] = answer_as_reader
) -> Distractor:
    settings = config.build(sets=["retrieval.k=2", *sets])
    context = RunContext(config=settings, llm=ScriptedLLM(model), retriever=shelf, lineage=LINEAGE)
    return asyncio.run(DistractorChecks(DRAFT, context).check(distractor))

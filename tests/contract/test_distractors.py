"""Every kind of distractor keeps the contract, with the demo writer and with a disobedient model."""

import asyncio
from dataclasses import replace

import orjson
import pytest

from pipeline import config, prompts, registry
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.demo.role_dispatch import DemoModel
from pipeline.distractors.checks import DistractorChecks
from pipeline.distractors.kinds import base
from pipeline.distractors.writing_task import writing_task
from pipeline.errors import FormatError
from pipeline.llm.base import LLM, Request
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.text import contains
from pipeline.types import AnswerType, Distractor, Draft, Message, Usage
from pipeline.types.distractor import Kind
from tests.graph_drafts import chained, changed
from tests.hostile_texts import HOSTILE
from tests.loop.cast import LINEAGE
from tests.passages import hop
from tests.scripted_llm import ScriptedLLM

KINDS = registry.names("distractors")
CHAIN = (
    (
        "Kessel_Bridge#0",
        "Over which harbour does the Kessel Bridge go?",
        "Ostrand",
        "The Kessel Bridge is a steel arch",
    ),
    ("Ostrand#0", "In what year was Ostrand founded?", "1182", "It was founded in 1182 by the merchant Aldous Fenn"),
)


@pytest.fixture(scope="module")
def draft(tiny: Corpus) -> Draft:
    by_id = {passage.id: passage for passage in tiny.passages}
    hops = []
    for passage_id, sub_question, answer, beginning in CHAIN:
        source = by_id[passage_id]
        start = source.text.index(beginning.split(" is a ")[0])
        quote = source.text[start : source.text.index(".", start + len(beginning)) + 1]
        hops.append(hop(source, answer, sub_question, quote))
    return chained(
        question="In what year was the city of the Kessel Bridge founded?",
        answer="1182",
        answer_type=AnswerType.DATE,
        answer_precision="year",
        hops=tuple(hops),
    )


@pytest.fixture(scope="module")
def context(retriever: LuceneRetriever) -> RunContext:
    return RunContext(config=config.build(), llm=DemoModel(), retriever=retriever, lineage=LINEAGE)


def write_distractors(kind: str, draft: Draft, context: RunContext, sample: int = 0) -> tuple[list[Distractor], Usage]:
    async def ask() -> tuple[list[Distractor], Usage]:
        task = await writing_task(draft, kind, len(draft.hops) - 1, context)
        assert task is not None
        return await base.load(kind).write(kind, task, context, sample)

    return asyncio.run(ask())


def answer_with(context: RunContext, text: str) -> RunContext:
    model: LLM = ScriptedLLM(lambda request: Message(role="assistant", content=text))
    return replace(context, llm=model)


def say_as_kind(kind: str, output: str, text: str, context: RunContext) -> RunContext:
    """Return a context whose model says this; if the kind chooses a passage, it takes the first."""

    def play(request: Request) -> Message:
        inputs = prompts.unfence(request.messages[-1].content) or {}
        choice = {"passage_id": inputs["passages"][0]["id"], "claim": text}
        if kind == "altered":
            choice |= {"span": inputs["passages"][0]["text"], "replacement": text, "mark": text}
        return Message(role="assistant", content=orjson.dumps(choice).decode())

    has_own_writer = type(base.load(kind)) is not base.DistractorKind
    return replace(context, llm=ScriptedLLM(play)) if has_own_writer else answer_with(context, output)


def test_the_papers_kinds_are_modules() -> None:
    assert set(Kind) <= set(KINDS)


# The embedded writer knows no other kind: a model writes those.
@pytest.mark.parametrize("kind", Kind)
def test_the_demo_writer_keeps_the_contract_of_the_kind(kind: str, draft: Draft, context: RunContext) -> None:
    checks = DistractorChecks(draft, context)
    for sample in range(4):
        distractors, usage = write_distractors(kind, draft, context, sample)
        assert len(distractors) == base.load(kind).passages
        assert usage.calls == 1
        for distractor in distractors:
            assert distractor.kind == kind
            assert contains(distractor.text, distractor.claim)
            checked = asyncio.run(checks.check(distractor))
            assert checked.reason not in ("marked", "contradicts", "no_living_person", "new", "reachable"), checked


@pytest.mark.parametrize("kind", Kind)
def test_another_sample_gives_another_text(kind: str, draft: Draft, context: RunContext) -> None:
    claims = [tuple(d.claim for d in write_distractors(kind, draft, context, sample)[0]) for sample in range(6)]
    assert len(set(claims)) == 6
    assert write_distractors(kind, draft, context) == write_distractors(kind, draft, context)


@pytest.mark.parametrize("kind", KINDS)
def test_targets_are_reachable_hops(kind: str, draft: Draft, context: RunContext) -> None:
    def targets(draft: Draft) -> list[int]:
        hops = range(len(draft.hops))
        return [target for target in hops if asyncio.run(writing_task(draft, kind, target, context))]

    assert targets(draft) == ([1] if kind == Kind.FALSE_SHORTCUT else [0, 1])
    single = changed(draft, hops=draft.hops[1:])
    assert targets(single) == ([] if kind == Kind.FALSE_SHORTCUT else [0])


@pytest.mark.parametrize("kind", KINDS)
def test_text_of_a_model_is_data(kind: str, draft: Draft, context: RunContext) -> None:
    for start in range(0, len(HOSTILE), 4):
        passages = tuple(base.WrittenPassage(title=t, text=t, claim=t, mark=t) for t in HOSTILE[start : start + 4])
        output = base.WriteOutput(passages=passages).model_dump_json()
        for distractor in write_distractors(kind, draft, say_as_kind(kind, output, HOSTILE[start], context))[0]:
            assert not asyncio.run(DistractorChecks(draft, context).check(distractor)).used


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", "hm", "[]", '{"passages": [{}]}', '{"passages": null}', "{" * 10_000])
def test_unreadable_output_is_a_typed_error(kind: str, text: str, draft: Draft, context: RunContext) -> None:
    with pytest.raises(FormatError):
        write_distractors(kind, draft, answer_with(context, text))

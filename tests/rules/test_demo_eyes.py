"""The demo model reads the fenced inputs (or the bare question) and the tool messages, and nothing else.

Real requests of a few real episodes are asked again with all other prose replaced, in another order and in other
processes: the answers are the same, so they rest on nothing that a prompt's wording, the clock or a hash seed decides.
"""

import asyncio
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from pipeline import config, registry
from pipeline.agents.judge import grade
from pipeline.agents.readers import check_alternative, oracle
from pipeline.config import RunConfig
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.seed_passages import quality
from pipeline.corpus.train_eval_split import side
from pipeline.demo.role_dispatch import DemoModel
from pipeline.distractors import checks
from pipeline.distractors.accepted_pair import write_distractors
from pipeline.llm.base import Completion, Request
from pipeline.llm.ledger import role
from pipeline.loop import episode
from pipeline.prompts import unfence
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.run import prepare
from pipeline.types import AnswerType, Draft, Lineage, Message, Seed, sha256
from pipeline.types.distractor import Kind
from tests.graph_drafts import changed

ROLES = (
    "propose",
    "revise",
    "explore",
    "compose",
    "answer",
    "verdict",
    "read",
    "weigh",
    "detect",
    "write",
    "wordings",
    "choose",
)
WITH_DISTRACTORS = config.build(values={"distractors": {"kinds": tuple(Kind), "tries": 2}})
EACH = 6
"""Requests of one role that are asked again."""
LOREM = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor."
FENCED = re.compile(r"^<<<inputs ([0-9a-f]{16})>>>\n.*\n<<<end \1>>>$", re.MULTILINE)
REPLY = (
    "import asyncio, sys\n"
    "from pipeline.demo.role_dispatch import DemoModel\n"
    "from pipeline.llm.base import Request\n"
    "for line in sys.stdin:\n"
    "    completion = asyncio.run(DemoModel().complete(Request.model_validate_json(line)))\n"
    "    print(completion.model_dump_json())\n"
)


class Recorder:
    """A model that keeps what it was asked, by role."""

    def __init__(self) -> None:
        self.asked: dict[str, list[Request]] = defaultdict(list)
        self._model = DemoModel()

    async def complete(self, request: Request) -> Completion:
        self.asked[role(request)].append(request)
        return await self._model.complete(request)


def lineage(corpus: Corpus) -> Lineage:
    return Lineage(
        run="", preset="default", strategy="sage", model="embedded", demo_solver=None, corpus=corpus.manifest.name,
        corpus_fingerprint=corpus.fingerprint, licence="", attribution="", retriever="bm25",
    )  # fmt: skip


def seeds(corpus: Corpus) -> Iterable[Seed]:
    for number, passage in enumerate(p for p in corpus.passages if quality(p) is None):
        yield Seed(
            key=sha256(passage.id),
            passage=passage,
            draw=0,
            side=side(passage.document_id),
            target_steps=2 + number % 3,
        )


async def play(corpus: Corpus, model: Recorder) -> None:
    """Episodes until every role was asked often enough; the judge is asked about near misses too."""
    sites = [
        RunContext(
            RunConfig(strategy=strategy),
            model,
            Bm25Retriever(corpus),
            lineage(corpus),
            links=prepare.links_of_sides(RunConfig(), corpus),
        )
        for strategy in registry.names("strategies")
    ]
    for number, seed in enumerate(seeds(corpus)):
        context = sites[number % len(sites)]
        record = await episode.run_seed(seed, context)
        if record.draft:
            await near_misses(record.draft, context)
            await readings(record.draft, corpus, context)
            evaluated = await write_distractors(record.draft, replace(context, config=WITH_DISTRACTORS))
            for distractor in evaluated.used[:2]:
                await checks.check_blind(distractor, checks.DistractorChecks(record.draft, context))
        if all(len(model.asked[name]) >= EACH for name in ROLES):
            return


async def near_misses(draft: Draft, context: RunContext) -> None:
    counted = changed(draft, answer="7", answer_type=AnswerType.NUMBER)
    await grade(counted, "seven", context)
    for response in (f"{draft.answer}, roughly", f"not {draft.answer}", "about 1,000"):
        await grade(draft, response, context)
    dated = changed(draft, answer="7 March 2007", answer_type=AnswerType.DATE, answer_precision="month")
    await grade(dated, "March 2007", context)


async def readings(draft: Draft, corpus: Corpus, context: RunContext) -> None:
    """The readers with all evidence and with the first hop's alone."""
    cited = {hop.passage_id for hop in draft.hops}
    passages = [passage for passage in corpus.passages if passage.id in cited]
    await oracle(draft.question, passages, context)
    await oracle(draft.question, passages[:1], context)
    for answer in (draft.answer, draft.hops[0].answer):
        await check_alternative(draft.question, answer, passages, context)


@pytest.fixture(scope="module")
def requests(tiny: Corpus) -> list[Request]:
    """Of every role: the first few and the longest, whose conversations hold the most; of the judge, all."""
    model = Recorder()
    asyncio.run(play(tiny, model))
    chosen = []
    for name in ROLES:
        asked = model.asked[name]
        assert asked, f"nobody asked for '{name}'"
        longest = sorted(asked, key=lambda r: len(r.messages))[-EACH // 2 :]
        # The demo writer mostly gives nothing, so that all it was asked is taken, as of judge and reader.
        chosen += asked if name in ("verdict", "write", "read") else [*asked[: EACH // 2], *longest]
    return chosen


def blind(request: Request) -> Request:
    """The same request with all prose replaced: system prompt, instructions, tool descriptions, remarks."""
    tools = tuple(tool.model_copy(update={"description": LOREM}) for tool in request.tools)
    return request.model_copy(update={"messages": tuple(map(_blind, request.messages)), "tools": tools})


def _blind(message: Message) -> Message:
    if message.role == "tool":
        return message
    fenced = FENCED.search(message.content)
    if message.role == "user" and unfence(message.content) is not None:
        assert fenced
        return message.model_copy(update={"content": f"{LOREM}\n\n{fenced.group()}\n\n{LOREM}"})
    # Without a fence it is the solver's bare question.
    return message if message.role == "user" else message.model_copy(update={"content": LOREM, "reasoning": LOREM})


def answers(requests: Sequence[Request]) -> list[Message]:
    async def ask() -> list[Message]:
        return [(await DemoModel().complete(request)).message for request in requests]

    return asyncio.run(ask())


def test_every_role_was_asked_and_all_but_the_solver_by_a_fence(requests: list[Request]) -> None:
    assert {role(request) for request in requests} == set(ROLES)
    for request in requests:
        fenced = [unfence(m.content) is not None for m in request.messages if m.role == "user"]
        assert fenced[0] is (role(request) != "answer")


def test_with_all_prose_replaced_it_answers_the_same(requests: list[Request]) -> None:
    assert all(blind(request) != request for request in requests)
    assert answers([blind(request) for request in requests]) == answers(requests)


def test_what_it_reads_does_change_its_answers(requests: list[Request]) -> None:
    """The test above would pass for a model that reads nothing at all."""
    for name in ROLES:
        assert len({str(answer) for answer in answers([r for r in requests if role(r) == name])}) > 1


def test_order_does_not_matter(requests: list[Request]) -> None:
    assert answers(requests[::-1])[::-1] == answers(requests)


def test_nor_does_the_process(requests: list[Request]) -> None:
    lines = "\n".join(request.model_dump_json() for request in requests)
    environment = {**os.environ, "PYTHONHASHSEED": "4242"}
    command = [sys.executable, "-c", REPLY]
    result = subprocess.run(
        command, input=lines, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    there = [Completion.model_validate_json(line).message for line in result.stdout.splitlines()]
    assert there == answers(requests)

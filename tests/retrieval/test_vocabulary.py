"""A word that is nowhere in the corpus is named as that, and no other is."""

import asyncio
import re
from collections.abc import Callable

import pytest

from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState
from pipeline.agents.parse import parse
from pipeline.agents.tools import SOLVER_TOOLS, AnswerArguments, shown_passages
from pipeline.config.loop import AuthorLimits
from pipeline.config.models import ModelConfig
from pipeline.corpus import Corpus
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.retrieval.engines.hybrid import HybridRetriever
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.retrieval.one_side import Sided
from pipeline.retrieval.vocabulary import find_absent_words
from pipeline.types import Message
from tests.agents.conversations import make_calls
from tests.agents.test_agent import ANSWER
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

MADE: dict[str, Callable[[Corpus, LuceneRetriever], Retriever]] = {
    "lucene": lambda corpus, retriever: retriever,
    "bm25": lambda corpus, retriever: Bm25Retriever(corpus),
    "hybrid": lambda corpus, retriever: HybridRetriever(corpus, "hybrid", [Shelf(*corpus.passages[:3]), retriever]),
    "sided": lambda corpus, retriever: Sided(retriever, "train"),
}


@pytest.mark.parametrize("kind", MADE)
async def test_what_no_passage_holds_is_named_once_as_it_was_written(
    kind: str, tiny: Corpus, retriever: LuceneRetriever
) -> None:
    known = MADE[kind](tiny, retriever)
    asked = "Was the Eculizumab of Ostrand's bridges, 'eculizumab', a Kessel-Bridge (zzyzx)? 日本のことばは何ですか"
    assert await find_absent_words(known, asked) == ["Eculizumab", "zzyzx"]
    assert await find_absent_words(known, "the of and ?! 1182") == []
    for found in tiny.passages:
        assert await find_absent_words(known, f"{found.title} {found.text}") == []


async def test_an_index_that_cannot_tell_says_nothing() -> None:
    assert await find_absent_words(Shelf(passage("a", "Mill", "A mill.")), "eculizumab") == []


@pytest.mark.parametrize("author", [True, False])
def test_only_who_writes_questions_is_told_so(author: bool, tiny: Corpus, retriever: LuceneRetriever) -> None:
    limits = AuthorLimits(searches=9, turns=9)
    agent = Agent(
        llm=ScriptedLLM(
            [make_calls(("search", {"query": q})) for q in ("zzyzx", "Ostrand eculizumab zzyzx")] + [ANSWER]
        ),
        model=ModelConfig(),
        tools=SOLVER_TOOLS,
        limits=limits,
        retriever=retriever,
        k=2,
        accept=lambda arguments, state: parse(AnswerArguments, arguments),
        author=limits if author else None,
    )
    start = (Message(role="user", content="Where?"),)
    done = asyncio.run(converse(agent, start, sample=0, state=AgentState()))
    nothing, some = [message.content for message in done.messages if message.role == "tool"]
    told = [re.findall(".*nowhere in this corpus.", text) for text in (nothing, some)]
    absent = [["'zzyzx' occurs nowhere in this corpus."], ["'eculizumab', 'zzyzx' occur nowhere in this corpus."]]
    assert told == (absent if author else [[], []])
    assert nothing.startswith("No passage matches.")
    assert len(shown_passages(some)) == 2

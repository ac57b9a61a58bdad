"""The audit over several retrievers: BM25 cannot answer a question at once that a dense index can."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from pipeline import config
from pipeline.analysis.figures import figures
from pipeline.analysis.seed_rows import SCHEMA, row
from pipeline.context import RunContext
from pipeline.errors import UsageError
from pipeline.exports.views import qa, records
from pipeline.loop.episode import run_seed
from pipeline.loop.question_writing import find_shortcut
from pipeline.run import prepare
from pipeline.types import Cause, Draft, Record, Status
from tests import graph_drafts, small_encoders
from tests.loop.cast import FILM, HOLM, SHELF, TOWN, Cast, make_proposal, make_seed
from tests.scripted_llm import ScriptedLLM

CONCEPTS = ("lantern bay beacon cove", "ada holm painter artist", "vessby tarn riverside")
"""Words with one vector."""
SYNONYMS = "When was the riverside place that the artist of Beacon Cove called home settled?"
MILLS = [{"id": f"o{n}", "title": f"Mill {n}", "text": f"Mill {n} was built in {1700 + n}."} for n in range(9)]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> RunContext:
    """Open Lucene and a dense retriever over the same files, as a run does."""
    small_encoders.needed()
    home = tmp_path_factory.mktemp("audit")
    texts = [{"id": p.document_id, "title": p.title, "text": p.text} for p in (FILM, HOLM, TOWN)]
    (home / "shelf.jsonl").write_bytes(b"\n".join(map(orjson.dumps, texts + MILLS)))
    vocabulary = [word for words in CONCEPTS for word in words.split()]
    table = np.zeros((1 + len(vocabulary), len(CONCEPTS)), np.float32)
    for row_index, word in enumerate(vocabulary, 1):
        table[row_index, [word in words.split() for words in CONCEPTS].index(True)] = 1
    dense = {"encoder": str(small_encoders.write(home / "concepts", vocabulary, table))}
    settings = config.build(
        values={
            "strategy": "sage",
            "corpus": {"name": str(home / "shelf.jsonl"), "language": "en"},
            "retrieval": {"k": 3, "audit": ["lucene", "dense"], "dense": dense},
            "runtime": {"out": home / "outputs"},
        }
    )
    return prepare.context(settings, prepare.corpus(settings))


def get_dense_name(context: RunContext) -> str:
    (name,) = context.others
    return name


def make_draft(question: str) -> Draft:
    return graph_drafts.drafted(question, make_proposal()["steps"], list(SHELF.passages.values()))


@pytest.mark.slow
async def test_the_runs_own_retriever_is_not_searched_twice(context: RunContext) -> None:
    assert getattr(context.retriever, "name", "") == "lucene"
    assert get_dense_name(context).startswith("dense#concepts@")


async def test_what_is_hard_for_bm25_may_be_trivial_for_a_dense_index(context: RunContext) -> None:
    chain = make_draft(SYNONYMS).graph
    assert await find_shortcut(SYNONYMS, chain, replace(context, others={})) == ""
    assert f"one search with it over {get_dense_name(context)} returns" in await find_shortcut(SYNONYMS, chain, context)
    assert await find_shortcut(make_proposal()["question"], chain, context) == ""


def run(context: RunContext) -> tuple[Record, Cast]:
    """Propose a draft that the dense index answers at once, then one that it does not."""
    cast = Cast(lambda question, sample: 3, [make_proposal()])
    cast.first = make_proposal(SYNONYMS)
    return asyncio.run(run_seed(make_seed(), replace(context, llm=ScriptedLLM(cast)))), cast


def test_a_draft_that_any_retriever_answers_is_sent_back_and_each_pair_names_them(context: RunContext) -> None:
    record, cast = run(context)
    assert record.status is Status.ACCEPTED
    assert [past.feedback and past.feedback.cause for past in record.rounds] == [Cause.OVER_SPECIFIED, None]
    assert f"one search with it over {get_dense_name(context)} returns" in cast.feedback[0]["message"]
    assert [(search.retriever, search.question_hops, search.sub_question_hops) for search in record.one_search] == [
        ("lucene", (0,), (0, 1, 2)),
        (get_dense_name(context), (0,), (0, 1, 2)),
    ]
    lexical, _ = run(replace(context, others={}))
    assert len(lexical.rounds) == 1
    assert lexical.one_search == ()


def test_one_search_is_a_column_of_the_views_and_a_figure_of_the_report(context: RunContext) -> None:
    import polars as pl
    import pyarrow as pa

    from pipeline.agents.environment_file import environment

    record, _ = run(context)
    rows = list(records.rows(record, environment(context.config)))
    table = pa.Table.from_pylist(rows, records.SCHEMA)
    assert records.record(table.to_pylist()[0]).one_search == record.one_search
    (flat,) = qa.rows(record, environment(context.config))
    assert [search["retriever"] for search in flat["one_search"]] == ["lucene", get_dense_name(context)]
    seeds = pl.from_arrow(pa.Table.from_pylist([row(record)], SCHEMA))
    assert isinstance(seeds, pl.DataFrame)
    summary = figures(seeds.lazy().with_columns(plan_order=pl.lit("0")))
    assert [(search.retriever, str(search.last_found)[:6]) for search in summary.one_search] == [
        ("lucene", "0 of 1"),
        (get_dense_name(context), "0 of 1"),
    ]


def test_only_another_retriever_makes_another_run(tmp_path: Path) -> None:
    def digest(*audit: str, **retrieval: Any) -> str:
        return config.build(values={"retrieval": {"audit": list(audit), **retrieval}}).digest()

    assert digest() == digest("lucene") != digest("bm25") != digest("bm25", retriever="bm25")
    assert digest("http://one:80/retrieve#e5") == digest("http://two:81/retrieve#e5") != digest()
    small_encoders.needed()
    encoders_written = [
        small_encoders.write(tmp_path / f"{n}" / "e", ["a"], np.full((2, 2), n, np.float32)) for n in (1, 2)
    ]
    first, second = (digest("dense", dense={"encoder": str(folder)}) for folder in encoders_written)
    assert first != second


@pytest.mark.parametrize("audit", [["bm25", "bm25"], ["ftp://x"], ["http://one/retrieve", "http://two/retrieve"]])
def test_retrievers_with_one_name_are_refused(audit: list[str]) -> None:
    with pytest.raises(UsageError, match=r"retrieval\.audit"):
        config.build(values={"retrieval": {"audit": audit}})


def test_an_unknown_retriever_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no retriever 'elastic'"):
        prepare.check(config.build(values={"corpus": {"name": "tiny"}, "retrieval": {"audit": ["elastic"]}}))
    with pytest.raises(UsageError, match="no encoder is set"):
        prepare.check(config.build(values={"corpus": {"name": "tiny"}, "retrieval": {"audit": ["dense"]}}))

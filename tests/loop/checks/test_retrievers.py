"""The audit over a set of retrievers: a question that BM25 cannot answer at once, and a dense index can."""

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
from pipeline.loop.draft_check import check_draft
from pipeline.loop.episode import run_seed
from pipeline.loop.examine import audit
from pipeline.loop.retrievers import by, too_easy
from pipeline.run import prepare
from pipeline.types import Cause, Draft, Finding, Record, Searched, Status
from tests import encoders
from tests.loop.test_episode import FILM, HOLM, SHELF, TOWN, Cast, proposal, seeded
from tests.scripted import ScriptedLLM

CONCEPTS = ("lantern bay beacon cove", "ada holm painter artist", "vessby tarn riverside")
"""Words with one vector."""
SYNONYMS = "When was the riverside place that the artist of Beacon Cove called home settled?"
MILLS = [{"id": f"o{n}", "title": f"Mill {n}", "text": f"Mill {n} was built in {1700 + n}."} for n in range(9)]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> RunContext:
    """Lucene, and beside it a dense retriever over the same files, opened as a run opens them."""
    encoders.needed()
    home = tmp_path_factory.mktemp("audit")
    texts = [{"id": p.document_id, "title": p.title, "text": p.text} for p in (FILM, HOLM, TOWN)]
    (home / "shelf.jsonl").write_bytes(b"\n".join(map(orjson.dumps, texts + MILLS)))
    known = [word for words in CONCEPTS for word in words.split()]
    table = np.zeros((1 + len(known), len(CONCEPTS)), np.float32)
    for place, word in enumerate(known, 1):
        table[place, [word in words.split() for words in CONCEPTS].index(True)] = 1
    dense = {"encoder": str(encoders.write(home / "concepts", known, table))}
    built = config.build(
        values={
            "corpus": {"name": str(home / "shelf.jsonl"), "language": "en"},
            "retrieval": {"k": 3, "audit": ["lucene", "dense"], "dense": dense},
            "how": {"out": home / "outputs"},
        }
    )
    return prepare.context(built, prepare.corpus(built))


def name(context: RunContext) -> str:
    (one,) = context.others
    return one


def drafted(question: str) -> Draft:
    told = proposal(question)
    shelf = {passage.shown_id: passage for passage in SHELF.passages.values()}
    for hop in told["hops"]:
        cited = shelf[hop["passage_id"]]
        hop |= {"passage_id": cited.id, "title": cited.title, "passage_sha256": cited.sha256}
    return Draft.model_validate(told)


async def checks(draft: Draft, context: RunContext) -> list[tuple[str, str, bool]]:
    found = await audit(draft, 3, context.retriever, 3, context.others)
    return [(f.check, f.searches[0].retriever, f.fatal) for f in found]


async def test_the_run_s_own_is_not_searched_twice(context: RunContext) -> None:
    assert getattr(context.retriever, "name", "") == "lucene"
    assert name(context).startswith("dense#concepts@")


async def test_what_is_hard_for_bm25_may_be_trivial_for_a_dense_index(context: RunContext) -> None:
    alone = replace(context, others={})
    assert await checks(drafted(SYNONYMS), alone) == []
    assert await checks(drafted(SYNONYMS), context) == [("over_specified", name(context), True)]
    assert await checks(drafted(proposal()["question"]), context) == []


async def test_an_author_is_told_which_retriever_it_was(context: RunContext) -> None:
    said, _ = await check_draft(drafted(SYNONYMS), 3, {}, context)
    assert f"over {name(context)}, one search finds these and the answer" in said
    assert f"searched '{SYNONYMS}' over {name(context)}: hops[0] at rank" in said


def run(context: RunContext, *revisions: dict[str, Any]) -> tuple[Record, Cast]:
    cast = Cast(lambda question, sample: 3, list(revisions))
    cast.first = proposal(SYNONYMS)
    return asyncio.run(run_seed(seeded(), replace(context, llm=ScriptedLLM(cast)))), cast


def test_a_draft_goes_back_for_what_any_of_them_finds_and_each_pair_says_who_found_what(context: RunContext) -> None:
    record, cast = run(context, proposal())
    assert record.status is Status.ACCEPTED
    assert [past.feedback and past.feedback.cause for past in record.rounds] == [Cause.OVER_SPECIFIED, None]
    assert cast.feedback[0]["message"].startswith(f"over_specified: over {name(context)}, one search finds these")
    assert [(one.retriever, one.question_hops, one.sub_question_hops) for one in record.one_search] == [
        ("lucene", (0,), (0, 1, 2)),
        (name(context), (0,), (0, 1, 2)),
    ]
    alone, _ = run(replace(context, others={}))
    assert len(alone.rounds) == 1
    findings = [search.retriever for past in alone.rounds for finding in past.findings for search in finding.searches]
    probes = [search.retriever for past in alone.rounds for probe in past.probes for search in probe.searches]
    assert {*findings, *probes} <= {""}
    assert alone.one_search == ()


def test_it_is_a_column_of_the_views_and_a_figure_of_card_and_report(context: RunContext) -> None:
    import polars as pl
    import pyarrow as pa

    from pipeline.agents.environment_file import environment

    record, _ = run(context, proposal())
    rows = list(records.rows(record, environment(context.config)))
    table = pa.Table.from_pylist(rows, records.SCHEMA)
    assert records.record(table.to_pylist()[0]) == record
    (flat,) = qa.rows(record, environment(context.config))
    assert [one["retriever"] for one in flat["one_search"]] == ["lucene", name(context)]
    seeds = pl.from_arrow(pa.Table.from_pylist([row(record)], SCHEMA))
    assert isinstance(seeds, pl.DataFrame)
    found = figures(seeds.lazy().with_columns(plan_order=pl.lit("0")))
    assert [(one.retriever, str(one.last_found)[:6]) for one in found.one_search] == [
        ("lucene", "0 of 1"),
        (name(context), "0 of 1"),
    ]


def test_what_two_retrievers_save_does_not_add_up() -> None:
    def saves(retriever: str, hop: int) -> Finding:
        search = Searched(query="q", passage_ids=())
        bare = {"check": "query_collapse", "cause": Cause.QUERY_COLLAPSE, "fatal": False, "hops": (hop,)}
        return by(retriever, [Finding.model_validate(bare | {"searches": (search,)})])[0]

    draft = drafted(SYNONYMS)
    one, other = saves("", 1), saves("dense", 2)
    in_no_search = one.model_copy(update={"searches": (), "hops": (0,)})
    assert not any(too_easy(draft, 2, [one, other], finding) for finding in (one, other))
    assert all(too_easy(draft, 2, [one, other, in_no_search], f) for f in (one, other, in_no_search))
    assert too_easy(draft, 2, [one, saves("", 2)], one)
    assert not too_easy(draft, 2, [one, saves("", 2), saves("dense", 0)], saves("dense", 0))


def test_only_another_retriever_makes_another_run(tmp_path: Path) -> None:
    def digest(*audit: str, **retrieval: Any) -> str:
        return config.build(values={"retrieval": {"audit": list(audit), **retrieval}}).digest()

    assert digest() == digest("lucene") != digest("bm25") != digest("bm25", retriever="bm25")
    assert digest("http://one:80/retrieve#e5") == digest("http://two:81/retrieve#e5") != digest()
    encoders.needed()
    made = [encoders.write(tmp_path / f"{n}" / "e", ["a"], np.full((2, 2), n, np.float32)) for n in (1, 2)]
    one, other = (digest("dense", dense={"encoder": str(folder)}) for folder in made)
    assert one != other


@pytest.mark.parametrize("audit", [["bm25", "bm25"], ["ftp://x"], ["http://one/retrieve", "http://two/retrieve"]])
def test_a_set_that_cannot_be_told_apart_is_refused(audit: list[str]) -> None:
    with pytest.raises(UsageError, match=r"retrieval\.audit"):
        config.build(values={"retrieval": {"audit": audit}})


def test_a_retriever_that_is_not_there_is_a_mistake_of_one_line() -> None:
    with pytest.raises(UsageError, match="no retriever 'elastic'"):
        prepare.check(config.build(values={"corpus": {"name": "tiny"}, "retrieval": {"audit": ["elastic"]}}))
    with pytest.raises(UsageError, match="which encoder"):
        prepare.check(config.build(values={"corpus": {"name": "tiny"}, "retrieval": {"audit": ["dense"]}}))

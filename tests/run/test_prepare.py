"""What a configuration names, opened."""

from pathlib import Path

import pytest

from pipeline.config import build
from pipeline.corpus import Corpus
from pipeline.errors import BudgetExceeded, RetrievalError
from pipeline.llm.base import Request
from pipeline.llm.ledger import Spending, Spent
from pipeline.retrieval import jvm
from pipeline.run import prepare
from pipeline.run.attempts import NAME, Attempt
from pipeline.types import Usage


async def test_without_java_the_budget_is_that_of_the_run_that_stands_in(
    tiny: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> None:
        raise RetrievalError("no Java")

    monkeypatch.setattr(jvm, "start", absent)
    config = build(values={"retrieval": {"retriever": "lucene"}, "how": {"out": tmp_path, "budget_tokens": 1000}})
    stood_in = config.model_copy(update={"retrieval": config.retrieval.model_copy(update={"retriever": "bm25"})})
    spent = Spending(by_stage={"round 0": {"propose": Spent(paid=Usage(calls=1, prompt_tokens=1000))}})
    earlier = Attempt(key="k", ended="accepted", reason="", began="", seconds=1, spent=spent)
    stood_in.folder().mkdir(parents=True)
    (stood_in.folder() / NAME).write_text(earlier.model_dump_json() + "\n")
    context = prepare.context(config, tiny)
    assert context.config.retrieval.retriever == "bm25"
    with pytest.raises(BudgetExceeded):
        await context.llm.complete(Request(model="embedded", messages=()))

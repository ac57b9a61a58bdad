"""`prepare` opens the corpus, retriever and models of a configuration."""

from pathlib import Path

import pytest

from pipeline.config import build
from pipeline.corpus import Corpus, jvm
from pipeline.errors import BudgetExceeded, ProviderError, RetrievalError
from pipeline.llm.base import Request
from pipeline.llm.ledger import Spending, Spent
from pipeline.run import prepare
from pipeline.run.attempts import NAME, Attempt
from pipeline.types import Usage
from tests.exports.card.test_card import make_card
from tests.records import accepted


async def test_without_java_the_budget_follows_the_bm25_run(
    tiny: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> None:
        raise RetrievalError("no Java")

    monkeypatch.setattr(jvm, "start", absent)
    config = build(values={"retrieval": {"retriever": "lucene"}, "runtime": {"out": tmp_path, "budget_tokens": 1000}})
    stood_in = config.model_copy(update={"retrieval": config.retrieval.model_copy(update={"retriever": "bm25"})})
    spent = Spending(by_stage={"round 0": {"propose": Spent(paid=Usage(calls=1, prompt_tokens=1000))}})
    earlier = Attempt(key="k", ended="accepted", reason="", began="", seconds=1, spent=spent)
    stood_in.folder().mkdir(parents=True)
    (stood_in.folder() / NAME).write_text(earlier.model_dump_json() + "\n")
    context = prepare.context(config, tiny)
    assert context.config.retrieval.retriever == "bm25"
    with pytest.raises(BudgetExceeded):
        await context.llm.complete(Request(model="embedded", messages=()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "language", "detected", "analyser"),
    [
        ([], "de", True, "german"),
        (["corpus.language=fr"], "fr", False, "french"),
        (["corpus.language=en"], "en", False, ""),
    ],
)
def test_records_and_card_state_the_detected_language_and_its_analyser(
    options: list[str], language: str, detected: bool, analyser: str, tmp_path: Path
) -> None:
    german = Path(__file__).parent.parent / "corpus" / "handbook" / "de.jsonl"
    config = build(sets=[f"corpus.name={german}", f"runtime.out={tmp_path}", "retrieval.retriever=bm25", *options])
    corpus = prepare.corpus(config)
    lineage = prepare.context(config, corpus).lineage
    retriever = f"bm25 ({analyser})" if analyser else "bm25"
    assert (lineage.language, corpus.language_detected, lineage.retriever) == (language, detected, retriever)
    card = make_card(accepted().model_copy(update={"lineage": lineage}), language_detected=corpus.language_detected)
    sentence = "The language of the corpus is `de` (detected). It was searched by `bm25 (german)`."
    assert (sentence in card) == detected


def test_records_of_english_texts_say_so_without_a_setting(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The mill of the town was built by the monks, and that is what it is for. " * 9)
    config = build(sets=[f"corpus.name={tmp_path}/notes.txt", f"runtime.out={tmp_path}", "retrieval.retriever=bm25"])
    corpus = prepare.corpus(config)
    assert corpus.language == "en"
    lineage = prepare.context(config, corpus).lineage
    assert (lineage.language, corpus.language_detected, lineage.retriever) == ("en", True, "bm25")


@pytest.mark.slow
async def test_an_endpoint_can_be_probed_inside_a_running_loop(tmp_path: Path) -> None:
    away = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    config = build(values={"models": {"default": away}, "runtime": {"out": str(tmp_path)}})
    with pytest.raises(ProviderError, match="cannot be reached"):
        prepare.reach(config)

"""`measure` reads benchmark files as they are published, and finds their documents."""

from pathlib import Path

import orjson
import pytest

from pipeline import api, config
from pipeline.corpus.prepared import Corpus
from pipeline.errors import UsageError
from pipeline.measurement.gold_questions import GoldQuestion, locate_documents, read
from pipeline.run import prepare
from tests.exports.published import ALIAS, ANSWER, ASKED, BARE, CORPUS, FORMS, TITLED, WITH_IDS, write_beir, write_form


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> config.RunConfig:
    folder = tmp_path_factory.mktemp("published")
    (folder / "corpus.jsonl").write_bytes(b"\n".join(map(orjson.dumps, CORPUS)))
    return config.build(
        values={
            "corpus": {"name": str(folder / "corpus.jsonl")},
            "runtime": {"out": str(folder / "out")},
            "retrieval": {"retriever": "bm25"},
            "loop": {"rollouts": 1},
        }
    )


@pytest.fixture(scope="module")
def corpus(settings: config.RunConfig) -> Corpus:
    return prepare.corpus(settings)


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_asked_and_its_documents_are_found(name: str, tmp_path: Path, corpus: Corpus) -> None:
    located = locate_documents(read(write_form(tmp_path, name)), corpus)
    assert [(item.question.lower().rstrip("?"), item.answer) for item in located] == [
        (ASKED.lower().rstrip("?"), ANSWER)
    ]
    assert set(located[0].answers) <= {ANSWER, ALIAS}
    expected = [] if name in BARE else ["w1"] if name == "popqa.tsv" else ["w1", "w2"]
    assert sorted(key for documents in located[0].needed_documents for key in documents) == expected


def test_hops_are_those_of_the_file(tmp_path: Path) -> None:
    hops = {name: read(write_form(tmp_path, name))[0].hops for name in (*TITLED, *WITH_IDS)}
    assert {name for name, number in hops.items() if number} == {
        "musique_ans_v1.0_dev.jsonl", "musique_full_v1.0_dev.jsonl", "qa/train-00000-of-00001.parquet",
    }  # fmt: skip
    assert set(hops.values()) == {0, 2}


def test_one_of_the_documents_of_a_title_is_enough_and_titles_may_be_written_otherwise(corpus: Corpus) -> None:
    gold = GoldQuestion(question="?", answer="x", supporting_titles=("marrow_Ford", '"Lake Ilm"', "Lake&nbsp;Ilm"))
    (located,) = locate_documents([gold], corpus)
    assert located.needed_documents == (frozenset(["w1"]), frozenset(["w2"]))


def test_where_a_title_is_nowhere_recall_is_not_measured(corpus: Corpus) -> None:
    findable, unfindable = (
        GoldQuestion(question="?", answer="x", supporting_titles=("Lake Ilm", *titles)) for titles in ((), ("Nowhere",))
    )
    assert [len(located.needed_documents) for located in locate_documents([findable, unfindable], corpus)] == [1, 0]


def test_ids_that_the_corpus_lacks_are_refused_unless_titles_stand_in(corpus: Corpus) -> None:
    gold = GoldQuestion(question="?", answer="x", supporting_ids=("w1", "doc2"))
    with pytest.raises(UsageError, match=r"lacks 1 of 3 documents .* such as 'doc2'; name the field .*--id-field"):
        locate_documents([gold, GoldQuestion(question="?", answer="x", supporting_ids=("w3",))], corpus)
    (located,) = locate_documents([gold.model_copy(update={"supporting_titles": ("Marrow Ford", "Lake Ilm")})], corpus)
    assert located.needed_documents == (frozenset(["w1"]), frozenset(["w2"]))


def test_without_answers_what_one_search_finds_is_all_that_is_measured(
    tmp_path: Path, settings: config.RunConfig
) -> None:
    folder = write_beir(tmp_path / "beir")
    assert [(gold.answer, gold.supporting_ids) for gold in read(folder)] == [("", ("w1", "w2"))]
    (figures,) = api.compare_retrievers(settings, folder, ["bm25"])
    assert (figures.questions, figures.all_gold["5"]) == (1, 1.0)
    with pytest.raises(UsageError, match="no answers"):
        api.measure(settings, folder)


def test_recall_is_measured_where_documents_are_named(tmp_path: Path, settings: config.RunConfig) -> None:
    """Ask only those of BEIR's questions with answers that have judgements."""
    for source, documents in (
        (write_beir(tmp_path / "beir", answer=ANSWER), True),
        (write_form(tmp_path, "by_pandas.csv"), False),
    ):
        (overall, *_) = api.measure(settings, source).figures
        assert (overall.questions, overall.recall is not None) == (1, documents)


def test_what_has_neither_answers_nor_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"question": "Who?"}\n')
    with pytest.raises(UsageError, match="nothing can be measured"):
        read(tmp_path / "q.jsonl")

"""What all tests share: a small real corpus, a real index of it, and a finished run."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pipeline import corpus
from pipeline.corpus import Corpus
from pipeline.retrieval.engines.lucene import LuceneRetriever
from tests import small_encoders
from tests.cli.conftest import SMALL, run_well

# A clock says nothing of the code: on a busy machine any example is slow.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")
Figures = Callable[[Mapping[str, float], Mapping[str, float]], None]


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Figures:
    """Reports the size of a test and its result, by name, for `make chaos` to print.

    Of several cases of one test whole numbers are added up, and of the others the largest is shown.
    """

    def report(size: Mapping[str, float], result: Mapping[str, float]) -> None:
        record_property("size", dict(size))
        record_property("result", dict(result))
        print(size, result)

    return report


@pytest.fixture(scope="session")
def tiny() -> Corpus:
    """41 linked articles on an invented country: `corpora/tiny.jsonl`."""
    return corpus.load(corpus.resolve("tiny"))


@pytest.fixture(scope="session")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder for indexes, shared by the session."""
    return tmp_path_factory.mktemp("outputs")


@pytest.fixture(scope="session")
def retriever(tiny: Corpus, indexes: Path) -> LuceneRetriever:
    """Lucene over `tiny`."""
    return LuceneRetriever(tiny, indexes)


@pytest.fixture(scope="session")
def asked(tiny: Corpus, tmp_path_factory: pytest.TempPathFactory) -> small_encoders.Asked:
    """The settings of a kind of retriever, with an encoder of the words of `tiny`."""
    return small_encoders.asked(tiny, tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder with one finished run of `tiny`; a test that writes into it copies it."""
    folder = tmp_path_factory.mktemp("finished")
    run_well("generate", "tiny", *SMALL, "--seeds", "8", "--out", folder, "--json")
    return folder

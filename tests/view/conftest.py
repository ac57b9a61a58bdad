"""The application of `digsite view` over runs made of the records of `tests/records.py`, asked without a network."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pipeline.serve.browser import create
from pipeline.types import Record
from pipeline.view.browsing import Runs
from tests.analysis.test_seed_rows import begin_run, export_table
from tests.records import batch


@contextmanager
def browsing(*names: str, out: Path) -> Iterator[TestClient]:
    library = Runs(names, out)
    try:
        for source in library.open_named():
            source.whole()
        with TestClient(create(library), base_url="http://127.0.0.1") as client:
            yield client
    finally:
        library.close()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export a run of 120 records of every kind."""
    folder, config = begin_run(tmp_path_factory.mktemp("run"), batch(120))
    export_table(folder, config)
    return folder


@pytest.fixture(scope="session")
def client(run: Path) -> Iterator[TestClient]:
    with browsing(str(run), out=run.parents[1]) as browser:
        yield browser


Made = Callable[[Sequence[Record]], AbstractContextManager[TestClient]]


@pytest.fixture
def make_client(tmp_path: Path) -> Made:
    """`with make_client(records) as client`: a run that nobody has export_table."""

    def over(records: Sequence[Record]) -> AbstractContextManager[TestClient]:
        folder, _ = begin_run(tmp_path, list(records))
        return browsing(str(folder), out=tmp_path)

    return over

"""What the stages make of a machine that lacks something."""

from pathlib import Path

import pytest

from pipeline import config
from pipeline.cli.progress import Progress
from pipeline.errors import RetrievalError
from pipeline.retrieval import jvm
from pipeline.run.job import Job


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RetrievalError("no Java starts here")

    monkeypatch.setattr(jvm, "start", broken)


def test_another_engine_makes_another_run(tmp_path: Path, no_java: None) -> None:
    asked = config.build(sets=["corpus.name=tiny", f"how.out={tmp_path}"])
    with Progress(pairs=1) as progress:
        job = Job(asked, progress)
        job.read()
        job.index()
    assert job.config.retrieval.retriever == job.context.lineage.retriever == "bm25"
    assert job.folder == job.config.folder() != asked.folder()
    assert job.context.lineage.run == job.config.digest()[:12]

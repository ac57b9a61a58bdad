"""Stages adapt to a machine without Java, and say what they detect."""

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest

from pipeline import api, build, config
from pipeline.corpus import jvm
from pipeline.errors import RetrievalError
from pipeline.run import LogCallbacks, RunView, stages


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RetrievalError("no Java starts here")

    monkeypatch.setattr(jvm, "start", broken)


def test_another_engine_makes_another_run(tmp_path: Path, no_java: None) -> None:
    settings = config.build(sets=["corpus.name=tiny", f"runtime.out={tmp_path}"])

    async def open_it() -> None:
        async with stages.open_run(settings, None, LogCallbacks()) as (run, context):
            assert run.config.retrieval.retriever == context.lineage.retriever == "bm25"
            assert run.folder == run.config.folder() != settings.folder()
            assert context.lineage.run == run.config.digest()[:12]

    asyncio.run(open_it())
    assert not settings.folder().exists()


def test_a_detected_language_is_reported_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chinese = Path(__file__).parent.parent / "corpus" / "handbook" / "zh.jsonl"
    for setting, is_reported in (("corpus.language=zh", False), ("strategy=sage", True)):
        settings = config.build(sets=[f"corpus.name={chinese}", f"runtime.out={tmp_path}", setting])
        caplog.clear()
        stages.read(settings, LogCallbacks())
        assert ("zh: language zh (detected): say another with --language" in caplog.text) == is_reported


@pytest.mark.slow
def test_a_command_without_work_shows_the_earlier_records(tmp_path: Path) -> None:
    class Counting(LogCallbacks):
        counts: ClassVar[list[int]] = []

        def started(self, run: RunView) -> None:
            self.counts.append(len(list(run.records())))

    values = {"corpus": {"name": "tiny"}, "retrieval": {"retriever": "bm25"}, "runtime": {"seeds": 3, "out": tmp_path}}
    for _ in range(2):
        api.generate(build(values=values), watch=Counting())
    assert Counting.counts == [0, 3]


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_demo_model_warns_that_it_makes_no_unanswerable_questions(
    share: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    values = {"corpus": {"name": "tiny"}, "questions": {"unanswerable": share}, "runtime": {"out": tmp_path}}
    stages.read(build(values=values), LogCallbacks())
    assert ("questions without an answer" in caplog.text) is (share > 0)

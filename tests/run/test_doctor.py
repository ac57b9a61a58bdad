"""What the doctor says of a machine that is well, and of one that is not."""

import os
from pathlib import Path

import pytest

from pipeline.config import build
from pipeline.corpus import Corpus, manifest
from pipeline.errors import RetrievalError
from pipeline.retrieval import jvm
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.run import doctor
from pipeline.run.doctor import Check


def by_name(out: Path) -> dict[str, Check]:
    return {check.name: check for check in doctor.checks(out)}


def test_this_machine_is_well(retriever: LuceneRetriever, indexes: Path, tiny: Corpus) -> None:
    found = by_name(indexes)
    assert {"python", "java", "memory", "disk", "corpus wiki", "corpus tiny", "indexes", "endpoint"} <= set(found)
    assert [check for check in found.values() if not check.ok or check.remedy] == []
    assert found["java"].detail.startswith("21.")
    assert tiny.fingerprint[:12] in found["indexes"].detail


def test_each_lack_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone.toml").write_text('name = "gone"\nreader = "jsonl"\nsource = "/nowhere.jsonl"')
    (tmp_path / "torn.toml").write_text("name = ")
    (tmp_path / "changed.toml").write_text(
        f'name = "changed"\nreader = "jsonl"\nsource = "{tmp_path}/a.jsonl"\nsha256 = "{"0" * 64}"'
    )
    (tmp_path / "a.jsonl").touch()

    def fail() -> None:
        raise RetrievalError("Java did not start: no libjvm")

    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    monkeypatch.setattr(jvm, "start", fail)
    monkeypatch.setattr(doctor, "_MEMORY", 1e6)
    monkeypatch.setattr(doctor, "_DISK", 1e6)
    found = by_name(tmp_path / "not" / "there")
    ill = {name: check for name, check in found.items() if not check.ok}
    assert set(ill) == {"java", "memory", "disk", "corpus gone", "corpus torn", "corpus changed"}
    assert all(check.detail and check.remedy and "\n" not in check.detail + check.remedy for check in ill.values())
    assert "no libjvm" in ill["java"].detail
    assert "make setup" in ill["java"].remedy


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot be written" in by_name(tmp_path / "outputs")["disk"].detail


def test_the_embedded_judge_is_asked_about_the_near_misses_and_lets_few_pass() -> None:
    found = {check.name: check for check in doctor.endpoint(build())}
    check = found["judging by embedded"]
    assert check.ok
    assert "of 100 wrong answers" in check.detail
    assert "judging by embedded" not in {check.name for check in doctor.endpoint(build(), judge=False)}

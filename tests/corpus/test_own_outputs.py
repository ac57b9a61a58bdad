"""Outputs inside the corpus folder, as if the command ran there, are not read as documents."""

from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import manifest
from pipeline.errors import CorpusError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mill.md").write_text("# Mill\n\nThe mill of Arden was built in 1702.\n")
    return tmp_path


def test_outputs_within_a_corpus_are_no_part_of_it(folder: Path) -> None:
    described = manifest.resolve(str(folder))
    first = corpus.load(described, folder / "outputs")
    (folder / "outputs/wiki").mkdir()
    (folder / "outputs/wiki/report.md").write_text("# Report\n\nTen pairs.\n")
    again = corpus.load(described, folder / "outputs")
    verified = corpus.load(described, folder / "outputs", verify=True)
    assert [document.title for document in first.documents] == ["Mill"]
    assert first.fingerprint == again.fingerprint == verified.fingerprint
    assert corpus.load(described).counts == first.counts


def test_a_corpus_is_not_the_folder_of_its_outputs(folder: Path) -> None:
    with pytest.raises(CorpusError, match="name another --out"):
        corpus.load(manifest.resolve(str(folder)), folder)
    assert [path.name for path in folder.iterdir()] == ["mill.md"]

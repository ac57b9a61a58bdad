"""An index is built once, never used half-built, and rebuilt when it is damaged."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus
from pipeline.errors import RetrievalError, UsageError
from pipeline.retrieval import index
from pipeline.retrieval.analysers import ENGLISH
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.store.files import checksum

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def out(tmp_path: Path, tiny: Corpus) -> Path:
    LuceneRetriever(tiny, tmp_path)
    return tmp_path


def index_folder(tiny: Corpus, out: Path) -> Path:
    return index.folder(tiny, ENGLISH, out)


def test_the_folder_names_corpus_fingerprint_and_analyser(out: Path, tiny: Corpus) -> None:
    assert [path.name for path in (out / "indexes").iterdir()] == [f"tiny-{tiny.fingerprint[:12]}-english"]
    assert index.list_built(out) == [index_folder(tiny, out).name]


def test_an_index_is_built_once(out: Path, tiny: Corpus) -> None:
    def never(path: Path) -> None:
        raise AssertionError("built again")

    assert index.ensure(tiny, ENGLISH, out, never) == index_folder(tiny, out) / "lucene"


@pytest.mark.parametrize(
    "damage",
    [
        lambda home: (home / "manifest.json").unlink(),
        lambda home: (home / "manifest.json").write_text("{"),
        lambda home: (home / "manifest.json").write_text((home / "manifest.json").read_text().replace("pyserini", "x")),
        lambda home: next((home / "lucene").glob("segments*")).unlink(),
        lambda home: [path.unlink() for path in (home / "lucene").iterdir()],
        lambda home: [path.write_bytes(b"junk") for path in (home / "lucene").iterdir()],
        lambda home: next((home / "lucene").glob("*.doc")).write_bytes(b""),
    ],
    ids=["no manifest", "torn manifest", "another engine", "no segments", "no files", "junk", "empty file"],
)
async def test_a_damaged_index_is_rebuilt_with_a_warning(
    damage, out: Path, tiny: Corpus, caplog: pytest.LogCaptureFixture
) -> None:
    damage(index_folder(tiny, out))
    with caplog.at_level(logging.WARNING):
        mended = LuceneRetriever(tiny, out)
    assert "rebuilding the index" in caplog.text
    assert (await mended.search("Kessel Bridge", 1))[0].passage.title == "Kessel Bridge"
    assert index.problem(tiny, ENGLISH, out) == ""


def test_a_flipped_byte_is_detected(out: Path, tiny: Corpus) -> None:
    path = next((index_folder(tiny, out) / "lucene").glob("*.doc"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert index.problem(tiny, ENGLISH, out) == f"its file {path.name} is damaged"


def test_a_file_is_hashed_only_if_its_time_changed_or_the_corpus_was_verified(
    out: Path, tiny: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = list[Path]()

    def record_and_hash(path: Path) -> str:
        hashed.append(path)
        return checksum(path)

    monkeypatch.setattr(index, "checksum", record_and_hash)
    assert index.problem(tiny, ENGLISH, out) == ""
    assert hashed == []
    path = next((index_folder(tiny, out) / "lucene").glob("*.doc"))
    path.touch()
    assert index.problem(tiny, ENGLISH, out) == ""
    assert path in hashed
    hashed.clear()
    assert index.problem(tiny, ENGLISH, out) == ""
    assert hashed == []
    times, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert index.problem(tiny, ENGLISH, out) == ""
    monkeypatch.setattr(tiny, "verified", True)
    assert index.problem(tiny, ENGLISH, out) == f"its file {path.name} is damaged"


def test_a_build_that_fails_leaves_nothing(tmp_path: Path, tiny: Corpus) -> None:
    def fail(path: Path) -> None:
        path.mkdir()
        (path / "half").write_text("x")
        raise RetrievalError("Lucene failed: no space")

    with pytest.raises(RetrievalError, match="no space"):
        index.ensure(tiny, ENGLISH, tmp_path, fail)
    assert not any(tmp_path.glob("indexes/*"))
    LuceneRetriever(tiny, tmp_path)


def test_an_unwritable_folder_is_refused_in_one_line(tmp_path: Path, tiny: Corpus) -> None:
    (tmp_path / "indexes").write_text("a file is in the way")
    with pytest.raises(UsageError, match="cannot write") as caught:
        LuceneRetriever(tiny, tmp_path)
    assert "\n" not in str(caught.value)


def test_another_corpus_gets_another_index(out: Path, tmp_path: Path) -> None:
    path = tmp_path / "tiny.jsonl"
    path.write_text('{"text": "The mill of Arden was built in 1702."}\n')
    LuceneRetriever(corpus.load(corpus.resolve(str(path))), out)
    assert len(index.list_built(out)) == 2


BUILD = """
import asyncio, sys
from pathlib import Path
from pipeline import corpus
from pipeline.retrieval.engines.lucene import LuceneRetriever
retriever = LuceneRetriever(corpus.load(corpus.resolve("tiny")), Path(sys.argv[1]))
print(asyncio.run(retriever.search("Kessel Bridge", 1))[0].passage.title)
"""


@pytest.mark.slow
def test_two_processes_at_once_build_one_good_index(tmp_path: Path, tiny: Corpus) -> None:
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(process.communicate(timeout=120)[0], process.returncode) for process in running] == [
        ("Kessel Bridge\n", 0)
    ] * 2
    assert index.problem(tiny, ENGLISH, tmp_path) == ""
    assert len(list((tmp_path / "indexes").iterdir())) == 1


def test_a_kill_while_building_costs_only_the_build(tmp_path: Path, tiny: Corpus) -> None:
    # The first rename is the manifest's, the second that of the whole folder.
    code = "from tests.chaos.wrapped import kill; kill('before rename:2')\n" + BUILD
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, timeout=120, check=False)
    assert killed.returncode == -9
    assert index.list_built(tmp_path) == []
    LuceneRetriever(tiny, tmp_path)
    assert index.problem(tiny, ENGLISH, tmp_path) == ""


FULL = """
import resource, signal, sys
from pathlib import Path
from pipeline import corpus
from pipeline.errors import DigsiteError
from pipeline.retrieval.engines.lucene import LuceneRetriever
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
loaded = corpus.load(corpus.resolve("tests/golden/recorded/wiki.jsonl.zst"))
loaded.language  # its model is unpacked on the disk
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    LuceneRetriever(loaded, Path(sys.argv[1]))
except DigsiteError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    # A limit on the size of files stands for the disk: Java's writes fail half-way, small files still fit.
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("is the disk full?")
    assert len(done.stdout.splitlines()) == 1
    assert not any(tmp_path.glob("indexes/*"))

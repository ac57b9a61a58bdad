"""Data sets of the Hub, from its stand-in, and folders laid out as one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus.readers.base import ReadLimits
from pipeline.errors import CorpusError, UsageError
from tests import hub_server

LOAD = """
import sys
from pipeline import corpus
from pipeline.errors import DigsiteError
try:
    loaded = corpus.load(corpus.resolve(sys.argv[1]))
    print(loaded.manifest.name, *(f"{d.id}={d.text}" for d in loaded.documents), sep="|")
except DigsiteError as error:
    print(error)
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def line(key: str) -> str:
    return f'{{"id": "{key}", "text": "The mill of {key} was built in 1702."}}\n'


def texts(address: str) -> list[tuple[str, str]]:
    return [(document.id, document.text[:13]) for document in corpus.load(corpus.resolve(address)).documents]


def test_a_folder_gives_the_files_of_its_splits(tmp_path: Path) -> None:
    folder = write(tmp_path, {"data/train.jsonl": line("a"), "data/test.jsonl": line("b"), "README.md": "# Mills\n"})
    assert texts(f"hf:{folder}") == [("a", "The mill of a"), ("b", "The mill of b")]


CARD = """---
configs:
- config_name: en
  data_files: english/*.csv
- config_name: de
  data_files: german/*.csv
---
"""


def test_a_configuration_has_files_of_its_own_and_must_be_named(tmp_path: Path) -> None:
    write(tmp_path, {"README.md": CARD, "english/x.csv": "id,text\na,The mill of a.\n"})
    write(tmp_path, {"german/x.csv": "id,text\nb,Die Mühle von b.\n"})
    assert texts(f"hf:{tmp_path}:de") == [("b", "Die Mühle von")]
    for address, says in ((f"hf:{tmp_path}", "Config name is missing"), (f"hf:{tmp_path}:fr", "'fr' not found")):
        with pytest.raises(CorpusError, match=says) as caught:
            corpus.load(corpus.resolve(address))
        assert "\n" not in str(caught.value)


def test_what_no_reader_here_takes_is_streamed_by_datasets(tmp_path: Path) -> None:
    rows = f"[{line('a').strip()}, {line('b').strip()}]"
    folder = write(tmp_path, {"data/train.json": rows})
    assert texts(f"hf:{folder}") == [("a", "The mill of a"), ("b", "The mill of b")]
    small = corpus.resolve(f"hf:{folder}").model_copy(update={"limits": ReadLimits(bytes=20)})
    with pytest.raises(CorpusError, match="more than 20 bytes"):
        corpus.load(small)


def test_a_folder_is_found_again_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"mills/data/train.jsonl": line("a")})
    monkeypatch.chdir(tmp_path)
    for address in ("hf:mills", "hf:./mills", "hf:./mills:en"):
        found = corpus.resolve(address)
        assert found.address == f"hf:{tmp_path}/mills" + (":en" if ":en" in address else "")
        assert found.name == ("mills-en" if ":en" in address else "mills")


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("hf:", "no data set 'hf:'; give hf:ORG/NAME"),
        ("hf:a/b:c:d", "no data set 'hf:a/b:c:d'"),
        ("hf:./no/such", "no such folder"),
        ("hf:/no/such", "no such folder"),
        ("hf:a/b/c", "no such folder"),
        ("hf:a\0b", "no such folder"),
        (f"hf:{'a' * 5000}", "File name too long"),
        ("hf:~nobody-of-that-name", "home"),
    ],
)
def test_what_is_no_address_is_one_line(address: str, says: str) -> None:
    with pytest.raises((UsageError, CorpusError), match=says):
        corpus.resolve(address)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": "hf_sham"}


def load(address: str, environment: dict[str, str]) -> str:
    command = [sys.executable, "-c", LOAD, address]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=True)
    return done.stdout.strip()


def test_a_data_set_of_the_hub_is_fetched_once(environment: dict[str, str]) -> None:
    files = {"README.md": "# Mills\n", "data/train.jsonl": line("a"), "data/test.jsonl": line("b")}
    with hub_server.hub() as hub:
        hub.files["org/mills"] = {name: text.encode() for name, text in files.items()}
        environment |= {"HF_ENDPOINT": hub.url}
        first = load("hf:org/mills@main", environment)
        assert first == "mills|a=The mill of a was built in 1702.|b=The mill of b was built in 1702."
        fetched = [path for path in hub.gets if path.endswith(".jsonl")]
        assert {path.rpartition("/")[2] for path in fetched} == {"train.jsonl", "test.jsonl"}
        hub.gets.clear()
        assert load("hf:org/mills@main", environment) == first
        assert not [path for path in hub.gets if path.endswith(".jsonl")]
        missing = load("hf:org/nothing", environment)
        assert missing.startswith("hf:org/nothing: ")
        assert "\n" not in missing
    gone = load("hf:org/weirs", environment)
    assert gone.startswith("hf:org/weirs: ")
    assert "\n" not in gone


def test_who_made_it_is_said_in_the_folder(tmp_path: Path) -> None:
    write(tmp_path, {"mills/data/train.jsonl": line("a"), "mills/corpus.toml": 'licence = "MIT"\n'})
    for address in (f"hf:{tmp_path}/mills", f"hf:{tmp_path}/mills:default"):
        assert corpus.resolve(address).licence == "MIT"
    assert texts(f"hf:{tmp_path}/mills") == [("a", "The mill of a")]

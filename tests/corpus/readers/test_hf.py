"""Data sets are read from a stand-in for the Hub, and from folders with the same layout."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline import corpus
from pipeline.corpus.readers.base import ReadLimits
from pipeline.errors import CorpusError, UsageError
from tests import hub_server
from tests.corpus.readers import test_markdown

LOAD = """
import sys, time
time.sleep = lambda seconds: None
from pipeline import corpus
from pipeline.errors import DigsiteError
for address in sys.stdin:
    try:
        loaded = corpus.load(corpus.resolve(address.strip()))
        print(loaded.manifest.name, *(f"{d.id}={d.text}" for d in loaded.documents), sep="|", flush=True)
    except DigsiteError as error:
        print(error, flush=True)
"""
"""A process that says what each address on its standard input holds, since the cache's place is read at an import. Its
clock is none: huggingface_hub tries a hub that is gone again for half a minute."""


def write_files(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def make_line(key: str) -> str:
    return f'{{"id": "{key}", "text": "The mill of {key} was built in 1702."}}\n'


def load_texts(address: str) -> list[tuple[str, str]]:
    return [(document.id, document.text[:13]) for document in corpus.load(corpus.resolve(address)).documents]


def test_a_folder_gives_the_files_of_its_splits(tmp_path: Path) -> None:
    folder = write_files(
        tmp_path, {"data/train.jsonl": make_line("a"), "data/test.jsonl": make_line("b"), "README.md": "# Mills\n"}
    )
    assert load_texts(f"hf:{folder}") == [("a", "The mill of a"), ("b", "The mill of b")]


CARD = """---
configs:
- config_name: en
  data_files: english/*.csv
- config_name: de
  data_files: german/*.csv
---
"""


def test_a_configuration_has_files_of_its_own_and_must_be_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"README.md": CARD, "english/x.csv": "id,text\na,The mill of a.\n"})
    write_files(tmp_path, {"german/x.csv": "id,text\nb,Die Mühle von b.\n"})
    assert load_texts(f"hf:{tmp_path}:de") == [("b", "Die Mühle von")]
    for address, says in (
        (f"hf:{tmp_path}", f"has several configurations; give one of hf:{tmp_path}:en, hf:{tmp_path}:de$"),
        (f"hf:{tmp_path}:fr", "'fr' not found"),
    ):
        with pytest.raises(CorpusError, match=says) as caught:
            corpus.load(corpus.resolve(address))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("judgements", ["default", "qrels"])
def test_a_benchmark_s_corpus_is_read_and_its_other_configurations_are_named(judgements: str, tmp_path: Path) -> None:
    names = {judgements: "qrels", "corpus": "corpus", "queries": "queries"}
    configs = "".join(f"- config_name: {name}\n  data_files: {folder}/*.jsonl\n" for name, folder in names.items())
    write_files(tmp_path, {f"{folder}/test.jsonl": make_line(folder) for folder in names.values()})
    write_files(tmp_path, {"README.md": f"---\nconfigs:\n{configs}---\n"})
    loaded = corpus.load(corpus.resolve(f"hf:{tmp_path}"))
    assert [document.id for document in loaded.documents] == ["corpus"]
    assert loaded.counts.noted == [f"1 rows are of the configuration corpus; not read: {judgements}, queries"]
    assert load_texts(f"hf:{tmp_path}:queries") == [("queries", "The mill of q")]
    again = f"---\nconfigs:\n{configs.replace('corpus', 'de-corpus')}{configs.replace('corpus', 'fr-corpus')}---\n"
    write_files(tmp_path / "more", {"README.md": again})
    write_files(
        tmp_path / "more",
        {f"{kind}/x.jsonl": make_line(kind) for kind in ("qrels", "queries", "de-corpus", "fr-corpus")},
    )
    with pytest.raises(CorpusError, match=f"give one of hf:{tmp_path}/more:de-corpus, hf:{tmp_path}/more:fr-corpus$"):
        corpus.load(corpus.resolve(f"hf:{tmp_path / 'more'}"))


def test_formats_without_a_reader_are_streamed_by_datasets(tmp_path: Path) -> None:
    rows = f"[{make_line('a').strip()}, {make_line('b').strip()}]"
    folder = write_files(tmp_path, {"data/train.json": rows})
    assert load_texts(f"hf:{folder}") == [("a", "The mill of a"), ("b", "The mill of b")]
    small = corpus.resolve(f"hf:{folder}").model_copy(update={"limits": ReadLimits(bytes=20)})
    with pytest.raises(CorpusError, match="more than 20 bytes"):
        corpus.load(small)


def test_a_folder_is_found_again_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"mills/data/train.jsonl": make_line("a")})
    monkeypatch.chdir(tmp_path)
    for address in ("hf:mills", "hf:./mills", "hf:./mills:en"):
        source = corpus.resolve(address)
        assert source.address == f"hf:{tmp_path}/mills" + (":en" if ":en" in address else "")
        assert source.name == ("mills-en" if ":en" in address else "mills")


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
def test_an_invalid_address_is_refused_in_one_line(address: str, says: str) -> None:
    with pytest.raises((UsageError, CorpusError), match=says):
        corpus.resolve(address)


@pytest.mark.slow
def test_a_data_set_of_the_hub_is_fetched_once(tmp_path: Path) -> None:
    files = {"README.md": "# Mills\n", "data/train.jsonl": make_line("a"), "data/test.jsonl": make_line("b")}
    with hub_server.hub() as hub:
        hub.files["org/mills"] = {name: text.encode() for name, text in files.items()}
        hf = {"HF_HOME": str(tmp_path / "cache"), "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": "hf_sham"}
        how: dict[str, Any] = {"env": {**os.environ, **hf, "HF_ENDPOINT": hub.url}, "text": True}
        command, addresses = [sys.executable, "-c", LOAD], "hf:org/mills@main\nhf:org/nothing\n"
        done = subprocess.run(command, input=addresses, capture_output=True, timeout=100, check=True, **how)
        first, missing = done.stdout.splitlines()
        assert missing.startswith("hf:org/nothing: ")
        assert first == "mills|a=The mill of a was built in 1702.|b=The mill of b was built in 1702."
        fetched = [path for path in hub.gets if path.endswith(".jsonl")]
        assert {path.rpartition("/")[2] for path in fetched} == {"train.jsonl", "test.jsonl"}
        hub.gets.clear()
        again = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how)
        assert again.stdin
        assert again.stdout
        again.stdin.write("hf:org/mills@main\n")
        again.stdin.flush()
        assert again.stdout.readline().strip() == first
        assert not [path for path in hub.gets if path.endswith(".jsonl")]
    (gone,) = again.communicate("hf:org/weirs\n", timeout=100)[0].splitlines()
    assert gone.startswith("hf:org/weirs: ")


def test_the_authors_are_named_in_the_folder(tmp_path: Path) -> None:
    write_files(tmp_path, {"mills/data/train.jsonl": make_line("a"), "mills/corpus.toml": 'licence = "MIT"\n'})
    for address in (f"hf:{tmp_path}/mills", f"hf:{tmp_path}/mills:default"):
        assert corpus.resolve(address).licence == "MIT"
    assert load_texts(f"hf:{tmp_path}/mills") == [("a", "The mill of a")]


@pytest.mark.parametrize(
    "target",
    ["../outside.jsonl", "data/../../outside.jsonl", "{above}/outside.jsonl", "../*.jsonl", "file://{above}/outside.jsonl",
     "http://127.0.0.1:{port}/outside.jsonl", "zip://*.jsonl::http://127.0.0.1:{port}/a.zip"],
)  # fmt: skip
@pytest.mark.parametrize(
    "form", ["data_files: {0}", "data_files: [{0}]", "data_files: [{{split: train, path: [{0}]}}]"]
)
@pytest.mark.parametrize("card", ["README.md", ".huggingface.yaml"])
def test_a_card_reads_no_file_outside_its_folder(target: str, form: str, card: str, tmp_path: Path) -> None:
    write_files(tmp_path, {"outside.jsonl": make_line("secret"), "in/data/train.jsonl": make_line("a")})
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        target = target.format(above=tmp_path, port=server.getsockname()[1])
        front = f"configs:\n- config_name: default\n  {form.format(json.dumps(target))}\n"
        write_files(tmp_path, {f"in/{card}": front if card.endswith("yaml") else f"---\n{front}---\n"})
        with pytest.raises(CorpusError, match="as its data; only files of the data set itself are read"):
            load_texts(f"hf:{tmp_path}/in")
        with pytest.raises(TimeoutError):  # nobody asked
            server.accept()


def test_a_folder_elsewhere_is_none_of_the_data_set_s(tmp_path: Path) -> None:
    write_files(tmp_path, {"outside/x.jsonl": make_line("secret"), "in/data/train.jsonl": make_line("a")})
    front = "configs:\n- config_name: default\n  data_dir: ../outside\n"
    write_files(tmp_path, {"in/README.md": f"---\n{front}---\n"})
    with pytest.raises(CorpusError, match="only files of the data set itself"):
        load_texts(f"hf:{tmp_path}/in")


@pytest.mark.parametrize("target", ["outside.jsonl", "."])
def test_links_lead_to_no_file_outside_its_folder(target: str, tmp_path: Path) -> None:
    write_files(tmp_path, {"outside.jsonl": make_line("secret"), "in/data/train.jsonl": make_line("a")})
    (tmp_path / "in/data" / ("test.jsonl" if "." in target[1:] else "more")).symlink_to(tmp_path / target)
    write_files(
        tmp_path, {"in/README.md": "---\nconfigs:\n- config_name: default\n  data_files: ['data/**/*.jsonl']\n---\n"}
    )
    try:
        assert load_texts(f"hf:{tmp_path}/in") == [("a", "The mill of a")]
    except CorpusError as error:
        assert "only files of the data set itself are read" in str(error)  # noqa: PT017 - either is right


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    write_files(tmp_path, {"blobs/x": make_line("a"), "data/none.txt": ""})
    (tmp_path / "data/train.jsonl").symlink_to(tmp_path / "blobs/x")
    write_files(tmp_path, {"README.md": "---\nconfigs:\n- config_name: default\n  data_files: data/*.jsonl\n---\n"})
    assert load_texts(f"hf:{tmp_path}") == [("a", "The mill of a")]


def test_a_card_that_would_not_end_is_one_line(tmp_path: Path) -> None:
    write_files(tmp_path, {"data/train.jsonl": make_line("a")})
    for odd in (test_markdown.make_nested_merges(), "date: !!timestamp foo\n", "a: {<<: {b: c}}\n", "a: " + "[" * 900):
        write_files(tmp_path, {"README.md": f"---\n{odd}\n---\n"})
        with pytest.raises(CorpusError, match=r"README\.md: .*; correct it, or name a file of data") as caught:
            load_texts(f"hf:{tmp_path}")
        assert "\n" not in str(caught.value)
    for odd in ("configs: 7", "configs: [7]", "configs: [{config_name: a, data_files: 7}]", f"a: 0x{'f' * 9000}"):
        write_files(tmp_path, {"README.md": f"---\n{odd}\n---\n"})
        try:
            load_texts(f"hf:{tmp_path}")
        except CorpusError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either is right

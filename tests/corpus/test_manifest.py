"""A corpus name or path becomes a manifest."""

import random
from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.config import build
from pipeline.corpus import manifest
from pipeline.errors import CorpusError, UsageError
from tests.conftest import Figures


def write_manifest(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.toml").write_text(text)


def test_shipped_corpora_state_their_source_and_licence() -> None:
    assert {"wiki", "tiny"} <= set(manifest.names())
    for name in manifest.names():
        shipped = manifest.read(name)
        assert shipped.path.is_file()
        assert shipped.sha256
        assert shipped.licence in ("CC-BY-SA-4.0", "CC0-1.0")
        assert len(shipped.attribution) > 20


def test_an_unknown_corpus_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no corpus 'wikipedia'; known: tiny, wiki; or give the path"):
        manifest.resolve("wikipedia")


@pytest.mark.parametrize("path", ["no/such/file.jsonl", "nosuch.jsonl", "./nosuch"])
def test_a_missing_file_is_named(path: str) -> None:
    with pytest.raises(CorpusError, match=r"nosuch|no/such.*no such file"):
        manifest.resolve(path)


def test_an_unreadable_kind_of_file_lists_the_readable_kinds(tmp_path: Path) -> None:
    path = tmp_path / "a.odt"
    path.touch()
    with pytest.raises(CorpusError, match=r"give a \.jsonl, .*\.parquet file, a folder"):
        manifest.resolve(str(path))


def test_a_path_gets_an_unknown_licence_and_the_fields_that_the_user_names(tmp_path: Path) -> None:
    path = tmp_path / "My Notes (2).v1.jsonl"
    path.touch()
    own_manifest = manifest.resolve(str(path), text_field="body", title_field="head", id_field="key")
    assert own_manifest.name == "my-notes-2"
    assert (own_manifest.licence, own_manifest.redistribute) == ("unknown", "unknown")
    assert (own_manifest.fields.text, own_manifest.fields.title, own_manifest.fields.id) == ("body", ("head",), "key")


def test_a_name_wins_over_a_folder_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny").mkdir()
    monkeypatch.chdir(tmp_path)
    assert manifest.resolve("tiny").licence == "CC0-1.0"
    assert manifest.resolve("./tiny").licence == "unknown"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = ", "cannot read the manifest"),
        ("name = 'a'", "reader"),
        ("name = 'b'\nreader = 'jsonl'\nsource = 'x'", "must be 'a'"),
        ("name = 'a'\nreader = 'jsonl'\nsource = 'x'\ncolour = 1", "colour"),
        ("name = 'a'\nreader = 'jsonl'\nsource = 'x'\nsha256 = 'abc'", "sha256"),
        ("name = 'a'\nreader = 'jsonl'\nsource = 'x'\nlimits = {docs = 0}", "limits.docs"),
        ("name = 'a'\nreader = 'jsonl'\nsource = 'x'\nfields = {title = []}", "fields.title"),
    ],
)
def test_a_bad_manifest_is_refused_in_one_line_that_names_the_key(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    write_manifest(tmp_path, "a", text)
    with pytest.raises(CorpusError, match=says) as caught:
        manifest.resolve("a")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_hostile_names_never_become_a_name(figures: Figures) -> None:
    rng = random.Random(1)
    names = [
        "../tiny",
        "/etc/passwd",
        "..",
        "tiny\0",
        "TINY",
        "-tiny",
        "a" * 65,
        "tiny/../wiki",
        "",
        "~root",
        "wiki.toml",
    ]
    names += ["".join(rng.choices("./\\~ab\0\n-_%", k=rng.randint(1, 12))) for _ in range(500)]
    for name in names:
        if name in manifest.names():
            continue
        try:
            path_manifest = manifest.resolve(name)
        except (UsageError, ValueError):
            continue
        assert path_manifest.licence == "unknown"  # a path that exists: taken as one, never as a shipped corpus
        assert manifest.Manifest.model_validate(path_manifest.model_dump())
    figures({"names": len(names)}, {"taken as a shipped corpus": 0})


@pytest.mark.parametrize("name", ["../x", "A", "", "x" * 65, "a b", "-a"])
def test_a_manifest_takes_no_name_that_could_leave_its_folder(name: str) -> None:
    with pytest.raises(ValidationError):
        manifest.Manifest(name=name, reader="jsonl", source=Path("x"))


def test_a_path_is_described_only_by_the_user_s_options(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    plain = manifest.resolve(str(path))
    assert (plain.language, plain.licence, plain.attribution) == ("unknown",) * 3
    described = manifest.resolve(str(path), language="pt-BR", licence="CC-BY-4.0", attribution="The mills of Arden")
    assert (described.language, described.licence, described.attribution) == (
        "pt-BR",
        "CC-BY-4.0",
        "The mills of Arden",
    )
    with pytest.raises(UsageError, match="--language takes a code such as en, de or pt-BR, not 'Dutch'"):
        manifest.resolve(str(path), language="Dutch")
    with pytest.raises(UsageError, match="the manifest of 'tiny' says its language, licence: leave"):
        manifest.resolve("tiny", language="en", licence="MIT")


def test_a_corpus_toml_fills_what_the_options_leave_open(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    (tmp_path / "corpus.toml").write_text('language = "de"\nlicence = "CC-BY-4.0"\nfields = {text = "body"}\n')
    for path in (tmp_path, tmp_path / "a.jsonl"):
        merged = manifest.resolve(str(path), licence="MIT")
        assert (merged.language, merged.licence, merged.attribution) == ("de", "MIT", "unknown")
        assert merged.fields.text == "body"
    assert manifest.resolve(str(tmp_path), text_field="other").fields.text == "other"


@pytest.mark.parametrize(
    ("as_of", "expected"), [("2024", "2024"), ('"2024-06"', "2024-06"), ("2024-06-30", "2024-06-30"), ('""', "")]
)
def test_the_date_of_the_texts_is_a_year_a_month_or_a_day(as_of: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"text": "x"}\n')
    (tmp_path / "corpus.toml").write_text(f"as_of = {as_of}\n")
    assert manifest.resolve(str(tmp_path / "mine.jsonl")).as_of == expected
    assert manifest.resolve(str(tmp_path / "mine.jsonl"), as_of="1999").as_of == "1999"


@pytest.mark.parametrize("as_of", ["June 2024", "2024-13", "2024-02-30", "24", "2024-6"])
def test_an_invalid_date_of_the_texts_is_refused_in_one_line(as_of: str) -> None:
    with pytest.raises(UsageError, match=r"corpus\.as_of: takes a year, a month or a day") as raised:
        build(values={"corpus": {"name": "mine.jsonl", "as_of": as_of}})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [("licence", "cannot read the manifest"), ("licens = 'MIT'", "licens"), ("language = 'Dutch'", "language")],
)
def test_a_mistake_in_corpus_toml_is_refused_in_one_line(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    (tmp_path / "corpus.toml").write_text(text)
    with pytest.raises(CorpusError, match=says) as caught:
        manifest.resolve(str(tmp_path))
    assert "corpus.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_shipped_corpora_state_their_language() -> None:
    assert {manifest.read(name).language for name in manifest.names()} == {"en"}

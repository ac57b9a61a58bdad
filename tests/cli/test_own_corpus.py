"""A user's first day with texts of their own: what is known of them, what is passed over, what the demo cannot read."""

from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest
import yaml

from pipeline.config import build
from tests.cli.conftest import SMALL, Digsite

TINY = Path("corpora/tiny.jsonl")
SAID = ("--language", "pt-BR", "--licence", "CC-BY-4.0", "--attribution", "The mills of Arden")


def german(path: Path) -> Path:
    """90 short articles that the demo model makes no chain of."""
    towns = "Berlin Hamburg Dresden Bremen Kassel Weimar Jena Gotha Halle Leipzig".split()
    text = (
        "{0} ist eine Stadt an der Werra, die im Jahre {1} von Heinrich von {2} gegründet wurde. Der Bürgermeister "
        "Otto {2} baute dort {1} eine Brücke nach {2}. Die Einwohner leben von Handel und Weinbau, und die Kirche "
        "Sankt {0} wurde {1} geweiht. Sie gehört seit langer Zeit zum Kreis {2}."
    )
    rows = [
        {"id": str(n), "title": f"{towns[n % 10]} {n}", "text": text.format(towns[n % 10], 900 + n, towns[n * 7 % 9])}
        for n in range(90)
    ]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("options", "known"), [((), ("unknown",) * 3), (SAID, (SAID[1], SAID[3], SAID[5]))], ids=["unsaid", "said"]
)
def test_what_is_said_of_a_corpus_stands_on_its_card_and_in_its_rows(
    options: tuple[str, ...], known: tuple[str, str, str], digsite: Digsite, tmp_path: Path
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(TINY.read_bytes())
    out = tmp_path / "out"
    made = digsite("generate", tmp_path / "mine.jsonl", *options, *SMALL, "--seeds", "8", "--out", out, "--json").json
    language, licence, attribution = known
    dataset = Path(made["dataset"])
    text = (dataset / "README.md").read_text()
    front = yaml.safe_load(text.split("\n---\n")[0].removeprefix("---\n"))
    assert front.get("language") == ([language] if options else None)
    assert front["license"] == ("cc-by-4.0" if options else "other")
    assert f"The language of the corpus is `{language}`." in text
    assert f"\n{attribution}\n" in text
    rows = [row for file in sorted((dataset / "qa").glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    assert rows
    assert {(row["language"], row["licence"]) for row in rows} == {(language, licence)}
    stats = digsite("corpus", "stats", tmp_path / "mine.jsonl", *options, "--json").json
    assert (stats["language"], stats["licence"], stats["attribution"]) == known


def test_what_is_said_of_a_corpus_is_digested_and_what_is_not_said_changes_no_run() -> None:
    digests = {build(values={"corpus": {"name": "a.jsonl", **said}}).digest() for said in (
        {}, {"language": "de"}, {"licence": "MIT"}, {"attribution": "Arden"})}  # fmt: skip
    assert len(digests) == 4
    assert set(build().what()["corpus"]) == {"name", "text_field", "title_field", "id_field"}


def test_files_that_are_not_read_are_named(digsite: Digsite, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for row in map(orjson.loads, TINY.read_bytes().splitlines()):
        (notes / f"{row['id'].replace('/', '-')}.txt").write_text(row["text"])
    for name in ("a.pdf", "b.pdf", "c.csv"):
        (notes / name).touch()
    said = digsite("generate", notes, *SMALL, "--seeds", "1", "--out", tmp_path / "out")
    assert "notes: files left out: 3 skipped: 2 .pdf, 1 .csv\n" in said.err
    assert "3 skipped: 2 .pdf, 1 .csv" in digsite("corpus", "stats", notes).out
    assert digsite("corpus", "stats", notes, "--json").json["skipped"] == {".pdf": 2, ".csv": 1}


def test_texts_that_the_seed_filter_refuses_are_explained(digsite: Digsite, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "wrapped.txt").write_text("\n".join(f"It was made in {n} by the firm" for n in range(1900, 1950)))
    said = digsite("generate", notes, *SMALL, "--seeds", "1", "--out", tmp_path / "out")
    assert said.code == 2
    assert (
        "no passage of this corpus can start a question. list 4: most of its lines are short and end without a full"
        in said.err
    )
    assert "one paragraph a line" in said.err


def test_texts_that_the_embedded_model_cannot_read_end_the_run_early(digsite: Digsite, tmp_path: Path) -> None:
    corpus = german(tmp_path / "staedte.jsonl")
    said = digsite("generate", corpus, "--retriever", "bm25", "--pairs", "30", "--out", tmp_path / "out")
    assert said.code == 3
    notice = "staedte: the demo model reads English only, and most of these texts are not: choose a --model\n"
    assert said.err.count(notice) == 1
    assert "40 seeds gave 0 of 30 pairs; none gave a chain of hops. The demo model reads English" in said.err
    again = digsite("generate", corpus, "--retriever", "bm25", "--pairs", "30", "--out", tmp_path / "out", "--json")
    assert (again.code, again.json["planned"], again.json["exhausted"]) == (3, 40, True)

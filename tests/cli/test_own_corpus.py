"""A user's own texts: what the card states, which files are skipped, and what the demo model cannot read."""

import csv
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from pipeline.config import build
from tests.cli.conftest import SMALL, Digsite

TINY = Path("corpora/tiny.jsonl")
DESCRIBED = ("--language", "pt-BR", "--licence", "CC-BY-4.0", "--attribution", "The mills of Arden",
        "--as-of", "2024-06")  # fmt: skip


def write_german_articles(path: Path) -> Path:
    """Write 90 short articles in which the demo model finds no chain."""
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"), [((), ("en", "unknown", "unknown")), (DESCRIBED, DESCRIBED[1:6:2])], ids=["unsaid", "said"]
)
def test_the_description_of_a_corpus_is_on_its_card_and_in_its_rows(
    options: tuple[str, ...], expected: tuple[str, str, str], digsite: Digsite, tmp_path: Path
) -> None:
    (tmp_path / "mine.jsonl").write_bytes(TINY.read_bytes())
    out = tmp_path / "out"
    generated = digsite(
        "generate", tmp_path / "mine.jsonl", *options, *SMALL, "--seeds", "8", "--out", out, "--json"
    ).json
    language, licence, attribution = expected
    dataset = Path(generated["dataset"])
    text = (dataset / "README.md").read_text()
    front = yaml.safe_load(text.split("\n---\n")[0].removeprefix("---\n"))
    assert front["language"] == [language]
    assert front["license"] == ("cc-by-4.0" if options else "other")
    assert f"The language of the corpus is `{language}`{'' if options else ' (detected)'}." in text
    assert f"\n{attribution}\n" in text
    rows = [row for file in sorted((dataset / "qa").glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    assert rows
    as_of = DESCRIBED[7] if options else ""
    assert {(row["language"], row["licence"], row["as_of"]) for row in rows} == {(language, licence, as_of)}
    assert f"as of {'`2024-06`' if options else 'an unknown date'}." in text
    stats = digsite("corpus", "stats", tmp_path / "mine.jsonl", *options, "--json").json
    assert stats["language"] == (language if options else "en (detected)")
    assert (stats["licence"], stats["attribution"]) == (licence, attribution)
    assert stats["as_of"] == as_of


def test_each_description_of_a_corpus_changes_the_digest() -> None:
    digests = {build(values={"corpus": {"name": "a.jsonl", **fields}}).digest() for fields in (
        {}, {"language": "de"}, {"licence": "MIT"}, {"attribution": "Arden"}, {"as_of": "2024"})}  # fmt: skip
    assert len(digests) == 5


def test_skipped_files_are_named(digsite: Digsite, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for row in map(orjson.loads, TINY.read_bytes().splitlines()):
        (notes / f"{row['id'].replace('/', '-')}.txt").write_text(row["text"])
    for name in ("a.odt", "b.odt", "c.csv"):
        (notes / name).touch()
    output = digsite("generate", notes, *SMALL, "--seeds", "1", "--out", tmp_path / "out")
    lines = [
        "2 .odt files were left out: convert them to Markdown with pandoc",
        "1 .csv file was left out: a table is a corpus of its own; name the file",
    ]
    assert all(f"notes: {line}\n" in output.err for line in lines)
    skipped = "; ".join(lines)
    assert skipped in " ".join(digsite("corpus", "stats", notes).out.split())
    assert digsite("corpus", "stats", notes, "--json").json["skipped"] == {".odt": 2, ".csv": 1}
    assert skipped in (tmp_path / "out/notes/latest/report.html").read_text()


def test_corpus_toml_names_the_authors(digsite: Digsite, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_bytes(TINY.read_bytes())
    lines = [
        f'{name.removeprefix("--").replace("-", "_")} = "{value}"\n'
        for name, value in zip(DESCRIBED[::2], DESCRIBED[1::2], strict=True)
    ]
    (tmp_path / "corpus.toml").write_text("".join([*lines, 'redistribute = "ids"\n']))
    command = ("generate", tmp_path / "mine.jsonl", *SMALL, "--seeds", "8", "--json", "--out")
    run = Path(digsite(*command, tmp_path / "out").json["run"])
    card = (run / "dataset/README.md").read_text()
    assert f"rest on a corpus under `{DESCRIBED[3]}`" in card
    assert "by reference only" in card
    assert not (run / "dataset/records").exists()
    assert str(run).endswith(
        digsite(*command, tmp_path / "o2", *DESCRIBED).json["run"].removeprefix(str(tmp_path / "o2"))
    )
    # What may be passed on is known when the texts are gone.
    for file in ("mine.jsonl", "corpus.toml"):
        (tmp_path / file).unlink()
    assert "(redistribute = ids)" in digsite("export", run, "--view", "records").err


@pytest.fixture(scope="module")
def write_formats(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write the tiny corpus in every format of rows, under one name."""
    folder = tmp_path_factory.mktemp("formats")
    rows = [orjson.loads(line) for line in TINY.read_bytes().splitlines()]
    (folder / "mills.jsonl").write_bytes(TINY.read_bytes())
    pq.write_table(pa.Table.from_pylist(rows), folder / "mills.parquet")
    with (folder / "mills.csv").open("w", newline="") as sheet:
        writer = csv.DictWriter(sheet, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    (folder / "mills/data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows[:20]), folder / "mills/data/train-00000-of-00001.parquet")
    pq.write_table(pa.Table.from_pylist(rows[20:]), folder / "mills/data/test-00000-of-00001.parquet")
    (folder / "mills/README.md").write_text("# Mills of Arden\n")
    return [*(str(folder / f"mills.{kind}") for kind in ("jsonl", "parquet", "csv")), f"hf:{folder / 'mills'}"]


def test_one_corpus_in_four_formats_is_one_data_set(write_formats: list[str], digsite: Digsite, tmp_path: Path) -> None:
    assert len({digsite("corpus", "stats", name, "--json").json["fingerprint"] for name in write_formats}) == 1
    datasets = []
    for number, name in enumerate(
        (write_formats[0], write_formats[-1])
    ):  # what is read is the same, and how it is read differs
        generated = digsite(
            "generate", name, *SMALL, "--seeds", "3", "--out", tmp_path / str(number), "--json", *DESCRIBED
        ).json
        run = Path(generated["run"])
        # Not the report: it says how many seconds the calls took.
        files = [path for path in sorted((run / "dataset").rglob("*")) if path.is_file()]
        datasets.append({path.relative_to(tmp_path / str(number)): path.read_bytes() for path in files})
    assert datasets[0].keys() == datasets[1].keys()
    assert [path for path, data in datasets[1].items() if data != datasets[0][path]] == []


def test_a_licence_beside_the_texts_that_forbids_pairs_stops_the_run(digsite: Digsite, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_bytes(TINY.read_bytes())
    (tmp_path / "corpus.toml").write_text('licence = "CC-BY-ND-4.0"\n')
    output = digsite("generate", tmp_path / "mine.jsonl", *SMALL, "--out", tmp_path / "out")
    assert (output.code, "the licence CC-BY-ND-4.0 forbids adaptations" in output.err) == (2, True)
    # An option wins over the file.
    assert digsite("preview", tmp_path / "mine.jsonl", *SMALL, "--licence", "CC-BY-4.0").code == 0


def test_refusals_of_the_seed_filter_are_explained(digsite: Digsite, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "wrapped.txt").write_text("\n".join(f"It was made in {n} by the firm" for n in range(1900, 1950)))
    output = digsite("generate", notes, *SMALL, "--seeds", "1", "--out", tmp_path / "out")
    assert output.code == 2
    assert (
        "no passage of this corpus can start a question. list 4: most of its lines are short and end without a full"
        in output.err
    )
    assert "one paragraph a line" in output.err


def test_texts_in_a_language_that_the_demo_model_cannot_read_end_the_run_early(
    digsite: Digsite, tmp_path: Path
) -> None:
    corpus = write_german_articles(tmp_path / "staedte.jsonl")
    output = digsite("generate", corpus, "--retriever", "bm25", "--pairs", "30", "--out", tmp_path / "out")
    assert output.code == 3
    notice = "staedte: the demo model reads English only, and most of these texts are not: choose a --model\n"
    assert output.err.count(notice) == 1
    assert "40 seeds gave 0 of 30 pairs; none gave a chain of hops. The demo model reads English" in output.err
    repeated = digsite("generate", corpus, "--retriever", "bm25", "--pairs", "30", "--out", tmp_path / "out", "--json")
    assert (repeated.code, repeated.json["planned"], repeated.json["exhausted"]) == (3, 40, True)


def test_a_mixed_folder_says_what_was_read_of_each_kind_and_names_broken_files(
    digsite: Digsite, tmp_path: Path
) -> None:
    share = tmp_path / "share"
    share.mkdir()
    for number, row in enumerate(map(orjson.loads, TINY.read_bytes().splitlines())):
        name = f"doc{number}.{'md' if number % 2 else 'ipynb'}"
        page = f"# {row['title']}\n\n{row['text']}"
        cells = {"cells": [{"cell_type": "markdown", "source": page}]}
        (share / name).write_bytes(page.encode() if number % 2 else orjson.dumps(cells))
    for name in ("Book.epub", "notes.ipynb"):
        (share / name).write_text("x" * 100)
    (share / "note.txt").write_text("The mill of Arden was built in 1702 by Heinrich Otto.")
    output = digsite("generate", share, *SMALL, "--seeds", "1", "--out", tmp_path / "out")
    assert "share: files read: 21 notebook, 20 Markdown, 1 text\n" in output.err
    assert "share: Book.epub: not a ZIP archive\n" in output.err
    assert "share: 1 documents have no title of their own and are named by their file\n" in output.err
    assert digsite("search", share, "who built the mill of Arden", "--json", "-k", "1").json[0]["title"] == "note"


def test_stats_say_the_detected_language_and_what_the_corpus_carries(digsite: Digsite, tmp_path: Path) -> None:
    rows = [
        {key: value for key, value in orjson.loads(line).items() if key in {"id", "title", "text"}}
        for line in TINY.read_bytes().splitlines()
    ]
    (tmp_path / "mine.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    output = " ".join(digsite("corpus", "stats", tmp_path / "mine.jsonl").out.split())
    assert "language en (detected)" in output
    assert "passages can start a question, which may give" in output
    assert "operations: difference (" in output
    assert digsite("corpus", "stats", tmp_path / "mine.jsonl", "--json").json["prospects"]["steps"]["1"] == 1

"""CSV and TSV are read in all dialects; damage gives bad rows and bombs are refused in little memory."""

import csv as standard
import io
import resource
import time
from pathlib import Path

import pytest
import zstandard

from pipeline import corpus
from pipeline.corpus.readers import base, csv
from pipeline.corpus.readers.base import ReadLimits, Row
from pipeline.errors import CorpusError

TEXT = 'The mill, called "Old",\nwas built in 1702.'


def read_rows(path: Path, data: str | bytes) -> list[Row]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(csv.read(path, ReadLimits()))


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.TSV", "\t")])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quoted_cells_hold_line_breaks_and_delimiters(name: str, delimiter: str, end: str, tmp_path: Path) -> None:
    sheet = io.StringIO()
    writer = standard.writer(sheet, delimiter=delimiter, lineterminator=end)
    writer.writerows([["id", "title", "text"], ["1", "Mill, old", TEXT], [], ["2", "", "Another; text."]])
    first, second = read_rows(tmp_path / name, "\ufeff" + sheet.getvalue())
    assert (first.place, first.key, first.values) == ("line 2", "1", {"id": "1", "title": "Mill, old", "text": TEXT})
    assert (second.place, second.key, second.values["text"]) == ("line 5", "2", "Another; text.")


def test_broken_rows_are_counted_and_the_next_row_is_read(tmp_path: Path) -> None:
    rows = read_rows(
        tmp_path / "a.csv",
        b'id,text\n1,one,more\n2\n3,"three" and more\n4,caf\xe9\n5,five\n6,"' + b"six\n" * 3,
    )
    assert [(row.place, row.error) for row in rows] == [
        ("line 2", "3 cells, where the heading has 2"),
        ("line 3", "1 cells, where the heading has 2"),
        ("line 4", "',' expected after '\"'"),
        ("line 5", base.NOT_UTF8),
        ("line 6", ""),
        ("line 7", "unexpected end of data"),
    ]
    assert rows[4].values == {"id": "5", "text": "five"}


def test_an_unclosed_quote_stops_at_the_longest_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "LONGEST", 2000)
    rows = read_rows(tmp_path / "a.csv", 'id,text\n1,"open\n' + "2,row of nine\n" * 400)
    assert rows[0].error.startswith("longer than")
    assert [row.values["text"] for row in rows[1:]] == ["row of nine"] * (400 - 143)


def test_a_line_of_a_million_characters_is_a_cell_and_a_longer_one_a_bad_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "x" * 1_000_000
    (row,) = read_rows(tmp_path / "a.csv", f"id,text\n1,{long}\n")
    assert row.values["text"] == long
    monkeypatch.setattr(base, "_CHUNK", 100)
    monkeypatch.setattr(base, "LONGEST", 1000)
    bad, good = read_rows(tmp_path / "a.csv", f"id,text\n1,{long}\n2,two\n")
    assert bad.error.startswith("longer than")
    assert good.values == {"id": "2", "text": "two"}


def test_rows_stream(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w") as sheet:
        sheet.write("id,text\n")
        sheet.writelines(f"{n},{'A text of the mill. ' * 50}\n" for n in range(100_000))  # 100 MB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in csv.read(path, ReadLimits())) == 100_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30 << 10


def test_a_packed_bomb_is_refused_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.zst"
    with zstandard.open(path, "wb") as stream:
        stream.write(b'id,text\n1,"')
        for _ in range(200):
            stream.write(bytes(1 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CorpusError, match="refused as a bomb"):
        corpus.load(corpus.resolve(str(path)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_ids_that_come_twice_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"d{n},The mill of Arden was number {n}.\n" for n in range(300))
    (tmp_path / "a.csv").write_text(f"id,text\n{rows}d7,Another text of the mill.\n")
    loaded = corpus.load(corpus.resolve(str(tmp_path / "a.csv")))
    assert loaded.offenders == ("line 302: id 'd7' was used before, for another text",)


@pytest.mark.parametrize(
    ("data", "says"),
    [("", "it is empty"), ("id,text\n", "it is empty"), ("id,body\n1,x\n", "no field 'text' \\(it has: id, body\\)")],
)
def test_a_table_without_texts_is_one_line(data: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(data)
    with pytest.raises(CorpusError, match=says):
        corpus.load(corpus.resolve(str(tmp_path / "a.csv")))


def test_shards_of_tables_are_one_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("title,text\nA,The mill of Arden.\n")
    (tmp_path / "b.tsv").write_text("title\ttext\nB\tThe weir, of Arden.\n")
    documents = corpus.load(corpus.resolve(str(tmp_path))).documents
    assert {d.id: d.text for d in documents} == {"a.csv:1": "The mill of Arden.", "b.tsv:1": "The weir, of Arden."}


def read_cells(text: str, path: Path) -> list[dict[str, object]]:
    return [{**row.values, **({"error": row.error} if row.error else {})} for row in read_rows(path, text)]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('"Petrel" was a steamer', '"Petrel" was a steamer'),
        ('"Petrel', '"Petrel'),
        ('the "Petrel"', 'the "Petrel"'),
        ('"The mill"', "The mill"),
        ('"The ""old"" mill"', 'The "old" mill'),
        ('"The "old" mill"', '"The "old" mill"'),
        ('"', '"'),
        ('""', ""),
        ('"The\tmill"', "The\tmill"),
    ],
)
def test_a_tsv_cell_is_quoted_only_if_the_quotes_enclose_it(cell: str, text: str, tmp_path: Path) -> None:
    table = f"id\ttext\ttitle\n1\t{cell}\tMill\n2\tA plain line.\tWeir\n"
    assert read_cells(table, tmp_path / "a.tsv") == [
        {"id": "1", "text": text, "title": "Mill"},
        {"id": "2", "text": "A plain line.", "title": "Weir"},
    ]


def test_quotes_that_close_rows_later_are_plain_text(tmp_path: Path) -> None:
    table = 'id\ttext\n1\t"It started here\n2\tA plain line.\n3\tends it"\n4\tA last line.\n'
    assert [row["text"] for row in read_cells(table, tmp_path / "a.tsv")] == [
        '"It started here', "A plain line.", 'ends it"', "A last line.",
    ]  # fmt: skip


def test_tsv_rows_that_span_lines_are_read_and_counted(tmp_path: Path) -> None:
    table = 'id\ttext\ttitle\n1\t"The mill,\n\nwhich ""they"" built.\nIt burned."\tMill\n2\tA line.\tWeir\n'
    (tmp_path / "a.tsv").write_text(table)
    loaded = corpus.load(corpus.resolve(str(tmp_path / "a.tsv")))
    assert loaded.documents[0].text == 'The mill,\n\nwhich "they" built.\nIt burned.'
    assert loaded.counts.noted == ["1 rows span several lines, in quotes"]


def test_lines_after_an_unclosed_quote_are_rows(tmp_path: Path) -> None:
    table = 'id\ttext\n1\t"It started here\nand there\n2\tA plain line.\n3\tA line.\n'
    assert read_cells(table, tmp_path / "a.tsv") == [
        {"id": "1", "text": '"It started here'},
        {"id": "and there", "error": "1 cells, where the heading has 2"},
        {"id": "2", "text": "A plain line."},
        {"id": "3", "text": "A line."},
    ]


def test_unclosed_quotes_are_read_in_linear_time(tmp_path: Path) -> None:
    before = time.process_time()
    assert len(read_rows(tmp_path / "a.tsv", "id\ttext\n" + '1\t"It started\nhere\n' * 100_000)) == 200_000
    assert time.process_time() - before < 10


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("0\tThe mill of Arden was built.", ["id", "text"]),
        ("D7\thttps://a.b/c\tMill\t" + "The mill of Arden. " * 5, ["id", "url", "title", "text"]),
        ("7\tThe mill of Arden was built.\tMill", ["id", "text", "title"]),
        ("The mill of Arden. " * 5, ["text"]),
    ],
)
def test_a_table_without_a_heading_is_read_by_its_columns_and_says_so(
    line: str, names: list[str], tmp_path: Path
) -> None:
    (row,) = read_rows(tmp_path / "a.tsv", f"{line}\n")
    assert (row.place, row.key, list(row.values)) == ("line 1", "1", names)
    assert row.note.startswith(f"rows of a table without a heading, read as {', '.join(names)}: put a heading")


@pytest.mark.parametrize("heading", ["id\ttext", "Nummer\tInhalt", "name\t2019", "7\ttext"])
def test_headings_are_recognized(heading: str, tmp_path: Path) -> None:
    assert [list(row.values) for row in read_rows(tmp_path / "a.tsv", f"{heading}\n1\tx\n")] == [heading.split("\t")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "heading",
    ["sep=;\nid;text", "\nid;text", "id;text", "id|text", "id,text", '"id;,,";"text"', "sep=|\nid|text", "id\ttext"],
)
def test_line_ends_and_delimiters_are_those_of_the_file(heading: str, end: str, tmp_path: Path) -> None:
    delimiter = heading.removesuffix('"').removesuffix("text").removesuffix('"')[-1]
    (row,) = read_rows(tmp_path / "a.csv", f'{heading}\n7{delimiter}"The mill."\n'.replace("\n", end))
    assert list(row.values.values()) == ["7", "The mill."]


def test_a_spreadsheet_s_utf_16_is_read_and_another_encoding_named(tmp_path: Path) -> None:
    for data in (
        "\ufeffid\ttext\r\n1\tcafé\r\n".encode(f"utf-{width}-{end}") for width in (16, 32) for end in ("le", "be")
    ):
        (row,) = read_rows(tmp_path / "a.csv", data)
        assert row.values == {"id": "1", "text": "café"}
    (row,) = read_rows(tmp_path / "a.tsv", "id\ttext\n1\tcafé\n".encode("cp1252"))
    assert row.error.startswith("not UTF-8; save the file as UTF-8")

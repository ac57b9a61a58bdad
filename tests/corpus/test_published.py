"""Passages show when and by whom a document was published, and a report says what is not shown."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import corpus
from pipeline.corpus import manifest
from pipeline.errors import CorpusError
from tests.corpus.test_loading import TEXT, load


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.jsonl"


DATED: dict[str, dict[str, object]] = {
    "iso": {"date": "2020-08-14T12:30:00Z", "source": "The Tarn Herald"},
    "words": {"published": "14 August 2020", "source": {"id": None, "name": "The Tarn Herald"}},
    "address": {"published_at": "2020-08-14 12:30", "publisher": "https://www.tarn-herald.example/2020/floods"},
    "year": {"date": 2020, "source": ""},
    "neither": {"date": 1597363200, "source": "x" * 81},
    "odd": {"date": "unknown", "source": ["a"]},
    "none": {},
}


def name_dates_and_sources(path: Path) -> None:
    names = 'fields = {date = ["date", "published", "published_at"], source = ["source", "publisher"]}'
    (path.parent / "corpus.toml").write_text(names)


def test_a_document_s_date_and_source_go_with_each_of_its_passages(path: Path) -> None:
    name_dates_and_sources(path)
    loaded = load(path, [{"id": i, "title": "Floods", "text": f"{TEXT} {i}", **fields} for i, fields in DATED.items()])
    assert {document.id: (document.date, document.source) for document in loaded.documents} == {
        "iso": ("2020-08-14", "The Tarn Herald"),
        "words": ("2020-08-14", "The Tarn Herald"),
        "address": ("2020-08-14", "tarn-herald.example"),
        "year": ("2020", ""),
        "neither": ("", ""),
        "odd": ("", ""),
        "none": ("", ""),
    }
    assert {p.document_id: p.heading for p in loaded.passages} == {
        **dict.fromkeys(("iso", "words"), "Floods (2020-08-14, The Tarn Herald)"),
        "address": "Floods (2020-08-14, tarn-herald.example)",
        "year": "Floods (2020)",
        **dict.fromkeys(("neither", "odd", "none"), "Floods"),
    }
    assert loaded.passage("iso#0") == loaded.passages[0]


def test_the_time_of_a_crawl_and_the_name_of_a_collection_are_not_shown_and_the_report_says_so(path: Path) -> None:
    fineweb = {"text": TEXT, "id": "a", "dump": "CC-MAIN-2013-20", "date": "2013-05-18T05:48:54Z", "language": "en"}
    dolma = {"text": f"{TEXT} 2", "id": "b", "source": "s2orc/train", "added": "2023-01-01", "created": "2020-01-01"}
    loaded = load(path, [fineweb, dolma])
    assert [passage.heading for passage in loaded.passages] == [document.title for document in loaded.documents]
    assert loaded.counts.noted == [
        (
            "1 rows have a 'date' that is not shown with their passages, since it may be the time of a crawl: "
            'fields = {date = "date"} in a corpus.toml shows it'
        ),
        (
            "1 rows have a 'source' that is not shown with their passages, since it may be the name of a collection: "
            'fields = {source = "source"} in a corpus.toml shows it'
        ),
    ]
    (path.parent / "corpus.toml").write_text('fields = {date = "date", source = "metadata.publisher"}')
    loaded = load(path, [fineweb | {"metadata": {"publisher": "Herald"}, "body": TEXT}], text_field="body")
    assert (loaded.documents[0].date, loaded.documents[0].source) == ("2013-05-18", "Herald")


def test_dates_and_sources_of_a_parquet_file_are_read_by_the_names_that_a_corpus_gives_them(tmp_path: Path) -> None:
    day = datetime(2020, 8, 14, 3, tzinfo=UTC)
    pq.write_table(pa.table({"id": ["a"], "text": [TEXT], "when": [day], "site": ["Herald"]}), tmp_path / "n.parquet")
    (tmp_path / "corpus.toml").write_text('fields = {date = ["day", "when"], source = "site"}')
    loaded = corpus.load(manifest.resolve(str(tmp_path / "n.parquet")))
    assert (loaded.documents[0].date, loaded.documents[0].source) == ("2020-08-14", "Herald")
    (tmp_path / "corpus.toml").write_text('fields = {date = ["day", "wehn"]}')
    with pytest.raises(CorpusError, match="no row has the field 'day'; there are: id, text, when, site"):
        corpus.load(manifest.resolve(str(tmp_path / "n.parquet")))


def test_only_a_date_or_a_source_changes_the_fingerprint(path: Path) -> None:
    row = {"id": "a", "title": "Floods", "text": TEXT, "date": "", "source": ""}
    name_dates_and_sources(path)
    plain = load(path, [row]).fingerprint
    assert plain == "f9ca78ec602b7f17a4e48057c3c8392c140ac052fa9a0336e3b4d0f489876ec9", (
        "as it was before dates were read"
    )
    dated = [{"date": "2020"}, {"date": "2021"}, {"source": "2020"}]
    assert len({plain, *(load(path, [row | fields]).fingerprint for fields in dated)}) == 4
    assert load(path, [row | {"date": "soon", "url": "https://a.example"}]).fingerprint == plain

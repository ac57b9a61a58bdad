"""Links are the same for any parts, ranges and threads, and are resumed where a process was killed."""

import hashlib
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus, row_blocks
from pipeline.links import building, opening, survey
from pipeline.links import sorted_tables as runs
from pipeline.links.stored import FILES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def articles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Load a corpus in several parts, which this process reads one after another."""
    monkeypatch.setattr(building, "_PROCESSES", 1)
    monkeypatch.setattr(row_blocks, "PART_ROWS", 12)
    return corpus.load(corpus.resolve(str(ROOT / "corpora" / "tiny.jsonl")), tmp_path)


def digests(loaded: Corpus, most: int = 20) -> dict[str, str]:
    opening.open_links(loaded, most)
    folder = loaded.folder / f"links-{most}"
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


def values(loaded: Corpus) -> dict[str, list[int]]:
    folder = loaded.folder / "links-20"
    return {
        f"{name} {column}": list(column_values)
        for name in FILES
        for column, column_values in runs.read(folder / name).items()
    }


@pytest.mark.slow
def test_parts_ranges_and_threads_do_not_matter(
    articles: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(list(articles.folder.glob("part-*"))) > 2
    monkeypatch.setattr(building, "_PROCESSES", 2)
    first = digests(articles)
    expected = values(articles)
    assert len(expected["phrases.arrow hash"]) > 5
    assert list((articles.folder / "links-20").glob("*-0*")) == []
    assert opening.open_links(articles, 20).linked == len(set(expected["passages.arrow place"]))

    monkeypatch.setattr(building, "_PROCESSES", 1)
    monkeypatch.setattr(row_blocks, "PART_ROWS", 1 << 16)
    single_part = corpus.load(articles.manifest, tmp_path / "whole")
    assert len(list(single_part.folder.glob("part-*"))) == 1
    assert digests(single_part) == first

    monkeypatch.setattr(runs, "_TOGETHER", 7)  # rows of a range
    ranged = corpus.load(articles.manifest, tmp_path / "ranged")
    digests(ranged)
    assert values(ranged) == expected


def test_what_was_done_before_a_kill_is_not_done_again(articles: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    real, surveys = survey.survey, list[int]()

    def count_and_survey(*arguments: object) -> object:
        surveys.append(1)
        if len(surveys) == 3:
            raise KeyboardInterrupt
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "survey", count_and_survey)
    with pytest.raises(KeyboardInterrupt):
        opening.open_links(articles, 20)
    assert not (articles.folder / "links-20").exists()
    expected = digests(articles)
    parts = len(list(articles.folder.glob("part-*")))
    assert len(surveys) == parts + 1  # that which was interrupted is done again

    surveys.clear()
    opening.open_links(articles, 20)
    assert not surveys
    (articles.folder / "links-20" / "phrases.arrow").write_bytes(b"cut")
    surveys.extend([0] * 3)
    assert digests(articles) == expected
    assert len(surveys) == 3 + parts


def test_what_other_code_has_found_is_found_again(articles: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = digests(articles)
    inode = (articles.folder / "links-20" / "phrases.arrow").stat().st_ino
    monkeypatch.setattr(opening, "links_code", lambda: "other")
    assert digests(articles) == expected
    assert (articles.folder / "links-20" / "phrases.arrow").stat().st_ino != inode


def tables(folder: Path) -> Iterator[tuple[list[int], list[int]]]:
    yield [5, 1, 9, 1], [1, 2, 3, 4]
    yield [], []
    yield [1, 2, 9, 10], [5, 6, 7, 8]


@pytest.mark.parametrize("most", [1, 2, 100])
def test_ranges_give_all_rows_in_order_of_the_key(most: int, tmp_path: Path) -> None:
    import numpy as np

    paths = []
    for number, (column, rows) in enumerate(tables(tmp_path)):
        paths.append(tmp_path / f"{number}.arrow")
        runs.write(paths[-1], {"key": np.array(column, np.uint64), "row": np.array(rows, np.uint32)}, "key")
    tables_found = list(runs.ranges(paths, "key", most=most))
    keys = [[int(key) for key in table["key"]] for table in tables_found]
    assert [*chain(*keys)] == [1, 1, 1, 2, 5, 9, 9, 10]
    assert sorted(int(row) for table in tables_found for row in table["row"]) == list(range(1, 9))
    assert all(earlier[-1] < later[0] for earlier, later in pairwise(keys))
    assert (len(tables_found) > 1) == (most < 100)

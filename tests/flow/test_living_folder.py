"""A folder of 60 documents is edited week by week, and `grow` follows it through a real server and a worker.

Each week some documents change, go and come. A person has started a run of the same folder before.
"""

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import polars as pl
import pytest
import zstandard

import pipeline
from pipeline.run import read, versions
from pipeline.types import Record, Rollout
from pipeline.types.version import DocumentChanges, VersionSummary
from tests.flow.test_deployments import Standing, find_free_port, wait_until
from tests.rules.source import ROOT
from tests.server_process import serving

WIKI, TOPIC = ROOT / "corpora/wiki-25k.jsonl.zst", "Ohio"
WEEKS, DOCUMENTS, PAIRS = 3, 60, 10
CHANGED, GONE, NEW = 3, 2, 2
PERSONS_SEED = 3
REPORT = b'{"artifacts": {"key": {"any_": ["digsite-docs-report"]}}}'
SETTINGS = """
steps = [1, 2]
loop.rounds = 0
corpus.name = "{docs}"
[runtime]
out = "{out}"
pairs = {pairs}
"""

pytestmark = pytest.mark.slow


class Editor:
    """A folder of articles that name each other, and what its editor does to it in a week."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._chance = folder, random.Random(0)
        articles = read_articles()
        folder.mkdir()
        self._drafts = list(reversed(articles[DOCUMENTS:]))
        for article in articles[:DOCUMENTS]:
            self._write(article)

    def edit(self, rows: Sequence[dict[str, Any]]) -> None:
        """Change, remove and add documents: some that a pair cites, and a new one that contradicts a pair."""
        cited = {name for row in rows for name in list_documents(row)}
        dated = sorted({name for row in rows if row["answer"].isdecimal() for name in list_documents(row)})
        disputed = self._chance.sample(dated, min(1, len(dated)))
        evidence = self._chance.sample(sorted(cited - {*disputed}), 2)
        uncited = self._chance.sample(sorted(path.name for path in self.folder.iterdir() if path.name not in cited), 3)
        for name in (evidence[0], *uncited[:2]):
            self._rewrite(name, name)
        for name in (evidence[1], uncited[2]):
            (self.folder / name).unlink()
        for name in disputed:
            self._rewrite(name, f"Second-edition-of-{name}")
        for _ in range(NEW - len(disputed)):
            self._write(self._drafts.pop())

    def _rewrite(self, name: str, new_name: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        (self.folder / new_name).write_text(shift_years(text), encoding="utf-8")

    def _write(self, article: dict[str, str]) -> None:
        name = re.sub(r"\W+", "-", article["title"]).strip("-")
        (self.folder / f"{name}.md").write_text(f"# {article['title']}\n\n{article['text']}\n", encoding="utf-8")


def list_documents(row: dict[str, Any]) -> list[str]:
    return [hop["passage_id"].rpartition("#")[0] for hop in row["hops"]]


def read_articles() -> list[dict[str, str]]:
    with WIKI.open("rb") as file:
        lines = TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8")
        articles = [article for article in map(json.loads, lines) if TOPIC in article["text"]]
    titles = [article["title"] for article in articles if " " in article["title"]]

    def count_named(article: dict[str, str]) -> int:
        return sum(title in article["text"] and title != article["title"] for title in titles)

    return sorted(articles, key=lambda article: (-count_named(article), article["id"]))


def shift_years(text: str) -> str:
    shifted = re.sub(r"\b(1[5-9]|20)\d\d\b", lambda year: str(int(year[0]) + 1), text)
    return shifted if shifted != text else f"{text.rstrip()} This article was corrected.\n"


class Week(NamedTuple):
    """The state of the folder in a week, and what the flow made of it."""

    number: int
    folder: Path
    texts: dict[str, str]
    """The documents by name, with single spaces."""
    message: str
    """The message of the flow run's final state."""
    report: str
    """The newest artifact with a report."""

    @property
    def summary(self) -> VersionSummary:
        version = versions.read_version(self.folder)
        assert version
        return version.summary

    def rows(self) -> list[dict[str, Any]]:
        return pl.read_parquet(sorted((self.folder / "dataset/qa").glob("*.parquet"))).to_dicts()


class Life(NamedTuple):
    """The weeks of a folder, and the run that `latest` means after them."""

    weeks: list[Week]
    latest: Path


def run_week(standing: Standing, run: Path, docs: Path, number: int) -> Week:
    deployment = standing.request("/deployments/name/digsite-grow/grow")["id"]
    flow_run = standing.request(f"/deployments/{deployment}/create_flow_run", b"{}")["id"]

    def read_state() -> dict[str, Any]:
        state: dict[str, Any] = standing.request(f"/flow_runs/{flow_run}")["state"]
        return state

    wait_until(lambda: read_state()["type"] in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"))
    state = read_state()
    assert state["name"] == "Completed", state["message"]
    texts = {path.name: " ".join(path.read_text(encoding="utf-8").split()) for path in docs.iterdir()}
    (report,) = standing.request("/artifacts/latest/filter", REPORT)
    return Week(number, run.resolve(), texts, state["message"], report["data"])


def live(home: Path, weeks: int) -> Iterator[Week]:
    docs, out = home / "docs", home / "out"
    editor, config = Editor(docs), home / "weekly.toml"
    config.write_text(SETTINGS.format(docs=docs, out=out, pairs=PAIRS))
    command = ["generate", str(docs), "--config", str(config), "--pairs", "1", "--seed", str(PERSONS_SEED)]
    subprocess.run([sys.executable, "-m", "pipeline.cli", *command], check=True, capture_output=True)
    standing = Standing(home, find_free_port(), config)
    with standing.serving():
        wait_until(lambda: standing.file.with_suffix(".log").read_text().count("Prefect's pages"))
        for number in range(1, weeks + 1):
            yield (week := run_week(standing, out / "docs/weekly", docs, number))
            editor.edit(week.rows())


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    home = tmp_path_factory.mktemp("living")
    weeks = list(live(home, WEEKS))
    yield Life(weeks, (home / "out/docs/latest").resolve())
    shutil.rmtree(home)


def test_every_pair_is_carried_made_again_or_dropped_each_week(life: Life) -> None:
    assert [week.folder.name for week in life.weeks[1:]] == [
        f"{life.weeks[0].folder.name}-v{week.number}" for week in life.weeks[1:]
    ]
    for week in life.weeks[1:]:
        row = week.summary
        same = DOCUMENTS - CHANGED - GONE
        assert row.documents == DocumentChanges(added=NEW, changed=CHANGED, removed=GONE, same=same)
        assert row.carried + row.stale + sum(row.dropped.values()) == PAIRS
        assert row.carried > 0
        assert row.stale > 0
        new = f"{PAIRS} of {PAIRS} pairs, {PAIRS - row.carried} of them new"
        assert week.message.startswith(f"{new}; {row.carried} carried over, since the corpus changed; published: ")
        assert f"\n\nVersion {week.number}: {row}.\n\n" in week.report
        assert str(week.folder / "report.html") in week.report
        assert len(week.rows()) == PAIRS
    assert sum(sum(week.summary.dropped.values()) for week in life.weeks[1:]) > 0
    card = (life.weeks[-1].folder / "dataset/README.md").read_text(encoding="utf-8")
    assert card.count(f"| `{life.weeks[0].folder.name}-v") == WEEKS


def test_every_quote_of_every_week_is_in_that_weeks_texts(life: Life) -> None:
    for week in life.weeks:
        hops = [hop for row in week.rows() for hop in row["hops"]]
        assert len(hops) >= PAIRS
        for hop in hops:
            assert " ".join(hop["quote"].split()) in week.texts[hop["passage_id"].rpartition("#")[0]]


def test_the_index_of_each_week_answers_as_its_rollouts_were_answered(life: Life) -> None:
    """All weeks are served after the last one, when the folder holds other texts."""
    for week in life.weeks:
        with serving("serve", week.folder) as (_, url):
            fingerprint = httpx2.get(url.replace("/retrieve", "/environment")).json()["corpus_fingerprint"]
            records = [record for record in pipeline.records(week.folder) if is_made_on(record, fingerprint)]
            observations = [pair for record in records for pair in replay(url.replace("/retrieve", "/call"), record)]
        assert len(observations) >= len(records) > 0
        assert [again for again, _ in observations] == [observed for _, observed in observations]


def is_made_on(record: Record, fingerprint: str) -> bool:
    return record.lineage.corpus_fingerprint == fingerprint


def replay(url: str, record: Record) -> Iterator[tuple[str, str]]:
    """Make a record's tool calls again, and yield what the server answers and what the rollout saw."""
    rollouts: list[Rollout] = [*record.confirmation, *(rollout for step in record.rounds for rollout in step.rollouts)]
    for rollout in rollouts:
        observed = iter([message.content for message in rollout.trajectory.messages if message.role == "tool"])
        state: dict[str, Any] = {"shown": [], "calls": 0}
        for message in rollout.trajectory.messages:
            for place, call in enumerate(message.tool_calls):
                if call.name == "answer":
                    continue
                body = {"name": call.name, "arguments": call.arguments, "place": place, **state}
                answer = httpx2.post(url, json=body).json()
                state = {"shown": answer["shown"], "calls": answer["calls"]}
                yield answer["content"], next(observed)


def test_the_run_that_a_person_started_stays_the_latest(life: Life) -> None:
    assert life.latest.name not in {week.folder.name for week in life.weeks}
    assert read(life.latest).config.seed == PERSONS_SEED
    assert len(list(pipeline.records(life.latest))) > 0

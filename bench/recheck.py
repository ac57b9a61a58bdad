"""Are the accepted pairs what they say they are? Every quote, checked against the corpus by code of its own.

The source is read here again, from the manifest's file; nothing of pipeline.corpus, text, audit or assess is used. A
passage is found as the slice around the quote whose SHA-256 the hop gives, so not even the chunker is trusted.
"""

import argparse
import hashlib
import json
import re
import sys
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from bench.common import format_share, heading, load_run
from pipeline.config import CorpusConfig
from pipeline.types import Draft, Hop, Record

ROOT = Path(__file__).resolve().parents[1] / "corpora"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MOST_WORDS = 450
"""No passage is longer."""


class Text(NamedTuple):
    title: str
    body: str


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """JSON lines, plain or packed by zstd."""
    with (
        zstandard.open(path, "rt", encoding="utf-8") if path.suffix == ".zst" else path.open(encoding="utf-8") as lines
    ):
        yield from (json.loads(line) for line in lines if line.strip())


def clean(text: str) -> str:
    return unicodedata.normalize("NFC", CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def documents(corpus: CorpusConfig, needed: set[str]) -> dict[str, Text]:
    """The needed documents of a corpus with a manifest, or of a JSON Lines file."""
    manifest = ROOT / f"{corpus.name}.toml"
    tree: dict[str, Any] = {"source": str(Path(corpus.name).resolve())}
    fields: dict[str, Any] = {"id": corpus.id_field, "title": [corpus.title_field], "text": corpus.text_field}
    if manifest.is_file():
        tree = tomllib.loads(manifest.read_text())
        fields |= tree.get("fields", {})
    found = {}
    for row in rows(ROOT / tree["source"]):
        key = str(row.get(fields["id"]))
        if key in needed and key not in found and clean(row.get(fields["text"]) or "").strip():
            first, *rest = [" ".join(clean(str(row[f])).split()) for f in fields["title"] if row.get(f)] or [""]
            title = f"{first} ({', '.join(rest)})" if rest else first
            found[key] = Text(title, clean(row[fields["text"]]).strip())
    return found


def passage(hop: Hop, text: Text) -> tuple[int, int] | None:
    """Offsets in `title + newline + body` of the slice that holds the quote and has the hop's SHA-256."""
    stored, start = f"{text.title}\n{text.body}", len(text.title) + 1
    starts = [start, *(m.start() for m in re.finditer(r"(?<=\s)\S", stored) if m.start() > start)]
    ends = [*(m.end() for m in re.finditer(r"\S(?=\s)", stored)), len(stored)]
    at = stored.find(hop.quote, start)
    while at >= 0:
        before = [e for e in starts if e <= at][-MOST_WORDS:]
        after = [e for e in ends if e >= at + len(hop.quote)][:MOST_WORDS]
        for low in before:
            for high in after:
                if high - low < 4000 and hashlib.sha256(stored[low:high].encode()).hexdigest() == hop.passage_sha256:
                    return low, high
        at = stored.find(hop.quote, at + 1)
    return None


def plain(text: str) -> str:
    """Lower-case words without accents, between blanks: for whole-word containment."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    words = " ".join(re.findall(r"[^\W_]+", bare))
    return f" {words} "


def holds(text: str, phrase: str) -> bool:
    needle = re.sub(r"^ (?:the|an?) ", " ", plain(phrase))
    return bool(needle.strip()) and needle in plain(text)


def faults(record: Record, texts: dict[str, Text]) -> list[str]:
    draft = record.draft
    if draft is None or not draft.hops:
        return ["no draft"]
    found = [fault for i, hop in enumerate(draft.hops) for fault in _hop(i, hop, texts)] + _question(draft)
    steps = [v.steps for v in record.confirmation_verdicts if v.right and v.supported]
    if record.lineage.preset != "sage" and (not steps or min(steps) < record.seed.target_steps):
        found.append(f"confirmed in {steps} steps, target {record.seed.target_steps}")
    home = texts.get(record.seed.passage.document_id)
    seed = record.seed.passage
    if home is None or f"{home.title}\n{home.body}"[seed.start : seed.end] != seed.text:
        found.append("the seed passage is not the slice at its offsets")
    return found


def _hop(index: int, hop: Hop, texts: dict[str, Text]) -> list[str]:
    document, mark, number = hop.passage_id.rpartition("#")
    text = texts.get(document)
    if not mark or not number.isdigit() or text is None:
        return [f"hop {index}: no document {hop.passage_id}"]
    found = []
    if not hop.quote.strip() or hop.quote not in text.body:
        found.append(f"hop {index}: the quote is not in the document")
    elif (place := passage(hop, text)) is None:
        found.append(f"hop {index}: no slice around the quote has the passage's SHA-256")
    elif (place[0] == len(text.title) + 1) != (number == "0"):
        found.append(f"hop {index}: passage {number} starts at {place[0]}")
    if hop.title != text.title:
        found.append(f"hop {index}: title {hop.title!r} is {text.title!r}")
    if not holds(hop.quote, hop.answer) and not holds(hop.title, hop.answer):
        found.append(f"hop {index}: neither quote nor title holds the answer {hop.answer!r}")
    return found


def _question(draft: Draft) -> list[str]:
    found = []
    if len({hop.passage_id for hop in draft.hops}) < len(draft.hops):
        found.append("two hops rest on one passage")
    if draft.graph.is_computed:  # Neither a quote nor a hop holds the answer, and the question may name it.
        return found
    last = draft.hops[-1]
    if not any(holds(last.quote, answer) for answer in (draft.answer, *draft.answer_aliases)):
        found.append("the answer is not in the last quote")
    if any(holds(draft.question, answer) for answer in (draft.answer, *draft.answer_aliases)):
        found.append("the question holds the answer")
    found += [f"the question names {hop.answer!r}" for hop in draft.hops[:-1] if holds(draft.question, hop.answer)]
    return found


def main(options: argparse.Namespace) -> bool:
    run = load_run(options.run, options.out)
    hops = [hop for record in run.accepted if record.draft for hop in record.draft.hops]
    needed = {hop.passage_id.rpartition("#")[0] for hop in hops} | {r.seed.passage.document_id for r in run.accepted}
    texts = documents(run.config.corpus, needed)
    found = {record.key: faults(record, texts) for record in run.accepted}
    bad = {key: list_ for key, list_ in found.items() if list_}
    print(heading("recheck", run.accepted))
    print(f"pairs that pass: {format_share(len(found) - len(bad), len(found))}; quotes checked: {len(hops)}")
    for key, list_ in list(bad.items())[:10]:
        print(f"{key[:12]}: {'; '.join(list_)[:300]}")
    return bool(found) and not bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default="wiki/latest")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if main(parser.parse_args()) else 1)

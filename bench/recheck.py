"""Check every quote of the accepted pairs against the corpus, independently of the pipeline: `bench.recheck [RUN]`.

The source is read again from the manifest's file, without pipeline.corpus, text, audit or assess. A passage is the
slice around the quote that has the hop's SHA-256, so not even the chunker is trusted.
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

from bench.common import ROOT, format_heading, load_run
from pipeline.config import CorpusConfig
from pipeline.types import Draft, Hop, Record

CORPORA = ROOT / "corpora"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MAX_PASSAGE_WORDS = 450


class Text(NamedTuple):
    title: str
    body: str


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with (zstandard.open if path.suffix == ".zst" else open)(path, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def normalize(text: str) -> str:
    return unicodedata.normalize("NFC", CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def load_documents(corpus: CorpusConfig, needed: set[str]) -> dict[str, Text]:
    """Load the needed documents of a corpus with a manifest, or of a JSON Lines file."""
    manifest = CORPORA / f"{corpus.name}.toml"
    tree: dict[str, Any] = {"source": str(Path(corpus.name).resolve())}
    fields: dict[str, Any] = {"id": corpus.id_field, "title": [corpus.title_field], "text": corpus.text_field}
    if manifest.is_file():
        tree = tomllib.loads(manifest.read_text())
        fields |= tree.get("fields", {})
    documents = {}
    for row in read_rows(CORPORA / tree["source"]):
        key = str(row.get(fields["id"]))
        if key in needed and key not in documents and normalize(row.get(fields["text"]) or "").strip():
            name, *details = [" ".join(normalize(str(row[f])).split()) for f in fields["title"] if row.get(f)] or [""]
            title = f"{name} ({', '.join(details)})" if details else name
            documents[key] = Text(title, normalize(row[fields["text"]]).strip())
    return documents


def find_passage(hop: Hop, text: Text) -> tuple[int, int] | None:
    """Return the offsets, in title, newline and body, of the slice that holds the quote and has the hop's SHA-256."""
    stored, start = f"{text.title}\n{text.body}", len(text.title) + 1
    starts = [start, *(m.start() for m in re.finditer(r"(?<=\s)\S", stored) if m.start() > start)]
    ends = [*(m.end() for m in re.finditer(r"\S(?=\s)", stored)), len(stored)]
    at = stored.find(hop.quote, start)
    while at >= 0:
        before = [e for e in starts if e <= at][-MAX_PASSAGE_WORDS:]
        after = [e for e in ends if e >= at + len(hop.quote)][:MAX_PASSAGE_WORDS]
        for low in before:
            for high in after:
                if high - low < 4000 and hashlib.sha256(stored[low:high].encode()).hexdigest() == hop.passage_sha256:
                    return low, high
        at = stored.find(hop.quote, at + 1)
    return None


def simplify(text: str) -> str:
    """Return the lower-case words without accents, between blanks, to compare entire words."""
    unaccented = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    words = " ".join(re.findall(r"[^\W_]+", unaccented))
    return f" {words} "


def contains(text: str, phrase: str) -> bool:
    needle = re.sub(r"^ (?:the|an?) ", " ", simplify(phrase))
    return bool(needle.strip()) and needle in simplify(text)


def find_faults(record: Record, texts: dict[str, Text]) -> list[str]:
    draft = record.draft
    if draft is None or not draft.hops:
        return ["no draft"]
    faults = [fault for i, hop in enumerate(draft.hops) for fault in _check_hop(i, hop, texts)]
    faults += _check_question(draft)
    steps = [v.steps for v in record.measured if v.right and v.supported]
    if record.lineage.preset != "sage" and (not steps or min(steps) < record.seed.target_steps):
        faults.append(f"solved in {steps} steps, target {record.seed.target_steps}")
    seed = record.seed.passage
    text = texts.get(seed.document_id)
    if text is None or f"{text.title}\n{text.body}"[seed.start : seed.end] != seed.text:
        faults.append("the seed passage is not the slice at its offsets")
    return faults


def _check_hop(index: int, hop: Hop, texts: dict[str, Text]) -> list[str]:
    document, mark, number = hop.passage_id.rpartition("#")
    text = texts.get(document)
    if not mark or not number.isdigit() or text is None:
        return [f"hop {index}: no document {hop.passage_id}"]
    faults = []
    if not hop.quote.strip() or hop.quote not in text.body:
        faults.append(f"hop {index}: the quote is not in the document")
    elif (span := find_passage(hop, text)) is None:
        faults.append(f"hop {index}: no slice around the quote has the passage's SHA-256")
    elif (span[0] == len(text.title) + 1) != (number == "0"):
        faults.append(f"hop {index}: passage {number} starts at {span[0]}")
    if hop.title != text.title:
        faults.append(f"hop {index}: title {hop.title!r} is {text.title!r}")
    if not contains(hop.quote, hop.answer) and not contains(hop.title, hop.answer):
        faults.append(f"hop {index}: neither quote nor title holds the answer {hop.answer!r}")
    return faults


def _check_question(draft: Draft) -> list[str]:
    faults = []
    if len({hop.passage_id for hop in draft.hops}) < len(draft.hops):
        faults.append("two hops rest on one passage")
    if draft.graph.is_computed:  # Neither a quote nor a hop holds the answer, and the question may name it.
        return faults
    last = draft.hops[-1]
    if not any(contains(last.quote, answer) for answer in (draft.answer, *draft.answer_aliases)):
        faults.append("the answer is not in the last quote")
    if any(contains(draft.question, answer) for answer in (draft.answer, *draft.answer_aliases)):
        faults.append("the question holds the answer")
    faults += [f"the question names {hop.answer!r}" for hop in draft.hops[:-1] if contains(draft.question, hop.answer)]
    return faults


def main(options: argparse.Namespace) -> bool:
    run = load_run(options.run, options.out)
    hops = [hop for record in run.accepted if record.draft for hop in record.draft.hops]
    needed = {hop.passage_id.rpartition("#")[0] for hop in hops} | {r.seed.passage.document_id for r in run.accepted}
    texts = load_documents(run.config.corpus, needed)
    pairs = len(run.accepted)
    faulty = {record.key: faults for record in run.accepted if (faults := find_faults(record, texts))}
    print(format_heading("recheck", run.accepted))
    print(f"pairs that pass: {pairs - len(faulty)} of {pairs}; quotes checked: {len(hops)}")
    for key, faults in list(faulty.items())[:10]:
        print(f"{key[:12]}: {'; '.join(faults)[:300]}")
    return pairs > 0 and not faulty


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default="wiki/latest")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if main(parser.parse_args()) else 1)

"""The frozen outputs of a finished run: a hash of every file, and texts that show a difference."""

import difflib
import hashlib
import re
from pathlib import Path

import orjson
import pyarrow.parquet as pq

from pipeline.analysis.figures import figures
from pipeline.config import RunConfig
from pipeline.run import publish
from pipeline.types import Record
from tests.golden.places import seed_name

HOME = Path(__file__).parent / "frozen"
REQUESTS = "requests.json"
SHOWN = 40
"""Lines of a difference that a failing test shows of one file."""
Texts = dict[str, str]
"""By the name of the file."""


def build_texts(folder: Path, config: RunConfig, requests: object | None = None) -> Texts:
    """Return the frozen texts of the run in `folder`."""
    records_of_run = publish.RunRecords(folder, config)
    records = list(records_of_run)
    computed = figures(records_of_run.seeds(), publish.outside(folder)).model_dump(mode="json")
    texts_now = {
        "seeds.txt": "".join(f"{_format_ending(record)}\n" for record in records),
        "records.txt": "".join(f"{digest(record.model_dump_json().encode())} {_name(record)}\n" for record in records),
        "shards.json": pretty(hash_shards(folder / "dataset")),
        "report.json": pretty({"page": hash_sections((folder / "report.html").read_text()), "figures": computed}),
        "card.md": (folder / "dataset" / "README.md").read_text(),
    }
    return texts_now | ({REQUESTS: pretty(requests)} if requests is not None else {})


def _name(record: Record) -> str:
    return seed_name(record.seed)


def _format_ending(record: Record) -> str:
    """Return the decisions about a seed in one line without hashes, so that a change of wording alone leaves it."""
    causes = [past.feedback.cause.value if past.feedback else "candidate" for past in record.rounds]
    steps = f"{record.difficulty} steps of {record.seed.target_steps}, solve rate {record.solve_rate}"
    pair = f"{record.draft.question} → {record.draft.answer}" if record.draft else "–"
    return " | ".join((_name(record), f"{record.status} {record.reason}".strip(), ", ".join(causes), steps, pair))


def hash_shards(dataset: Path) -> dict[str, object]:
    """Hash every file of the data set, and each column of a shard, to see which column changed."""
    listing: dict[str, object] = {}
    for path in sorted(path for path in dataset.rglob("*") if path.is_file()):
        entry: dict[str, object] = {"sha256": digest(path.read_bytes())}
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            entry["rows"] = table.num_rows
            entry["columns"] = {
                name: digest(orjson.dumps(table.column(name).to_pylist())) for name in table.column_names
            }
        listing[path.relative_to(dataset).as_posix()] = entry
    return listing


def hash_sections(page: str) -> dict[str, str]:
    """Hash what is under each heading of the report."""
    parts = re.split(r"(?=<h[123])", page)
    headings = [" ".join(re.sub(r"<[^>]*>", "", part.partition("</h")[0]).split()) for part in parts]
    return {
        f"{number} {headings[number][:60] if number else 'head'}": digest(parts[number].encode())
        for number in range(len(parts))
    }


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def pretty(tree: object) -> str:
    return orjson.dumps(tree, option=orjson.OPT_INDENT_2).decode() + "\n"


def freeze(name: str, texts: Texts) -> list[str]:
    """Write the texts under that name. Return the files that changed."""
    home = HOME / name
    home.mkdir(parents=True, exist_ok=True)
    changed = [
        file
        for file in sorted(texts.keys() | read_frozen(name).keys())
        if read_frozen(name).get(file) != texts.get(file)
    ]
    for path in home.iterdir():
        path.unlink()
    for file, text in texts.items():
        (home / file).write_text(text)
    return changed


def read_frozen(name: str) -> Texts:
    home = HOME / name
    return {path.name: path.read_text() for path in sorted(home.iterdir())} if home.exists() else {}


def check(name: str, current: Texts, *, requests: bool = False) -> None:
    """Fail with a diff if the texts differ from the frozen ones: only `requests.json`, or all others."""
    before, now = (
        {file: text for file, text in texts.items() if (file == REQUESTS) == requests}
        for texts in (read_frozen(name), current)
    )
    differs = differences(name, before, now)
    again = f"if that is meant: python -m tests.golden.freeze {name}, in a commit of its own that says why"
    assert not differs, f"{differs}\n\n{again}"


def differences(name: str, before: Texts, texts: Texts) -> str:
    """Return the unified diff from the frozen texts to these; empty if nothing changed."""
    lines_shown: list[str] = []
    for file in sorted(before.keys() | texts.keys()):
        old, new = before.get(file, "").splitlines(), texts.get(file, "").splitlines()
        lines = list(difflib.unified_diff(old, new, f"frozen/{name}/{file}", "made now", lineterm="", n=1))
        rest_note = [f"... and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
        lines_shown += [*(line[:300] for line in lines[:SHOWN]), *rest_note]
    return "\n".join(lines_shown)

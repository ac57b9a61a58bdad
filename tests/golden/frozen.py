"""What of a finished run is frozen: every file's bytes by their hash, and as texts what a difference is read from."""

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


def texts(folder: Path, config: RunConfig, requests: object | None = None) -> Texts:
    """Of the run in `folder`."""
    found = publish.RunRecords(folder, config)
    records = list(found)
    made_of = figures(found.seeds(), publish.outside(folder)).model_dump(mode="json")
    made = {
        "seeds.txt": "".join(f"{_ended(record)}\n" for record in records),
        "records.txt": "".join(f"{digest(record.model_dump_json().encode())} {_name(record)}\n" for record in records),
        "shards.json": pretty(shards(folder / "dataset")),
        "report.json": pretty({"page": sections((folder / "report.html").read_text()), "figures": made_of}),
        "card.md": (folder / "dataset" / "README.md").read_text(),
    }
    return made | ({REQUESTS: pretty(requests)} if requests is not None else {})


def _name(record: Record) -> str:
    return seed_name(record.seed)


def _ended(record: Record) -> str:
    """What was decided about a seed, in a line without its record's hash: a change of wording alone leaves it."""
    causes = [past.feedback.cause.value if past.feedback else "candidate" for past in record.rounds]
    steps = f"{record.difficulty} steps of {record.seed.target_steps}, solve rate {record.solve_rate}"
    asked = f"{record.draft.question} → {record.draft.answer}" if record.draft else "–"
    return " | ".join((_name(record), f"{record.status} {record.reason}".strip(), ", ".join(causes), steps, asked))


def shards(dataset: Path) -> dict[str, object]:
    """Every file of the data set; of a shard its columns too, to tell which of them another hash comes from."""
    found: dict[str, object] = {}
    for path in sorted(path for path in dataset.rglob("*") if path.is_file()):
        told: dict[str, object] = {"sha256": digest(path.read_bytes())}
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            told["rows"] = table.num_rows
            told["columns"] = {
                name: digest(orjson.dumps(table.column(name).to_pylist())) for name in table.column_names
            }
        found[path.relative_to(dataset).as_posix()] = told
    return found


def sections(page: str) -> dict[str, str]:
    """Of the report's page the hash of what stands under each heading."""
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


def freeze(name: str, made: Texts) -> list[str]:
    """Keep the texts as those of that name; which of them are other than before."""
    home = HOME / name
    home.mkdir(parents=True, exist_ok=True)
    changed = [file for file in sorted(made.keys() | kept(name).keys()) if kept(name).get(file) != made.get(file)]
    for path in home.iterdir():
        path.unlink()
    for file, text in made.items():
        (home / file).write_text(text)
    return changed


def kept(name: str) -> Texts:
    home = HOME / name
    return {path.name: path.read_text() for path in sorted(home.iterdir())} if home.exists() else {}


def check(name: str, made: Texts, *, requests: bool = False) -> None:
    """Fail, with what differs, where the texts are not the frozen ones: `requests.json` alone, or all others."""
    before, now = (
        {file: text for file, text in texts.items() if (file == REQUESTS) == requests} for texts in (kept(name), made)
    )
    differs = differences(name, before, now)
    again = f"if that is meant: python -m tests.golden.freeze {name}, in a commit of its own that says why"
    assert not differs, f"{differs}\n\n{again}"


def differences(name: str, before: Texts, made: Texts) -> str:
    """From what is frozen to what was made, as unified differences; empty where all is as it was."""
    found: list[str] = []
    for file in sorted(before.keys() | made.keys()):
        old, new = before.get(file, "").splitlines(), made.get(file, "").splitlines()
        lines = list(difflib.unified_diff(old, new, f"frozen/{name}/{file}", "made now", lineterm="", n=1))
        more = [f"... and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
        found += [*(line[:300] for line in lines[:SHOWN]), *more]
    return "\n".join(found)

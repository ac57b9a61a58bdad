"""Questions that a benchmark has: the same words, thirteen words in a row, or the same answer and title.

Lists stand in `corpora/benchmarks/` as fingerprints, hashes from which no question can be read, and wherever
`gates.against` points: `.jsonl` with `question` and, where known, `answer` or `answers` and `supporting_titles`; `.txt`
with a question a line; `.hashes`; or a folder of these. Marks and case do not count. The thirteen words are those of
GPT-3's decontamination (Brown et al. 2020, appendix C); where no blanks stand between words, as many characters as such
words have: 26 of Chinese. A question that was translated is not found.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import YES_NO, GateResult
from pipeline.errors import UsageError
from pipeline.folders import folder
from pipeline.text import normalise, words
from pipeline.types import Draft, Record
from pipeline.writing import runs

SHIPPED = folder("corpora") / "benchmarks"
GRAM = 13
_KINDS = (".hashes", ".jsonl", ".txt")
_ANSWERS = ("answer", "answers", "golden_answers", "answer_aliases")


def ready(settings: GateConfig) -> None:
    lists(settings.against)


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    known = lists(settings.against)
    answers = (draft.answer, *draft.answer_aliases)
    names = (known.get(mark) for mark in marks(draft.question, answers, [hop.title for hop in draft.hops]))
    name = next((name for name in names if name), None)
    return [GateResult(drop=f"it is too like a question of {name}")] if name else []


def marks(question: str, answers: Iterable[str], titles: Iterable[str]) -> Iterator[str]:
    """The fingerprint of a question: it is like another where they share one of these."""
    yield _hashed("question", normalise(question))
    for run in runs(words(question), GRAM):
        yield _hashed("gram", " ".join(run))
    titled = {normalise(title) for title in titles}
    for answer in sorted({normalise(answer) for answer in answers} - YES_NO - {""}):
        for title in sorted(titled):
            yield _hashed("answer", f"{answer}\n{title}")


@lru_cache(maxsize=4)
def lists(against: tuple[Path, ...]) -> dict[str, str]:
    """All marks, with the name of the list that each is of. Raises UsageError where a list cannot be read."""
    files: list[Path] = []
    for path in (SHIPPED, *against):
        inside = sorted(one for one in path.glob("*") if one.suffix in _KINDS) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path} holds no list of questions ({', '.join(_KINDS)})")
        files += inside
    return {mark: path.stem for path in reversed(files) for mark in _marks(path)}


def _marks(path: Path) -> Iterator[str]:
    if path.suffix not in _KINDS:
        raise UsageError(f"{path}: a list of questions ends in {', '.join(_KINDS)}")
    try:
        # Not `splitlines`: text may hold U+2028, at which no line of JSON ends.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            if path.suffix == ".hashes":
                yield line.strip()
            elif path.suffix == ".txt":
                yield from marks(line, (), ())
            else:
                yield from _of_row(line, f"{path}, line {number}")


def _of_row(line: str, place: str) -> Iterator[str]:
    try:
        row: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{place}: not JSON: {error}") from error
    if not isinstance(row, dict) or not isinstance(row.get("question"), str):
        raise UsageError(f"{place}: it has no 'question'")
    answers = [text for name in _ANSWERS for text in _texts(row.get(name))]
    yield from marks(row["question"], answers, _texts(row.get("supporting_titles")))


def _texts(value: Any) -> list[str]:
    """A field that holds one text, several, or nothing."""
    return [str(one) for one in (value if isinstance(value, list) else [value]) if one is not None]


def _hashed(kind: str, text: str) -> str:
    """48 bits: a chance match of a million marks with ten thousand is one in thirty thousand."""
    return blake2b(f"{kind}\n{text}".encode(), digest_size=6).hexdigest()

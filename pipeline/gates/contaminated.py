"""Questions that a benchmark has: in the same or in other words, or the same chain asked otherwise.

The lists are in `corpora/benchmarks/`, as fingerprints from which no question can be read, and in the paths of
`gates.against`: `.hashes`, any file that `question_list` reads, or a folder of these. A question is the same as a
benchmark's if they share all words, apart from punctuation and case; thirteen words in a row (GPT-3's decontamination,
Brown et al. 2020, appendix C; in scripts without blanks as many characters as such words have: 26 of Chinese); the
answer and a title of its evidence; or the answer and enough words, in the question or over the chain. Translated
questions are not detected.
"""

from functools import lru_cache
from pathlib import Path

from pipeline.config.exports import GateConfig
from pipeline.errors import UsageError
from pipeline.gates.base import Gate
from pipeline.gates.benchmarks import question_list, question_rows
from pipeline.gates.benchmarks.fingerprints import Fingerprint, Index, fingerprint, parse_line
from pipeline.store.shipped_folders import folder
from pipeline.types import Draft, Record

SHIPPED = folder("corpora") / "benchmarks"
KINDS = (".hashes", *question_list.KINDS)


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    index, names = load_lists(settings.against)
    list_index = index.find(draft.question, (draft.answer, *draft.answer_aliases), draft.hops)
    return "" if list_index is None else f"it is too like a question of {names[list_index]}"


@lru_cache(maxsize=4)
def load_lists(against: tuple[Path, ...]) -> tuple[Index, list[str]]:
    """Return an index of all listed questions, and the name of the list of each.

    Raises UsageError if a list cannot be read.
    """
    named_fingerprints = [pair for path in (SHIPPED, *against) for pair in _load_path(path)]
    return Index([listed for listed, _ in named_fingerprints]), [name for _, name in named_fingerprints]


@lru_cache(maxsize=4)
def _load_path(path: Path) -> list[tuple[Fingerprint, str]]:
    files = question_list.files(path, KINDS)
    if not files:
        raise UsageError(f"{path} holds no list of questions ({', '.join(KINDS)})")
    return [(listed, file.stem) for file in files for listed in read(file)]


def read(path: Path) -> list[Fingerprint]:
    if question_rows.kind(path) not in KINDS:
        raise UsageError(f"{path}: a list of questions ends in {', '.join(KINDS)}")
    if path.suffix != ".hashes":
        return [fingerprint(row.question, row.answers, row.titles) for row in question_list.read(path)]
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        return [parse_line(line) for line in lines if not line.startswith("#")]
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


GATE = Gate(check, prepare=lambda settings: load_lists(settings.against))

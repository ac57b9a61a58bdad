"""Questions that a benchmark has: in the same or in other words, or the same chain asked otherwise.

Lists stand in `corpora/benchmarks/` as fingerprints, from which no question can be read, and wherever `gates.against`
points: `.hashes`, any file that `question_list` reads, or a folder of these. The same is what shares a benchmark
question's words, marks and case apart; thirteen words in a row (GPT-3's decontamination, Brown et al. 2020, appendix C;
where no blanks stand between words, as many characters as such words have: 26 of Chinese); its answer and a title of
its evidence; or its answer and enough of the words that it is made of, in the question or over the chain. A question
that was translated is not found.
"""

from functools import lru_cache
from pathlib import Path

from pipeline.config.gates import GateConfig
from pipeline.errors import UsageError
from pipeline.gates.benchmarks import question_list, question_rows
from pipeline.gates.benchmarks.fingerprints import Fingerprint, Index, fingerprint, parsed
from pipeline.store.shipped_folders import folder
from pipeline.types import Draft, Record

SHIPPED = folder("corpora") / "benchmarks"
KINDS = (".hashes", *question_list.KINDS)


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    index, names = lists(settings.against)
    place = index.find(draft.question, (draft.answer, *draft.answer_aliases), draft.hops)
    return "" if place is None else f"it is too like a question of {names[place]}"


@lru_cache(maxsize=4)
def lists(against: tuple[Path, ...]) -> tuple[Index, list[str]]:
    """All listed questions, and the name of the list that each is of. Raises UsageError where one cannot be read."""
    found = [one for path in (SHIPPED, *against) for one in _named(path)]
    return Index([one for one, _ in found]), [name for _, name in found]


@lru_cache(maxsize=4)
def _named(path: Path) -> list[tuple[Fingerprint, str]]:
    """The fingerprints of a file or of the lists in a folder, each with the name of its list."""
    inside = question_list.files(path, KINDS)
    if not inside:
        raise UsageError(f"{path} holds no list of questions ({', '.join(KINDS)})")
    return [(one, file.stem) for file in inside for one in read(file)]


def read(path: Path) -> list[Fingerprint]:
    """The fingerprints of a list."""
    if question_rows.kind(path) not in KINDS:
        raise UsageError(f"{path}: a list of questions ends in {', '.join(KINDS)}")
    if path.suffix != ".hashes":
        return [fingerprint(one.question, one.answers, one.titles) for one in question_list.read(path)]
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        return [parsed(line) for line in lines if not line.startswith("#")]
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error

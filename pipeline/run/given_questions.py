"""The questions that somebody brings to have them made harder, as seeds of a run.

They are read as `measure` reads its own. What identifies them is what they say, and neither the name of their file nor
its format, nor the order in which they stand there.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import orjson

from pipeline.config import RunConfig
from pipeline.corpus import Corpus
from pipeline.errors import UsageError
from pipeline.gates import contaminated
from pipeline.gates.benchmarks.question_rows import HUB
from pipeline.measurement import gold_questions
from pipeline.operations import operation, operations
from pipeline.reward.answers import side
from pipeline.text import dates, numbers
from pipeline.text.names import contains, normalise
from pipeline.types import AnswerType, Given, Passage, Record, sha256

_LOOKED_AT = 500
"""Questions, evenly spaced, that are held against the benchmarks."""
_TEST_SPLIT = 0.1
"""Share of them from which on a file is a benchmark's test split. The gate takes single ones out."""


def hardening(config: RunConfig, file: Path) -> RunConfig:
    """The run that makes the questions of a file harder: every one once, unless it is told how many pairs or seeds.

    Raises UsageError where the file cannot be read, has no answers or some of a type that the run does not ask for, and
    where it is a benchmark's test split.
    """
    found = _read(str(file.expanduser()))
    name = str(file) if str(file).startswith(HUB) else str(file.expanduser().resolve())
    questions = config.questions.model_copy(update={"file": name, "sha256": _digest(found)})
    config = config.model_copy(update={"questions": questions})
    given = of(config)
    _check_operations(str(file), given, config)
    if "contaminated" not in config.gates.off:
        _check_benchmarks(str(file), given, config)
    if "pairs" not in config.how.model_fields_set and config.how.seeds is None:
        return config.with_how(seeds=len(given))
    most = min(config.how.max_seeds or len(given), len(given))
    return config.with_how(max_seeds=most) if config.how.seeds is None else config


def of(config: RunConfig, corpus: Corpus | None = None) -> tuple[Given, ...]:
    """The questions of a run in the order of their ids, with their documents where the corpus is at hand; none where it
    starts from passages. Raises UsageError where they are not those that the run was begun with."""
    if not config.hardens:
        return ()
    found = _known(config.questions.file, config.questions.sha256)
    if corpus:
        found = gold_questions.locate_documents(found, corpus)
    given = [_given(one) for one in found]
    return tuple(sorted({one.passage.id: one for one in given}.values(), key=lambda one: one.passage.id))


def pairs(records: Iterable[Record]) -> bytes:
    """JSON lines of how each question ended: its last wording beside the one in which it was brought."""
    rows = (
        {
            "key": record.key,
            "question": record.draft.question if record.draft else record.original,
            "answer": record.draft.answer if record.draft else None,
            "original_question": record.original,
            "rewritten": record.draft.origin if record.draft and record.draft.question != record.original else "",
            "status": record.status,
            "reason": record.reason,
            "difficulty": record.difficulty,
            "solve_rate": record.solve_rate,
        }
        for record in records
    )
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


@lru_cache(maxsize=2)
def _known(file: str, digest: str) -> tuple[gold_questions.GoldQuestion, ...]:
    found = _read(file)
    if _digest(found) != digest:
        raise UsageError(f"{file}: other questions than the run was begun with; restore them, or use digsite harden")
    return found


def _read(file: str) -> tuple[gold_questions.GoldQuestion, ...]:
    found = gold_questions.read(Path(file))
    if not found[0].answer:
        raise UsageError(f"{file}: no question has an 'answer'; harden keeps answers, and needs them")
    return found


def _digest(questions: Sequence[gold_questions.GoldQuestion]) -> str:
    rows = [[one.question, *one.answers, "", *one.supporting_ids, "", *one.supporting_titles] for one in questions]
    return sha256("\n".join(sorted(orjson.dumps(row).decode() for row in rows)))


def _given(one: gold_questions.GoldQuestion) -> Given:
    name = "question-" + sha256(f"{one.question}\n{one.answer}")[:16]
    text = one.question.strip()
    passage = Passage(id=f"{name}#0", document_id=name, title="Question", text=text, start=0, end=len(text))
    aliases = tuple({normalise(alias): alias for alias in one.answer_aliases if normalise(alias)}.values())
    return Given(
        passage=passage,
        answer=one.answer,
        answer_aliases=aliases,
        answer_type=_answer_type(text, one.answer),
        documents=one.evidence,
    )


def _answer_type(question: str, answer: str) -> AnswerType:
    """Tell the type of an answer by its form."""
    if side(answer):
        return AnswerType.BOOLEAN
    if contains(question, answer):
        return AnswerType.COMPARISON
    text = answer.strip().rstrip(".")
    if any(text == text[slice(*found.span)] for found in dates(text)):
        return AnswerType.DATE
    return AnswerType.NUMBER if any(text == text[slice(*n.span)] for n in numbers(text)) else AnswerType.ENTITY


def _check_operations(file: str, given: Sequence[Given], config: RunConfig) -> None:
    types = {kind for name in config.operations for kind in operation(name).answer_types}
    for one in given:
        if one.answer_type.plain or one.answer_type in types:
            continue
        able = next(name for name, each in operations().items() if one.answer_type in each.answer_types)
        names = ",".join((*config.operations, able))
        text = one.passage.text[:60]
        raise UsageError(f"{file}: no operation gives the answer '{one.answer}' of '{text}': add --operations {names}")


def _check_benchmarks(file: str, given: Sequence[Given], config: RunConfig) -> None:
    index, names = contaminated.lists(config.gates.against)
    looked_at = given[:: len(given) // _LOOKED_AT + 1]
    found = [(one, names[place]) for one in looked_at if (place := index.find(one.question, one.spellings)) is not None]
    if len(found) > _TEST_SPLIT * len(looked_at):
        one, name = found[0]
        share = f"{len(found)} of {len(looked_at)} questions are of a benchmark that no pair may resemble"
        raise UsageError(f"{file}: {share}, such as '{one.question[:60]}' ({name}); give others, as of its train split")

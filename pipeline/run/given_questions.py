"""Questions from users that a run makes harder, as its seeds.

They are read like the questions of `measure`. Their contents alone identify them: neither the file's name and format
nor the order of its rows matters.
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
from pipeline.text.names import normalise
from pipeline.types import Given, Passage, Record, sha256

_SAMPLE_SIZE = 500
"""The number of questions, evenly spaced, to compare with the benchmarks."""
_TEST_SPLIT = 0.1
"""A file with more matches than this share is a benchmark's test split. The gate drops single questions."""


def hardening(config: RunConfig, file: Path) -> RunConfig:
    """Return the run that makes a file's questions harder: each once, unless pairs or seeds are configured.

    Raises UsageError if the file cannot be read, lacks answers, has answers of a type that the run does not produce, or
    is a benchmark's test split.
    """
    gold = _read_answered(str(file.expanduser()))
    name = str(file) if str(file).startswith(HUB) else str(file.expanduser().resolve())
    questions = config.questions.model_copy(update={"file": name, "sha256": _digest_questions(gold)})
    config = config.model_copy(update={"questions": questions})
    given_seeds = load_given(config)
    _check_operations(str(file), given_seeds, config)
    if "contaminated" not in config.gates.off:
        _check_benchmarks(str(file), given_seeds, config)
    if "pairs" not in config.runtime.model_fields_set and config.runtime.seeds is None:
        return config.with_runtime(seeds=len(given_seeds))
    max_seeds = min(config.runtime.max_seeds or len(given_seeds), len(given_seeds))
    return config.with_runtime(max_seeds=max_seeds) if config.runtime.seeds is None else config


def load_given(config: RunConfig, corpus: Corpus | None = None) -> tuple[Given, ...]:
    """Return the questions of a run in the order of their ids, with their documents if the corpus is given.

    Returns none if the run starts from passages. Raises UsageError if the run was begun with other questions.
    """
    if not config.hardens:
        return ()
    gold = _read_unchanged(config.questions.file, config.questions.sha256)
    if corpus:
        gold = gold_questions.locate_documents(gold, corpus)
    given_seeds = [_to_given(question) for question in gold]
    return tuple(sorted({seed.passage.id: seed for seed in given_seeds}.values(), key=lambda seed: seed.passage.id))


def pairs(records: Iterable[Record]) -> bytes:
    """Return JSON lines of how each question ended: its last wording beside the original one."""
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
def _read_unchanged(file: str, digest: str) -> tuple[gold_questions.GoldQuestion, ...]:
    questions = _read_answered(file)
    if _digest_questions(questions) != digest:
        raise UsageError(
            f"{file}: its questions have changed since the run began; restore the file, or begin anew: digsite harden"
        )
    return questions


def _read_answered(file: str) -> tuple[gold_questions.GoldQuestion, ...]:
    questions = gold_questions.read(Path(file))
    if not questions[0].answer:
        raise UsageError(f"{file}: no question has an 'answer'; harden keeps answers, and needs them")
    return questions


def _digest_questions(questions: Sequence[gold_questions.GoldQuestion]) -> str:
    rows = [
        [question.question, *question.answers, "", *question.supporting_ids, "", *question.supporting_titles]
        for question in questions
    ]
    return sha256("\n".join(sorted(orjson.dumps(row).decode() for row in rows)))


def _to_given(question: gold_questions.GoldQuestion) -> Given:
    name = "question-" + sha256(f"{question.question}\n{question.answer}")[:16]
    text = question.question.strip()
    passage = Passage(id=f"{name}#0", document_id=name, title="Question", text=text, start=0, end=len(text))
    aliases = tuple({normalise(alias): alias for alias in question.answer_aliases if normalise(alias)}.values())
    return Given(
        passage=passage,
        answer=question.answer,
        answer_aliases=aliases,
        answer_type=question.answer_type,
        documents=question.evidence,
    )


def _check_operations(file: str, given_seeds: Sequence[Given], config: RunConfig) -> None:
    types = {kind for name in config.operations for kind in operation(name).answer_types}
    for seed in given_seeds:
        if seed.answer_type.plain or seed.answer_type in types:
            continue
        suitable = next(name for name, candidate in operations().items() if seed.answer_type in candidate.answer_types)
        names = ",".join((*config.operations, suitable))
        text = seed.passage.text[:60]
        raise UsageError(f"{file}: no operation gives the answer '{seed.answer}' of '{text}': add --operations {names}")


def _check_benchmarks(file: str, given_seeds: Sequence[Given], config: RunConfig) -> None:
    index, names = contaminated.load_lists(config.gates.against)
    sampled = given_seeds[:: len(given_seeds) // _SAMPLE_SIZE + 1]
    matches = [
        (seed, names[list_index])
        for seed in sampled
        if (list_index := index.find(seed.question, seed.spellings)) is not None
    ]
    if len(matches) > _TEST_SPLIT * len(sampled):
        first, name = matches[0]
        share = f"{len(matches)} of {len(sampled)} questions are in a benchmark that no pair may resemble"
        raise UsageError(
            f"{file}: {share}, such as '{first.question[:60]}' in {name}; use questions of its train split, or your own"
        )

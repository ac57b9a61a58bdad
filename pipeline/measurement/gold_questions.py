"""Questions with known answers: read them from people's files, and find their documents in a corpus."""

import html
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import ValidationError

from pipeline.corpus.prepared import Corpus
from pipeline.errors import UsageError
from pipeline.gates.benchmarks import question_list
from pipeline.reward.answers import side
from pipeline.text import dates, numbers
from pipeline.text.names import contains
from pipeline.types import AnswerType, Data


class GoldQuestion(Data):
    """A question with its known answer and its supporting documents, as far as these are known."""

    question: str
    answer: str = ""
    """Empty if unknown; then only retrieval can be measured."""
    answer_aliases: tuple[str, ...] = ()
    hops: int = 0
    """0 if unknown."""
    supporting_ids: tuple[str, ...] = ()
    """Documents, not passages."""
    supporting_titles: tuple[str, ...] = ()
    """Titles of the same documents, for a corpus with other ids."""
    evidence: tuple[frozenset[str], ...] = ()
    """Documents of the corpus, set by `locate_documents`. One document of each set is needed."""
    dataset: str = ""

    @property
    def answers(self) -> tuple[str, ...]:
        return (self.answer, *self.answer_aliases)

    @property
    def answer_type(self) -> AnswerType:
        """Return the type of the answer, by its form."""
        if side(self.answer):
            return AnswerType.BOOLEAN
        if contains(self.question.strip(), self.answer):
            return AnswerType.COMPARISON
        text = self.answer.strip().rstrip(".")
        if any(text == text[slice(*date.span)] for date in dates(text)):
            return AnswerType.DATE
        is_number = any(text == text[slice(*number.span)] for number in numbers(text))
        return AnswerType.NUMBER if is_number else AnswerType.ENTITY

    @property
    def needed_documents(self) -> tuple[frozenset[str], ...]:
        """Return `evidence`, or the documents that the file names if none were located."""
        return self.evidence or tuple(frozenset([key]) for key in self.supporting_ids)


def read(path: Path) -> tuple[GoldQuestion, ...]:
    """Read the questions of a file or folder, without those marked as unanswerable.

    Raises UsageError, naming the row, if a row has no question, or no answer while others have one.
    """
    rows = [row for row in question_list.read(path, judged=True) if row.answerable]
    questions = [_to_gold_question(row) for row in rows]
    if not questions:
        raise UsageError(f"{path}: contains no questions")
    unanswered = next((row for row, question in zip(rows, questions, strict=True) if not question.answer), None)
    if unanswered and any(question.answer for question in questions):
        raise UsageError(f"{unanswered.place}: its 'answer' is missing or of the wrong type")
    if unanswered and not any(question.supporting_ids or question.supporting_titles for question in questions):
        raise UsageError(f"{path}: no question has an answer or names its documents, so that nothing can be measured")
    return tuple(questions)


def _to_gold_question(row: question_list.Listed) -> GoldQuestion:
    try:
        return GoldQuestion(
            question=row.question,
            answer=row.answers[0] if row.answers else "",
            answer_aliases=tuple(row.answers[1:]),
            hops=row.hops,
            supporting_ids=tuple(row.ids),
            supporting_titles=tuple(row.titles),
            dataset=row.dataset,
        )
    except ValidationError as error:
        field = error.errors()[0]["loc"][0]
        raise UsageError(f"{row.place}: its '{field}' is missing or of the wrong type") from error


def locate_documents(questions: Sequence[GoldQuestion], corpus: Corpus) -> tuple[GoldQuestion, ...]:
    """Return the questions with their documents in the corpus, by id or else by title.

    A question whose titles are not all in the corpus gets none. Raises UsageError if the corpus lacks an id and no
    titles replace it: recall would be 0 through no fault of the solver.
    """
    ids = {key for question in questions for key in question.supporting_ids}
    known_ids = {key for key in ids if corpus.document(key)}
    ids_by_title = _index_titles({title for question in questions for title in question.supporting_titles}, corpus)
    located = []
    for question in questions:
        evidence = tuple(frozenset([key]) for key in question.supporting_ids if key in known_ids)
        if len(evidence) < len(question.supporting_ids) or not evidence:
            documents = [ids_by_title.get(_fold_title(title), frozenset()) for title in question.supporting_titles]
            evidence = tuple(dict.fromkeys(documents)) if all(documents) else ()
        located.append(question.model_copy(update={"evidence": evidence}))
    missing = [
        key for question in located for key in question.supporting_ids if not question.evidence and key not in known_ids
    ]
    if missing:
        raise UsageError(
            f"the corpus lacks {len(set(missing)):,} of {len(ids):,} documents that the questions name, such as "
            f"'{missing[0]}'; name the field of the corpus's ids with --id-field (such as _id), or take the ids out of "
            "the questions to measure answers alone"
        )
    return tuple(located)


def _index_titles(titles: Collection[str], corpus: Corpus) -> dict[str, frozenset[str]]:
    """Return the documents that have each title, folded. A page that was cut into documents has several."""
    folded_titles = set(map(_fold_title, titles))
    documents: dict[str, set[str]] = {}
    for key, title in corpus.titles() if folded_titles else ():
        if (folded := _fold_title(title)) in folded_titles:
            documents.setdefault(folded, set()).add(key)
    return {title: frozenset(keys) for title, keys in documents.items()}


def _fold_title(title: str) -> str:
    plain = unicodedata.normalize("NFKC", html.unescape(title)).replace("_", " ").strip().strip('"')
    return " ".join(plain.casefold().split())

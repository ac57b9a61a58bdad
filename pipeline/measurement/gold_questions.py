"""Questions with known answers, as people keep them: read from their files, and found in a corpus."""

import html
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import ValidationError

from pipeline.corpus.prepared import Corpus
from pipeline.errors import UsageError
from pipeline.gates.benchmarks import question_list
from pipeline.types import Data


class GoldQuestion(Data):
    """A question with its known answer and the documents that it rests on, as far as these are known."""

    question: str
    answer: str = ""
    """Without one, only what a search finds can be measured."""
    answer_aliases: tuple[str, ...] = ()
    hops: int = 0
    """0: not known."""
    supporting_ids: tuple[str, ...] = ()
    """Documents, not passages."""
    supporting_titles: tuple[str, ...] = ()
    """Of the same documents, for a corpus that has ids of its own."""
    evidence: tuple[frozenset[str], ...] = ()
    """Documents of the corpus, as `located` finds them: of each set one is needed."""
    dataset: str = ""

    @property
    def answers(self) -> tuple[str, ...]:
        return (self.answer, *self.answer_aliases)

    @property
    def wanted(self) -> tuple[frozenset[str], ...]:
        """`evidence`, or the documents as they were given."""
        return self.evidence or tuple(frozenset([key]) for key in self.supporting_ids)


def read(path: Path) -> tuple[GoldQuestion, ...]:
    """The questions of a file or folder that `question_list` reads; those that are told to have no answer left out.

    Raises UsageError, naming the row, where one has no question, or no answer while others have.
    """
    rows = [row for row in question_list.read(path, judged=True) if row.answerable]
    found = [_gold(row) for row in rows]
    if not found:
        raise UsageError(f"{path}: contains no questions")
    without = next((row for row, one in zip(rows, found, strict=True) if not one.answer), None)
    if without and any(one.answer for one in found):
        raise UsageError(f"{without.place}: its 'answer' is missing or of the wrong type")
    if without and not any(one.supporting_ids or one.supporting_titles for one in found):
        raise UsageError(f"{path}: no question has an answer or names its documents, so that nothing can be measured")
    return tuple(found)


def _gold(row: question_list.Listed) -> GoldQuestion:
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


def located(questions: Sequence[GoldQuestion], corpus: Corpus) -> tuple[GoldQuestion, ...]:
    """The questions with their documents in the corpus: by their ids, else by their titles. One whose titles are not
    all there has none.

    Raises UsageError where the corpus lacks an id and no titles stand in for it: recall would be 0 for no fault of the
    solver.
    """
    ids = {key for one in questions for key in one.supporting_ids}
    known = {key for key in ids if corpus.document(key)}
    titled = _titled({title for one in questions for title in one.supporting_titles}, corpus)
    found = []
    for one in questions:
        evidence = tuple(frozenset([key]) for key in one.supporting_ids if key in known)
        if len(evidence) < len(one.supporting_ids) or not evidence:
            named = [titled.get(_folded(title), frozenset()) for title in one.supporting_titles]
            evidence = tuple(dict.fromkeys(named)) if all(named) else ()
        found.append(one.model_copy(update={"evidence": evidence}))
    lacking = [key for one in found for key in one.supporting_ids if not one.evidence and key not in known]
    if lacking:
        raise UsageError(
            f"the corpus lacks {len(set(lacking)):,} of {len(ids):,} documents that the questions name, such as "
            f"'{lacking[0]}'; name the field of the corpus's ids with --id-field (such as _id), or take the ids out of "
            "the questions to measure answers alone"
        )
    return tuple(found)


def _titled(titles: Collection[str], corpus: Corpus) -> dict[str, frozenset[str]]:
    """For each of the titles, folded, the documents that have it: several where a page was cut into documents."""
    wanted = set(map(_folded, titles))
    found: dict[str, set[str]] = {}
    for key, title in corpus.titles() if wanted else ():
        if (folded := _folded(title)) in wanted:
            found.setdefault(folded, set()).add(key)
    return {title: frozenset(keys) for title, keys in found.items()}


def _folded(title: str) -> str:
    """A title whatever its case, and as addresses, pages and Search-R1's corpora write it."""
    plain = unicodedata.normalize("NFKC", html.unescape(title)).replace("_", " ").strip().strip('"')
    return " ".join(plain.casefold().split())

"""A passage of the corpus that gives a second answer to the last hop, so that the question is ambiguous.

A rival sentence is about the same subject, says nearly everything that the last quote says besides the answer, and
names something else of the answer's kind. The gate `rival_answer` reads the passages that agents were shown. But a
subject may have many pages, so this check searches for the last hop's question.
"""

import re
from collections.abc import Callable, Container, Iterable
from typing import TypeVar

from pipeline.agents.cited import record_search
from pipeline.agents.grading import holds
from pipeline.agents.name_matching import mentions
from pipeline.agents.tools import ShownPassage
from pipeline.corpus.language import before_things, fillers, language_of
from pipeline.loop.dates_and_numbers import (
    dates_agree,
    find_amounts,
    find_dates,
    is_same_amount,
    is_same_or_less_exact,
    may_share_unit,
)
from pipeline.retrieval.base import Retriever
from pipeline.text import fold, sentences, strip_tag, terms
from pipeline.text.names import contains, normalise
from pipeline.text.scripts import has_case, is_spaceless
from pipeline.types import AnswerType, Cause, Draft, Finding, Passage

_ADVICE = "Add the one clue that rules the other out, or ask for another fact at the end."
LEAST = 2
"""The fewest words of the quote besides its answer. With one word, any sentence about the subject would be a rival."""
SHARE = 0.8
"""The share of these words that a rival sentence has."""
LONGEST = 300
"""Characters that are quoted of a rival's sentence."""
FILLERS = frozenset("a an the of in on at by to for from with as that which who it its he his she her was is".split())
"""English words without content; those of other languages are their most frequent words."""
OPENING = frozenset(
    "after afterwards although also among and as because before between but by during eventually following for from "
    "here if in later like of on once or since so that then there these this though to together under until when where "
    "while who whose with without".split()
)
"""Words that open a sentence when they have a capital, and are no names."""
LAST_NAME = re.compile(r"(?![a-z])[^\W\d_](?:[’'-]?[^\W\d_])+")
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")

Shown = TypeVar("Shown", Passage, ShownPassage)


async def find_rival(draft: Draft, retriever: Retriever, k: int) -> tuple[Finding, ...]:
    last, claim = draft.hops[-1], _claim_words(draft)
    if not claim:
        return ()
    claimed = " ".join(word for word in terms(last.quote) if word in claim)
    queries = [last.sub_question, f"{_subject(draft)} {claimed}"]
    results = await retriever.search_many(queries, k)
    cited = {hop.passage_id for hop in draft.hops}
    if (rival := find_other_answer(draft, cited, (hit.passage for hits in results for hit in hits))) is None:
        return ()
    passage, sentence = rival
    detail = f"'{passage.title}' gives another answer to its last step{quote_rival(sentence)}. {_ADVICE}"
    searches = tuple(search for search in map(record_search, queries, results) if passage.id in search.passage_ids)
    hops = (len(draft.hops) - 1,)
    return (Finding(check="rival_answer", cause=Cause.AMBIGUOUS, hops=hops, detail=detail, searches=searches),)


def quote_rival(sentence: str) -> str:
    return f", where it says '{' '.join(sentence.split())[:LONGEST]}'"


def find_other_answer(draft: Draft, cited: Container[str], passages: Iterable[Shown]) -> tuple[Shown, str] | None:
    """Return the first passage that answers the last hop otherwise, and its sentence.

    What the question or an earlier hop names is no other answer: "which other disorder has this gene" is asked of one
    that has it.

    Args:
        draft: the draft.
        cited: ids of the passages that the hops cite; they are no rivals.
        passages: passages of the corpus, or as an agent was shown them.
    """
    claim, subject, is_filler = _claim_words(draft), _subject(draft), _filler_test(draft)
    for passage in passages if claim else ():
        if passage.id in cited or not holds(f"{passage.title} {passage.text}", subject):
            continue
        about = strip_tag(passage.title)
        if not _overlap(about, subject) and mentions(_join_context(draft), about):
            continue  # It is about a thing that the question or an earlier hop names.
        for span in sentences(passage.text):
            sentence = passage.text[span.start : span.end]
            if _is_rival(sentence, passage.title, claim, is_filler, draft):
                return passage, sentence
    return None


def _overlap(first: str, second: str) -> bool:
    return contains(first, second) or contains(second, first)


def _claim_words(draft: Draft) -> set[str]:
    """Return what the last quote says of its subject besides the answer; an empty set if that is too little."""
    quote = draft.hops[-1].quote
    if is_spaceless(quote):
        # Terms are pairs of characters here: some would belong to the subject, and some would overlap the answer.
        for name in (*_spellings(draft), _subject(draft)):
            quote = quote.replace(name, " ")
    is_filler = _filler_test(draft)
    content = {word for word in terms(quote) if not is_filler(word)}
    claim = content - {word for answer in _spellings(draft) for word in terms(answer)} - FILLERS
    if draft.graph.is_computed or len(claim) < LEAST:
        return set()
    return claim - {*terms(_subject(draft))}


def _earlier_names(draft: Draft) -> list[str]:
    names = [name for hop in draft.hops[:-1] for name in (*hop.spellings, strip_tag(hop.title))]
    subject = _subject(draft)
    return [name for name in names if normalise(name) and not _overlap(name, subject)]


def _join_context(draft: Draft) -> str:
    """Return everything that a solver can know before the last answer: the questions, and the names of earlier hops."""
    return " | ".join([draft.question, *(hop.sub_question for hop in draft.hops), *_earlier_names(draft)])


def _subject(draft: Draft) -> str:
    return draft.hops[-2].answer if len(draft.hops) > 1 else draft.hops[-1].title


def _filler_test(draft: Draft) -> Callable[[str], bool]:
    return fillers(language_of(" ".join([draft.question, *(hop.quote for hop in draft.hops)])))


def _is_rival(sentence: str, title: str, claim: set[str], is_filler: Callable[[str], bool], draft: Draft) -> bool:
    sentence_terms = {*terms(f"{title} {sentence}")}
    return (
        len(claim & sentence_terms) >= SHARE * len(claim)
        and mentions(f"{title} {sentence}", _subject(draft))
        and not any(mentions(sentence, name) for name in (*_spellings(draft), *_earlier_names(draft)))
        and not _uses_last_name(sentence, draft.answer)
        and _names_same_kind(sentence, is_filler, draft)
    )


def _uses_last_name(sentence: str, answer: str) -> bool:
    """Return whether a sentence calls the person of the answer by the last name alone.

    Before a person's name there is no article or other word for things, and no other name.
    """
    *first, last = answer.split() or [""]
    if not first or "of" in first or not LAST_NAME.fullmatch(last) or not has_case(sentence):
        return False
    thing_words = before_things(language_of(sentence))
    alone = rf"(?<![\w-]){re.escape(last)}(?![\w-]|\s+[A-ZÀ-ÖØ-ÞА-Я])"
    before = re.findall(rf"(?:(?<![\w.’'-])([\w.’'-]++)\s++)?{alone}", sentence)
    return any(word not in thing_words and (word == word.lower() or fold(word) in OPENING) for word in before)


def _names_same_kind(sentence: str, is_filler: Callable[[str], bool], draft: Draft) -> bool:
    """Return whether a sentence names something else of the answer's kind.

    A date or number that may be the answer, less exactly, is not something else.
    """
    context = _join_context(draft)
    if draft.answer_type is AnswerType.DATE:
        days, answers, context_days = find_dates(sentence), find_dates(draft.answer)[:1], find_dates(context)
        is_new = any(not any(is_same_or_less_exact(day, date) for date in context_days) for day in days)
        return is_new and not any(dates_agree(day, date) for day in days for date in answers)
    if draft.answer_type is AnswerType.NUMBER:
        amounts, context_amounts = find_amounts(draft.answer)[:1], find_amounts(context)
        counts = [count for count in find_amounts(sentence) if all(may_share_unit(count, a) for a in amounts)]
        is_new = any(not any(is_same_amount(count, amount) for amount in context_amounts) for count in counts)
        return is_new and not any(is_same_amount(count, amount) for count in counts for amount in amounts)
    quote = draft.hops[-1].quote
    new_terms = {*terms(sentence)} - {*terms(quote)} - {*terms(context)} - FILLERS
    if has_case(sentence) and draft.answer != draft.answer.lower() and draft.answer in quote:
        new_terms &= _find_name_terms(sentence, digits=any(map(str.isdigit, draft.answer)))
    return not all(map(is_filler, new_terms))


def _find_name_terms(sentence: str, *, digits: bool) -> set[str]:
    words = (word for word in _WORD.findall(sentence) if fold(word) not in OPENING)
    names = (word for word in words if word != word.lower() or (digits and any(map(str.isdigit, word))))
    return {term for name in names for term in terms(name)}


def _spellings(draft: Draft) -> tuple[str, ...]:
    return tuple(answer for answer in (draft.answer, *draft.answer_aliases) if normalise(answer))

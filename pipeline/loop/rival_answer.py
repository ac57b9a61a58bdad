"""A passage of the corpus that gives a second answer to the last hop, so that nobody can tell which one is asked for.

A sentence does so if it is about the same subject, says nearly all that the last quote says beside the answer, and
names something of the answer's kind instead of it. The gate `rival_answer` reads what agents were shown; but a subject
may have many pages, so that a draft is searched for here by what is asked of the subject.
"""

import re
from collections.abc import Callable, Container, Iterable
from typing import TypeVar

from pipeline.agents.cited import record_search
from pipeline.agents.grading import holds
from pipeline.agents.naming import mentions
from pipeline.agents.tools import ShownPassage
from pipeline.corpus.language import before_things, fillers, language_of
from pipeline.loop.dates_and_numbers import agree, amounts, dated, of_kind, same_amount, told_by
from pipeline.retrieval.base import Retriever
from pipeline.text import fold, sentences, strip_tag, terms
from pipeline.text.names import contains, normalise
from pipeline.text.scripts import has_case, is_spaceless
from pipeline.types import AnswerType, Cause, Draft, Finding, Passage

_ADVICE = "Add the one clue that rules the other out, or ask for another fact at the end."
LEAST = 2
"""Words that the quote must say beside its answer; with one, any sentence about the subject would say as much."""
SHARE = 0.8
LONGEST = 300
"""Characters that are quoted of a rival's sentence."""
FILLERS = frozenset("a an the of in on at by to for from with as that which who it its he she his her was is".split())
"""Of English; those of other languages are their commonest words."""
OPENING = frozenset(
    "after afterwards although also among and as because before between but by during eventually following for from "
    "here if in later like of on once or since so that then there these this though to together under until when where "
    "while who whose with without".split()
)
"""With a capital such a word opens a sentence, and is no name; so are the commonest words of other languages."""
LAST_NAME = re.compile(r"(?![a-z])[^\W\d_](?:[’'-]?[^\W\d_])+")
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")

Shown = TypeVar("Shown", Passage, ShownPassage)


async def find_rival(draft: Draft, retriever: Retriever, k: int) -> tuple[Finding, ...]:
    """Search for the last step's question, and for what its quote says without the answer."""
    last, claim = draft.hops[-1], _claim_words(draft)
    if not claim:
        return ()
    claimed = " ".join(word for word in terms(last.quote) if word in claim)
    queries = [last.sub_question, f"{_subject(draft)} {claimed}"]
    results = await retriever.search_many(queries, k)
    cited = {hop.passage_id for hop in draft.hops}
    if (rival := other_answer(draft, cited, (hit.passage for hits in results for hit in hits))) is None:
        return ()
    passage, sentence = rival
    detail = f"'{passage.title}' gives another answer to its last step{quote_rival(sentence)}. {_ADVICE}"
    searches = tuple(search for search in map(record_search, queries, results) if passage.id in search.passage_ids)
    hops = (len(draft.hops) - 1,)
    return (Finding(check="rival_answer", cause=Cause.AMBIGUOUS, hops=hops, detail=detail, searches=searches),)


def quote_rival(sentence: str) -> str:
    """Return how a finding quotes the sentence of a passage that it names."""
    return f", where it says '{' '.join(sentence.split())[:LONGEST]}'"


def other_answer(draft: Draft, cited: Container[str], passages: Iterable[Shown]) -> tuple[Shown, str] | None:
    """The first passage, stored or as an agent saw it, that answers the last step otherwise; with the sentence that
    does.

    What the hops cite is no rival, and what the question or an earlier hop names is no other answer: "which other
    disorder has this gene" is asked of one that has it.
    """
    said, subject, silent = _claim_words(draft), _subject(draft), _filler_test(draft)
    for passage in passages if said else ():
        if passage.id in cited or not holds(f"{passage.title} {passage.text}", subject):
            continue
        about = strip_tag(passage.title)
        if not _tied(about, subject) and mentions(_before(draft), about):
            continue  # It is about what the question or a hop before the last names.
        for span in sentences(passage.text):
            sentence = passage.text[span.start : span.end]
            if _answers_otherwise(sentence, passage.title, said, silent, draft):
                return passage, sentence
    return None


def _tied(name: str, subject: str) -> bool:
    """Does one of these names hold the other?"""
    return contains(name, subject) or contains(subject, name)


def _claim_words(draft: Draft) -> set[str]:
    """What the last quote says of its subject beside the answer; nothing where it is too little to know a rival by."""
    quote = draft.hops[-1].quote
    if is_spaceless(quote):
        # The subject would be most of its characters, and pairs would reach into the answer.
        for name in (*_spellings(draft), _subject(draft)):
            quote = quote.replace(name, " ")
    silent = _filler_test(draft)
    told = {word for word in terms(quote) if not silent(word)}
    said = told - {word for answer in _spellings(draft) for word in terms(answer)} - FILLERS
    if draft.graph.is_computed or len(said) < LEAST:
        return set()
    return said - {*terms(_subject(draft))}


def _earlier(draft: Draft) -> list[str]:
    """What the hops before the last name, its subject apart."""
    names = [name for hop in draft.hops[:-1] for name in (*hop.spellings, strip_tag(hop.title))]
    subject = _subject(draft)
    return [name for name in names if normalise(name) and not _tied(name, subject)]


def _before(draft: Draft) -> str:
    """What is said before the last answer."""
    return " | ".join([draft.question, *(hop.sub_question for hop in draft.hops), *_earlier(draft)])


def _subject(draft: Draft) -> str:
    return draft.hops[-2].answer if len(draft.hops) > 1 else draft.hops[-1].title


def _filler_test(draft: Draft) -> Callable[[str], bool]:
    """Which words say nothing in the draft's own language."""
    return fillers(language_of(" ".join([draft.question, *(hop.quote for hop in draft.hops)])))


def _answers_otherwise(sentence: str, title: str, said: set[str], silent: Callable[[str], bool], draft: Draft) -> bool:
    held = {*terms(f"{title} {sentence}")}
    return (
        len(said & held) >= SHARE * len(said)
        and mentions(f"{title} {sentence}", _subject(draft))
        and not any(mentions(sentence, name) for name in (*_spellings(draft), *_earlier(draft)))
        and not _by_last_name(sentence, draft.answer)
        and _of_kind(sentence, silent, draft)
    )


def _by_last_name(sentence: str, answer: str) -> bool:
    """Does it call a person by the last name, before which no article and no other name stands?"""
    *first, last = answer.split() or [""]
    if not first or "of" in first or not LAST_NAME.fullmatch(last) or not has_case(sentence):
        return False
    things = before_things(language_of(sentence))
    alone = rf"(?<![\w-]){re.escape(last)}(?![\w-]|\s+[A-ZÀ-ÖØ-ÞА-Я])"
    before = re.findall(rf"(?:(?<![\w.’'-])([\w.’'-]++)\s++)?{alone}", sentence)
    return any(word not in things and (word == word.lower() or fold(word) in OPENING) for word in before)


def _of_kind(sentence: str, silent: Callable[[str], bool], draft: Draft) -> bool:
    """Does it name something else of the answer's kind, and no date or number that may be the answer less exactly?"""
    before = _before(draft)
    if draft.answer_type is AnswerType.DATE:
        days, right, known = dated(sentence), dated(draft.answer)[:1], dated(before)
        other = [day for day in days if not any(told_by(day, date) for date in known)]
        return bool(other) and not any(agree(day, date) for day in days for date in right)
    if draft.answer_type is AnswerType.NUMBER:
        wanted, told = amounts(draft.answer)[:1], amounts(before)
        counts = [one for one in amounts(sentence) if all(of_kind(one, amount) for amount in wanted)]
        different = [one for one in counts if not any(same_amount(one, amount) for amount in told)]
        return bool(different) and not any(same_amount(one, amount) for one in counts for amount in wanted)
    quote = draft.hops[-1].quote
    others = {*terms(sentence)} - {*terms(quote)} - {*terms(before)} - FILLERS
    if has_case(sentence) and draft.answer != draft.answer.lower() and draft.answer in quote:
        others &= _named(sentence, digits=any(map(str.isdigit, draft.answer)))
    return not all(map(silent, others))


def _named(sentence: str, *, digits: bool) -> set[str]:
    """Its words with a capital, unless such a word only opens a sentence, or with digits."""
    found = (word for word in _WORD.findall(sentence) if fold(word) not in OPENING)
    names = (word for word in found if word != word.lower() or (digits and any(map(str.isdigit, word))))
    return {term for name in names for term in terms(name)}


def _spellings(draft: Draft) -> tuple[str, ...]:
    return tuple(answer for answer in (draft.answer, *draft.answer_aliases) if normalise(answer))

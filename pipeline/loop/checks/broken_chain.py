"""A hop is not about the answer of the hop before it."""

import re
from collections.abc import Collection, Sequence

from pipeline.agents.cited import Evidence, closing, clues, linked, listed, start
from pipeline.agents.naming import mentions
from pipeline.corpus.language import before_things, common_words, language_of
from pipeline.loop.checks.another_answer import LAST_NAME, OPENING
from pipeline.loop.checks.base import Case, DraftCheck, Found, Stage
from pipeline.text import folded, untagged
from pipeline.text.names import contains
from pipeline.text.scripts import cased
from pipeline.types import Cause, Draft, Hop

ADVICE = "Quote a sentence that names the answer of the hop before."


async def broken_chain(case: Case) -> Found | None:
    hops = broken(case.draft, case.evidence, case.linked)
    return Found("; ".join(_told(case.draft, number) for number in hops), hops) if hops else None


def _told(draft: Draft, number: int) -> str:
    if draft.program and start(draft, number) == number:
        title = untagged(draft.hops[number].title)
        return f"nothing leads to '{title}': the question does not name it, and no hop before lists it or leads there"
    return f"neither the title nor the quote names '{draft.hops[number - 1].answer}'"


def broken(draft: Draft, evidence: Evidence, but: Collection[int] = ()) -> tuple[int, ...]:
    """The hops after the first that are not about the answer of the one before: neither title nor quote names it, not
    even by the last name. Where several chains decide the answer, the question names what each of them starts from.

    Names are compared as they are written; that two of them mean one thing a reader can say (`same_name`), as of the
    hops `but`.
    """
    return tuple(
        n
        for n in range(1, len(draft.hops))
        if n not in but
        and not (linked(draft, n) or _starts(draft, n) or _meets(draft, n, evidence))
        and not _by_last_name(draft, n, evidence[n : n + 1])
    )


def _by_last_name(draft: Draft, index: int, evidence: Evidence) -> bool:
    """Does a hop's title or quote give the last words of the name before, such as De La Fuente of Rocky De La Fuente,
    and its passage the whole name? Then the passage is about that person, unless it names another of that name, or what
    is no person: "the Bay".

    Without evidence at hand the passage is taken to give the whole name, as the audit has seen. Names of one word, as
    Chinese and Japanese ones are, and scripts without capitals, where no first name shows, must stand as they are.
    """
    name = draft.hops[index - 1].answer.split()
    if draft.decided or len(name) < 2 or "of" in name or not LAST_NAME.fullmatch(name[-1]):
        return False
    endings = [name[start:] for start in range(1, len(name)) if name[start][:1].isupper() or start == len(name) - 1]
    return any(_named_by(ending, name, draft.hops[index], evidence) for ending in endings)


def _named_by(ending: Sequence[str], name: Sequence[str], hop: Hop, evidence: Evidence) -> bool:
    """Do these last words of a name stand for it in a hop?"""
    told = f"{hop.title} | {hop.quote}"
    text = " | ".join([told, *(passage.text for passage in evidence if passage)])
    if not cased(text):
        return False
    language = language_of(text)
    thing, opening = before_things(language), OPENING | common_words(language)
    rest = re.sub(_spaced(name), " | ", text)
    last = rf"(?<![\w-]){_spaced(ending)}(?![\w-])"
    before = {found[1] for found in re.finditer(rf"(?<![\w.’'-])([\w.’'-]++)\s++{last}", rest)}
    others = [word for word in before if word in thing or (word[0].isupper() and folded(word) not in opening)]
    named = re.search(rf"{last}(?!\s+[A-ZÀ-ÖØ-ÞА-Я])", told)
    return named is not None and not others and (not evidence or contains(text, " ".join(name)))


def _spaced(name: Sequence[str]) -> str:
    """A pattern of the words with any blanks between them."""
    return r"\s+".join(map(re.escape, name))


def _starts(draft: Draft, index: int) -> bool:
    """Does a chain of its own start there, from what the question names, from what joins the values, or from what an
    earlier hop leads to or lists? Each gap of a text stands in a sentence of the question."""
    hop = draft.hops[index]
    if draft.ordered or draft.decided and mentions(draft.question, untagged(hop.title).split(", ")[0]):
        return True
    if draft.program is None:
        return False
    if listed(draft, index):
        return True
    if start(draft, index) != index:
        return False
    told, joined = f"{hop.title} | {hop.quote}", draft.program.link
    answers = [one.answer for n, one in enumerate(draft.hops[:index]) if n not in closing(draft)]
    if joined:
        return mentions(told, joined) and any(mentions(source, joined) for source in (draft.question, *answers))
    return any(mentions(told, answer) for answer in answers)


def _meets(draft: Draft, index: int, evidence: Evidence) -> bool:
    """Does the answer of the hop before lead to the last passage, where two chains meet, and not to this hop? Without
    evidence at hand it is taken to, as the audit has seen. Or does the chain of another clue start here?"""
    if clues(draft) and start(draft, index) == index:
        return True
    if draft.family != "meeting" or index == len(draft.hops) - 1:
        return False
    return not evidence or (evidence[-1] is not None and mentions(evidence[-1].text, draft.hops[index - 1].answer))


CHECK = DraftCheck(Stage.SOUND, 6, Cause.GENERATOR_ERROR, advice=ADVICE, look=broken_chain)

"""Is the draft what it says it is? Each check gives the findings that make it unusable as it stands."""

import re
from collections.abc import Collection, Iterable, Sequence

from pipeline.agents.evidence import Evidence, ends, linked
from pipeline.agents.mentions import mentions
from pipeline.corpus.language import before_things, common_words, language_of
from pipeline.text import folded, untagged
from pipeline.text.names import contains, normalise
from pipeline.text.scripts import asks, cased, length
from pipeline.types import AnswerType, Cause, Draft, Finding, Hop

_LAST_NAME = re.compile(r"(?![a-z])[^\W\d_](?:[’'-]?[^\W\d_])+")
_OPENING = frozenset(
    "after although and as because before but by during for from if later of on once or since so that then "
    "though to until when where while who whose with without".split()
)
"""With a capital such a word opens a sentence, and is no first name; so are the commonest words of other languages."""
_LONGEST = 80
"""Characters that are quoted of what a check saw."""


def _fatal(check: str, detail: str, *hops: int) -> Finding:
    return Finding(check=check, cause=Cause.GENERATOR_ERROR, fatal=True, hops=hops, detail=detail)


def _quoted(texts: Iterable[str]) -> str:
    return " and ".join(f"'{_short(text)}'" for text in dict.fromkeys(texts))


def _short(text: str) -> str:
    """As much of a text as tells which one is meant."""
    said = " ".join(text.split())
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"


def no_question(draft: Draft, evidence: Evidence) -> list[Finding]:
    """A question mark at its end, an answer, and as many words as a question needs."""
    question = asks(draft.question) and length(draft.question) >= 4
    return [] if question and normalise(draft.answer) else [_fatal("no_question", "it asks nothing or answers nothing")]


def answer_in_question(draft: Draft, evidence: Evidence) -> list[Finding]:
    """The question names its answer or an item of it. Yes and no are words of many questions."""
    if draft.answer_type.decided:
        return []
    names = [name for names in draft.wanted(len(draft.hops) - 1) for name in names] if draft.answer_items else []
    leaked = [name for name in (draft.answer, *draft.answer_aliases, *names) if mentions(draft.question, name)]
    detail = f"the question holds its answer, {_quoted(leaked)}"
    return [_fatal("answer_in_question", detail, len(draft.hops) - 1)] if leaked else []


def not_offered(draft: Draft, evidence: Evidence) -> list[Finding]:
    """A comparison's question names its answer, and the answer is what one of at least two chains starts from."""
    if draft.answer_type is not AnswerType.COMPARISON:
        return []
    if not any(mentions(draft.question, name) for name in (draft.answer, *draft.answer_aliases)):
        return [_fatal("not_offered", "the question does not name its answer among what it compares")]
    if len(ends(draft)) < 2:
        return [_fatal("not_offered", "the hops are one chain, and each of the things compared needs its own")]
    return []


def false_quote(draft: Draft, evidence: Evidence) -> list[Finding]:
    """Every quote is a verbatim slice of the passage that it cites, as that passage was when it was read."""
    false = [
        index
        for index, (hop, passage) in enumerate(zip(draft.hops, evidence, strict=True))
        if passage is None or passage.sha256 != hop.passage_sha256 or not hop.quote or hop.quote not in passage.text
    ]
    told = [f"'{_short(draft.hops[index].quote)}' is not in '{draft.hops[index].title}'" for index in false]
    return [_fatal("false_quote", "; ".join(told), *false)] if false else []


def unquoted_answer(draft: Draft, evidence: Evidence) -> list[Finding]:
    """Every hop's answer stands in its quote, or is the title of its passage (a hop that is walked backwards).

    Every item of a list stands in its own quote, or else in the last hop's.
    """
    last = len(draft.hops) - 1
    hops = enumerate(draft.hops[:-1] if draft.answer_items else draft.hops)
    bare = [index for index, hop in hops if not _stated((hop.answer,), hop.quote, hop.title)]
    bare += [
        last
        for item in draft.answer_items
        if not _stated(item.spellings, item.quote or draft.hops[last].quote, item.title or draft.hops[last].title)
    ][:1]
    if not draft.answer_type.decided and normalise(draft.hops[last].answer) != normalise(draft.answer):
        bare.append(last)
    told = _quoted([draft.hops[index].answer for index in dict.fromkeys(bare)])
    return [_fatal("unquoted_answer", f"the quotes of these hops do not hold {told}", *bare)] if bare else []


def _stated(names: Sequence[str], quote: str, title: str) -> bool:
    titles = {normalise(title), normalise(untagged(title))}
    return any(mentions(quote, name) or normalise(name) in titles for name in names)


def broken_chain(draft: Draft, evidence: Evidence, but: Collection[int] = ()) -> list[Finding]:
    """Each hop after the first is about the answer of the one before: its title or its quote names it, if by the last
    name alone. Where several chains decide the answer, the question names what each of them starts from.

    Names are compared as they are written; that two of them mean one thing a reader can say (`same_name`), as of the
    hops `but`.
    """
    broken = [
        index
        for index in range(1, len(draft.hops))
        if not (
            index in but
            or linked(draft, index)
            or _starts(draft, index)
            or _meets(draft, index, evidence)
            or _by_last_name(draft, index, evidence[index : index + 1])
        )
    ]
    told = [f"neither the title nor the quote names '{draft.hops[index - 1].answer}'" for index in broken]
    return [_fatal("broken_chain", "; ".join(told), *broken)] if broken else []


def _by_last_name(draft: Draft, index: int, evidence: Evidence) -> bool:
    """Does a hop's title or quote give the last words of the name before, such as De La Fuente of Rocky De La Fuente,
    and its passage the whole name? Then the passage is about that person, unless it names another of that name, or what
    is no person: "the Bay".

    Without evidence at hand the passage is taken to give the whole name, as the audit has seen. Names of one word, as
    Chinese and Japanese ones are, and scripts without capitals, where no first name shows, must stand as they are.
    """
    name = draft.hops[index - 1].answer.split()
    if draft.answer_type.decided or len(name) < 2 or "of" in name or not _LAST_NAME.fullmatch(name[-1]):
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
    thing, opening = before_things(language), _OPENING | common_words(language)
    rest = re.sub(_spaced(name), " | ", text)
    last = rf"(?<![\w-]){_spaced(ending)}(?![\w-])"
    before = {found[1] for found in re.finditer(rf"([\w.’'-]+)\s+{last}", rest)}
    others = [word for word in before if word in thing or (word[0].isupper() and folded(word) not in opening)]
    named = re.search(rf"{last}(?!\s+[A-ZÀ-ÖØ-ÞА-Я])", told)
    return named is not None and not others and (not evidence or contains(text, " ".join(name)))


def _spaced(name: Sequence[str]) -> str:
    """A pattern of the words with any blanks between them."""
    return r"\s+".join(map(re.escape, name))


def _starts(draft: Draft, index: int) -> bool:
    named = untagged(draft.hops[index].title).split(", ")[0]
    return draft.answer_type.decided and mentions(draft.question, named)


def _meets(draft: Draft, index: int, evidence: Evidence) -> bool:
    """Does the answer of the hop before lead to the last passage, where two chains meet, and not to this hop? Without
    evidence at hand it is taken to, as the audit has seen."""
    if draft.family != "meeting" or index == len(draft.hops) - 1:
        return False
    return not evidence or (evidence[-1] is not None and mentions(evidence[-1].text, draft.hops[index - 1].answer))


def one_document(draft: Draft, evidence: Evidence) -> list[Finding]:
    """Each hop lies in a document of its own: who opens a document has read all of its passages in one step."""
    documents = [passage and passage.document_id for passage in evidence]
    again = [index for index, document in enumerate(documents) if document and document in documents[:index]]
    titles = _quoted([draft.hops[index].title for index in again])
    return (
        [_fatal("one_document", f"these hops lie in the document of an earlier hop: {titles}", *again)] if again else []
    )


CHECKS = (no_question, answer_in_question, not_offered, false_quote, unquoted_answer, broken_chain, one_document)

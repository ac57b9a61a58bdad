"""Whether a rollout is correct: what it read, what the judge ruled, and how many steps it took.

A rollout is correct only if its answer is right and it also read the support of that answer.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from pipeline.agents.cited import before, clues, ends, start, subject
from pipeline.agents.judge import Grade
from pipeline.agents.tools import undated
from pipeline.text import MONTHS, folded, normalise
from pipeline.text.names import contains
from pipeline.text.scripts import cased
from pipeline.types import NOT_FOUND, AnswerType, Call, Draft, Rollout, Verdict

_MONTH = "|".join(MONTHS)
DAY = re.compile(
    rf"(?:\b(?:{_MONTH})\s+\d{{1,2}}|\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTH}))\b"
)
_BEFORE = 40
"""Characters before a name in which the word before it stands."""
_LITTLE = ("a", "an", "as", "at", "by", "for", "from", "in", "of", "on", "the", "to")
# As `normalise` takes them out before it looks for words.
_APOSTROPHE = re.compile(r"['’]s?\b")


def observations(rollout: Rollout) -> list[tuple[Call, str]]:
    """Each call of a rollout with the text that it brought back, without dates of documents."""
    messages = rollout.trajectory.messages
    texts = {message.tool_call_id: undated(message.content) for message in messages if message.tool_call_id}
    return [(call, texts[call.id]) for call in rollout.trajectory.calls]


def verdict(draft: Draft, rollout: Rollout, graded: Grade) -> Verdict:
    """Join the judge's ruling with what the rollout read and how many steps it took."""
    found_at = found(draft, rollout)
    return Verdict(
        sample=rollout.sample,
        supported=supported(draft, rollout),
        steps=rollout.trajectory.steps,
        calls=len(rollout.trajectory.calls),
        hit_step=_hit_step(draft, rollout, found_at),
        found_at=found_at,
        **dict(graded),
    )


def _hit_step(draft: Draft, rollout: Rollout, found_at: Sequence[int | None]) -> int | None:
    """The step at which the answer first stood in what was shown; of a list, or of what several facts decide, that at
    which the last of the evidence did."""
    if draft.listed:
        return found_at[-1]
    if draft.answer_type is AnswerType.UNANSWERABLE:
        return None
    if draft.decided:
        return max((at for at in found_at if at), default=None) if None not in found_at else None
    steps = 0
    for call, text in observations(rollout):
        steps += not call.repeat
        if _names(text, (draft.answer, *draft.answer_aliases)):
            return steps
    return None


def supported(draft: Draft, rollout: Rollout) -> bool:
    """Did it read the last hop's passage, or another one that names both the answer and what it is the answer about?
    Of a list that is asked of every item; of an answer that can be guessed, of every hop; of clues, of each of them.

    Of a question without an answer: did it come to the premise that nothing states? It read the passage that states it
    otherwise or the evidence of the hop before; where there is none before, two searches will do.
    """
    if draft.listed:
        return found(draft, rollout)[-1] is not None
    if draft.decided and draft.graph is None:
        return None not in found(draft, rollout)
    if draft.graph is not None or clues(draft):
        at = found(draft, rollout)
        return all(at[number] is not None for number in ends(draft))
    last = draft.hops[-1]
    if any(last.passage_id in call.passage_ids for call in rollout.trajectory.calls):
        return True
    if draft.answer_type is AnswerType.UNANSWERABLE:
        return found(draft, rollout)[-2] is not None if len(draft.hops) > 1 else rollout.trajectory.steps > 1
    return any(shows(draft, len(draft.hops) - 1, (), text) for _, text in observations(rollout))


def found(draft: Draft, rollout: Rollout) -> tuple[int | None, ...]:
    """For each hop the step at which its own passage, or another one that says the same, was first shown."""
    at, step, items = dict[int, int](), 0, set[int]()
    for call, text in observations(rollout):
        step += not call.repeat
        items |= shown_items(draft, call.passage_ids, text)
        for number in {*range(len(draft.hops))} - at.keys():
            listed = draft.listed and number == len(draft.hops) - 1
            if len(items) == len(draft.answer_items) if listed else shows(draft, number, call.passage_ids, text):
                at[number] = step
    return tuple(map(at.get, range(len(draft.hops))))


def shown_items(draft: Draft, passage_ids: Sequence[str], text: str) -> set[int]:
    """The items of a list whose evidence an observation holds."""
    last = len(draft.hops) - 1
    if not draft.listed:
        return set()
    about = _about(draft, last)
    blocks = [block for block in text.split("\n\n") if _proves(block, about)]
    return {
        number
        for number, item in enumerate(draft.answer_items)
        if (item.passage_id or draft.hops[last].passage_id) in passage_ids
        or any(_names(block, item.spellings) for block in blocks)
    }


def skipped(draft: Draft, rollout: Rollout, found_at: Sequence[int | None]) -> tuple[int, ...]:
    """The hops that a rollout went without: a later one was found, and until then neither a search of its own nor
    anything that it was shown had named their answers.

    Whoever names an answer unseen knows it by heart (`by_heart`), which is no fault of the question.
    """
    named: set[int] = set()
    gone: set[int] = set()
    step = 0
    for call, text in observations(rollout):
        step += not call.repeat
        named |= _naming(draft, call.argument) if call.tool != "open" else set()
        reached = [number for number, at in enumerate(found_at) if at == step]
        leading = {hop for number in reached for hop in before(draft, number)}
        gone |= {number for number in leading if found_at[number] is None} - named
        named |= _naming(draft, text)
    return tuple(sorted(gone))


def by_heart(draft: Draft, rollout: Rollout) -> tuple[int, ...]:
    """The hops before the last whose answers it searched with before it had been shown them. The calls of one turn were
    all made before any of their results was shown."""
    made = {call.id: call.argument for call in rollout.trajectory.calls if call.tool != "open"}
    shown = _naming(draft, draft.question)
    known: set[int] = set()
    for message in rollout.trajectory.messages:
        for call in message.tool_calls:
            known |= _naming(draft, made.get(call.id, "")) - shown
        if message.tool_call_id:
            shown |= _naming(draft, undated(message.content))
    return tuple(sorted(known - {len(draft.hops) - 1}))


def _naming(draft: Draft, text: str) -> set[int]:
    """The hops whose answers the text names."""
    return {number for number, hop in enumerate(draft.hops) if _names(text, hop.spellings)}


def shows(draft: Draft, number: int, passage_ids: Sequence[str], text: str) -> bool:
    """Does an observation hold the evidence of that hop?"""
    hop = draft.hops[number]
    if draft.listed and number == len(draft.hops) - 1:
        return len(shown_items(draft, passage_ids, text)) == len(draft.answer_items)
    if hop.passage_id in passage_ids:
        return True
    if hop.answer == NOT_FOUND:
        return False
    about = _about(draft, number)
    gives = hop.answer == draft.answer or (number == len(draft.hops) - 1 and not draft.decided)
    answers = (*hop.spellings, draft.answer, *draft.answer_aliases) if gives else hop.spellings
    return any(_proves(block, answers) and _proves(block, about) for block in undated(text).split("\n\n"))


def _about(draft: Draft, number: int) -> tuple[str, ...]:
    """The `subject` of a hop, in all its spellings."""
    if draft.graph is not None:
        needed = draft.graph.needed_by(draft.graph.found[number])
        return needed[0].spellings if needed else (subject(draft, number),)
    return (subject(draft, number),) if start(draft, number) == number else draft.hops[number - 1].spellings


def _names(text: str, spellings: Sequence[str]) -> bool:
    return any(holds(text, name) for name in spellings)


def _proves(text: str, spellings: Sequence[str]) -> bool:
    """Does it name the thing, of whose spellings the first is its name, as its evidence must?"""
    return any(holds(text, name) and (not number or _stands(text, name)) for number, name in enumerate(spellings))


def _stands(text: str, alias: str) -> bool:
    """An alias of one word names the thing in its own letters alone, and after no other name: US is not us, nor is Roe
    in Tom Roe."""
    if len(alias.split()) > 1 or not alias.isalpha() or not cased(alias):
        return True
    places = re.finditer(rf"(?<!\w){re.escape(alias)}(?!\w)", text)
    lines = (text[max(0, place.start() - _BEFORE) : place.start()].rpartition("\n")[2] for place in places)
    before = [line.split()[-1:] for line in lines]
    return any(not word or not word[0].isalpha() or word[0].lower() in {word[0], *_LITTLE} for word in before)


def holds(text: str, phrase: str) -> bool:
    """`contains`, with a quick no, which is what most passages get: normalising each would cost more than all else. The
    day of a date is no number: "May 26" does not hold 26."""
    if phrase.isdecimal() and len(phrase) <= 2:
        text = DAY.sub(" ", text)
    plain = _plain(text)
    return all(word in plain or not word.isascii() for word in _words(phrase)) and contains(text, phrase)


@lru_cache(maxsize=256)
def _words(phrase: str) -> list[str]:
    return normalise(phrase).split()


@lru_cache(maxsize=256)
def _plain(text: str) -> str:
    """Without what is no ASCII: every ASCII word that `normalise` makes of the text stands in it somewhere."""
    return folded(_APOSTROPHE.sub("", text)).encode("ascii", "ignore").decode()


def f1(answer: str, gold: str) -> float:
    """SQuAD's F1 of the words; 1 where both are empty."""
    mine, other = Counter(normalise(answer).split()), Counter(normalise(gold).split())
    return 2 * (mine & other).total() / (mine + other).total() if mine or other else 1.0

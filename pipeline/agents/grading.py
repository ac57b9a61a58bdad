"""Whether a rollout is correct: what it read, what the judge ruled, and how many steps it took.

A rollout is correct only if its answer is right and it also read the support of that answer.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pipeline.agents.judge import Grade
from pipeline.agents.tools import remove_dates
from pipeline.agents.unshown_words import unshown_words
from pipeline.text import MONTHS, fold, normalise, strip_tag
from pipeline.text.names import contains
from pipeline.text.scripts import has_case
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
    texts = {message.tool_call_id: remove_dates(message.content) for message in messages if message.tool_call_id}
    return [(call, texts[call.id]) for call in rollout.trajectory.calls]


def build_verdict(draft: Draft, rollout: Rollout, graded: Grade) -> Verdict:
    """Join the judge's ruling with what the rollout read and how many steps it took."""
    found_at = find_hop_steps(draft, rollout)
    return Verdict(
        sample=rollout.sample,
        supported=is_supported(draft, rollout),
        steps=rollout.trajectory.steps,
        calls=len(rollout.trajectory.calls),
        hit_step=_hit_step(draft, rollout, found_at),
        found_at=found_at,
        recalled=is_recalled(draft, rollout),
        **dict(graded),
    )


def _hit_step(draft: Draft, rollout: Rollout, found_at: Sequence[int | None]) -> int | None:
    """Return the step at which the answer was first shown; of a computed answer, at which the last evidence was."""
    if draft.answer_type is AnswerType.UNANSWERABLE:
        return None
    if draft.graph.is_computed:
        return max((at for at in found_at if at), default=None) if None not in found_at else None
    steps = 0
    for call, text in observations(rollout):
        steps += not call.repeat
        if _names(text, (draft.answer, *draft.answer_aliases)):
            return steps
    return None


def is_supported(draft: Draft, rollout: Rollout) -> bool:
    """Return whether a rollout read every passage that decides the answer, or others that say the same.

    A question without an answer is supported if the rollout came to the premise that nothing states: it read the
    passage that states it otherwise, or the evidence of the hop before; without a hop before, two searches suffice.
    """
    at = find_hop_steps(draft, rollout)
    if all(at[index] is not None for index in draft.graph.decisive_hops):
        return True
    if draft.answer_type is not AnswerType.UNANSWERABLE:
        return False
    needs = draft.hops[-1].needs
    return all(at[index] is not None for index in needs) if needs else rollout.trajectory.steps > 1


def find_hop_steps(draft: Draft, rollout: Rollout) -> tuple[int | None, ...]:
    """Return for each hop the step at which its own passage, or another one that says the same, was first shown."""
    at, step = dict[int, int](), 0
    for call, text in observations(rollout):
        step += not call.repeat
        for number in {*range(len(draft.hops))} - at.keys():
            if shows_evidence(draft, number, call.passage_ids, text):
                at[number] = step
    return tuple(map(at.get, range(len(draft.hops))))


def skipped_hops(draft: Draft, rollout: Rollout, found_at: Sequence[int | None]) -> tuple[int, ...]:
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
        leading = {hop for number in reached for hop in draft.graph.hops_before(number)}
        gone |= {number for number in leading if found_at[number] is None} - named
        named |= _naming(draft, text)
    return tuple(sorted(gone))


def recalled_hops(draft: Draft, rollout: Rollout) -> tuple[int, ...]:
    """The hops before the last whose answers it searched with before it had been shown them."""
    return tuple(sorted(_named_unseen(draft, rollout) - {len(draft.hops) - 1}))


def is_recalled(draft: Draft, rollout: Rollout) -> bool:
    """Return whether a rollout searched for a hidden thing that nothing had shown it: by name, or by a description
    with a name or number that stood neither in the question nor in anything shown before."""
    if _named_unseen(draft, rollout):
        return True
    hidden = {number for number in range(len(draft.hops)) if _is_hidden(draft, number)}
    texts = [remove_dates(message.content) for message in rollout.trajectory.messages if message.tool_call_id]
    for call, text, before in _searches(rollout):
        if reached := {number for number in hidden if shows_evidence(draft, number, call.passage_ids, text)}:
            if unshown_words(call.argument, (draft.question, *texts[:before]), texts[before:]):
                return True
            hidden -= reached
    return False


def _is_hidden(draft: Draft, number: int) -> bool:
    """Return whether the question does not name what a hop is about."""
    step = draft.graph.found[number]
    return bool(step.needs) or not holds(draft.question, strip_tag(draft.graph.subject(step)))


def _searches(rollout: Rollout) -> Iterator[tuple[Call, str, int]]:
    """Yield each search or find with what it brought and the number of observations that came before its turn. The
    calls of one turn were all made before any of their results was shown."""
    calls = {call.id: call for call in rollout.trajectory.calls if call.tool != "open"}
    shown = before = 0
    for message in rollout.trajectory.messages:
        if message.tool_calls:
            before = shown
        if message.tool_call_id:
            shown += 1
            if call := calls.get(message.tool_call_id):
                yield call, remove_dates(message.content), before


def _named_unseen(draft: Draft, rollout: Rollout) -> set[int]:
    """The hops whose answers a rollout searched with before it had been shown them."""
    texts = [remove_dates(message.content) for message in rollout.trajectory.messages if message.tool_call_id]
    shown, read = _naming(draft, draft.question), 0
    named: set[int] = set()
    for call, _, before in _searches(rollout):
        for text in texts[read:before]:
            shown |= _naming(draft, text)
        read = before
        named |= _naming(draft, call.argument) - shown
    return named


def _naming(draft: Draft, text: str) -> set[int]:
    """The hops whose answers the text names."""
    return {number for number, hop in enumerate(draft.hops) if _names(text, hop.spellings)}


def shows_evidence(draft: Draft, number: int, passage_ids: Sequence[str], text: str) -> bool:
    """Does an observation hold the evidence of that hop?"""
    hop = draft.hops[number]
    if hop.passage_id in passage_ids:
        return True
    if hop.answer == NOT_FOUND:
        return False
    about = _about(draft, number)
    gives = hop.answer == draft.answer or draft.graph.found[number] is draft.graph.last
    answers = (*hop.spellings, draft.answer, *draft.answer_aliases) if gives else hop.spellings
    return any(_proves(block, answers) and _proves(block, about) for block in remove_dates(text).split("\n\n"))


def _about(draft: Draft, number: int) -> tuple[str, ...]:
    """Return what a hop is about, in all its spellings."""
    step = draft.graph.found[number]
    needed = draft.graph.needed_by(step)
    return needed[0].spellings if needed else (strip_tag(draft.graph.subject(step)),)


def _names(text: str, spellings: Sequence[str]) -> bool:
    return any(holds(text, name) for name in spellings)


def _proves(text: str, spellings: Sequence[str]) -> bool:
    """Does it name the thing, of whose spellings the first is its name, as its evidence must?"""
    return any(holds(text, name) and (not number or _stands(text, name)) for number, name in enumerate(spellings))


def _stands(text: str, alias: str) -> bool:
    """An alias of one word names the thing in its own letters alone, and after no other name: US is not us, nor is Roe
    in Tom Roe."""
    if len(alias.split()) > 1 or not alias.isalpha() or not has_case(alias):
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
    return fold(_APOSTROPHE.sub("", text)).encode("ascii", "ignore").decode()


def f1(answer: str, gold: str) -> float:
    """SQuAD's F1 of the words; 1 where both are empty."""
    mine, other = Counter(normalise(answer).split()), Counter(normalise(gold).split())
    return 2 * (mine & other).total() / (mine + other).total() if mine or other else 1.0

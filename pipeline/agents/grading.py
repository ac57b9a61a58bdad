"""Grade a rollout by the judge's verdict, the evidence that it read, and the steps that it took.

A rollout is correct only if its answer is right and it also read the evidence for that answer.
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
"""Look for the word before a name in this many characters."""
_SMALL_WORDS = ("a", "an", "as", "at", "by", "for", "from", "in", "of", "on", "the", "to")
# `normalise` removes these too before it splits a text into words.
_APOSTROPHE = re.compile(r"['’]s?\b")


def observations(rollout: Rollout) -> list[tuple[Call, str]]:
    messages = rollout.trajectory.messages
    texts = {message.tool_call_id: remove_dates(message.content) for message in messages if message.tool_call_id}
    return [(call, texts[call.id]) for call in rollout.trajectory.calls]


def build_verdict(draft: Draft, rollout: Rollout, graded: Grade) -> Verdict:
    """Join the judge's grade with the evidence that the rollout read and the steps that it took."""
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
    """Return the step that first showed the answer or, if the answer is computed, completed the evidence."""
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
    """Return whether a rollout read every passage that decides the answer, or other passages that say the same.

    The answer to an unanswerable question is supported if the rollout reached the premise that nothing states: it read
    the passage that contradicts it, or the evidence of the hop before. If there is no hop before, two searches suffice.
    """
    steps = find_hop_steps(draft, rollout)
    if all(steps[hop] is not None for hop in draft.graph.decisive_hops):
        return True
    if draft.answer_type is not AnswerType.UNANSWERABLE:
        return False
    needs = draft.hops[-1].needs
    return all(steps[hop] is not None for hop in needs) if needs else rollout.trajectory.steps > 1


def find_hop_steps(draft: Draft, rollout: Rollout) -> tuple[int | None, ...]:
    """Return for each hop the step that first showed its passage, or another passage that says the same."""
    step_by_hop, step = dict[int, int](), 0
    for call, text in observations(rollout):
        step += not call.repeat
        for hop in {*range(len(draft.hops))} - step_by_hop.keys():
            if shows_evidence(draft, hop, call.passage_ids, text):
                step_by_hop[hop] = step
    return tuple(map(step_by_hop.get, range(len(draft.hops))))


def skipped_hops(draft: Draft, rollout: Rollout, found_at: Sequence[int | None]) -> tuple[int, ...]:
    """Return the hops that a rollout skipped.

    It found the evidence of a later hop before one of its queries or anything that it was shown named their answers. A
    rollout that names an answer unseen has recalled it (`recalled_hops`), which is no fault of the question.
    """
    named_hops: set[int] = set()  # the hops with an answer that a query or an observation has named
    skipped: set[int] = set()
    step = 0
    for call, text in observations(rollout):
        step += not call.repeat
        named_hops |= {hop for hop, _ in _find_names(draft, call.argument)} if call.tool != "open" else set()
        reached = [hop for hop, hop_step in enumerate(found_at) if hop_step == step]
        leading = {earlier for hop in reached for earlier in draft.graph.hops_before(hop)}
        skipped |= {hop for hop in leading if found_at[hop] is None} - named_hops
        named_hops |= {hop for hop, _ in _find_names(draft, text)}
    return tuple(sorted(skipped))


def recalled_hops(draft: Draft, rollout: Rollout) -> tuple[int, ...]:
    """Return the hops before the last whose answers the rollout searched with before anything showed them."""
    return tuple(sorted(_hops_named_unseen(draft, rollout) - {len(draft.hops) - 1}))


def is_recalled(draft: Draft, rollout: Rollout) -> bool:
    """Return whether a rollout searched for a hidden thing that nothing had shown it.

    The query has its name, or describes it by a name or number that is neither in the question nor in any earlier
    observation.
    """
    if _hops_named_unseen(draft, rollout):
        return True
    hidden = {hop for hop in range(len(draft.hops)) if _is_hidden(draft, hop)}
    texts = [remove_dates(message.content) for message in rollout.trajectory.messages if message.tool_call_id]
    for call, text, before in _searches(rollout):
        if reached := {hop for hop in hidden if shows_evidence(draft, hop, call.passage_ids, text)}:
            if unshown_words(call.argument, (draft.question, *texts[:before]), texts[before:]):
                return True
            hidden -= reached
    return False


def _is_hidden(draft: Draft, hop: int) -> bool:
    step = draft.graph.found[hop]
    return bool(step.needs) or not holds(draft.question, strip_tag(draft.graph.subject(step)))


def _searches(rollout: Rollout) -> Iterator[tuple[Call, str, int]]:
    """Yield each search or find with its observation and the number of observations before its turn.

    A model makes all calls of a turn before it sees any of their results.
    """
    calls = {call.id: call for call in rollout.trajectory.calls if call.tool != "open"}
    observation_count = before = 0
    for message in rollout.trajectory.messages:
        if message.tool_calls:
            before = observation_count
        if message.tool_call_id:
            observation_count += 1
            if call := calls.get(message.tool_call_id):
                yield call, remove_dates(message.content), before


def _hops_named_unseen(draft: Draft, rollout: Rollout) -> set[int]:
    texts = [remove_dates(message.content) for message in rollout.trajectory.messages if message.tool_call_id]
    seen, text_count = _find_names(draft, draft.question), 0
    unseen: set[int] = set()
    for call, _, before in _searches(rollout):
        for text in texts[text_count:before]:
            seen |= _find_names(draft, text)
        text_count = before
        unseen |= {hop for hop, _ in _find_names(draft, call.argument) - seen}
    return unseen


def _find_names(draft: Draft, text: str) -> set[tuple[int, str]]:
    """Return the hops whose answers a text names, each with its answer or with a member of the set that it gives."""
    return {
        (number, names[0])
        for number in range(len(draft.hops))
        for names in _spellings(draft, number)
        if _names(text, names)
    }


def _spellings(draft: Draft, number: int) -> list[tuple[str, ...]]:
    """Return the spellings of a hop's answer or, if that is a set, those of each member."""
    members = draft.graph.found[number].members
    return [(member,) for member in members] or [draft.hops[number].spellings]


def shows_evidence(draft: Draft, number: int, passage_ids: Sequence[str], text: str) -> bool:
    hop = draft.hops[number]
    if hop.passage_id in passage_ids:
        return True
    if hop.answer == NOT_FOUND:
        return False
    subject = _subject_spellings(draft, number)
    gives_answer = hop.answer == draft.answer or draft.graph.found[number] is draft.graph.last
    answers = _spellings(draft, number)
    if gives_answer:
        answers = [(*names, draft.answer, *draft.answer_aliases) for names in answers]
    return any(
        all(_proves(block, names) for names in answers) and _proves(block, subject)
        for block in remove_dates(text).split("\n\n")
    )


def _subject_spellings(draft: Draft, number: int) -> tuple[str, ...]:
    step = draft.graph.found[number]
    if member := draft.graph.member(step):
        return (member,)
    needed = draft.graph.needed_by(step)
    return needed[0].spellings if needed else (strip_tag(draft.graph.subject(step)),)


def _names(text: str, spellings: Sequence[str]) -> bool:
    return any(holds(text, name) for name in spellings)


def _proves(text: str, spellings: Sequence[str]) -> bool:
    """Return whether a text names a thing by its name, the first spelling, or clearly enough by an alias."""
    return any(holds(text, name) and (not number or _is_clear(text, name)) for number, name in enumerate(spellings))


def _is_clear(text: str, alias: str) -> bool:
    """Return whether an alias in a text can only mean the thing itself.

    An alias of one word must have its exact letters and be no part of another name: US is not us, nor is Roe in Tom
    Roe or Roe Hall. Abbreviations may begin a name: the US Senate is of the US.
    """
    if len(alias.split()) > 1 or not alias.isalpha() or not has_case(alias):
        return True
    for match in re.finditer(rf"(?<!\w){re.escape(alias)}(?!\w)", text):
        line = text[max(0, match.start() - _BEFORE) : match.start()].rpartition("\n")[2]
        word = (line.split() or [""])[-1]
        is_end = word.isalpha() and word.lower() not in {word, *_SMALL_WORDS}
        after = text[match.end() : match.end() + 2]
        is_beginning = not alias.isupper() and after.startswith(" ") and after.isupper()
        if not is_end and not is_beginning:
            return True
    return False


def holds(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase. The day of a date is not a number: "May 26" does not hold 26.

    Most passages do not, so a quick test comes before `contains`: normalising each passage would dominate the cost.
    """
    if phrase.isdecimal() and len(phrase) <= 2:
        text = DAY.sub(" ", text)
    ascii_text = _fold_to_ascii(text)
    return all(word in ascii_text or not word.isascii() for word in _words(phrase)) and contains(text, phrase)


@lru_cache(maxsize=256)
def _words(phrase: str) -> list[str]:
    return normalise(phrase).split()


@lru_cache(maxsize=256)
def _fold_to_ascii(text: str) -> str:
    """Return the ASCII characters of the folded text, which hold every ASCII word that `normalise` gives."""
    return fold(_APOSTROPHE.sub("", text)).encode("ascii", "ignore").decode()


def f1(answer: str, gold: str) -> float:
    """Return SQuAD's F1 of the words; 1 if neither text has any."""
    answer_words, gold_words = Counter(normalise(answer).split()), Counter(normalise(gold).split())
    if not answer_words and not gold_words:
        return 1.0
    return 2 * (answer_words & gold_words).total() / (answer_words + gold_words).total()

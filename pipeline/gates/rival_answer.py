"""Questions whose last step another passage answers otherwise: a second answer that a reader could not tell from ours.

The passages are those that the agents were shown, since whoever looks for the answer is shown its rivals too. A
sentence is a rival where it is about the same subject, says nearly all that the last quote says beside the answer, and
names something of the answer's kind instead of it.
"""

from collections.abc import Iterator

from pipeline.assess import holds
from pipeline.embedded.observed import Seen, seen
from pipeline.gates.base import Settings, Weight
from pipeline.text import contains, dates, normalise, numbers, sentences, words
from pipeline.types import AnswerType, Draft, Record, sha256

LEAST = 2
"""Words that the quote must say beside its answer; with one, any sentence about the subject would say as much."""
SHARE = 0.8
FILLERS = frozenset("a an the of in on at by to for from with as that which who it its he she his her was is".split())


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    last = draft.hops[-1]
    subject = draft.hops[-2].answer if len(draft.hops) > 1 else last.title
    said = {*words(last.quote)} - {word for answer in _spellings(draft) for word in words(answer)} - FILLERS
    # A comparison's answer is not what its last step finds.
    if len(said) < LEAST or normalise(last.answer) != normalise(draft.answer):
        return []
    own = "p" + sha256(last.passage_id)[:12]
    for passage in _shown(record):
        if passage.id != own and holds(f"{passage.title} {passage.text}", subject):
            for span in sentences(passage.text):
                if _rivals(passage.text[span.start : span.end], passage.title, subject, said, draft):
                    return [Weight(drop=f"'{passage.title}' gives another answer to its last step")]
    return []


def _rivals(sentence: str, title: str, subject: str, said: set[str], draft: Draft) -> bool:
    held = {*words(f"{title} {sentence}")}
    return (
        len(said & held) >= SHARE * len(said)
        and contains(f"{title} {sentence}", subject)
        and not any(contains(sentence, answer) for answer in _spellings(draft))
        and _of_kind(sentence, draft)
    )


def _of_kind(sentence: str, draft: Draft) -> bool:
    """Does it name something else of the answer's kind?"""
    if draft.answer_type is AnswerType.DATE:
        same = dates(draft.answer)
        return any(not same or date[:3] != same[0][:3] for date in dates(sentence))
    if draft.answer_type is AnswerType.NUMBER:
        same_number = numbers(draft.answer)
        return any(not same_number or number.value != same_number[0].value for number in numbers(sentence))
    return bool({*words(sentence)} - {*words(draft.hops[-1].quote)} - FILLERS)


def _spellings(draft: Draft) -> tuple[str, ...]:
    return tuple(answer for answer in (draft.answer, *draft.answer_aliases) if normalise(answer))


def _shown(record: Record) -> Iterator[Seen]:
    """Every passage once that the agents of the last question were shown."""
    last = record.last
    if last is None:
        return
    trajectories = [last.agent, *(rollout.trajectory for rollout in (*record.confirmation, *last.rollouts))]
    known = set[str]()
    for trajectory in trajectories:
        for message in trajectory.messages:
            if message.role == "tool":
                for passage in seen(message.content):
                    if passage.id not in known:
                        known.add(passage.id)
                        yield passage

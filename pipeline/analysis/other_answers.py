"""The answers that others gave to an accepted question: they disagree with its answer, or the judge was wrong."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pipeline.agents.grading import holds
from pipeline.agents.tools import ShownPassage, all_shown
from pipeline.reward.equality import equal
from pipeline.text import normalise, sentences
from pipeline.types import Draft, GradedRollout, Probe, Record
from pipeline.types.assessment import WITH_DISTRACTORS

_FROM_MEMORY = 2
"""A model says this often the same from memory before it counts; most models only guess."""


class Source(NamedTuple):
    """Who gave an answer, and in how many of their tries."""

    name: str
    times: int
    tries: int


class OtherAnswer(NamedTuple):
    """An answer that is not the pair's, and the sentence that may support it."""

    answer: str
    sources: tuple[Source, ...]
    title: str
    """The title of the passage of the quote; empty if no passage that a rollout saw holds the answer."""
    quote: str

    @property
    def weight(self) -> tuple[int, int]:
        """Return how many sources gave the answer, and how often."""
        return len(self.sources), sum(source.times for source in self.sources)


class _Tries(NamedTuple):
    source: str
    tries: int
    answers: tuple[str, ...]
    """Those that are not the pair's."""
    passages: dict[str, ShownPassage]


def find_other_answers(record: Record) -> list[OtherAnswer]:
    """Return the answers of solver, seekers, policies and readers that are not the pair's, the most frequent first.

    Answers of policies among distractors are left out: they are meant to be misled.
    """
    if record.draft is None:
        return []
    spellings, sources, passages = dict[str, str](), dict[str, list[Source]](), dict[str, ShownPassage]()
    for tries in _tries(record, record.draft):
        passages |= tries.passages
        keys = [normalise(answer) for answer in tries.answers]
        spellings |= {key: answer for key, answer in zip(keys, tries.answers, strict=True) if key not in spellings}
        for key in dict.fromkeys(filter(None, keys)):
            sources.setdefault(key, []).append(Source(tries.source, keys.count(key), tries.tries))
    answers = [
        OtherAnswer(spellings[key], tuple(givers), *_find_quote(spellings[key], passages.values()))
        for key, givers in sources.items()
    ]
    return sorted(answers, key=lambda answer: answer.weight, reverse=True)


def _tries(record: Record, draft: Draft) -> Iterator[_Tries]:
    yield _rollouts("solver", record.graded)
    yield _rollouts("seekers", GradedRollout.join(record.seekers, record.seeker_verdicts))
    latest = {measurement.policy: measurement for measurement in record.measurements}
    for name, measurement in latest.items():
        if not name.endswith(WITH_DISTRACTORS):
            yield _rollouts(f"policy {name}", measurement.graded)
    for probe in record.last.probes if record.last else ():
        if probe.check == "oracle":
            yield _Tries("reader with the evidence", probe.tries, tuple(_differing(probe, draft)), {})
        elif probe.check == "closed_book" and not probe.evidence:
            answers = list(_differing(probe, draft))
            frequent = [answer for answer in answers if answers.count(answer) >= _FROM_MEMORY]
            yield _Tries("memory alone", probe.tries, tuple(frequent), {})


def _rollouts(source: str, graded: list[GradedRollout]) -> _Tries:
    answers = tuple(pair.rollout.answer for pair in graded if pair.wrong and pair.rollout.answered)
    return _Tries(source, len(graded), answers, all_shown(pair.rollout.trajectory for pair in graded))


def _differing(probe: Probe, draft: Draft) -> Iterator[str]:
    """Yield the answers of a reader that differ, unless the judge accepted all."""
    golds = [draft.answer, *draft.answer_aliases]
    return (answer for answer in probe.answers if answer and probe.right < probe.tries and not equal(answer, golds))


def _find_quote(answer: str, passages: Iterable[ShownPassage]) -> tuple[str, str]:
    """Return the title and the first sentence of a passage that holds the answer, or two empty texts."""
    for passage in passages:
        if holds(passage.text, answer):
            texts = (passage.text[span.start : span.end] for span in sentences(passage.text))
            return passage.title, next((text for text in texts if holds(text, answer)), passage.text[:400])
    return "", ""

"""What a distractor must be before it is used. Every check rests on the draft, the corpus and the distractor alone, so
that all of them can be made again from an export.

A check gives what is wrong, or nothing; its words go back to the writer. They run in order, cheap ones first, and the
first that fails ends it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from textwrap import shorten

from pipeline.agents import cited
from pipeline.agents.judge import grade
from pipeline.agents.readers import about_the_living, check_alternative, oracle
from pipeline.agents.structured import structured
from pipeline.agents.tools import shown
from pipeline.context import RunContext
from pipeline.corpus.language import common_words, language_of
from pipeline.distractors.entities import is_person, may_live
from pipeline.distractors.hard_passages import laid_over, overlaid
from pipeline.distractors.writing_task import is_name, living, opening, query, right_answers, subject
from pipeline.errors import FormatError
from pipeline.retrieval.question_passages import Overlay
from pipeline.text import dates, numbers, strip_tag, words
from pipeline.text.names import contains
from pipeline.types import Data, Distractor, DistractorCheck, Draft, Usage, sha256

TRUTH_DEPTH = 50
"""Passages in which a claim is looked for."""
ALIKE = 0.7
"""From this Jaccard similarity of word triples on, two passages are one."""
_WHO = ("who", "whom", "whose")
_CODE = re.compile(r"[A-Za-z][^\s\d]*+\d\S*+|\d+(?:[.:]\d+){2,}")
"""An identifier with digits in it: CVE-2017-0144, AES-256-CBC, 3.5.1. Its digits are no quantity and no year."""
DETECT = "detect"
READINGS, OTHERS = 3, 5
"""Blind readings, and the passages of the corpus among which a distractor stands in them."""
_TOLD = 300
"""Characters of a reader's reason that the writer is told."""


@dataclass
class DistractorChecks:
    """One draft's checks, and what they took."""

    draft: Draft
    context: RunContext
    reader: Usage = field(default_factory=Usage)
    judge: Usage = field(default_factory=Usage)
    second: Usage = field(default_factory=Usage)
    """Of `judge`, the second one."""
    named: dict[str, tuple[bool, ...]] = field(default_factory=dict)
    """By distractor, for each blind reading whether it was named."""

    async def check(self, distractor: Distractor, *, last: bool = False) -> Distractor:
        """The distractor with its checks, up to the first that failed.

        The blind reader sends back what can be written again, and refuses nothing of the `last` try: a strong model
        told all of the ten that it saw for the first time, and what misleads a solver is no worse for that.
        """
        made: list[DistractorCheck] = []
        for name, test in CHECKS.items():
            # Rules know nothing of style.
            if test is blind and not self.understands:
                continue
            # A passage of the corpus as it stands is nobody's invention, unless it is the evidence itself.
            if test in (marked, no_living_person, new, blind) and distractor.unaltered and not self.cites(distractor):
                continue
            wrong = await test(distractor, self)
            made.append(DistractorCheck(name=name, passed=not wrong or (last and test is blind), detail=wrong))
            if not made[-1].passed:
                break
        return distractor.model_copy(update={"checks": tuple(made), "blind": self.named.get(distractor.id, ())})

    @property
    def understands(self) -> bool:
        """Is the reader a model, and no rules?"""
        return self.context.config.models.of("reader").capabilities.understands

    def evidence(self, distractor: Distractor) -> str:
        """The id of the passage that it competes with."""
        return self.draft.hops[distractor.hop].passage_id

    def cites(self, distractor: Distractor) -> bool:
        """Does the draft rest on the passage that it is or was made of?"""
        return distractor.source_id in {hop.passage_id for hop in self.draft.hops}


async def marked(d: Distractor, case: DistractorChecks) -> str:
    """It is written against a passage of the corpus, and says in words that this does not have what limits its claim.

    That the words do limit it is left to `readable`: no list of words knows it in every language.
    """
    source = await case.context.retriever.get(d.source_id)
    if source is None or source.sha256 != d.source_sha256:
        return "its source is not in the corpus"
    if case.context.config.distractors.outright and not d.mark:
        return ""
    if not d.mark or d.mark not in f"{d.title}\n{d.text}":
        return "the mark is not in title or text, letter by letter"
    if contains(d.claim, d.mark):
        return f"'{d.mark}' is the claim itself and does not limit it"
    evidence = await case.context.retriever.get(case.evidence(d))
    too = evidence and contains(f"{evidence.title} {evidence.text}", d.mark)
    return f"the passage that it stands against says '{d.mark}' too" if too else ""


async def contradicts(d: Distractor, case: DistractorChecks) -> str:
    """It states the claim, and the claim is another answer than the right one, not a part or a wording of it."""
    if not contains(d.text, d.claim):
        return "the claim is not in the text, letter by letter"
    draft, target = case.draft, d.target
    agreeing = next((answer for answer in right_answers(draft, target) if not differs(d.claim, answer)), None)
    return f"'{d.claim}' contradicts nothing: the answer is '{agreeing}'" if agreeing else ""


def differs(claim: str, answer: str) -> bool:
    """Can the two not both be right? A date that is only less exact, and a part of a name, can."""
    if not any(_CODE.fullmatch(text) for text in (claim, answer)):
        one, other = dates(claim), dates(answer)
        if one and other:
            return any(a != b for a, b in zip(one[0][:3], other[0][:3], strict=True) if a and b)
        ours, theirs = numbers(claim), numbers(answer)
        if ours and theirs:
            # Of a score or a range each number counts; what one of them has besides ("in 2006") does not.
            return any(abs(a.value - b.value) > 0.01 * abs(b.value) for a, b in zip(ours, theirs, strict=False))
    return not (contains(claim, answer) or contains(answer, claim))


async def no_living_person(d: Distractor, case: DistractorChecks) -> str:
    """Neither what it is about nor what it claims may be someone alive; what is not known to be dead may be.

    A reader says it, of any language. In place of one that does not understand, rules do, which read English and take
    some things for persons: a backdoor ends as an actor does.
    """
    source = await case.context.retriever.get(d.source_id)
    if source is None or not case.understands:
        return await _by_rules(d, case)
    known = await opening(d.claim, case.context.retriever) if is_name(d.claim) else None
    told = dict.fromkeys(filter(None, (known, source, d.passage)))
    try:
        alive, reason, usage = await about_the_living(query(case.draft, d.target), [*told], d.claim, case.context)
    except FormatError as error:
        return f"the reader gave nothing readable ({error})"
    case.reader += usage
    return (
        f"it may be about a living person: {shorten(reason, _TOLD, placeholder=' …') or 'no reason given'}"
        if alive
        else ""
    )


async def _by_rules(d: Distractor, case: DistractorChecks) -> str:
    retriever = case.context.retriever
    if may_live(d.text) or await living((d.source_id, case.draft.hops[d.target].passage_id), retriever):
        return f"'{strip_tag(d.title)}' may be a living person"
    if not is_name(d.claim):
        return ""
    claimed, known = await opening(d.claim, retriever), await opening(case.draft.hops[d.target].answer, retriever)
    if claimed:
        return f"'{d.claim}' may be a living person" if may_live(claimed.text) else ""
    person = known is None and words(case.draft.hops[d.target].sub_question)[:3] or []
    if (known and is_person(known.text)) or any(word in _WHO for word in person):
        return f"'{d.claim}' is a person of whom the corpus does not say that they are dead"
    return ""


async def new(d: Distractor, case: DistractorChecks) -> str:
    """It is no near duplicate of a passage of the corpus."""
    retriever = case.context.retriever
    near = [hit.passage for hit in await retriever.search(f"{d.title} {d.text}", 20)]
    near += await retriever.document(case.evidence(d).rpartition("#")[0])
    # What an altered passage was made of is as it should be.
    own = "" if case.cites(d) else d.source_id
    alike = next((p for p in near if p.id != own and similarity(d.text, p.text) >= ALIKE), None)
    return f"nearly the same as '{alike.title}' ({alike.id}): write sentences of your own" if alike else ""


def similarity(one: str, other: str) -> float:
    """Jaccard similarity of the word triples."""
    a, b = _triples(one), _triples(other)
    return len(a & b) / len(a | b) if a and b else 0.0


def _triples(text: str) -> set[tuple[str, ...]]:
    said = words(text)
    return {tuple(said[i : i + 3]) for i in range(max(1, len(said) - 2))}


async def reachable(d: Distractor, case: DistractorChecks) -> str:
    """The hop's own query brings it among the k passages of a search."""
    asked, k = query(case.draft, d.hop), case.context.config.retrieval.k
    hits = await overlaid(case.context.retriever, case.draft, [d], case.context.config.distractors).search(asked, k)
    if d.id in {hit.passage.id for hit in hits}:
        return ""
    plain = common_words(language_of(asked))
    lacking = [word for word in words(asked) if word not in words(f"{d.title} {d.text}") and word not in plain]
    told = ", ".join(dict.fromkeys(lacking))
    advice = f"words of the query that it does not have: {told}" if told else "it may be too long"
    return f"not among the {k} best for the hop's query; {advice}"


async def untrue(d: Distractor, case: DistractorChecks) -> str:
    """No passage of the corpus may support the claim: none near it names both the claim and what it is about.

    A passage of the corpus as it stands may, of another year or part, if a reader holds that it does not answer the
    hop.
    """
    own = d.id if d.unaltered and case.understands else ""
    asked = query(case.draft, d.target)
    titles = (strip_tag(case.draft.hops[hop].title) for hop in (d.target, d.hop))
    about = (subject(case.draft, d.target), *titles)
    for hit in await case.context.retriever.search(f"{asked} {d.claim}", TRUTH_DEPTH):
        text = f"{hit.passage.title}\n{hit.passage.text}"
        if contains(text, d.claim) and any(contains(text, name) for name in about) and hit.passage.id != own:
            return f"'{hit.passage.title}' ({hit.passage.id}) names '{d.claim}' and its subject"
    if not own:
        return ""
    try:
        fits, usage = await check_alternative(asked, d.claim, [d.passage], case.context)
    except FormatError as error:
        return f"the reader gave nothing readable ({error})"
    case.reader += usage
    return "a reader holds that it truly answers the hop" if fits else ""


async def readable(d: Distractor, case: DistractorChecks) -> str:
    """A reader with the evidence and the distractor in hand still answers right."""
    gold = await cited.passages(case.draft, case.context.retriever)
    try:
        # Its place tells nothing.
        passages = sorted([d.passage, *gold], key=lambda passage: sha256(passage.id))
        reading = await oracle(case.draft.question, passages, case.context)
        case.reader += reading.usage
        graded = await grade(case.draft, reading.answer, case.context)
    except FormatError as error:
        return f"the reader or the judge gave nothing readable ({error})"
    case.judge += graded.usage
    case.second += graded.second
    return "" if graded.right else f"with the evidence beside it the reader answers '{reading.answer}'"


class DetectOutput(Data):
    """`reason` stands first, so that a model thinks before it chooses."""

    reason: str = ""
    passage_id: str


async def blind(d: Distractor, case: DistractorChecks) -> str:
    """A reader that is given the hits of the hop's search alone does not pick it out every time as the one that was
    written by somebody else, by how it is written.

    The reader is not told what was searched, nor that one of them misleads: whoever knows that picks the passage that
    gives a rival answer, as any good distractor must. One that is named every time announces itself, and trains nobody.
    """
    context = case.context
    settings = context.config.distractors
    index = Overlay(context.retriever, [], laid_over(case.draft, [d], settings)[1])
    others = [hit.passage for hit in await index.search(query(case.draft, d.hop), OTHERS)]

    async def reading(sample: int) -> tuple[DetectOutput, Usage]:
        passages = sorted([d.passage, *others], key=lambda passage: sha256(f"{sample}\n{d.id}\n{passage.id}"))
        messages = context.prompt("blind/detect", passages=list(map(shown, passages)))
        reader = context.config.models.of("reader")
        return await structured(context.llm, reader, messages, DETECT, DetectOutput, sample=sample)

    try:
        made = await asyncio.gather(*map(reading, range(READINGS if others else 0)))
    except FormatError as error:
        return f"the blind reader gave nothing readable ({error})"
    case.reader += Usage.total(usage for _, usage in made)
    case.named[d.id] = named = tuple(said.passage_id.strip().strip("[]") == d.passage.shown_id for said, _ in made)
    if not named or not all(named):
        return ""
    reasons = dict.fromkeys(shorten(said.reason, _TOLD, placeholder=" …") for said, _ in made)
    why = " / ".join(filter(None, reasons)) or "no reason given"
    return f"among the hits of its search a reader named it {len(named)} times of {len(named)}: {why}"


CHECKS: dict[str, Callable[[Distractor, DistractorChecks], Awaitable[str]]] = {
    check.__name__: check for check in (marked, contradicts, no_living_person, new, reachable, untrue, readable, blind)
}

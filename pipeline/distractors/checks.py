"""The checks that a distractor must pass before it is used.

They depend on the draft, the corpus and the distractor alone, so that all of them can be repeated from an export.

A check returns what is wrong, or an empty string; its words go back to the writer. The checks run in order, cheap ones
first, and the first failure ends them.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from textwrap import shorten

from pipeline.agents import cited
from pipeline.agents.judge import grade
from pipeline.agents.readers import check_alternative, is_about_the_living, oracle
from pipeline.agents.structured import request_object
from pipeline.agents.tools import show_passage
from pipeline.context import RunContext
from pipeline.corpus.language import common_words, language_of
from pipeline.distractors.entities import is_person, may_live
from pipeline.distractors.hard_passages import build_overlay, plan_overlay
from pipeline.distractors.writing_task import is_name, may_concern_living, opening, query, right_answers, subject
from pipeline.errors import FormatError
from pipeline.retrieval.question_passages import Overlay
from pipeline.text import dates, numbers, strip_tag, words
from pipeline.text.names import contains
from pipeline.types import Data, Distractor, DistractorCheck, Draft, Usage, sha256

TRUTH_DEPTH = 50
"""The number of passages that are searched for a claim."""
ALIKE = 0.7
"""The least Jaccard similarity of the word triples of near duplicates."""
_WHO = ("who", "whom", "whose")
_CODE = re.compile(r"[A-Za-z][^\s\d]*+\d\S*+|\d+(?:[.:]\d+){2,}")
"""An identifier with digits: CVE-2017-0144, AES-256-CBC, 3.5.1. Its digits are neither a quantity nor a year."""
DETECT = "detect"
READINGS, OTHERS = 3, 5
"""The number of blind readings, and of passages of the corpus beside the distractor in each."""
_REASON_LENGTH = 300
"""The most characters of a reader's reason that the writer receives."""


@dataclass
class DistractorChecks:
    """The checks of the distractors of one draft, and their token usage."""

    draft: Draft
    context: RunContext
    reader: Usage = field(default_factory=Usage)
    judge: Usage = field(default_factory=Usage)
    second: Usage = field(default_factory=Usage)
    """The part of `judge` that the second judge used."""
    detections: dict[str, tuple[bool, ...]] = field(default_factory=dict)
    """For each distractor, by id, whether each blind reading picked it out."""

    async def check(self, distractor: Distractor, *, last: bool = False) -> Distractor:
        """Return the distractor with its checks, up to the first that failed.

        The blind reader makes the writer try again, but never refuses the `last` attempt: a strong model picked out all
        of the first ten distractors that it saw, and one that misleads a solver is no worse for that.
        """
        results: list[DistractorCheck] = []
        for name, test in CHECKS.items():
            if name == "blind" and not self.understands:
                continue
            # Nobody wrote an unaltered passage of the corpus, so these checks do not apply, unless it is the evidence.
            is_from_corpus = distractor.unaltered and not self.cites(distractor)
            if name in ("marked", "no_living_person", "new", "blind") and is_from_corpus:
                continue
            problem = await test(distractor, self)
            passed = not problem or (last and name == "blind")
            results.append(DistractorCheck(name=name, passed=passed, detail=problem))
            if not passed:
                break
        detections = self.detections.get(distractor.id, ())
        return distractor.model_copy(update={"checks": tuple(results), "blind": detections})

    @property
    def understands(self) -> bool:
        """Return whether the reader is a model, and not the demo model's rules."""
        return self.context.config.models.of("reader").capabilities.understands

    def evidence(self, distractor: Distractor) -> str:
        return self.draft.hops[distractor.hop].passage_id

    def cites(self, distractor: Distractor) -> bool:
        return distractor.source_id in {hop.passage_id for hop in self.draft.hops}


async def check_mark(d: Distractor, case: DistractorChecks) -> str:
    """Check that the distractor has a source in the corpus, and words that limit its claim.

    The evidence must not contain those words.
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
    is_shared = evidence and contains(f"{evidence.title} {evidence.text}", d.mark)
    return f"the passage that it stands against says '{d.mark}' too" if is_shared else ""


async def check_contradiction(d: Distractor, case: DistractorChecks) -> str:
    """Check that the text states the claim, and that the claim is not a part or another wording of the answer."""
    if not contains(d.text, d.claim):
        return "the claim is not in the text, letter by letter"
    draft, target = case.draft, d.target
    agreeing = next((answer for answer in right_answers(draft, target) if not differs(d.claim, answer)), None)
    return f"'{d.claim}' contradicts nothing: the answer is '{agreeing}'" if agreeing else ""


def differs(claim: str, answer: str) -> bool:
    """Return whether both cannot be right. A less precise date and a part of a name can be right too."""
    if not any(_CODE.fullmatch(text) for text in (claim, answer)):
        claim_dates, answer_dates = dates(claim), dates(answer)
        if claim_dates and answer_dates:
            parts = zip(claim_dates[0][:3], answer_dates[0][:3], strict=True)
            return any(a != b for a, b in parts if a and b)
        claim_numbers, answer_numbers = numbers(claim), numbers(answer)
        if claim_numbers and answer_numbers:
            # Each number of a score or a range counts, but not the additional ones of one side ("in 2006").
            pairs = zip(claim_numbers, answer_numbers, strict=False)
            return any(abs(a.value - b.value) > 0.01 * abs(b.value) for a, b in pairs)
    return not (contains(claim, answer) or contains(answer, claim))


async def check_no_living_person(d: Distractor, case: DistractorChecks) -> str:
    """Check that neither the subject nor the claim may be a living person. People not known to be dead may be alive.

    A reader decides, in any language. If it is not a model, rules decide: they read English, and take some things for
    people, since "backdoor" ends like "actor".
    """
    source = await case.context.retriever.get(d.source_id)
    if source is None or not case.understands:
        return await _find_living_by_rules(d, case)
    claim_passage = await opening(d.claim, case.context.retriever) if is_name(d.claim) else None
    passages = dict.fromkeys(filter(None, (claim_passage, source, d.passage)))
    try:
        alive, reason, usage = await is_about_the_living(
            query(case.draft, d.target), [*passages], d.claim, case.context
        )
    except FormatError as error:
        return f"the reader gave nothing readable ({error})"
    case.reader += usage
    if not alive:
        return ""
    return f"it may be about a living person: {_shorten(reason) or 'no reason given'}"


async def _find_living_by_rules(d: Distractor, case: DistractorChecks) -> str:
    retriever, hop = case.context.retriever, case.draft.hops[d.target]
    if may_live(d.text) or await may_concern_living((d.source_id, hop.passage_id), retriever):
        return f"'{strip_tag(d.title)}' may be a living person"
    if not is_name(d.claim):
        return ""
    if claim_passage := await opening(d.claim, retriever):
        return f"'{d.claim}' may be a living person" if may_live(claim_passage.text) else ""
    if answer_passage := await opening(hop.answer, retriever):
        wants_person = is_person(answer_passage.text)
    else:
        wants_person = any(word in _WHO for word in words(hop.sub_question)[:3])
    return f"'{d.claim}' is a person of whom the corpus does not say that they are dead" if wants_person else ""


async def check_new(d: Distractor, case: DistractorChecks) -> str:
    retriever = case.context.retriever
    near = [hit.passage for hit in await retriever.search(f"{d.title} {d.text}", 20)]
    near += await retriever.document(case.evidence(d).rpartition("#")[0])
    # An altered passage resembles its source, as it should.
    source = "" if case.cites(d) else d.source_id
    alike = next((p for p in near if p.id != source and similarity(d.text, p.text) >= ALIKE), None)
    return f"nearly the same as '{alike.title}' ({alike.id}): write sentences of your own" if alike else ""


def similarity(text_a: str, text_b: str) -> float:
    a, b = _triples(text_a), _triples(text_b)
    return len(a & b) / len(a | b) if a and b else 0.0


def _triples(text: str) -> set[tuple[str, ...]]:
    text_words = words(text)
    return {tuple(text_words[i : i + 3]) for i in range(max(1, len(text_words) - 2))}


async def check_reachable(d: Distractor, case: DistractorChecks) -> str:
    context = case.context
    hop_query, k = query(case.draft, d.hop), context.config.retrieval.k
    hits = await build_overlay(context.retriever, case.draft, [d], context.config.distractors).search(hop_query, k)
    if d.id in {hit.passage.id for hit in hits}:
        return ""
    ignored = {*common_words(language_of(hop_query)), *words(f"{d.title} {d.text}")}
    missing = ", ".join(dict.fromkeys(word for word in words(hop_query) if word not in ignored))
    advice = f"words of the query that it does not have: {missing}" if missing else "it may be too long"
    return f"not among the {k} best for the hop's query; {advice}"


async def check_untrue(d: Distractor, case: DistractorChecks) -> str:
    """Check that no passage of the corpus near the claim names both the claim and its subject.

    An unaltered passage of the corpus may name both, for example for another year, if a reader decides that it does not
    answer the hop.
    """
    unaltered_id = d.id if d.unaltered and case.understands else ""
    hop_query = query(case.draft, d.target)
    titles = (strip_tag(case.draft.hops[hop].title) for hop in (d.target, d.hop))
    about = (subject(case.draft, d.target), *titles)
    for hit in await case.context.retriever.search(f"{hop_query} {d.claim}", TRUTH_DEPTH):
        text = f"{hit.passage.title}\n{hit.passage.text}"
        names_both = contains(text, d.claim) and any(contains(text, name) for name in about)
        if names_both and hit.passage.id != unaltered_id:
            return f"'{hit.passage.title}' ({hit.passage.id}) names '{d.claim}' and its subject"
    if not unaltered_id:
        return ""
    try:
        fits, usage = await check_alternative(hop_query, d.claim, [d.passage], case.context)
    except FormatError as error:
        return f"the reader gave nothing readable ({error})"
    case.reader += usage
    return "a reader holds that it truly answers the hop" if fits else ""


async def check_readable(d: Distractor, case: DistractorChecks) -> str:
    gold = await cited.load_passages(case.draft, case.context.retriever)
    try:
        # Sort by hash, so that the position does not give the distractor away.
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
    """`reason` is first, so that a model thinks before it chooses."""

    reason: str = ""
    passage_id: str


async def check_blind(d: Distractor, case: DistractorChecks) -> str:
    """Check that a reader of the hits of the hop's search does not always pick out the distractor by its style.

    The reader does not know the query, nor that one of the passages misleads: then it would pick the passage with a
    rival answer, which every good distractor has. A distractor that is picked out every time is useless for training.
    """
    context = case.context
    settings = context.config.distractors
    index = Overlay(context.retriever, [], plan_overlay(case.draft, [d], settings)[1])
    hits = [hit.passage for hit in await index.search(query(case.draft, d.hop), OTHERS)]

    async def read_blind(sample: int) -> tuple[DetectOutput, Usage]:
        passages = sorted([d.passage, *hits], key=lambda passage: sha256(f"{sample}\n{d.id}\n{passage.id}"))
        messages = context.prompt("blind/detect", passages=list(map(show_passage, passages)))
        reader = context.config.models.of("reader")
        return await request_object(context.llm, reader, messages, DETECT, DetectOutput, sample=sample)

    try:
        readings = await asyncio.gather(*map(read_blind, range(READINGS if hits else 0)))
    except FormatError as error:
        return f"the blind reader gave nothing readable ({error})"
    case.reader += Usage.total(usage for _, usage in readings)
    detections = tuple(output.passage_id.strip().strip("[]") == d.passage.shown_id for output, _ in readings)
    case.detections[d.id] = detections
    if not detections or not all(detections):
        return ""
    reasons = dict.fromkeys(_shorten(output.reason) for output, _ in readings)
    why = " / ".join(filter(None, reasons)) or "no reason given"
    return f"among the hits of its search a reader named it {len(detections)} times of {len(detections)}: {why}"


def _shorten(reason: str) -> str:
    return shorten(reason, _REASON_LENGTH, placeholder=" …")


CHECKS: dict[str, Callable[[Distractor, DistractorChecks], Awaitable[str]]] = {
    "marked": check_mark,
    "contradicts": check_contradiction,
    "no_living_person": check_no_living_person,
    "new": check_new,
    "reachable": check_reachable,
    "untrue": check_untrue,
    "readable": check_readable,
    "blind": check_blind,
}
"""The checks in the order in which they run, by the names that are stored with a distractor."""

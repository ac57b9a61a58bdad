"""The unanswerable twin of an accepted pair: one premise of its question is changed, and verified absent.

A writer changes it; searches look for whatever could state it, and a reader of all that they found says whether
anything does. A second reading answers the question if it can, and its answer is checked. Then the solver tries it:
"not found" is right, and an answer that the passages bear out refuses the twin. The writer is told why one is refused.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import zip_longest

from pipeline.agents import cited
from pipeline.agents.readers import check_absence, check_alternative, oracle
from pipeline.agents.solver import graded_rollout
from pipeline.agents.structured import request_object
from pipeline.agents.tools import show_passage
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.distractors.accepted_pair import attempt_missing
from pipeline.errors import FormatError, RequestRefused
from pipeline.llm import ledger
from pipeline.loop.assess import build_assessment
from pipeline.loop.checks.alternatives import load_shown_passages
from pipeline.text import SINGLE, strip_tag, words
from pipeline.text.names import contains, normalise
from pipeline.types import ChangedPremise, Data, Draft, Passage, Probe, Twin, refuses, sha256, twin_draft

CHANGE = "change"
DEPTH = 10
"""Passages that each search brings."""
QUERIES = 4
"""Of the writer's own."""
KINDS = (
    "a year or date",
    "a place",
    "a role or office",
    "a relation between two things",
    "the name of a person or work",
    "a number or ordinal",
    "a nationality, genre or other kind",
)
"""Of premises: without a hint, writers change most questions in the same few ways."""
MOST_PASSAGES, MOST_BYTES = 60, 54_000
"""What the reader is shown of all that was found; a token is about three bytes."""
PROMPT_BYTES = 6_000
"""What its prompt takes beside the passages."""
LONGEST_DETAIL = 600
ALIKE = 0.7
"""How much of the words beside the premise must stay."""


class ChangeOutput(Data):
    """`reason` stands first, so that a model thinks before it writes. `hop` counts from 1."""

    reason: str = ""
    hop: int
    changed_from: str
    changed_to: str
    question: str
    sub_question: str
    queries: tuple[str, ...] = ()


async def make_twin(draft: Draft, key: str, context: RunContext, before: Twin | None = None) -> Twin | None:
    """The tries at a twin, until one is used; None where the pair was not drawn for one.

    What cannot be read, is refused by the server or runs out of its time leaves the last try pending
    (`missing_twin`). `before` holds what an earlier call made.
    """
    if not is_drawn(key, context.config.questions.twins(context.config.models)):
        return before
    ledger.enter("unanswerable")
    twin = before or Twin()
    while True:
        if twin.pending:
            tried = await _run_checks(draft, twin.pending, context)
            twin = twin.model_copy(update={"tries": (*twin.tries[:-1], tried)})
        if twin.used or twin.pending or len(twin.tries) + twin.unwritten >= context.config.questions.tries:
            return twin
        twin = await _write_premise(draft, key, twin, context)


def lacks_twin(key: str, twin: Twin | None, context: RunContext) -> bool:
    """Was the pair drawn for a twin of which a check or a rollout is still to be made?"""
    return is_drawn(key, context.config.questions.twins(context.config.models)) and (
        twin is None or twin.pending is not None
    )


def is_drawn(key: str, share: float) -> bool:
    """Is the pair with that key to get a twin? By hash, so that a larger share only adds."""
    return int(sha256(f"unanswerable:{key}")[:8], 16) < share * 2**32


def choose_premise_kind(key: str, earlier: int) -> str:
    """The kind of premise that a writer is to change: by hash of the pair's key, the next one in each further try."""
    return KINDS[(int(sha256(f"premise:{key}")[:8], 16) + earlier) % len(KINDS)]


async def _write_premise(draft: Draft, key: str, twin: Twin, context: RunContext) -> Twin:
    """The twin with one more try of the writer, and what its searches found; refused where it is no such change."""
    writer, sample = context.config.models.of("writer"), len(twin.tries) + twin.unwritten
    shown_fields = "sub_question", "answer", "title", "quote"
    hops = [{name: getattr(hop, name) for name in shown_fields} for hop in draft.hops]
    messages = context.prompt(
        "twin/change",
        question=draft.question,
        answer=draft.answer,
        hops=hops,
        passages=[
            show_passage(passage)
            for passage in _take_fitting(await cited.load_passages(draft, context.retriever), writer)
        ],
        prefer=choose_premise_kind(key, sample),
        refused=[{"question": tried.question, "why": f"{tried.outcome}: {tried.detail}"} for tried in twin.refused],
    )
    try:
        said, usage = await request_object(context.llm, writer, messages, CHANGE, ChangeOutput, sample=sample)
    except FormatError:
        return twin.model_copy(update={"unwritten": twin.unwritten + 1})
    tried = ChangedPremise(
        question=" ".join(said.question.split()),
        hop=min(max(said.hop, 1), len(draft.hops)) - 1,
        changed_from=said.changed_from.strip(),
        changed_to=said.changed_to.strip(),
        sub_question=" ".join(said.sub_question.split()),
    )
    outcome, detail = find_misfit(draft, tried)
    tried = tried.model_copy(update={"outcome": outcome, "detail": detail})
    if not outcome:
        about = strip_tag(draft.graph.subject(draft.graph.found[tried.hop]))
        queries = [
            tried.question,
            tried.sub_question,
            f"{about} {tried.changed_to}",
        ]
        queries = list(dict.fromkeys(query for query in (*queries, *said.queries[:QUERIES]) if words(query)))
        found = await context.retriever.search_many(queries, DEPTH)
        tried = tried.model_copy(update={"searches": tuple(map(cited.record_search, queries, found))})
    return twin.model_copy(update={"tries": (*twin.tries, tried), "writer": twin.writer + usage})


def find_misfit(draft: Draft, tried: ChangedPremise) -> tuple[str, str]:
    """Why it is not the question with one premise changed, as a code and in words; empty where it is."""
    old, new = tried.changed_from, tried.changed_to
    said = ("changed_from", old, "the question", draft.question)
    beside = list[str]()
    for field, phrase, where, whole in (said, ("changed_to", new, "the new question", tried.question)):
        rest, times = _remove_phrase(whole, phrase)
        beside.append(rest)
        if times == 0:
            return "unchanged", f"`{field}` does not stand in {where} letter by letter: '{phrase}'"
        if times > 1:
            return "unchanged", f"`{field}` stands {times} times in {where}, give more of the words there: '{phrase}'"
    if normalise(old) == normalise(new) or contains(draft.question, new):
        return "unchanged", f"the old question says '{new}' too"
    before, after = map(words, beside)
    if SequenceMatcher(None, before, after, autojunk=False).ratio() < ALIKE:
        return "rewritten", "more than the premise was changed"
    answers = (draft.answer, *draft.answer_aliases)
    # A comparison names its answer among others.
    named = next((a for a in answers if contains(tried.question, a) and not contains(draft.question, a)), "")
    return ("answer_named", f"it names '{named}', the answer of the old question") if named else ("", "")


def _remove_phrase(text: str, phrase: str) -> tuple[str, int]:
    """The text without a phrase, and how often it stood there: as whole words, unless it is always a part of one."""
    if not phrase:
        return text, 0
    letter = rf"[^\W{SINGLE}]"
    rest, times = re.subn(rf"(?<!{letter}){re.escape(phrase)}(?!{letter})", " ", text)
    return (rest, times) if times else (text.replace(phrase, " "), text.count(phrase))


async def _run_checks(draft: Draft, tried: ChangedPremise, context: RunContext) -> ChangedPremise:
    """The try with its checks and rollouts, to the first that refuses it or that is missing."""
    asked = [probe.check for probe in tried.probes]
    try:
        if "absent" not in asked:
            tried = await _check_absent(draft, tried, context)
        if not tried.outcome and "oracle" not in asked:
            tried = await _check_reading(draft, tried, context)
        if not tried.outcome:
            tried = await _check_rollouts(draft, tried, context)
        if not tried.outcome and len(tried.rollouts) == context.config.loop.rollouts:
            tried = await _check_wrong_answers(tried, context)
    except (FormatError, RequestRefused):
        return tried
    used = tried.outcome == "used"
    return tried.model_copy(update={"assessment": build_assessment(tried.verdicts, context)}) if used else tried


async def _check_absent(draft: Draft, tried: ChangedPremise, context: RunContext) -> ChangedPremise:
    """A reader of all that the searches found: nothing states the premise."""
    passages = await _load_evidence(draft, tried, context)
    output, cited, usage = await check_absence(tried.question, tried.sub_question, tried.changed_to, passages, context)
    probe = Probe(check="absent", model=_reader_model(context), answers=(output.state,), right=0, usage=usage)
    tried = _add_probe(tried, probe).model_copy(update={"cited": tuple(cited)})
    if output.state in ("stated", "unclear"):
        said = f"of '{tried.changed_to}' a reader of {len(passages)} passages said: {output.reason}"
        return _refuse(tried, output.state, said)
    # What excludes the premise must be named; without that it is only nowhere to be found.
    return tried.model_copy(update={"state": output.state if cited else "unstated"})


async def _check_reading(draft: Draft, tried: ChangedPremise, context: RunContext) -> ChangedPremise:
    """A reader who is to answer gives no answer that the passages bear out."""
    passages = await _load_evidence(draft, tried, context)
    reading = await oracle(tried.question, passages, context)
    answer, fits, usage = reading.answer, False, reading.usage
    if answer and not refuses(answer):
        fits, took = await check_alternative(tried.question, answer, passages, context)
        usage += took
    read = {"model": reading.model, "answers": (answer,), "uncited": reading.uncited}
    tried = _add_probe(tried, Probe(check="oracle", right=int(fits), usage=usage, **read))
    return _refuse(tried, "answered", f"by its passages the answer is '{answer}'") if fits else tried


async def _check_rollouts(draft: Draft, tried: ChangedPremise, context: RunContext) -> ChangedPremise:
    """K rollouts of the solver, as many of them as have a verdict; one must find out that there is no answer."""
    twin, whole = twin_draft(draft, tried), context.config.loop.rollouts
    known = zip(tried.rollouts, tried.verdicts, strict=True)
    pairs = await attempt_missing(known, range(whole), lambda sample: graded_rollout(twin, sample, context))
    rollouts, verdicts = zip(*pairs, strict=True) if pairs else ((), ())
    tried = tried.model_copy(update={"rollouts": rollouts, "verdicts": verdicts})
    if len(pairs) < whole or any(verdict.correct for verdict in verdicts):
        return tried
    return _refuse(tried, "unsolved", f"none of {whole} rollouts searched for it and found that there is no answer")


async def _check_wrong_answers(tried: ChangedPremise, context: RunContext) -> ChangedPremise:
    """No answer that a rollout gave fits what it was shown. Then the twin is used."""
    checked = {normalise(answer) for probe in tried.probes if probe.check == "alternatives" for answer in probe.answers}
    for rollout in (r for r, v in zip(tried.rollouts, tried.verdicts, strict=True) if r.answered and not v.right):
        if normalise(rollout.answer) in checked:
            continue
        checked.add(normalise(rollout.answer))
        fits, usage = await check_alternative(
            tried.question, rollout.answer, await load_shown_passages(rollout, context), context
        )
        probe = {"check": "alternatives", "answers": (rollout.answer,), "right": int(fits), "usage": usage}
        tried = _add_probe(tried, Probe(model=_reader_model(context), **probe))
        if fits:
            return _refuse(tried, "answered", f"a solver answered '{rollout.answer}', and its passages bear it out")
    return tried.model_copy(update={"outcome": "used"})


async def _load_evidence(draft: Draft, tried: ChangedPremise, context: RunContext) -> list[Passage]:
    """The chain's own passages and all that the searches found, the best of each first, as far as there is room."""
    chain = [hop.passage_id for hop in draft.hops]
    ranks = zip_longest(*(search.passage_ids for search in tried.searches))
    ids = dict.fromkeys([*chain, *(found for rank in ranks for found in rank if found)])
    passages = [await context.retriever.get(key) for key in list(ids)[:MOST_PASSAGES]]
    return _take_fitting(passages, context.config.models.of("reader"))


def _take_fitting(passages: Iterable[Passage | None], model: ModelConfig) -> list[Passage]:
    """Of these passages the ones that there is room for in the model's context, the first ones first."""
    room = min(MOST_BYTES, 3 * model.room - PROMPT_BYTES if model.room else MOST_BYTES)
    return [passage for passage in passages if passage and (room := room - len(passage.text.encode())) > 0]


def _reader_model(context: RunContext) -> str:
    return context.config.models.of("reader").model


def _add_probe(tried: ChangedPremise, probe: Probe) -> ChangedPremise:
    return tried.model_copy(update={"probes": (*tried.probes, probe)})


def _refuse(tried: ChangedPremise, outcome: str, detail: str) -> ChangedPremise:
    return tried.model_copy(update={"outcome": outcome, "detail": " ".join(detail.split())[:LONGEST_DETAIL]})

"""The unanswerable twin of an accepted pair: its question with one premise changed to something that no source states.

A writer changes the premise. Searches look for passages that may state it, and a reader says whether any does. A
second reader answers the question if it can, and its answer is checked. Then the solver tries it: "not found" is right,
and the twin is refused if passages support another answer. The writer learns why its attempt is refused.
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
from pipeline.types import ChangedPremise, Data, Draft, GradedRollout, Passage, Probe, Twin, refuses, sha256, twin_draft

CHANGE = "change"
DEPTH = 10
"""Hits of each search."""
QUERIES = 4
"""The most queries of the writer."""
KINDS = (
    "a year or date",
    "a place",
    "a role or office",
    "a relation between two things",
    "the name of a person or work",
    "a number or ordinal",
    "a nationality, genre or other kind",
)
"""Kinds of premises. Without a hint, writers change most questions in the same few ways."""
MOST_PASSAGES, MOST_BYTES = 60, 54_000
"""The most passages that a reader is shown, and their bytes; a token has about three bytes."""
PROMPT_BYTES = 6_000
"""The bytes of its prompt besides the passages."""
LONGEST_DETAIL = 600
ALIKE = 0.7
"""How similar the words besides the premise must be."""


class ChangeOutput(Data):
    """`reason` is first, so that a model thinks before it writes. `hop` counts from 1."""

    reason: str = ""
    hop: int
    changed_from: str
    changed_to: str
    question: str
    sub_question: str
    queries: tuple[str, ...] = ()


async def make_twin(draft: Draft, key: str, context: RunContext, before: Twin | None = None) -> Twin | None:
    """Let the writer change the question until an attempt is used. Return None if the pair is not drawn for a twin.

    If a model's output is unreadable, the server refuses a request or a rollout times out, the last attempt stays
    pending (`lacks_twin`).

    Args:
        draft: the accepted draft.
        key: the key of its seed.
        context: the run.
        before: the twin of an earlier call, which is continued.
    """
    if not is_drawn(key, context.config.questions.twins(context.config.models)):
        return before
    ledger.enter("unanswerable")
    twin = before or Twin()
    while True:
        if twin.pending:
            premise = await _run_checks(draft, twin.pending, context)
            twin = twin.model_copy(update={"tries": (*twin.tries[:-1], premise)})
        if twin.used or twin.pending or len(twin.tries) + twin.unwritten >= context.config.questions.tries:
            return twin
        twin = await _write_premise(draft, key, twin, context)


def lacks_twin(key: str, twin: Twin | None, context: RunContext) -> bool:
    is_unfinished = twin is None or twin.pending is not None
    return is_unfinished and is_drawn(key, context.config.questions.twins(context.config.models))


def is_drawn(key: str, share: float) -> bool:
    """Return whether a pair gets a twin. The draw is by hash, so that a larger share keeps the twins of a smaller."""
    return int(sha256(f"unanswerable:{key}")[:8], 16) < share * 2**32


def choose_premise_kind(key: str, earlier: int) -> str:
    """Choose the kind of premise to change: the first by hash of the pair's key, then the next one in each attempt."""
    return KINDS[(int(sha256(f"premise:{key}")[:8], 16) + earlier) % len(KINDS)]


async def _write_premise(draft: Draft, key: str, twin: Twin, context: RunContext) -> Twin:
    """Add one attempt of the writer with the results of its searches. An attempt that does not fit is refused."""
    writer, sample = context.config.models.of("writer"), len(twin.tries) + twin.unwritten
    hop_fields = "sub_question", "answer", "title", "quote"
    passages = _fit_passages(await cited.load_passages(draft, context.retriever), writer)
    messages = context.prompt(
        "twin/change",
        question=draft.question,
        answer=draft.answer,
        hops=[{name: getattr(hop, name) for name in hop_fields} for hop in draft.hops],
        passages=[show_passage(passage) for passage in passages],
        prefer=choose_premise_kind(key, sample),
        refused=[
            {"question": attempt.question, "why": f"{attempt.outcome}: {attempt.detail}"} for attempt in twin.refused
        ],
    )
    try:
        output, usage = await request_object(context.llm, writer, messages, CHANGE, ChangeOutput, sample=sample)
    except FormatError:
        return twin.model_copy(update={"unwritten": twin.unwritten + 1})
    premise = ChangedPremise(
        question=" ".join(output.question.split()),
        hop=min(max(output.hop, 1), len(draft.hops)) - 1,
        changed_from=output.changed_from.strip(),
        changed_to=output.changed_to.strip(),
        sub_question=" ".join(output.sub_question.split()),
    )
    outcome, detail = find_misfit(draft, premise)
    premise = premise.model_copy(update={"outcome": outcome, "detail": detail})
    if not outcome:
        about = strip_tag(draft.graph.subject(draft.graph.found[premise.hop]))
        queries = [premise.question, premise.sub_question, f"{about} {premise.changed_to}", *output.queries[:QUERIES]]
        queries = list(dict.fromkeys(query for query in queries if words(query)))
        results = await context.retriever.search_many(queries, DEPTH)
        premise = premise.model_copy(update={"searches": tuple(map(cited.record_search, queries, results))})
    return twin.model_copy(update={"tries": (*twin.tries, premise), "writer": twin.writer + usage})


def find_misfit(draft: Draft, premise: ChangedPremise) -> tuple[str, str]:
    """Return why a new question is not the old one with one premise changed, as a code and in words.

    Both are empty if it is.
    """
    old, new = premise.changed_from, premise.changed_to
    remainders = list[str]()
    for field, phrase, where, question in (
        ("changed_from", old, "the question", draft.question),
        ("changed_to", new, "the new question", premise.question),
    ):
        remainder, times = _remove_phrase(question, phrase)
        remainders.append(remainder)
        if times == 0:
            return "unchanged", f"`{field}` does not stand in {where} letter by letter: '{phrase}'"
        if times > 1:
            return "unchanged", f"`{field}` stands {times} times in {where}, give more of the words there: '{phrase}'"
    if normalise(old) == normalise(new) or contains(draft.question, new):
        return "unchanged", f"the old question says '{new}' too"
    before, after = map(words, remainders)
    if SequenceMatcher(None, before, after, autojunk=False).ratio() < ALIKE:
        return "rewritten", "more than the premise was changed"
    for name in (draft.answer, *draft.answer_aliases):
        # A comparison names its answer in the old question too, among others.
        if contains(premise.question, name) and not contains(draft.question, name):
            return "answer_named", f"it names '{name}', the answer of the old question"
    return "", ""


def _remove_phrase(text: str, phrase: str) -> tuple[str, int]:
    """Remove a phrase, and return how often it occurred: as whole words or, if it never does, as part of words."""
    if not phrase:
        return text, 0
    letter = rf"[^\W{SINGLE}]"
    remainder, times = re.subn(rf"(?<!{letter}){re.escape(phrase)}(?!{letter})", " ", text)
    return (remainder, times) if times else (text.replace(phrase, " "), text.count(phrase))


async def _run_checks(draft: Draft, premise: ChangedPremise, context: RunContext) -> ChangedPremise:
    """Run the missing checks and rollouts of an attempt until one refuses it or cannot finish."""
    finished = [probe.check for probe in premise.probes]
    try:
        if "absent" not in finished:
            premise = await _check_absence(draft, premise, context)
        if not premise.outcome and "oracle" not in finished:
            premise = await _check_reading(draft, premise, context)
        if not premise.outcome:
            premise = await _check_rollouts(draft, premise, context)
        if not premise.outcome and len(premise.rollouts) == context.config.loop.rollouts:
            premise = await _check_wrong_answers(premise, context)
    except (FormatError, RequestRefused):
        return premise
    if premise.outcome != "used":
        return premise
    return premise.model_copy(update={"assessment": build_assessment(premise.verdicts, context)})


async def _check_absence(draft: Draft, premise: ChangedPremise, context: RunContext) -> ChangedPremise:
    """Ask a reader whether a passage that the searches found states the premise. If so, refuse the attempt."""
    passages = await _load_passages(draft, premise, context)
    output, cited_ids, usage = await check_absence(
        premise.question, premise.sub_question, premise.changed_to, passages, context
    )
    probe = Probe(check="absent", model=_reader_model(context), answers=(output.state,), right=0, usage=usage)
    premise = _add_probe(premise, probe).model_copy(update={"cited": tuple(cited_ids)})
    if output.state in ("stated", "unclear"):
        detail = f"of '{premise.changed_to}' a reader of {len(passages)} passages said: {output.reason}"
        return _refuse(premise, output.state, detail)
    # The reader must cite what excludes the premise; without that, the premise is only not stated.
    return premise.model_copy(update={"state": output.state if cited_ids else "unstated"})


async def _check_reading(draft: Draft, premise: ChangedPremise, context: RunContext) -> ChangedPremise:
    """Let a reader answer the question. Refuse the attempt if the passages support the answer."""
    passages = await _load_passages(draft, premise, context)
    reading = await oracle(premise.question, passages, context)
    answer, fits, usage = reading.answer, False, reading.usage
    if answer and not refuses(answer):
        fits, check_usage = await check_alternative(premise.question, answer, passages, context)
        usage += check_usage
    probe = Probe(
        check="oracle", model=reading.model, answers=(answer,), right=int(fits), uncited=reading.uncited, usage=usage
    )
    premise = _add_probe(premise, probe)
    return _refuse(premise, "answered", f"by its passages the answer is '{answer}'") if fits else premise


async def _check_rollouts(draft: Draft, premise: ChangedPremise, context: RunContext) -> ChangedPremise:
    twin, k = twin_draft(draft, premise), context.config.loop.rollouts
    pairs = await attempt_missing(premise.graded, range(k), lambda sample: graded_rollout(twin, sample, context))
    rollouts, verdicts = GradedRollout.split(pairs)
    premise = premise.model_copy(update={"rollouts": rollouts, "verdicts": verdicts})
    if len(pairs) < k or any(verdict.correct for verdict in verdicts):
        return premise
    return _refuse(premise, "unsolved", f"none of {k} rollouts searched for it and found that there is no answer")


async def _check_wrong_answers(premise: ChangedPremise, context: RunContext) -> ChangedPremise:
    checked = {normalise(a) for probe in premise.probes if probe.check == "alternatives" for a in probe.answers}
    for rollout, verdict in premise.graded:
        answer = rollout.answer
        if not rollout.answered or verdict.right or normalise(answer) in checked:
            continue
        checked.add(normalise(answer))
        passages = await load_shown_passages(rollout, context)
        fits, usage = await check_alternative(premise.question, answer, passages, context)
        model = _reader_model(context)
        probe = Probe(check="alternatives", model=model, answers=(answer,), right=int(fits), usage=usage)
        premise = _add_probe(premise, probe)
        if fits:
            return _refuse(premise, "answered", f"a solver answered '{answer}', and its passages bear it out")
    return premise.model_copy(update={"outcome": "used"})


async def _load_passages(draft: Draft, premise: ChangedPremise, context: RunContext) -> list[Passage]:
    cited_ids = [hop.passage_id for hop in draft.hops]
    ranks = zip_longest(*(search.passage_ids for search in premise.searches))
    ids = dict.fromkeys([*cited_ids, *(passage_id for rank in ranks for passage_id in rank if passage_id)])
    passages = [await context.retriever.get(passage_id) for passage_id in list(ids)[:MOST_PASSAGES]]
    return _fit_passages(passages, context.config.models.of("reader"))


def _fit_passages(passages: Iterable[Passage | None], model: ModelConfig) -> list[Passage]:
    room = min(MOST_BYTES, 3 * model.room - PROMPT_BYTES if model.room else MOST_BYTES)
    return [passage for passage in passages if passage and (room := room - len(passage.text.encode())) > 0]


def _reader_model(context: RunContext) -> str:
    return context.config.models.of("reader").model


def _add_probe(premise: ChangedPremise, probe: Probe) -> ChangedPremise:
    return premise.model_copy(update={"probes": (*premise.probes, probe)})


def _refuse(premise: ChangedPremise, outcome: str, detail: str) -> ChangedPremise:
    return premise.model_copy(update={"outcome": outcome, "detail": " ".join(detail.split())[:LONGEST_DETAIL]})

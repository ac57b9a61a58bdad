"""Training queries for retrievers and rerankers, each with positive passages and hard negatives.

A hard negative is a passage that the rollouts' searches returned, that belongs to no cited document, and that contains
no spelling of an answer to its query. It can still be evidence only if it states the answer in other words.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from pipeline.agents.environment_file import Environment
from pipeline.agents.grading import holds
from pipeline.agents.tools import all_shown, shown_passages
from pipeline.exports.trajectories.spellings import spellings
from pipeline.exports.views.base import PROVENANCE, Rows, View, ViewOptions, provenance
from pipeline.store.arrow import columns
from pipeline.types import Draft, Record
from pipeline.types.corpus import shown_id

NEGATIVES = 10
"""Maximum number of hard negatives per query; the hardest come first."""
_RANK = 60
"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): a hit scores 1 / (60 + rank)."""


class FoundPassage(NamedTuple):
    """A passage as agents saw it, with its id in the corpus."""

    docid: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """Title and text, as Digsite's dense indexes encode them."""
        return f"{self.title}\n{self.text}"


class Query(NamedTuple):
    """A query of a pair, with the hops (from 0) whose evidence it looks for.

    `kind` is `question`, `sub_question`, or `search` for a query of the solver. `number` counts from 0.
    """

    number: int
    kind: str
    text: str
    hops: tuple[int, ...]
    positives: list[FoundPassage]
    negatives: list[FoundPassage]


class _Search(NamedTuple):
    text: str
    passages: list[FoundPassage]
    hops: tuple[int, ...]
    """The hops whose evidence it found."""


def queries(record: Record) -> Iterator[Query]:
    """Yield the question, its sub-questions, and the solver's searches that found cited evidence, each text once.

    A query is left out if no agent saw the full text of its evidence, or if it has no hard negative.
    """
    if (draft := record.draft) is None:
        return
    cited = collect_cited_passages(record, draft)
    searches = list(_list_searches(record, draft))
    candidates = [("question", draft.question, tuple(range(len(draft.hops))))]
    candidates += [("sub_question", hop.sub_question, (number,)) for number, hop in enumerate(draft.hops)]
    candidates += [("search", search.text, search.hops) for search in searches if search.hops]
    texts_seen = set[str]()
    for kind, text, hops in candidates:
        related = [search for search in searches if not set(hops).isdisjoint(search.hops)] or searches
        keys = dict.fromkeys(draft.hops[number].passage_id for number in hops)
        positives = [cited[key] for key in keys if key in cited]
        negatives = _find_negatives(draft, hops, related)
        if positives and negatives and text not in texts_seen:
            yield Query(len(texts_seen), kind, text, hops, positives, negatives)
            texts_seen.add(text)


def collect_cited_passages(record: Record, draft: Draft) -> dict[str, FoundPassage]:
    """Return the cited passages that an agent saw in full, by id, in the order of the hops."""
    trajectories = [past.agent for past in record.rounds] + [graded.rollout.trajectory for graded in record.graded]
    passages_shown = all_shown(trajectories)
    passages = {hop.passage_id: passages_shown.get(shown_id(hop.passage_id)) for hop in draft.hops}
    return {key: FoundPassage(key, passage.title, passage.text) for key, passage in passages.items() if passage}


def build_evaluation_view(question: str, answer: str, contexts: str) -> View:
    """Build a view for an evaluation framework, with its names for the question, the answer and the evidence.

    The evidence is each cited passage once, or its cited sentences if no agent saw all of it.
    """

    def rows(record: Record, environment: Environment) -> Rows:
        if draft := record.draft:
            cited = collect_cited_passages(record, draft)
            texts = [cited[hop.passage_id].contents if hop.passage_id in cited else hop.quote for hop in draft.hops]
            evidence = list(dict.fromkeys(texts))
            columns_of_pair = {question: draft.question, answer: draft.answer, contexts: evidence}
            yield {**columns_of_pair, **provenance(record, [draft.question, draft.answer, *evidence])}

    schema = columns(**{question: str, answer: str, contexts: [str]}, **PROVENANCE)
    return View(rows, schema, ViewOptions(env_specific=False, takes_twins=False))


def view(
    rows_of_query: Callable[[Record, Query], Iterable[tuple[dict[str, Any], Iterable[str]]]],
    needs: str = "an accepted pair",
    **kinds: Any,
) -> View:
    """Build a view of queries. `rows_of_query` yields the columns of `kinds`, each row with its texts.

    The columns `kind` and those of PROVENANCE are added.
    """

    def rows(record: Record, environment: Environment) -> Rows:
        for query in queries(record):
            for row, texts in rows_of_query(record, query):
                yield {**row, "kind": query.kind, **provenance(record, texts)}

    return View(rows, columns(**kinds, **PROVENANCE), ViewOptions(env_specific=False, takes_twins=False, needs=needs))


def _list_searches(record: Record, draft: Draft) -> Iterator[_Search]:
    texts_seen = set[str]()
    for rollout, _ in record.graded:
        texts = {message.tool_call_id: message.content for message in rollout.trajectory.messages}
        for call in rollout.trajectory.calls:
            if call.tool == "search" and call.argument not in texts_seen:
                texts_seen.add(call.argument)
                hits = zip(shown_passages(texts[call.id]), call.passage_ids, strict=False)
                passages = [FoundPassage(key, passage.title, passage.text) for passage, key in hits]
                hops = [number for number, hop in enumerate(draft.hops) if hop.passage_id in call.passage_ids]
                yield _Search(call.argument, passages, tuple(hops))


def _find_negatives(draft: Draft, hops: Iterable[int], searches: Iterable[_Search]) -> list[FoundPassage]:
    answers = list(chain.from_iterable(_answer_spellings(draft, hop) for hop in hops))
    cited = {_document_id(hop.passage_id) for hop in draft.hops}
    scores, passages = defaultdict[str, float](float), dict[str, FoundPassage]()
    for search in searches:
        for rank, passage in enumerate(search.passages, 1):
            scores[passage.docid] += 1 / (_RANK + rank)
            passages[passage.docid] = passage
    by_score = sorted(passages.values(), key=lambda passage: (-scores[passage.docid], passage.docid))
    negatives = (
        passage
        for passage in by_score
        if _document_id(passage.docid) not in cited and not any(holds(passage.contents, answer) for answer in answers)
    )
    return list(islice(negatives, NEGATIVES))


def _document_id(passage_id: str) -> str:
    return passage_id.rpartition("#")[0]


def _answer_spellings(draft: Draft, hop_index: int) -> list[str]:
    names = draft.hops[hop_index].spellings
    gives_answer = draft.graph.found[hop_index] is draft.graph.last
    return [*names, *spellings(draft)] if gives_answer else list(names)

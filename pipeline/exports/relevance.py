"""Queries with the passages that answer them and those that only look as if they did; for retrievers and rerankers.

A hard negative is a passage that searches of the pair's rollouts brought, that is of no cited document, and that names
no answer which its query asks for: what states an answer in other words than any spelling of it is the one way in which
such a passage can be evidence after all.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from pipeline.agents.grading import holds
from pipeline.agents.tools import all_shown, shown_passages
from pipeline.exports.trajectories.spellings import spellings
from pipeline.types import Draft, Record
from pipeline.types.corpus import shown_id

NEGATIVES = 10
"""Most hard negatives of one query, the hardest first."""
_RANK = 60
"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): a hit counts 1 / (60 + its rank)."""


class FoundPassage(NamedTuple):
    """A passage as agents were shown it, by its id in the corpus."""

    docid: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """As the product's dense indexes encode it."""
        return f"{self.title}\n{self.text}"


class Query(NamedTuple):
    """One query of a pair. `kind` is `question`, `sub_question` or `search`, which is a solver's own; `hops` are the
    hops, from 0, whose evidence it is for."""

    kind: str
    text: str
    hops: tuple[int, ...]
    positives: list[FoundPassage]
    negatives: list[FoundPassage]


class _Search(NamedTuple):
    text: str
    found: list[FoundPassage]
    hops: tuple[int, ...]
    """The hops whose evidence was among what it found."""


def queries(record: Record) -> Iterator[Query]:
    """The question, its sub-questions, and the solver's searches that brought cited evidence, each text once. A query
    without evidence that some agent was shown whole, or without a hard negative, is left out."""
    if (draft := record.draft) is None:
        return
    shown = all_shown([past.agent for past in record.rounds] + [one.rollout.trajectory for one in record.graded])
    texts = {hop.passage_id: shown.get(shown_id(hop.passage_id)) for hop in draft.hops}
    cited = {key: FoundPassage(key, found.title, found.text) for key, found in texts.items() if found}
    searches = list(_searches(record, draft))
    asked = [("question", draft.question, tuple(range(len(draft.hops))))]
    asked += [("sub_question", hop.sub_question, (number,)) for number, hop in enumerate(draft.hops)]
    asked += [("search", search.text, search.hops) for search in searches if search.hops]
    seen = set[str]()
    for kind, text, hops in asked:
        own = [search for search in searches if not set(hops).isdisjoint(search.hops)] or searches
        keys = dict.fromkeys(draft.hops[number].passage_id for number in hops)
        positives = [cited[key] for key in keys if key in cited]
        negatives = _negatives(draft, hops, own)
        if positives and negatives and text not in seen:
            seen.add(text)
            yield Query(kind, text, hops, positives, negatives)


def _searches(record: Record, draft: Draft) -> Iterator[_Search]:
    """The searches of the rollouts of the final question, each text once."""
    done = set[str]()
    for rollout, _ in record.graded:
        texts = {message.tool_call_id: message.content for message in rollout.trajectory.messages}
        for call in rollout.trajectory.calls:
            if call.tool == "search" and call.argument not in done:
                done.add(call.argument)
                shown = shown_passages(texts[call.id])
                found = [
                    FoundPassage(key, one.title, one.text) for one, key in zip(shown, call.passage_ids, strict=False)
                ]
                hops = [number for number, hop in enumerate(draft.hops) if hop.passage_id in call.passage_ids]
                yield _Search(call.argument, found, tuple(hops))


def _negatives(draft: Draft, hops: Iterable[int], searches: Iterable[_Search]) -> list[FoundPassage]:
    names = list(chain.from_iterable(_names(draft, hop) for hop in hops))
    cited = {_document(hop.passage_id) for hop in draft.hops}
    score, found = defaultdict[str, float](float), dict[str, FoundPassage]()
    for search in searches:
        for rank, passage in enumerate(search.found, 1):
            score[passage.docid] += 1 / (_RANK + rank)
            found[passage.docid] = passage
    ordered = sorted(found.values(), key=lambda passage: (-score[passage.docid], passage.docid))
    unmarked = (passage for passage in ordered if _document(passage.docid) not in cited)
    return list(islice((passage for passage in unmarked if not _names_one(passage, names)), NEGATIVES))


def _document(passage_id: str) -> str:
    return passage_id.rpartition("#")[0]


def _names_one(passage: FoundPassage, names: Iterable[str]) -> bool:
    return any(holds(passage.contents, name) for name in names)


def _names(draft: Draft, number: int) -> list[str]:
    """Return the spellings of what a hop gives; of one that gives the final answer also those of the answer."""
    names = draft.hops[number].spellings
    gives_answer = draft.graph.found[number] is draft.graph.last
    return [*names, *spellings(draft)] if gives_answer else list(names)

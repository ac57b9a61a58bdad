"""A reader of what searches for the question's end find would answer from it, without the hops before.

Then the hops before it are needless, since they only lead there (MuSiQue's connectedness, Trivedi et al. 2022).
"""

import re
from collections.abc import Iterable, Sequence

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from pipeline.agents import cited, readers
from pipeline.agents.grading import shows
from pipeline.agents.naming import whole
from pipeline.agents.tools import render, shown
from pipeline.context import RunContext
from pipeline.corpus.language import common_words, language_of
from pipeline.loop.asking import ask_reader
from pipeline.loop.checks.another_answer import FILLERS
from pipeline.loop.checks.base import CheckResult, DraftCheck, Found, Stage
from pipeline.text import SINGLE, normalise, terms, untagged, words
from pipeline.text.names import contains
from pipeline.types import Cause, Data, Draft, Hit, Passage, Probe, Searched, Usage

ADVICE = "Ask at the end for what many things of that kind have, in words that fit all of them."

TOP, MOST_QUERIES, MOST_PASSAGES = 3, 5, 6
"""How far down a list of results an attack looks, how many queries of a reader count, and what one is shown at most."""
RIVALS = 2
"""Other passages that must fit the end too: with fewer, the right answer of a reader that is in doubt is no mere guess.
"""
GAP = "…"
_GAPS = re.compile(rf"{GAP}(?:\s*{GAP})+")
_WORD = re.compile(r"[^\W_]+(?:['’.,\-][^\W_]+)*")
_PIECE = re.compile(rf"[{SINGLE}]|[^\s{SINGLE}]+")
"""A word, and of a script without blanks a character."""
_TAG = r"(?:\s*\([^()]{1,30}\))?"
"""What explains a name in brackets."""


class SkipOutput(Data):
    queries: tuple[str, ...] = Field(max_length=64)
    reason: SkipJsonSchema[str] = ""
    """Not asked for and not used."""


class CommitOutput(Data):
    """`answer` stands last, so that a model compares before it decides."""

    fits: tuple[str, ...] = Field((), max_length=64)
    reason: str = ""
    passage: readers.Given = ""
    answer: readers.Given = ""


class Committed(readers.Reading):
    """What a reader would answer that does not know what a question leads over; with corpus ids."""

    passages: tuple[str, ...] = ()
    """Those that it would answer from; none where it could not tell which is meant."""
    fits: tuple[str, ...] = ()
    """All that could be the end of the question."""


async def end(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """A reader's wordings of the question's end are searched for, beside the question and its last sub-question; where
    they bring the last passage, another reader is shown what they found, without what the hops before tell.

    The hops before it are skipped if that reader would answer from it, or gives its answer where too few others fit.
    """
    ends = [number for number in cited.ends(draft) if cited.start(draft, number) < number]
    if target < 2 or not ends:
        return CheckResult()
    parts = [opened(draft, number) for number in ends]
    written, model, usage = await _wordings(draft, parts, context)
    asked = list(dict.fromkeys([*parts, *fair(draft, written), draft.question]))
    searches, results = list[Searched](), list[list[Hit]]()
    for name, retriever in context.searched.items():
        found = await retriever.search_many(asked, TOP)
        searches += [cited.searched(query, hits, name) for query, hits in zip(asked, found, strict=True)]
        results += found
    homes = {draft.hops[number].passage_id for number in ends}
    probe = Probe(check="end", model=model, answers=(), right=0, searches=tuple(searches), usage=usage)
    brought = _brought(homes, searches)
    if not brought:
        return CheckResult(probes=(probe,))
    skipped = tuple(sorted({hop for number in ends for hop in range(cited.start(draft, number), number)}))
    passages = _shown(draft, homes, skipped, results)
    said = await commit(draft.question, passages, context)

    async def answer(sample: int) -> Committed:
        return said

    read = await ask_reader("end", draft, context, answer, 1)
    others, sure = sum(key not in homes for key in said.fits), homes == {*said.passages}
    skips = read.right and (sure or others < RIVALS)
    spent = {"usage": usage + read.usage, "hops": skipped if skips else (), "evidence": True}
    probe = read.model_copy(update={"searches": probe.searches, "uncited": (), **spent})
    if not skips:
        return CheckResult(probes=(probe,))
    detail = _detail(draft, ends[-1], brought) + "; a reader would have answered from it"
    if not sure:
        detail += f", since {'one' if others else 'no'} other passage that was found so could be the end"
    finding = Found(detail + _leading(draft, homes, passages), skipped, (*brought,))
    return CheckResult(probes=(probe,), findings=(finding.finding("end", CHECK.cause, fatal=False),))


async def commit(question: str, passages: Sequence[Passage], context: RunContext) -> Committed:
    """What would be answered from what searches for the end of a question have found."""
    asked = readers.noted(context.prompt("end/commit", question=question, passages=list(map(shown, passages))), context)
    output, model, usage = await readers.read(asked, "commit", CommitOutput, context)
    found, fits = readers.named(output.passage, passages), readers.named(" ".join(output.fits), passages)
    return Committed(answer=output.answer.strip(), model=model, passages=found, fits=fits, usage=usage)


async def search_end(question: str, parts: Sequence[str], context: RunContext) -> tuple[tuple[str, ...], str, Usage]:
    """Queries for the end of a question that do without what leads there; and who wrote them."""
    asked = context.prompt("end/search", question=question, parts=list(parts))
    output, model, usage = await readers.read(asked, "skip", SkipOutput, context)
    return output.queries, model, usage


def opened(draft: Draft, number: int) -> str:
    """A hop's own question with their kind, or a gap, for the names that only the hops before it give."""
    first = cited.start(draft, number)
    kinds: dict[str, str] = {}
    for hop, after in zip(draft.hops[first:number], draft.hops[first + 1 : number + 1], strict=True):
        # A title is mostly a longer form of what leads there.
        kinds |= dict.fromkeys((*hop.spellings, after.title, untagged(after.title)), hop.answer_kind or GAP)
    kinds |= dict.fromkeys((draft.hops[first].title, untagged(draft.hops[first].title)), GAP)
    common = (*FILLERS, "and", "or", *common_words(language_of(draft.question)))
    stays = {normalise(word) for text in (draft.question, *kinds.values(), *common) for word in _WORD.findall(text)}
    # What tells a title from others, as "(1997 film)" does, is no part of a name; "(HD)" is one.
    parts = [(name, word) for name in kinds for word in _WORD.findall(name)]
    hidden = {normalise(word) for name, word in parts if word in untagged(name) or word[0].isupper()} - stays
    text = draft.hops[number].sub_question
    # As wholes first, since not every script parts words by blanks.
    for name in sorted(filter(None, kinds), key=len, reverse=True):
        if not contains(draft.question, name):
            kind = kinds[name].replace("\\", "")
            text = re.sub(rf"(?:{re.escape(kind)}\s+)?{whole(name)}{_TAG}", kind, text, flags=re.IGNORECASE)
    return _GAPS.sub(GAP, _WORD.sub(lambda found: GAP if normalise(found[0]) in hidden else found[0], text)).strip()


def fair(draft: Draft, written: Iterable[str]) -> list[str]:
    """The first few of these queries without those that name what only the hops would give: whoever wrote such a name
    knew it by heart. The same words in another order are no other wording."""
    titles = (name for hop in draft.hops for name in (hop.title, untagged(hop.title)))
    answers = (name for number in range(len(draft.hops)) for names in draft.wanted(number) for name in names)
    spellings = (name for hop in draft.hops for name in hop.spellings)
    secret = {name for name in (*titles, *answers, *spellings) if name and not contains(draft.question, name)}
    kept: dict[frozenset[str], str] = {}
    for query in written:
        if not any(contains(query, name) for name in secret):
            kept.setdefault(frozenset(words(query)), query.strip())
    return [query for said, query in kept.items() if said][:MOST_QUERIES]


async def _wordings(draft: Draft, parts: Sequence[str], context: RunContext) -> tuple[tuple[str, ...], str, Usage]:
    """A reader's wordings of the end, and who wrote them. It is not asked again while the last hop and what leads to it
    stay as they were, however the question is worded now; words that an author has taken out of it lead nobody any
    more."""
    memory, last = context.memory.queries, draft.hops[-1]
    same = tuple(hop.answer for hop in draft.hops), last.sub_question, last.passage_id
    model, usage = context.config.models.of("reader").model, Usage()
    if same not in memory:
        written, model, usage = await search_end(draft.question, parts, context)
        memory[same] = draft.question, written
    question, queries = memory[same]
    gone = {*words(question)} - {*words(draft.question)}
    kept = (_PIECE.sub(lambda found: found[0] if gone.isdisjoint(words(found[0])) else " ", one) for one in queries)
    return tuple(" ".join(query.split()) for query in kept), model, usage


def _brought(homes: set[str], searches: Sequence[Searched]) -> list[Searched]:
    """The searches of one retriever that brought the last passage, or all where several decide the answer."""
    for name in dict.fromkeys(search.retriever for search in searches):
        own = [search for search in searches if search.retriever == name and not homes.isdisjoint(search.passage_ids)]
        if homes <= {key for search in own for key in search.passage_ids}:
            return own
    return []


def _shown(draft: Draft, homes: set[str], skipped: Sequence[int], results: Sequence[Sequence[Hit]]) -> list[Passage]:
    """The last passages with the best of other documents, but for what tells the answer of a hop before; in an order
    that says nothing of which is which."""
    ranked = [hits[rank].passage for rank in range(TOP) for hits in results if rank < len(hits)]
    last = {passage.id: passage for passage in ranked if passage.id in homes}
    known = {passage.document_id for passage in last.values()}
    titles = {draft.hops[hop].title for hop in skipped}
    others: dict[str, Passage] = {}
    for passage in ranked:
        told = any(shows(draft, hop, (passage.id,), render([passage])) for hop in skipped)
        if not told and passage.document_id not in known and passage.title not in titles:
            others.setdefault(passage.document_id, passage)
    chosen = [*last.values(), *list(others.values())[: MOST_PASSAGES - len(last)]]
    return sorted(chosen, key=lambda passage: passage.sha256)


def _detail(draft: Draft, last: int, brought: Sequence[Searched]) -> str:
    """The search that finds the last passage best, in the fewest words."""
    home = draft.hops[last].passage_id
    ranks = [(found.passage_ids.index(home) + 1, found.query) for found in brought if home in found.passage_ids]
    rank, query = min(ranks, key=lambda one: (one[0], len(one[1])))
    return f"searched '{query}': hops[{last}] at rank {rank}"


def _leading(draft: Draft, homes: set[str], found: Sequence[Passage]) -> str:
    """Which words of the question stand in the last passages, and in few of the others that were found with them: other
    words there would not find them so easily."""
    held = {passage.id: {*terms(f"{passage.title} {passage.text}")} for passage in found}
    others = [said for key, said in held.items() if key not in homes]
    own = {word for key in homes & {*held} for word in held[key]}
    plain = FILLERS | common_words(language_of(draft.question)) | {"s", "him", "where", "when", "what"}
    shared = [word for word in dict.fromkeys(terms(draft.question)) if word in own - plain]
    telling = [word for word in shared if 2 * sum(word in one for one in others) <= len(others)]
    return f"; of the question's words that passage holds {', '.join(telling)}" if telling else ""


def told(probe: Probe) -> str:
    if not probe.tries:
        return "no search for the end brought its passage"
    guessed = ", ".join(f"'{answer}'" for answer in probe.answers)
    unsure = f"a reader of what searches for the end found could not tell which is meant, and guessed {guessed}"
    return "" if probe.hops else unsure


CHECK = DraftCheck(Stage.READ, 1, Cause.SUPERFICIAL, advice=ADVICE, told=told, ask=end, at_once=end)

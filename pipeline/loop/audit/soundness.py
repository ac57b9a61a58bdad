"""Is the draft what it says it is? Each check gives the findings that make it unusable as it stands."""

from pipeline.agents.evidence import Evidence
from pipeline.text import contains, normalise, untagged
from pipeline.types import Cause, Draft, Finding
from pipeline.writing import asks, length


def _fatal(check: str, detail: str, *hops: int) -> Finding:
    return Finding(check=check, cause=Cause.GENERATOR_ERROR, fatal=True, hops=hops, detail=detail)


def no_question(draft: Draft, evidence: Evidence) -> list[Finding]:
    """A question mark at its end, an answer, and as many words as a question needs."""
    question = asks(draft.question) and length(draft.question) >= 4
    return [] if question and normalise(draft.answer) else [_fatal("no_question", "it asks nothing or answers nothing")]


def answer_in_question(draft: Draft, evidence: Evidence) -> list[Finding]:
    leaked = [answer for answer in (draft.answer, *draft.answer_aliases) if contains(draft.question, answer)]
    return [_fatal("answer_in_question", "the question holds its answer", len(draft.hops) - 1)] if leaked else []


def false_quote(draft: Draft, evidence: Evidence) -> list[Finding]:
    """Every quote is a verbatim slice of the passage that it cites, as that passage was when it was read."""
    false = [
        index
        for index, (hop, passage) in enumerate(zip(draft.hops, evidence, strict=True))
        if passage is None or passage.sha256 != hop.passage_sha256 or not hop.quote or hop.quote not in passage.text
    ]
    return [_fatal("false_quote", "these quotes are not in the passages they cite", *false)] if false else []


def unquoted_answer(draft: Draft, evidence: Evidence) -> list[Finding]:
    """Every hop's answer stands in its quote, or is the title of its passage (a hop that is walked backwards)."""
    bare = [
        index
        for index, hop in enumerate(draft.hops)
        if not contains(hop.quote, hop.answer)
        and normalise(hop.answer) not in (normalise(hop.title), normalise(untagged(hop.title)))
    ]
    last = draft.hops[-1]
    if normalise(last.answer) != normalise(draft.answer):
        bare.append(len(draft.hops) - 1)
    return [_fatal("unquoted_answer", "the quotes of these hops do not hold their answers", *bare)] if bare else []


def broken_chain(draft: Draft, evidence: Evidence) -> list[Finding]:
    """Each hop after the first is about the answer of the one before: its title or its quote names it."""
    broken = [
        index
        for index in range(1, len(draft.hops))
        if not contains(f"{draft.hops[index].title} | {draft.hops[index].quote}", draft.hops[index - 1].answer)
        and not contains(draft.hops[index - 1].answer, draft.hops[index].title)
    ]
    return [_fatal("broken_chain", "these hops are not about the answer before them", *broken)] if broken else []


def one_document(draft: Draft, evidence: Evidence) -> list[Finding]:
    """Each hop lies in a document of its own: who opens a document has read all of its passages in one step."""
    documents = [passage and passage.document_id for passage in evidence]
    again = [index for index, document in enumerate(documents) if document and document in documents[:index]]
    return [_fatal("one_document", "these hops lie in the document of an earlier hop", *again)] if again else []


CHECKS = (no_question, answer_in_question, false_quote, unquoted_answer, broken_chain, one_document)

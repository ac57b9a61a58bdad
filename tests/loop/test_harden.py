"""Questions that a user brings are grounded, attempted, rewritten or repaired, always with the same answer."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop import harden
from pipeline.loop.episode import run_seed
from pipeline.types import AnswerType, Draft, Given, Message, Passage, Record, Seed, Status
from tests.graph_drafts import step
from tests.loop.cast import FILM, HOLM, LINEAGE, QUESTION, SHELF, TOWN, Cast, call, make_proposal
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

ASKED = passage("question-1", "Question", QUESTION)
HIDDEN = "When was the home town of whoever directed a silent drama with a bay in its title settled?"
STEPS = make_proposal()["steps"]
KNOWN = tuple(frozenset([source.document_id]) for source in (TOWN, FILM, HOLM))


class Author(Cast):
    """Grounds the question and rewrites it as scripted; all other roles are those of `Cast`."""

    def __init__(self, paths: Callable[[str, int], int], *rewrites: dict[str, Any]) -> None:
        super().__init__(paths)
        self.rewritten, self.steps, self.inputs = list(rewrites), STEPS, list[dict[str, Any]]()
        self.roles = list[str]()

    def __call__(self, request: Request) -> Message:
        role = request.tools[-1].name if request.tools and not request.output else ""
        self.roles.append(role)
        turn = sum(m.role == "assistant" for m in request.messages)
        if role == "ground":
            queries = ("Lantern Bay", "Ada Holm painter", "Vessby Tarn")
            return call("search", query=queries[turn]) if turn < 3 else call("ground", steps=self.steps)
        if role == "rewrite":
            self.inputs.append(prompts.unfence(request.messages[1].content) or {})
            return call("rewrite", **self.rewritten.pop(0))
        return super().__call__(request)


def make_rewrite(question: str, operator: str, **update: Any) -> dict[str, Any]:
    return {"question": question, "operator": operator, "steps": STEPS} | update


def make_context(author: Author, *sets: str, known: tuple[frozenset[str], ...] = (), model: str = "") -> RunContext:
    given_question = Given(
        passage=ASKED, answer="1641", answer_aliases=(), answer_type=AnswerType.DATE, documents=known
    )
    usual = ["questions.file=q.jsonl", "retrieval.k=1", "checks.enabled=[]", "difficulty.adversarial=false", *sets]
    models = {"default": {"provider": "openai", "model": "m", "base_urls": ["http://localhost:1/v1"]}}
    settings = config.build(values={} if model else {"models": models}, sets=usual)
    lineage = LINEAGE.model_copy(update={"strategy": "harden"})
    return RunContext(
        config=settings, llm=ScriptedLLM(author), retriever=SHELF, lineage=lineage, given={ASKED.id: given_question}
    )


def run(author: Author, *sets: str, known: tuple[frozenset[str], ...] = (), model: str = "") -> Record:
    seed = Seed(key="ab" * 32, passage=ASKED, draw=0, side="train", target_steps=3)
    return asyncio.run(run_seed(seed, make_context(author, *sets, known=known, model=model)))


def test_a_question_that_is_in_range_is_accepted_as_it_stands() -> None:
    record = run(Author(lambda question, sample: 3))
    assert record.status is Status.ACCEPTED
    assert record.draft is not None
    assert (record.draft.question, record.draft.answer, record.draft.origin) == (QUESTION, "1641", "given")
    assert [hop.passage_id for hop in record.draft.hops] == [FILM.id, HOLM.id, TOWN.id]
    assert record.draft.answer_precision == "year"


def test_known_documents_that_state_the_answer_need_no_generator() -> None:
    author = Author(lambda question, sample: 3)
    record = run(author, known=KNOWN)
    assert record.draft is not None
    assert [(hop.answer, hop.quote) for hop in record.draft.hops] == [
        ("Ada Holm", "It was directed by Ada Holm."),
        ("Vessby", "Ada Holm came from Vessby."),
        ("1641", "Vessby was founded by monks around 1641."),
    ], "each hop leads to the next, whatever the order in the file"
    assert "ground" not in author.roles
    assert record.usage["generator"].calls == 0
    assert record.status is Status.ACCEPTED


def propose_draft(
    author: Author, answer: str, kind: AnswerType, *known: Passage, towns: tuple[Passage, ...]
) -> Draft | None:
    """Return the draft of the question with this answer over these passages of a town."""
    documents = tuple(frozenset([source.document_id]) for source in known)
    given_question = Given(passage=ASKED, answer=answer, answer_aliases=(), answer_type=kind, documents=documents)
    context = replace(make_context(author), retriever=Shelf(FILM, HOLM, *towns), given={ASKED.id: given_question})
    seed = Seed(key="ab" * 32, passage=ASKED, draw=0, side="train", target_steps=3)
    return asyncio.run(harden.propose(seed, context)).draft


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("answer", "kind", "written"),
    [
        ("12 May 1641", AnswerType.DATE, "May 12, 1641"),
        ("1641-05-12", AnswerType.DATE, "12 May 1641"),
        ("12000", AnswerType.NUMBER, "12,000"),
        ("1.2 million", AnswerType.NUMBER, "1,200,000"),
        ("3", AnswerType.NUMBER, "three"),
    ],
)
def test_a_date_or_number_may_be_written_in_another_form(
    answer: str, kind: AnswerType, written: str, *, known: bool
) -> None:
    author = Author(lambda question, sample: 3)
    town = passage("town", "Vessby", f"Vessby lies on the Tarn. Its roll of monks begins with {written} in all.")
    author.steps = [*STEPS[:2], step(town, written, "With what does the roll of {holm} begin?", "holm")]
    documents = (FILM, HOLM, town) if known else ()
    draft = propose_draft(author, answer, kind, *documents, towns=(town,))
    assert draft is not None
    assert (draft.answer, draft.hops[-1].answer, draft.answer_aliases) == (written, written, (answer,))
    assert ("ground" in author.roles) is not known


@pytest.mark.parametrize(
    ("answer", "kind", "quote"),
    [
        ("1641", AnswerType.DATE, "Its town was settled around 1641."),
        ("1641", AnswerType.DATE, "Its town was settled on 12 May 1641."),
        ("12", AnswerType.NUMBER, "It was settled by 12 monks."),
    ],
)
def test_the_sentence_that_is_asked_for_is_quoted_among_several_with_the_answer(
    answer: str, kind: AnswerType, quote: str
) -> None:
    fires = "It lies on the Tarn. It burnt in 1641. Then 12,000 came on 12 May 1702, when few had a town settled."
    town = passage("town", "Vessby", f"{fires} {quote}")
    draft = propose_draft(Author(lambda question, sample: 3), answer, kind, FILM, HOLM, town, towns=(town,))
    assert draft is not None
    assert (draft.hops[-1].quote, draft.answer) == (quote, answer)


def test_a_generator_is_shown_each_known_document_and_first_the_passages_that_lead_on() -> None:
    class Looking(Author):
        def __call__(self, request: Request) -> Message:
            self.inputs.append(prompts.unfence(request.messages[1].content) or {})
            return call("ground", steps=[])

    lives = [passage("life", "Ada Holm", f"Ada Holm did thing number {n}.", n) for n in range(9)]
    lives.append(passage("life", "Ada Holm", "Ada Holm came from Vessby.", 9))
    towns = [passage("town", "Vessby", f"It has a mill, number {n}.", n) for n in range(2)]
    author = Looking(lambda question, sample: 3)
    propose_draft(author, "1641", AnswerType.DATE, lives[0], towns[0], towns=(*lives, *towns))
    shown = (lives[9], towns[0], lives[0], towns[1], *lives[1:5])
    assert [passage["id"] for passage in author.inputs[0]["evidence"]] == [source.shown_id for source in shown]


def test_a_more_exact_answer_is_a_different_answer() -> None:
    town = passage("town", "Vessby", "Vessby lies on the Tarn. It was settled on 12 May 1641.")
    author = Author(lambda question, sample: 3)
    author.steps = [*STEPS[:2], step(town, "12 May 1641", "When was {holm} settled?", "holm")]
    assert propose_draft(author, "1641", AnswerType.DATE, towns=(town,)) is None


def test_documents_that_do_not_state_the_answer_leave_it_to_a_generator() -> None:
    author = Author(lambda question, sample: 3)
    record = run(author, known=KNOWN[1:])
    assert "ground" in author.roles
    assert record.status is Status.ACCEPTED


def test_a_question_that_is_too_easy_is_rewritten_by_one_operator() -> None:
    author = Author(lambda question, sample: 2 if question == QUESTION else 3, make_rewrite(HIDDEN, "meta_attribute"))
    record = run(author)
    assert record.status is Status.ACCEPTED
    assert record.draft is not None
    assert (record.draft.question, record.draft.answer) == (HIDDEN, "1641")
    assert record.draft.origin == "meta_attribute"
    assert record.original == QUESTION
    assert author.inputs[0]["original"] == QUESTION
    assert author.inputs[0]["drafts"][-1]["feedback"]["label"] == "too_easy"


def test_a_wording_that_adds_a_document_is_a_link_whatever_operator_its_author_names() -> None:
    author = Author(lambda question, sample: 2 if question == QUESTION else 3, make_rewrite(HIDDEN, "paraphrase"))
    author.steps = [STEPS[1] | {"needs": []}, STEPS[2]]
    record = run(author, "loop.audit=false")
    assert (record.status, record.draft and record.draft.origin) == (Status.ACCEPTED, "link")


def test_mending_a_wording_does_not_make_it_easier() -> None:
    author = Author(
        lambda question, sample: 2 if question == QUESTION else 3,
        make_rewrite(f"{HIDDEN[:-1]}.", "category"),
        make_rewrite(HIDDEN.replace("whoever", "the one who"), "paraphrase"),
    )
    record = run(author, "generator.checks=0")
    causes = [past.feedback.cause if past.feedback else "" for past in record.rounds]
    assert causes == ["superficial", "generator_error", ""]
    assert (record.status, record.draft and record.draft.origin) == (Status.ACCEPTED, "paraphrase")


def test_a_question_that_nobody_solves_is_repaired_by_reversing_an_operator() -> None:
    plain = "When was Vessby, the home town of the person who directed Lantern Bay, settled?"
    author = Author(lambda question, sample: 0 if question == QUESTION else 3, make_rewrite(plain, "category"))
    record = run(author, "loop.audit=false")
    assert (record.status, record.draft and record.draft.origin) == (Status.ACCEPTED, "category:reversed")


def test_a_question_that_the_corpus_does_not_support_is_rejected_as_ungrounded() -> None:
    author = Author(lambda question, sample: 3)
    author.steps = []
    record = run(author)
    assert (record.status, record.reason) == (Status.REJECTED, "ungrounded")
    assert record.usage["solver"].calls == 0


def test_the_demo_model_grounds_and_rewrites_nothing() -> None:
    assert run(Author(lambda question, sample: 3), model="embedded").reason == "ungrounded"
    easy = run(Author(lambda question, sample: 2), model="embedded", known=KNOWN)
    assert (easy.reason, len(easy.rounds)) == ("superficial", 2)


@pytest.mark.parametrize("role", ["ground", "rewrite"])
def test_evidence_for_another_answer_is_sent_back_in_one_line(role: str) -> None:
    monks = [*STEPS[:2], step(TOWN, "monks", "Who founded {holm}?", "holm")]
    changed = make_rewrite(f"By whom? {HIDDEN}", "category", steps=monks)
    author = Author(
        lambda question, sample: 2 if question == QUESTION else 3, changed, make_rewrite(HIDDEN, "category")
    )
    if role == "ground":
        author.steps = monks
    record = run(author, "generator.format_errors=2")
    replies = [m.content for m in record.rounds[role == "rewrite"].agent.messages if m.role == "tool"]
    error = next(text for text in replies if text.startswith("Error"))
    assert error.startswith("Error: The answer stays '1641': the last step must give it.")
    assert record.rounds[role == "rewrite"].agent.format_errors == (1 if role == "rewrite" else 2)
    if role == "rewrite":
        assert record.draft is not None
        assert (record.draft.answer, record.draft.question) == ("1641", HIDDEN)
    else:
        assert record.reason == "no_draft:format_errors"


def test_an_unknown_operator_is_sent_back() -> None:
    author = Author(
        lambda question, sample: 2 if question == QUESTION else 3,
        make_rewrite(HIDDEN, "obfuscate"),
        make_rewrite(HIDDEN, "category"),
    )
    record = run(author)
    assert record.rounds[1].agent.format_errors == 1
    assert record.status is Status.ACCEPTED


def test_a_solve_rate_is_a_target_too() -> None:
    def paths(question: str, sample: int) -> int:
        return 3 if question == QUESTION or sample % 2 else 0

    author = Author(paths, make_rewrite(HIDDEN, "range"))
    record = run(author, "solve_rate=[0.3,0.7]")
    assert author.inputs[0]["solve_rate"] == [0.3, 0.7]
    assert author.inputs[0]["drafts"][-1]["feedback"]["cause"] == "above_band"
    assert (record.status, record.solve_rate) == (Status.ACCEPTED, 0.5)


def test_the_same_script_gives_the_same_bytes() -> None:
    def run_once() -> bytes:
        author = Author(lambda question, sample: 2 if question == QUESTION else 3, make_rewrite(HIDDEN, "category"))
        return orjson.dumps(run(author).model_dump(mode="json"))

    assert run_once() == run_once()

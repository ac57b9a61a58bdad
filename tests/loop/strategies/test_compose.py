"""A generator proposes an evidence graph, a writer words it, and the loop tests it like any other draft."""

import asyncio
from typing import Any

import orjson
import pytest

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.links.leads import Lead
from pipeline.llm.base import Completion, Request
from pipeline.loop.episode import run_seed
from pipeline.loop.example_questions import choose_examples
from pipeline.loop.strategies.compose import choose_operations, describe_leads
from pipeline.types import AnswerType, Cause, Message, Record, Seed, Status, Stop, Usage
from tests.loop.cast import LINEAGE, call, get_role
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

BAY = passage("bay", "Lantern Bay", "Lantern Bay is a silent drama. It was directed by Ada Holm.")
PIER = passage("pier", "Copper Pier", "Copper Pier is a comedy. It was directed by Ivo Brandt.")
HOLM = passage("holm", "Ada Holm", "Ada Holm was a painter. Ada Holm was born in 1871.")
BRANDT = passage("brandt", "Ivo Brandt", "Ivo Brandt was a sailor. Ivo Brandt was born in 1902.")
MILL = passage("mill", "Grey Mill", "Grey Mill is a western. It was directed by Una Vik.")
VIK = passage("vik", "Una Vik", "Una Vik was a weaver. Una Vik was born in 1888.")
SHELF = Shelf(BAY, PIER, MILL, HOLM, BRANDT, VIK)
QUERIES = ("Lantern Bay drama", "Copper Pier comedy", "Grey Mill western",
           "Ada Holm painter", "Ivo Brandt sailor", "Una Vik weaver")  # fmt: skip
GOOD = "Lantern Bay, Copper Pier and Grey Mill had different directors. Who of the three was born first?"


def make_step(step_id: str, answer: str, source: Any, *needs: str, sentence: int = 2, **fields: Any) -> dict[str, Any]:
    question = f"What is {step_id} of {{{needs[0]}}}?" if needs else f"Who directed {source.title}?"
    step = {"id": step_id, "sub_question": question, "answer": answer, "needs": needs}
    return step | {"passage_id": source.shown_id, "sentences": [sentence]} | fields


def make_graph(**changes: Any) -> list[dict[str, Any]]:
    steps = [
        make_step("bay", "Ada Holm", BAY),
        make_step("pier", "Ivo Brandt", PIER),
        make_step("mill", "Una Vik", MILL),
        make_step("holm_year", "1871", HOLM, "bay"),
        make_step("brandt_year", "1902", BRANDT, "pier"),
        make_step("vik_year", "1888", VIK, "mill"),
        {"id": "first", "sub_question": "Who was born first?", "needs": ["holm_year", "brandt_year", "vik_year"],
         "operation": "extreme", "which": "earliest"},
    ]  # fmt: skip
    return [step | changes.get(step["id"], {}) for step in steps]


def make_two_branches() -> list[dict[str, Any]]:
    steps = make_graph(first={"needs": ["holm_year", "brandt_year"]})
    return [step for step in steps if step["id"] not in ("mill", "vik_year")]


class Cast:
    """Plays all roles; `proposals` are proposed one after the other."""

    def __init__(
        self, *proposals: list[dict[str, Any]], wordings: list[list[str]] | None = None, grade: int = 4
    ) -> None:
        self.proposals, self.grade = list(proposals or [make_graph()]), grade
        self.wordings = wordings or [[GOOD]]
        self.faults: list[list[dict[str, str]]] = []
        self.best = 1
        self.added: tuple[int, ...] = ()
        self.solver_queries = list(QUERIES)
        self.written: list[dict[str, Any]] = []

    def __call__(self, request: Request) -> Message:
        turns = sum(message.role == "assistant" for message in request.messages)
        role = get_role(request)
        inputs = prompts.unfence(request.messages[1].content) or {}
        if role == "answer":
            return self._solve(turns)
        if role == "propose":
            if turns < len(QUERIES):
                return call("search", query=QUERIES[turns])
            return call("propose", steps=self.proposals.pop(0))
        if role == "wordings":
            self.written.append(inputs)
            return self._say(wordings=self.wordings.pop(0))
        if role == "choose":
            faults = [f"clumsy {number}" for number, _ in enumerate(inputs["wordings"], 1)]
            return self._say(faults=faults, grades=[self.grade] * len(faults), best=self.best, added=self.added)
        if role == "steps":
            return self._say(reason="", faults=self.faults.pop(0) if self.faults else [])
        return self._say(answer="", correct=False)

    def _solve(self, turn: int) -> Message:
        if turn < len(self.solver_queries):
            return call("search", query=self.solver_queries[turn])
        return call("answer", answer="Ada Holm")

    def _say(self, **fields: Any) -> Message:
        return Message(role="assistant", content=orjson.dumps(fields).decode())


def run(cast: Cast, *sets: str, target: int = 3, llm: type[ScriptedLLM] = ScriptedLLM) -> tuple[Record, list[Request]]:
    usual = "retrieval.k=1", "loop.rollouts=1", "checks.enabled=[]", "difficulty.adversarial=false"
    models = {"default": {"provider": "openai", "model": "scripted", "base_url": "http://127.0.0.1:9/v1"}}
    settings = config.build(
        values={"strategy": "compose", "models": models}, sets=[*usual, "checks.naturalness=3", *sets]
    )
    model = llm(cast)
    seed = Seed(key="ab" * 32, passage=BAY, draw=0, side="train", target_steps=target)
    context = RunContext(config=settings, llm=model, retriever=SHELF, lineage=LINEAGE)
    return asyncio.run(run_seed(seed, context)), model.requests


def get_last_message(requests: list[Request], role: str) -> str:
    """Return the last tool result for an agent whose last tool has this name."""
    matching = [request for request in requests if request.tools and request.tools[-1].name == role]
    return matching[-1].messages[-1].content


def test_graph_is_worded_and_accepted() -> None:
    record, _ = run(cast := Cast())
    assert (record.status, record.reason) == (Status.ACCEPTED, "")
    draft = record.draft
    assert draft is not None
    assert draft.graph is not None
    assert (draft.question, draft.answer, draft.answer_type) == (GOOD, "Ada Holm", AnswerType.COMPARISON)
    assert [hop.quote for hop in draft.hops][3] == "Ada Holm was born in 1871."
    assert record.difficulty == 6
    assert cast.written[0]["answer_form"] == (
        "the name of one of the things that are compared, and not its value: Who directed Copper Pier? / "
        "Who directed Lantern Bay? / Who directed Grey Mill?"
    )


def test_writer_sees_no_hidden_answer() -> None:
    run(cast := Cast())
    inputs = orjson.dumps(cast.written[0]).decode()
    assert "Lantern Bay" in inputs
    assert not any(name in inputs for name in ("Ada Holm", "Ivo Brandt", "1871", "1902"))
    assert cast.written[0]["steps"][3] == {
        "id": "holm_year",
        "asks": "What is holm_year of [bay]?",
        "about": "[bay]",
        "sentence": "[bay] was born in [holm_year].",
    }


def test_all_faults_of_a_graph_are_reported_at_once() -> None:
    bad = make_graph(brandt_year={"answer": "1871"}, pier={"passage_id": BAY.shown_id})
    cast = Cast(bad, make_graph(holm_year={"sub_question": "When was {bay} born?"}))
    cast.faults = [[{"step": "holm_year", "fault": "unstated", "reason": "it says where, not when"}]]
    _, requests = run(cast)
    message = get_last_message(requests, "propose")
    assert "step 'first': the values tie or their ranges overlap" in message
    assert "step 'pier' ('Lantern Bay'): it rests on the document of step 'bay'" in message
    assert "step 'holm_year' ('Ada Holm'): unstated: it says where, not when. To do: cite the sentence" in message
    assert message.endswith("Proposals left: 2.")


def test_conversation_ends_after_the_last_proposal() -> None:
    bad = make_graph(brandt_year={"answer": "1871"})
    record, requests = run(Cast(bad, bad, bad))
    assert (record.status, record.reason) == (Status.REJECTED, "no_draft")
    assert sum(bool(request.tools) for request in requests) == len(QUERIES) + 3


def test_graph_below_its_target_is_sent_back() -> None:
    _, requests = run(Cast(make_graph(), []), target=7)
    assert "the graph has 6 steps that must be searched for, and 7 are asked for" in get_last_message(
        requests, "propose"
    )


def test_deciding_passages_that_one_search_returns_are_sent_back() -> None:
    _, requests = run(Cast(make_graph(), []), "retrieval.k=6")
    assert "returns the deciding passages" in get_last_message(requests, "propose")


def test_needs_of_a_computed_step_that_are_no_operands_are_dropped() -> None:
    needs = ["bay", "pier", "mill", "holm_year", "brandt_year", "vik_year"]
    record, _ = run(Cast(make_graph(first={"needs": needs})))
    assert record.draft
    assert record.draft.graph.last.needs == ("holm_year", "brandt_year", "vik_year")


def test_unknown_sentence_and_passage_are_errors_of_form() -> None:
    bad = make_graph(bay={"sentences": [9]}, pier={"passage_id": "p0"})
    _, requests = run(Cast(bad, []))
    message = get_last_message(requests, "propose")
    assert "step 'bay': `sentences` of passage" in message
    assert "step 'pier': no passage 'p0' was shown" in message


@pytest.mark.parametrize(
    ("wording", "fault"),
    [
        ("Was Ada Holm born before the director of Copper Pier?", "it says 'Ada Holm', which gives [bay] away"),
        ("", "it is empty"),
    ],
)
def test_wording_that_gives_an_answer_away_is_dropped(wording: str, fault: str) -> None:
    record, _ = run(cast := Cast(wordings=[[wording], [GOOD]]))
    assert record.status is Status.ACCEPTED
    assert cast.written[1]["earlier"][0]["fault"].startswith(fault)


def test_reader_chooses_among_wordings_of_one_grade() -> None:
    cast = Cast(wordings=[["Which of the directors of Lantern Bay, Copper Pier and Grey Mill is the oldest?", GOOD]])
    cast.best = 2
    record, _ = run(cast)
    assert record.draft is not None
    assert record.draft.question == GOOD


OTHER = "Which of the directors of Lantern Bay, Copper Pier and Grey Mill is the oldest?"


def test_writer_is_told_what_is_wrong_with_each_wording() -> None:
    _, _ = run(cast := Cast(wordings=[[GOOD, OTHER], [GOOD]], grade=2))
    assert [earlier["fault"] for earlier in cast.written[1]["earlier"]] == ["clumsy 1", "clumsy 2"]


def test_wording_that_claims_what_no_fact_states_is_not_taken() -> None:
    cast = Cast(wordings=[[GOOD, OTHER]])
    cast.added = (1,)
    record, requests = run(cast)
    assert record.draft is not None
    assert record.draft.question == OTHER
    inputs = next(prompts.unfence(r.messages[1].content) for r in requests if r.output and r.output.name == "choose")
    assert inputs["facts"][3] == {
        "asks": "What is holm_year of Ada Holm?", "title": "Ada Holm", "sentence": "Ada Holm was born in 1871."
    }  # fmt: skip


def test_writer_is_told_which_claim_no_fact_states() -> None:
    cast = Cast(wordings=[[GOOD], [GOOD]])
    cast.added = (1,)
    record, _ = run(cast)
    assert record.reason == "unnatural"
    assert cast.written[1]["earlier"][0]["fault"] == "it claims what no fact states: clumsy 1"


def test_seed_whose_wordings_all_give_an_answer_away_is_unnatural() -> None:
    leak = "Was Ada Holm born first?"
    record, requests = run(Cast(wordings=[[leak], [leak]]))
    assert (record.status, record.reason) == (Status.REJECTED, "unnatural")
    assert record.draft is not None
    assert record.draft.question == leak
    assert not any(request.tools and request.tools[-1].name == "answer" for request in requests)


def test_low_grade_rejects_the_seed_as_unnatural() -> None:
    record, requests = run(cast := Cast(wordings=[[GOOD], [GOOD]], grade=2))
    assert (record.status, record.reason) == (Status.REJECTED, "unnatural")
    assert cast.written[1]["earlier"] == [{"wording": GOOD, "fault": "clumsy 1"}]
    assert not any(request.tools and request.tools[-1].name == "answer" for request in requests)


def test_question_that_is_too_easy_continues_the_conversation() -> None:
    cast = Cast(make_graph(), [])
    cast.solver_queries = ["painter", "sailor", "weaver"]
    record, requests = run(cast, target=4)
    assert (record.status, record.reason) == (Status.REJECTED, Cause.SUPERFICIAL.value)
    generator = [request for request in requests if request.tools and request.tools[-1].name == "propose"]
    first, last = generator[len(QUERIES)], generator[-1]
    assert last.messages[: len(first.messages)] == first.messages
    message = last.messages[-1].content
    searches = "Its searches: 'painter' returned the passages of 'holm_year';"
    assert f"A search agent answered 'Ada Holm' (right). {searches}" in message
    assert "hop" not in message
    assert "word" not in message.partition("\n")[2]


def test_reader_is_asked_about_a_step_once() -> None:
    cast = Cast(make_graph(vik_year={"answer": "1900"}), make_graph())
    cast.faults = [[{"step": "vik_year", "fault": "unstated", "reason": "it says 1888"}]]
    record, requests = run(cast)
    assert record.status is Status.ACCEPTED
    inputs = [prompts.unfence(r.messages[1].content) for r in requests if r.output and r.output.name == "steps"]
    assert inputs[0]["to_check"] == [step["id"] for step in make_graph()]
    # The comparison rests on a new value, and its other operands are shown for it.
    assert inputs[1]["to_check"] == ["vik_year", "first"]
    assert [step["id"] for step in inputs[1]["steps"]] == ["holm_year", "brandt_year", "vik_year", "first"]


def test_step_that_stays_at_fault_is_named_again_without_asking() -> None:
    cast = Cast(make_graph(), make_graph(), [])
    cast.faults = [[{"step": "vik_year", "fault": "contradicted", "reason": "she was a weaver, no painter"}]]
    _, requests = run(cast)
    assert sum(bool(r.output and r.output.name == "steps") for r in requests) == 1
    message = get_last_message(requests, "propose")
    assert "step 'vik_year' ('Una Vik'): contradicted: she was a weaver, no painter. To do: this passage" in message


def test_passage_that_is_at_fault_twice_is_to_be_replaced() -> None:
    cast = Cast(make_graph(), make_graph(vik_year={"sub_question": "When?"}), [])
    fault = {"step": "vik_year", "fault": "ambiguous", "reason": "two dates"}
    cast.faults = [[fault], [fault]]
    _, requests = run(cast)
    results = [r.messages[-1].content for r in requests if "To do" in r.messages[-1].content]
    assert "To do: say in the sub-question what tells it apart" in results[0]
    assert "To do: this passage was at fault before: take another one." in results[1]


def test_all_faults_of_a_step_are_on_one_line() -> None:
    cast = Cast(make_graph(pier={"passage_id": BAY.shown_id, "answer": "Ivo Brandt"}), [])
    cast.faults = [[{"step": "pier", "fault": "unstated", "reason": "it names Ada Holm"}]]
    _, requests = run(cast)
    line = next(line for line in get_last_message(requests, "propose").split("\n") if "'pier'" in line)
    assert "one search answers both" in line
    assert "unstated: it names Ada Holm" in line
    assert line.count("To do:") == 1


def test_comparison_of_two_that_ends_the_graph_is_sent_back() -> None:
    two = make_two_branches()
    _, requests = run(Cast(two, []))
    assert "a blind guess is right half of the time. To do: compare three or more" in get_last_message(
        requests, "propose"
    )


def test_comparison_of_two_is_allowed_in_the_middle() -> None:
    two = make_two_branches()
    last = make_step("trade", "weaver", VIK, "first", sentence=1)
    _, requests = run(Cast([*two, last], []))
    assert not any("blind guess" in r.messages[-1].content for r in requests)


def test_leads_show_the_sentences_with_their_numbers_and_the_start_by_its_id_alone() -> None:
    director = Lead(
        name="Ada Holm", passage=BAY, sentence="It was directed by Ada Holm.", page=HOLM,
        fact="Ada Holm was born in 1871.", is_titled=True,
    )  # fmt: skip
    named_by = {"id": BAY.shown_id, "title": "Lantern Bay", "sentence": "[2] It was directed by Ada Holm."}
    page = {"id": HOLM.shown_id, "title": "Ada Holm", "sentence": "[2] Ada Holm was born in 1871."}
    lead = {"thing": "Ada Holm", "named_by": named_by, "page": page}
    assert describe_leads([director], BAY) == [lead]
    assert describe_leads([director], HOLM) == [lead | {"page": {"id": HOLM.shown_id}}]


def test_no_graph_of_five_or_more_steps_is_a_chain() -> None:
    settings = config.build(values={"strategy": "compose"})
    context = RunContext(config=settings, llm=ScriptedLLM([]), retriever=SHELF, lineage=LINEAGE)
    seeds = [Seed(key="ab" * 32, passage=BAY, draw=draw, side="train", target_steps=3) for draw in range(20)]
    offered = {target: {bool(choose_operations(seed, target, context)) for seed in seeds} for target in (2, 4, 5)}
    assert offered == {2: {False}, 4: {True, False}, 5: {True}}


def test_conversation_without_a_proposal_ends_when_it_has_cost_too_much() -> None:
    class Paid(ScriptedLLM):
        async def complete(self, request: Request) -> Completion:
            usage = Usage(calls=1, prompt_tokens=20_000, cached_tokens=9_000)
            return (await super().complete(request)).model_copy(update={"usage": usage})

    record, requests = run(Cast(), "generator.give_up_tokens=30000", llm=Paid)
    assert (record.status, record.reason) == (Status.REJECTED, "no_draft:no_proposal")
    assert record.rounds[0].agent.stop is Stop.NO_PROPOSAL
    assert len(requests) == 3
    record, _ = run(Cast(), "generator.give_up_tokens=80000", llm=Paid)
    assert record.status is Status.ACCEPTED


LIKE = [
    "How many painters died young?",
    "Which weaver was the elder?",
    "Who directed the silent drama?",
    "Which bay is a port?",
]


def ask(*sets: str) -> tuple[list[dict[str, Any]], dict[str, set[str]]]:
    """Return the writer's inputs, and the system prompts by role."""
    _, requests = run(cast := Cast(), *sets)
    systems: dict[str, set[str]] = {}
    for request in requests:
        systems.setdefault(get_role(request), set()).add(request.messages[0].content)
    return cast.written, systems


def test_the_examples_nearest_to_the_seed_reach_generator_and_writer_whatever_their_order() -> None:
    _, plain = ask()
    texts = [orjson.dumps(questions).decode() for questions in (LIKE, LIKE[::-1])]
    (written, systems), (written_again, systems_again) = (ask(f"questions.like={text}") for text in texts)
    shown = written[0]["like"]
    assert (len(shown), set(shown[:2])) == (3, {"Who directed the silent drama?", "Which bay is a port?"})
    assert (written, systems) == (written_again, systems_again)
    (system,) = systems.pop("propose")
    assert system.startswith(plain["propose"].pop())
    assert system.endswith(orjson.dumps(shown).decode())
    assert systems == {role: texts for role, texts in plain.items() if role != "propose"}


def test_seeds_far_from_all_examples_are_shown_different_ones() -> None:
    settings = config.build(values={"strategy": "compose", "questions": {"like": [f"Why {n}?" for n in range(20)]}})
    context = RunContext(config=settings, llm=ScriptedLLM([]), retriever=SHELF, lineage=LINEAGE)
    seeds = [Seed(key="ab" * 32, passage=BAY, draw=draw, side="train", target_steps=3) for draw in range(9)]
    assert len({tuple(choose_examples(seed, context)) for seed in seeds}) == 9


def test_examples_decide_about_the_shape_instead_of_a_coin() -> None:
    settings = [
        config.build(values={"strategy": "compose", "questions": {"like": like}}) for like in ((), ("Who is it?",))
    ]
    contexts = [RunContext(config=chosen, llm=ScriptedLLM([]), retriever=SHELF, lineage=LINEAGE) for chosen in settings]
    seeds = [Seed(key="ab" * 32, passage=BAY, draw=draw, side="train", target_steps=3) for draw in range(9)]
    offered = [{bool(choose_operations(seed, 3, context)) for seed in seeds} for context in contexts]
    assert offered == [{True, False}, {True}]


def test_only_the_writer_is_told_who_asks() -> None:
    _, plain = ask()
    _, systems = ask("questions.persona=a nurse on a night shift")
    (system,) = systems.pop("wordings")
    assert system.startswith(plain.pop("wordings").pop())
    assert system.endswith('"a nurse on a night shift"')
    assert systems == plain


class MemoryCast(Cast):
    """A cast whose solver answers from memory, and whose reader says whether a source may support that answer."""

    def __init__(self, *contested: bool, wordings: list[list[str]]) -> None:
        chain = [make_step("bay", "Ada Holm", BAY), make_step("year", "1871", HOLM, "bay")]
        super().__init__(chain, wordings=wordings)
        self.contested = list(contested)

    def __call__(self, request: Request) -> Message:
        role = get_role(request)
        if role == "weigh":
            return self._say(reason="An almanac says that Ada Holm was born in 1880.", fits=self.contested.pop(0))
        if role == "read":
            return self._say(answer="1880")
        if request.tools and role == "answer" and sum(m.role == "assistant" for m in request.messages) >= len(QUERIES):
            return call("answer", answer="1871")
        return super().__call__(request)


UNSOURCED = "Lantern Bay had a director. In what year was that director born?"
SOURCED = "By the film archive's figures, in what year was the director of Lantern Bay born?"
FROM_MEMORY = ("checks.enabled=['closed_book']", "steps=2-4")


def test_the_writer_names_the_source_of_an_answer_that_another_source_contests() -> None:
    cast = MemoryCast(True, False, wordings=[[UNSOURCED], [SOURCED]])
    record, requests = run(cast, *FROM_MEMORY, target=2)
    assert record.status is Status.ACCEPTED
    assert record.draft is not None
    assert record.draft.question == SOURCED
    refused = cast.written[1]["earlier"]
    assert [earlier["wording"] for earlier in refused] == [UNSOURCED]
    assert "An almanac says that [bay] was born in 1880. Name the kind of source or the year" in refused[0]["fault"]
    generator = [request for request in requests if request.tools and request.tools[-1].name == "propose"]
    assert len(generator) == len(QUERIES) + 1
    assert record.rounds[1].agent.usage == Usage()


def test_an_answer_that_stays_contested_ends_the_seed() -> None:
    record, _ = run(MemoryCast(True, True, wordings=[[UNSOURCED], [SOURCED]]), *FROM_MEMORY, target=2)
    assert (record.status, record.reason) == (Status.REJECTED, Cause.AMBIGUOUS.value)

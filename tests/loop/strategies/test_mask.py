"""A stretch of a real corpus with spans masked: found in other documents alone, in rollouts and at the server."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline import config, corpus, registry
from pipeline.agents.environment_file import environment
from pipeline.agents.grading import observations
from pipeline.agents.reasoning import Reasoning, reasoning
from pipeline.config.gates import GateConfig
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.split import side
from pipeline.exports.trajectories.spellings import spellings
from pipeline.gates import Gates
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.loop.strategies import mask
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.reward.reward import score
from pipeline.run import policy_measuring, prepare
from pipeline.types import AnswerType, Draft, Feedback, Message, Record, Round, Seed, Status, Stop, sha256
from pipeline.types.record import Cause, Label
from tests.loop.strategies.test_walk import MAKERS, NAMES
from tests.loop.test_episode import FILM, LINEAGE, call
from tests.scripted import ScriptedLLM

USUAL = "retrieval.k=3", "loop.rollouts=1", "loop.screen=1", "checks.run=[]"


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Films, each with a page on who wrote it and one on the hall where a captain saw it, which say so too; a copy of
    each film's page; and notes that nothing links."""
    folder: Path = tmp_path_factory.mktemp("films")
    rows = []
    for n, (name, made) in enumerate(zip(NAMES, MAKERS, strict=True)):
        who, hall, captain = f"Ada {NAMES[-1 - n]}holm", f"{name}ka Hall", f"Finn {name}sen"
        film = (
            f"{name} Bay is a silent drama on {made} sailors. The script was written by {who} in one winter. "
            f"It was shown to {captain} at {hall} when the harbour was full of ice."
        )
        rows += [
            (f"film{n}", f"{name} Bay", film),
            (f"copy{n}", f"{name} Bay", f"{film} Nobody has seen it since."),
            (f"who{n}", who, f"As a painter {who} went to sea. A script, {name} Bay, is all that {who} has left."),
            (f"hall{n}", hall, f"No house is as large as {hall}. {captain} was shown the harbour from {hall}."),
            (f"note{n}", f"Note {n}", f"when rain falls one thinks of {made} and goes home early"),
        ]
    told = [json.dumps({"id": key, "title": title, "text": text}) for key, title, text in rows]
    (folder / "films.jsonl").write_text("\n".join(told))
    return corpus.load(corpus.resolve(str(folder / "films.jsonl")), folder)


@pytest.fixture(scope="module")
def setting(films: Corpus) -> Callable[..., RunContext]:
    retriever = Bm25Retriever(films)

    def made(model: Callable[[Request], Message | str], *sets: str, strategy: str = "mask") -> RunContext:
        settings = config.build(values={"strategy": strategy}, sets=[*USUAL, *sets])
        walks = prepare.walks(settings, films)
        return RunContext(settings, ScriptedLLM(model), retriever, LINEAGE, walks=walks)

    return made


def seed(films: Corpus, context: RunContext, *, linked: bool = True, steps: int = 2) -> Seed:
    """The first of the train side that a question can be made from, or a note."""
    passages = (p for p in films.passages if side(p.document_id) == "train")
    found = (
        Seed(key=sha256(p.id), passage=p, draw=0, side="train", answer_type=AnswerType.ENTITY, target_steps=steps)
        for p in passages
        if p.document_id.startswith("film" if linked else "note")
    )
    return next(one for one in found if not linked or any(mask._drafts(one, context, steps)))


def proposed(films: Corpus, context: RunContext) -> Draft:
    draft = asyncio.run(mask.propose(seed(films, context), context)).draft
    assert draft
    return draft


class Solver:
    """Searches for one gap after the other, by what the text says of them; it cannot say a word before it is asked."""

    def __init__(self, answer: str = "", *, at_once: bool = False) -> None:
        self.answer, self.at_once = answer, at_once
        self.draft: Draft | None = None

    def __call__(self, request: Request) -> Message | str:
        assert self.draft, "no author is asked"
        if request.output:
            return json.dumps({"reason": "", "answer": "unknown"})
        assert request.tools[-1].name == "answer"
        turns = sum(message.role == "assistant" for message in request.messages)
        queries = [hop.title for hop in self.draft.hops]
        queries = [" ".join(queries)] if self.at_once else queries
        if turns == len(queries):
            return call("answer", answer=self.answer or self.draft.answer)
        return call("search", query=queries[turns])


def played(films: Corpus, setting: Callable[..., RunContext], solver: Solver, *sets: str, **more: Any) -> Record:
    context = setting(solver, *sets, **more)
    one = seed(films, context)
    solver.draft = proposed(films, context)
    return asyncio.run(run_seed(one, context))


def test_a_stretch_is_masked_without_a_call_and_each_gap_has_a_document_of_its_own(films, setting) -> None:
    context = setting(lambda request: pytest.fail("no model is asked"))
    draft, own = proposed(films, context), seed(films, context).passage
    lead, text = draft.question.split(": ", 1)
    assert own.title in lead
    assert text.count("[1]") == text.count("[2]") == 1
    filled = text.replace("[1]", draft.hops[0].answer).replace("[2]", draft.hops[1].answer)
    assert filled in own.text
    assert [hop.answer for hop in draft.hops] == [item.answer for item in draft.answer_items]
    assert draft.answer == f"{draft.hops[0].answer}; {draft.hops[1].answer}"
    for hop in draft.hops:
        passage = films.passage(hop.passage_id)
        assert passage
        assert hop.quote in passage.text
        assert hop.answer in hop.quote
        assert side(passage.document_id) == "train"
        assert passage.id not in draft.hidden
    assert len({hop.passage_id for hop in draft.hops}) == 2
    assert reasoning(draft) is Reasoning.CONJUNCTION


def test_its_document_and_the_copies_of_that_are_hidden_from_whoever_solves_it(films, setting) -> None:
    record = played(films, setting, Solver(), "retrieval.k=10")
    assert (record.status, record.reason, record.lineage.strategy) == (Status.ACCEPTED, "", "mask")
    draft = record.draft
    assert draft
    own = record.seed.passage
    assert set(draft.hidden) == {own.id, own.id.replace("film", "copy")}
    found = {i for rollout, _ in record.graded for one in rollout.trajectory.calls for i in one.passage_ids}
    assert {hop.passage_id for hop in draft.hops} <= found
    assert found.isdisjoint(draft.hidden)
    assert not any(own.text in text for rollout, _ in record.graded for _, text in observations(rollout))
    everyone = asyncio.run(Bm25Retriever(films).search(draft.question, 2))
    assert {hit.passage.id for hit in everyone} == {*draft.hidden}, "whom nothing is hidden from finds it at once"


def test_it_is_hidden_from_models_to_be_trained_too_whenever_they_are_measured(films, setting) -> None:
    solver = Solver()
    record = played(films, setting, solver, "models.policies.mine.model=embedded-weak", "retrieval.k=10")
    (measured,) = record.measurements
    assert record.draft
    context = setting(solver, "models.policies.mine.model=embedded-weak", "retrieval.k=10")
    later, _ = asyncio.run(policy_measuring._rollout(record.draft, 7, context, context.config.models.policies["mine"]))
    for rollout in (*measured.rollouts, later):
        found = {i for one in rollout.trajectory.calls for i in one.passage_ids}
        assert {hop.passage_id for hop in record.draft.hops} <= found
        assert found.isdisjoint(record.draft.hidden)


def test_its_pairs_pass_the_gates(films, setting) -> None:
    record, gates = played(films, setting, Solver()), Gates(GateConfig())
    assert gates.admit(gates.check(record)) is None


def test_one_search_that_finds_all_gaps_is_too_easy(films, setting) -> None:
    record = played(films, setting, Solver(at_once=True), "loop.audit=false")
    first, last = record.rounds
    assert first.feedback
    assert first.feedback.label is Label.TOO_EASY
    assert last.draft is None, "there are no other two spans"
    assert record.status is Status.REJECTED


def test_a_gap_that_is_filled_wrong_is_no_right_answer_but_has_a_share_of_the_reward(films, setting) -> None:
    draft = proposed(films, setting(Solver()))
    one, two = (hop.answer for hop in draft.hops)
    record = played(films, setting, Solver(f"{two}; {one}"), "loop.rounds=0")
    assert record.status is Status.REJECTED
    assert [verdict.right for _, verdict in record.graded] == [False]
    (gold,) = spellings(draft)
    assert [score(said, [gold]) for said in (f"{one}; {two}", f"{one}; {one}", f"{two}; {one}")] == [1.0, 0.5, 0.0]


def test_the_wording_is_graded_by_nobody_and_memory_is_asked_as_ever(films, setting) -> None:
    asked = list[str]()
    solver = Solver()

    def model(request: Request) -> Message | str:
        if request.output:
            asked.append(request.output.name)
        return solver(request)

    context = setting(model, 'checks.run=["naturalness", "closed_book"]')
    one = seed(films, context)
    solver.draft = proposed(films, context)
    record = asyncio.run(run_seed(one, context))
    assert (record.status, record.naturalness) == (Status.ACCEPTED, None)
    assert set(asked) == {"read"}
    assert record.last
    assert [probe.check for probe in record.last.probes] == ["closed_book"]


def test_the_same_seed_gives_the_same_draft_and_another_key_another(films, setting) -> None:
    first, again = (setting(Solver()) for _ in range(2))
    one = seed(films, first)
    draft = proposed(films, first)
    assert draft == proposed(films, again)
    drafts = [next(mask._drafts(one.model_copy(update={"key": f"k{n}"}), first, 1)) for n in range(8)]
    assert len({made.question for made in drafts}) > 1, "what is masked is drawn by the key"


def test_a_draft_that_is_sent_back_gives_way_to_other_spans_until_there_are_none(films, setting) -> None:
    context = setting(Solver())
    one = seed(films, context, steps=1)
    back = Feedback(label=Label.TOO_EASY, cause=Cause.SUPERFICIAL, message="", hops=())
    made, rounds = asyncio.run(mask.propose(one, context)), list[Round]()
    while made.draft:
        rounds.append(Round(index=len(rounds), agent=made.trajectory, draft=made.draft, feedback=back))
        made = asyncio.run(mask.revise(one, context, rounds))
    masked = [past.draft.answer for past in rounds if past.draft]
    assert len(set(masked)) == len(masked) == 3
    assert made.trajectory.stop is Stop.ANSWERED


def test_as_many_spans_are_masked_as_there_are_to_be_steps(films, setting) -> None:
    context = setting(Solver())
    drafts = {k: next(mask._drafts(seed(films, context, steps=k), context, k)) for k in (1, 2)}
    assert {k: len(draft.answer_items) for k, draft in drafts.items()} == {1: 1, 2: 2}
    assert not any(mask._drafts(seed(films, context), context, 9))


def test_what_leads_to_a_gap_comes_before_it() -> None:
    def of(start: int, text: str, *anchors: str) -> mask._Mask:
        return mask._Mask(start, start + len(text), text, FILM, text, frozenset(anchors))

    last, first, free = of(0, "Vessby", "Ada Holm"), of(40, "Ada Holm", "Lantern Bay"), of(20, "1921", "Lantern Bay")
    assert mask._ordered([last, first, free]) == [free, first, last]
    assert mask._ordered([last, of(40, "Ada Holm", "Vessby")]) == [], "neither can be found without the other"


def test_a_seed_without_a_stretch_costs_no_call(films, setting) -> None:
    context = setting(lambda request: pytest.fail("no model is asked"))
    record = asyncio.run(run_seed(seed(films, context, linked=False), context))
    assert (record.status, record.reason) == (Status.REJECTED, Stop.NO_WALK)


def test_every_view_takes_such_a_pair_and_gold_answers_are_in_order(films, setting) -> None:
    record = played(films, setting, Solver())
    given = environment(config.build(values={"strategy": "mask"}))
    rows = {name: [*registry.load("views", name).rows(record, given)] for name in registry.names("views")}
    assert record.draft
    gold = json.dumps({"ordered": [[hop.answer] for hop in record.draft.hops]}, separators=(",", ":"))
    (row,), (question,), (whole,) = rows["rl_trl"], rows["qa"], rows["records"]
    assert row["golden_answers"] == [gold]
    assert [item["answer"] for item in question["answer_items"]] == [hop.answer for hop in record.draft.hops]
    assert (question["answer_type"], question["family"], question["strategy"]) == ("ordered", "mask", "mask")
    assert list(whole["rounds"][-1]["draft"]["hidden"]) == [*record.draft.hidden]
    assert not rows["rl_search_r1"]
    shown = [name for name, made in rows.items() if record.seed.passage.text in json.dumps(made, default=str)]
    assert shown == ["records"], "as the seed that it is; no agent was shown it"


def test_a_run_that_goes_on_makes_what_one_at_once_does(films, tmp_path: Path) -> None:
    file = films.manifest.path
    small = {"loop": {"rounds": 1, "rollouts": 1, "screen": 1, "audit": False}, "steps": [1, 2]}

    def run(name: str, *counts: int) -> list[Record]:
        for count in counts:
            how = {"seeds": count, "out": tmp_path / name, "concurrency": count}
            values = {"corpus": {"name": str(file)}, "retrieval": {"retriever": "bm25"}, "strategy": "mask:1,sage:1"}
            folder = pipeline.generate(pipeline.build(values=values | small | {"how": how})).folder
        return sorted(pipeline.records(folder), key=lambda record: record.key)

    once, twice = run("once", 14), run("twice", 3, 9, 14)
    assert once == twice
    assert len(once) == 14
    assert {record.lineage.strategy for record in once} == {"mask", "sage"}
    assert any(record.draft and record.draft.ordered for record in once)


def test_what_a_draft_hides_stays_hidden_from_all_retrievers_and_only_once(films, setting) -> None:
    context = setting(Solver())
    context = replace(context, others={"other": context.retriever})
    draft = proposed(films, context)
    over = context.hiding(draft)
    assert over.hiding(draft) is over
    assert context.hiding(draft.model_copy(update={"hidden": ()})) is context
    for retriever in over.searched.values():
        hits = asyncio.run(retriever.search(draft.question, 20))
        assert {hit.passage.id for hit in hits}.isdisjoint(draft.hidden)
        assert asyncio.run(retriever.get(draft.hidden[0])) is None
        assert asyncio.run(retriever.document(draft.hidden[0].partition("#")[0])) == []

"""Distractors for an accepted pair and its paired rollouts, over a small corpus and scripted models."""

import asyncio
import gc
import warnings
from collections import Counter
from collections.abc import Callable

import orjson
import pytest

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.distractors.accepted_pair import attempt_missing, evaluate_distractors
from pipeline.llm.base import Request
from pipeline.types import DistractorEval, Draft, Message, Usage, sha256
from pipeline.types.distractor import Kind
from tests.distractors.pair import DRAFT, SHELF, SOUND, answer_as_reader
from tests.loop.cast import LINEAGE, Cast, call
from tests.loop.cast import run as run_seed
from tests.passages import Shelf, is_synthetic
from tests.scripted_llm import ScriptedLLM


def write_sound(request: Request) -> Message:
    """Write the sound text of the requested kind, in two variants."""
    kind = Kind((prompts.unfence(request.messages[-1].content) or {})["kind"])
    title, text, mark = SOUND[kind]
    passages = [{"title": f"{title}{n * '!'}", "text": text, "claim": "1598", "mark": mark} for n in range(2)]
    return Message(role="assistant", content=orjson.dumps({"passages": passages}).decode())


def answer_as_solver(request: Request) -> Message:
    """Search for the last hop, and answer 1598 at even samples if a passage says so."""
    result = next((message.content for message in request.messages if message.role == "tool"), None)
    if result is None:
        return call("search", query="When was Vessby settled")
    return call("answer", answer="1598" if "1598" in result and request.sample % 2 == 0 else "1641")


def make_cast(write: Callable[[Request], Message] = write_sound) -> ScriptedLLM:
    def play(request: Request) -> Message:
        if request.tools:
            return answer_as_solver(request)
        return write(request) if request.output and request.output.name == "write" else answer_as_reader(request)

    return ScriptedLLM(play)


def run(
    *sets: str, draft: Draft = DRAFT, model: ScriptedLLM | None = None, shelf: Shelf = SHELF
) -> DistractorEval | None:
    kinds = f"distractors.kinds={[kind.value for kind in Kind]}"
    settings = config.build(sets=["retrieval.k=3", kinds, *sets])
    context = RunContext(config=settings, llm=model or make_cast(), retriever=shelf, lineage=LINEAGE)
    return asyncio.run(evaluate_distractors(draft, context))


def evaluate_pair(*sets: str, draft: Draft = DRAFT, model: ScriptedLLM | None = None) -> DistractorEval:
    evaluation = run(*sets, draft=draft, model=model)
    assert evaluation is not None
    return evaluation


def test_a_distractor_is_shown_with_a_date_and_source_like_its_neighbours() -> None:
    about = {"date": "2020-08-14", "source": "Herald"}
    dated = run(shelf=Shelf(*(p.model_copy(update=about) for p in SHELF.passages.values())))
    plain = evaluate_pair()
    assert dated
    assert {d.passage.heading.removeprefix(d.title) for d in dated.used} == {" (2020-08-14, Herald)"}
    assert [d.model_dump() for d in dated.distractors] == [d.model_dump() | about for d in plain.distractors]
    results = [m.content for r in dated.with_distractors for m in r.trajectory.messages if m.role == "tool"]
    heads = [line for text in results for line in text.split("\n") if line.startswith("Doc ")]
    assert heads
    assert all(head.endswith(" (2020-08-14, Herald)") for head in heads)


def test_without_kinds_nothing_happens() -> None:
    model = make_cast()
    assert run("distractors.kinds=[]", model=model) is None
    assert model.requests == []


def test_the_same_fresh_samples_are_run_without_and_with_distractors() -> None:
    evaluation = evaluate_pair("distractors.rollouts=6", "loop.rollouts=4")
    assert [r.sample for r in evaluation.without_distractors] == [8, 9, 10, 11, 12, 13]
    assert [r.sample for r in evaluation.with_distractors] == [8, 9, 10, 11, 12, 13]
    assert [v.correct for v in evaluation.without_distractors_verdicts] == [True] * 6
    assert sum(v.correct for v in evaluation.with_distractors_verdicts) == 3
    assert not any(
        is_synthetic(i) for r in evaluation.without_distractors for c in r.trajectory.calls for i in c.passage_ids
    )
    ids = {d.id for d in evaluation.used}
    for rollout in evaluation.with_distractors:
        assert ids & {i for c in rollout.trajectory.calls for i in c.passage_ids}
        assert not any("synthetic" in message.content for message in rollout.trajectory.messages)
    calls = {role: Usage.total(usages).calls for role, usages in evaluation.usages.items()}
    assert calls["solver"] == 2 * 12
    assert calls["writer"] >= 1
    assert calls["reader"] == len(evaluation.used)


@pytest.mark.parametrize("limit", [1, 2, 4, 9])
def test_at_most_the_set_number_of_passages_is_used(limit: int) -> None:
    evaluation = evaluate_pair(f"distractors.passages={limit}")
    assert len(evaluation.used) == min(limit, 5) if limit != 4 else len(evaluation.used) in (3, 4)
    by_kind = Counter(d.kind for d in evaluation.used)
    assert by_kind[Kind.FRAGMENTED_PUZZLE] in (0, 2)


@pytest.mark.slow
def test_kinds_are_balanced_at_random() -> None:
    used: Counter[str] = Counter()
    for n in range(80):
        used += Counter(d.kind for d in evaluate_pair(draft=DRAFT.model_copy(update={"question": f"{n}?"})).used)
    assert all(count >= 0.15 * used.total() for count in used.values()), used
    assert set(used) == set(Kind)


def test_a_rejected_distractor_is_recorded_with_its_reason_and_another_is_written() -> None:
    def write_wrongly_first(request: Request) -> Message:
        message = write_sound(request)
        claim = "1598" if request.sample else "1641"
        return message.model_copy(update={"content": message.content.replace("1598", claim)})

    evaluation = evaluate_pair(model=make_cast(write_wrongly_first))
    assert evaluation.used
    assert {d.reason for d in evaluation.distractors if not d.used} == {"contradicts"}


def test_a_puzzle_with_a_failing_piece_is_not_used() -> None:
    def write_broken_puzzle(request: Request) -> Message:
        output = orjson.loads(write_sound(request).content)
        output["passages"][1]["text"] = "nothing"
        return Message(role="assistant", content=orjson.dumps(output).decode())

    evaluation = evaluate_pair(
        'distractors.kinds=["fragmented_puzzle"]', "distractors.tries=1", model=make_cast(write_broken_puzzle)
    )
    assert [d.reason for d in evaluation.distractors if d.target == len(DRAFT.hops) - 1] == ["whole", "marked"]
    assert evaluation.used == ()
    assert evaluation.without_distractors == ()


@pytest.mark.parametrize(("content", "tries"), [("hm", 2), ('{"passages": []}', 1)])
def test_a_writer_without_a_passage_is_counted(content: str, tries: int) -> None:
    """Ask again after an unreadable answer, and not after an answer that the kind does not fit."""
    evaluation = evaluate_pair(
        "distractors.tries=2", model=make_cast(lambda request: Message(role="assistant", content=content))
    )
    assert evaluation.distractors == ()
    earlier = {Kind.DOPPELGANGER: 2, Kind.SUBJECTIVE_FALLACY: 2, Kind.FALSE_SHORTCUT: 1}
    assert Counter(evaluation.unwritten) == Counter(dict.fromkeys(Kind, tries)) + Counter(earlier)
    assert not evaluation.without_distractors_verdicts


def test_the_last_hop_is_attacked_first_and_an_earlier_one_if_that_fails() -> None:
    assert {d.target for d in evaluate_pair().used} == {len(DRAFT.hops) - 1}

    def write_for_earlier_hop(request: Request) -> Message:
        question = (prompts.unfence(request.messages[-1].content) or {})["asked"]
        if question == DRAFT.hops[-1].sub_question:
            return Message(role="assistant", content='{"passages": []}')
        text = "Where did Ada Holm come from? In the 1902 edition, from Tarn Mill."
        passage = {"title": "Ada Holm (1902 edition)", "text": text, "claim": "Tarn Mill", "mark": "1902 edition"}
        return Message(role="assistant", content=orjson.dumps({"passages": [passage]}).decode())

    evaluation = evaluate_pair('distractors.kinds=["doppelganger"]', model=make_cast(write_for_earlier_hop))
    assert [d.target for d in evaluation.used] == [1]
    assert len(evaluation.unwritten) == 1
    assert not evaluate_pair(
        'distractors.kinds=["doppelganger"]', "distractors.hops=last", model=make_cast(write_for_earlier_hop)
    ).used


def test_distractors_depend_only_on_the_pair() -> None:
    assert evaluate_pair() == evaluate_pair()
    another = evaluate_pair(draft=DRAFT.model_copy(update={"question": sha256("another")}))
    assert {d.kind for d in another.used} != {
        d.kind for d in evaluate_pair().used
    } or another.used == evaluate_pair().used


EDITION = {
    "title": "Vessby (1902 edition)",
    "text": "When was Vessby settled? By this edition, in 1598.",
    "claim": "1598",
    "mark": "1902 edition",
}


class WritesDistractors(Cast):
    def __call__(self, request: Request) -> Message:
        if request.output and request.output.name == "write":
            return Message(role="assistant", content=orjson.dumps({"passages": [EDITION]}).decode())
        return super().__call__(request)


def test_distractors_change_nothing_of_an_accepted_pair() -> None:
    def play(sample: int) -> int:
        return [3, 3, 0, 4][sample % 4]

    plain = run_seed(WritesDistractors(lambda question, sample: play(sample)))
    cast = WritesDistractors(lambda question, sample: play(sample))
    cast.reads = lambda passages: "1641" if passages >= 3 else ""
    record = run_seed(cast, 'distractors.kinds=["doppelganger"]', "distractors.tries=2", "distractors.rollouts=3")
    evaluation = record.distractor_eval
    assert evaluation is not None
    written = evaluation.distractors
    assert len(written) == 1
    assert written[0].used, written[0].checks
    assert len(evaluation.without_distractors) == len(evaluation.with_distractors) == 3
    assert [taught.rollout.sample for taught in record.teacher_rollouts] == [0, 1, 2, 3]
    assert record.usage["teacher"].calls > 0
    assert record.model_copy(update={"distractor_eval": None, "teacher_rollouts": ()}) == plain
    assert record.usage["writer"].calls == 1
    unsolved = run_seed(
        WritesDistractors(lambda question, sample: 0), 'distractors.kinds=["doppelganger"]', "loop.rounds=0"
    )
    assert unsolved.distractor_eval is None


async def test_rollouts_cancelled_before_their_turn_are_never_started() -> None:
    async def attempt(sample: int) -> tuple[int]:
        return (sample,)

    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        task = asyncio.ensure_future(attempt_missing(list[tuple[int]](), range(3), attempt))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gc.collect()
    # The collector may report what other tests left open.
    assert [message for message in (str(warning.message) for warning in messages) if "never awaited" in message] == []


def test_the_writer_is_told_why_earlier_attempts_were_refused() -> None:
    def write_wrongly_first(request: Request) -> Message:
        output = orjson.loads(write_sound(request).content)
        refused = (prompts.unfence(request.messages[-1].content) or {})["refused"]
        if not refused:
            output["passages"][0]["text"] = "Of Vessby there is nothing to be told but that it was settled in 1641."
            output["passages"][0]["claim"] = "1641"
        return Message(role="assistant", content=orjson.dumps(output).decode())

    model = make_cast(write_wrongly_first)
    evaluation = evaluate_pair('distractors.kinds=["doppelganger"]', model=model)
    requests = [r for r in model.requests if r.output and r.output.name == "write"]
    first, second = (prompts.unfence(request.messages[-1].content) or {} for request in requests)
    assert first["refused"] == []
    assert second["refused"] == [
        {
            "title": SOUND[Kind.DOPPELGANGER][0],
            "text": "Of Vessby there is nothing to be told but that it was settled in 1641.",
            "claim": "1641",
            "why": f"{evaluation.distractors[0].reason}: {evaluation.distractors[0].checks[-1].detail}",
        }
    ]
    assert evaluation.distractors[0].checks[-1].detail
    assert [passage["title"] for passage in first["style"]] == ["Tarn Mill"]
    assert len(evaluation.used) == 1

"""Distractors for an accepted pair and the paired rollouts, over a shelf, with models that say what each test needs."""

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
from tests.distractors.test_checks import DRAFT, SHELF, SOUND, reader
from tests.loop.cast import LINEAGE, Cast, call
from tests.loop.cast import run as run_seed
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, synthetic


def writer(request: Request) -> Message:
    """The sound text of each kind; of the puzzle two."""
    kind = Kind((prompts.unfence(request.messages[-1].content) or {})["kind"])
    title, text, mark = SOUND[kind]
    passages = [{"title": f"{title}{n * '!'}", "text": text, "claim": "1598", "mark": mark} for n in range(2)]
    return Message(role="assistant", content=orjson.dumps({"passages": passages}).decode())


def solver(request: Request) -> Message:
    """Searches for the last hop, and believes the first passage that has a year; odd samples know better."""
    found = next((message.content for message in request.messages if message.role == "tool"), None)
    if found is None:
        return call("search", query="When was Vessby settled")
    return call("answer", answer="1598" if "1598" in found and request.sample % 2 == 0 else "1641")


def cast(write: Callable[[Request], Message] = writer) -> ScriptedLLM:
    def play(request: Request) -> Message:
        if request.tools:
            return solver(request)
        return write(request) if request.output and request.output.name == "write" else reader(request)

    return ScriptedLLM(play)


def run(
    *sets: str, draft: Draft = DRAFT, model: ScriptedLLM | None = None, shelf: Shelf = SHELF
) -> DistractorEval | None:
    kinds = f"distractors.kinds={[kind.value for kind in Kind]}"
    settings = config.build(sets=["retrieval.k=3", kinds, *sets])
    context = RunContext(config=settings, llm=model or cast(), retriever=shelf, lineage=LINEAGE)
    return asyncio.run(evaluate_distractors(draft, context))


def evaluated(*sets: str, draft: Draft = DRAFT, model: ScriptedLLM | None = None) -> DistractorEval:
    made = run(*sets, draft=draft, model=model)
    assert made is not None
    return made


def test_one_is_shown_with_a_date_and_a_source_as_the_passages_around_it_are() -> None:
    about = {"date": "2020-08-14", "source": "Herald"}
    made = run(shelf=Shelf(*(p.model_copy(update=about) for p in SHELF.passages.values())))
    plain = evaluated()
    assert made
    assert {d.passage.heading.removeprefix(d.title) for d in made.used} == {" (2020-08-14, Herald)"}
    assert [d.model_dump() for d in made.distractors] == [d.model_dump() | about for d in plain.distractors]
    shown = [m.content for r in made.with_distractors for m in r.trajectory.messages if m.role == "tool"]
    heads = [line for text in shown for line in text.split("\n") if line.startswith("Doc ")]
    assert heads
    assert all(head.endswith(" (2020-08-14, Herald)") for head in heads)


def test_without_kinds_nothing_is_done() -> None:
    model = cast()
    assert run("distractors.kinds=[]", model=model) is None
    assert model.requests == []


def test_the_same_fresh_samples_are_tried_without_and_with_the_overlay() -> None:
    made = evaluated("distractors.rollouts=6", "loop.rollouts=4")
    assert (
        [r.sample for r in made.without_distractors]
        == [r.sample for r in made.with_distractors]
        == [8, 9, 10, 11, 12, 13]
    )
    assert [v.correct for v in made.without_distractors_verdicts] == [True] * 6
    assert sum(v.correct for v in made.with_distractors_verdicts) == 3
    assert not any(synthetic(i) for r in made.without_distractors for c in r.trajectory.calls for i in c.passage_ids)
    ids = {d.id for d in made.used}
    for rollout in made.with_distractors:
        assert ids & {i for c in rollout.trajectory.calls for i in c.passage_ids}
        assert not any("synthetic" in message.content for message in rollout.trajectory.messages)
    calls = {role: Usage.total(usages).calls for role, usages in made.usages.items()}
    assert calls["solver"] == 2 * 12
    assert calls["writer"] >= 1
    assert calls["reader"] == len(made.used)


@pytest.mark.parametrize("most", [1, 2, 4, 9])
def test_no_more_are_used_than_there_is_room(most: int) -> None:
    made = evaluated(f"distractors.passages={most}")
    assert len(made.used) == min(most, 5) if most != 4 else len(made.used) in (3, 4)
    by_kind = Counter(d.kind for d in made.used)
    assert by_kind[Kind.FRAGMENTED_PUZZLE] in (0, 2)


def test_kinds_are_balanced_by_lot() -> None:
    used: Counter[str] = Counter()
    for n in range(80):
        used += Counter(d.kind for d in evaluated(draft=DRAFT.model_copy(update={"question": f"{n}?"})).used)
    assert all(count >= 0.15 * used.total() for count in used.values()), used
    assert set(used) == set(Kind)


def test_a_rejected_one_is_recorded_with_its_reason_and_another_is_tried() -> None:
    def fooled(request: Request) -> Message:
        message = writer(request)
        claim = "1598" if request.sample else "1641"
        return message.model_copy(update={"content": message.content.replace("1598", claim)})

    made = evaluated(model=cast(fooled))
    assert made.used
    assert {d.reason for d in made.distractors if not d.used} == {"contradicts"}


def test_a_puzzle_of_which_one_piece_fails_is_not_used() -> None:
    def torn(request: Request) -> Message:
        output = orjson.loads(writer(request).content)
        output["passages"][1]["text"] = "nothing"
        return Message(role="assistant", content=orjson.dumps(output).decode())

    made = evaluated('distractors.kinds=["fragmented_puzzle"]', "distractors.tries=1", model=cast(torn))
    assert [d.reason for d in made.distractors if d.target == len(DRAFT.hops) - 1] == ["whole", "marked"]
    assert made.used == ()
    assert made.without_distractors == ()


@pytest.mark.parametrize(("content", "tries"), [("hm", 2), ('{"passages": []}', 1)])
def test_a_writer_that_gives_nothing_is_counted(content: str, tries: int) -> None:
    """What cannot be read is asked for again; a kind that the writer holds not to fit is not."""
    made = evaluated("distractors.tries=2", model=cast(lambda request: Message(role="assistant", content=content)))
    assert made.distractors == ()
    earlier = {Kind.DOPPELGANGER: 2, Kind.SUBJECTIVE_FALLACY: 2, Kind.FALSE_SHORTCUT: 1}
    assert Counter(made.unwritten) == Counter(dict.fromkeys(Kind, tries)) + Counter(earlier)
    assert not made.without_distractors_verdicts


def test_the_last_hop_is_lied_about_first_and_an_earlier_one_where_it_cannot_be() -> None:
    assert {d.target for d in evaluated().used} == {len(DRAFT.hops) - 1}

    def unfit(request: Request) -> Message:
        """Nothing can be written of Vessby's year."""
        asked = (prompts.unfence(request.messages[-1].content) or {})["asked"]
        if asked == DRAFT.hops[-1].sub_question:
            return Message(role="assistant", content='{"passages": []}')
        text = "Where did Ada Holm come from? In the 1902 edition, from Tarn Mill."
        passage = {"title": "Ada Holm (1902 edition)", "text": text, "claim": "Tarn Mill", "mark": "1902 edition"}
        return Message(role="assistant", content=orjson.dumps({"passages": [passage]}).decode())

    made = evaluated('distractors.kinds=["doppelganger"]', model=cast(unfit))
    assert [d.target for d in made.used] == [1]
    assert len(made.unwritten) == 1
    assert not evaluated('distractors.kinds=["doppelganger"]', "distractors.hops=last", model=cast(unfit)).used


def test_it_is_a_pure_function_of_the_pair() -> None:
    assert evaluated() == evaluated()
    other = evaluated(draft=DRAFT.model_copy(update={"question": sha256("another")}))
    assert {d.kind for d in other.used} != {d.kind for d in evaluated().used} or other.used == evaluated().used


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


def test_distractors_change_nothing_that_an_accepted_pair_rests_on() -> None:
    def play(sample: int) -> int:
        return [3, 3, 0, 4][sample % 4]

    alone = run_seed(WritesDistractors(lambda question, sample: play(sample)))
    cast = WritesDistractors(lambda question, sample: play(sample))
    cast.reads = lambda passages: "1641" if passages >= 3 else ""
    evaluated = run_seed(cast, 'distractors.kinds=["doppelganger"]', "distractors.tries=2", "distractors.rollouts=3")
    assert evaluated.distractor_eval is not None
    written = evaluated.distractor_eval.distractors
    assert len(written) == 1
    assert written[0].used, written[0].checks
    assert len(evaluated.distractor_eval.without_distractors) == len(evaluated.distractor_eval.with_distractors) == 3
    assert [made.rollout.sample for made in evaluated.teacher_rollouts] == [0, 1, 2, 3]
    assert evaluated.usage["teacher"].calls > 0
    assert evaluated.model_copy(update={"distractor_eval": None, "teacher_rollouts": ()}) == alone
    assert evaluated.usage["writer"].calls == 1
    unsolved = run_seed(
        WritesDistractors(lambda question, sample: 0), 'distractors.kinds=["doppelganger"]', "loop.rounds=0"
    )
    assert unsolved.distractor_eval is None


async def test_rollouts_that_are_cancelled_before_their_turn_were_never_begun() -> None:
    async def attempt(sample: int) -> tuple[int]:
        return (sample,)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = asyncio.ensure_future(attempt_missing(list[tuple[int]](), range(3), attempt))
        await asyncio.sleep(0)
        made.cancel()
        with pytest.raises(asyncio.CancelledError):
            await made
        gc.collect()
    assert [str(one.message) for one in told] == []


def test_the_writer_is_told_why_the_tries_before_were_refused() -> None:
    def slow(request: Request) -> Message:
        output = orjson.loads(writer(request).content)
        refused = (prompts.unfence(request.messages[-1].content) or {})["refused"]
        if not refused:
            output["passages"][0]["text"] = "Of Vessby there is nothing to be told but that it was settled in 1641."
            output["passages"][0]["claim"] = "1641"
        return Message(role="assistant", content=orjson.dumps(output).decode())

    model = cast(slow)
    made = evaluated('distractors.kinds=["doppelganger"]', model=model)
    asked = [r for r in model.requests if r.output and r.output.name == "write"]
    first, second = (prompts.unfence(request.messages[-1].content) or {} for request in asked)
    assert first["refused"] == []
    assert second["refused"] == [
        {
            "title": SOUND[Kind.DOPPELGANGER][0],
            "text": "Of Vessby there is nothing to be told but that it was settled in 1641.",
            "claim": "1641",
            "why": f"{made.distractors[0].reason}: {made.distractors[0].checks[-1].detail}",
        }
    ]
    assert made.distractors[0].checks[-1].detail
    assert [passage["title"] for passage in first["style"]] == ["Tarn Mill"]
    assert len(made.used) == 1

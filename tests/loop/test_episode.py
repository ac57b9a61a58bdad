"""The loop, run for real over a shelf of passages, with models that say what each test needs."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.types import Cause, Label, Lineage, Message, Record, Seed, Status, ToolCall
from tests.graphs import chain, step
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

FILM = passage("film", "Lantern Bay", "It is a silent drama. It was directed by Ada Holm.")
HOLM = passage("holm", "Ada Holm", "Ada Holm was a painter. Ada Holm came from Vessby.")
TOWN = passage("town", "Vessby", "Vessby lies on the Tarn. Vessby was founded by monks around 1641.")
SHELF = Shelf(FILM, HOLM, TOWN)
QUESTION = "When was the home town of the person who directed Lantern Bay settled?"
PATHS = {  # what a solver searches, one query a step
    -1: ["Lantern Bay"],
    1: ["founded monks"],
    2: ["Lantern Bay", "founded monks"],
    3: ["Lantern Bay", "Ada Holm painter", "Vessby lies"],
    4: ["Lantern Bay", "silent drama", "Ada Holm painter", "Vessby lies"],
    5: ["Lantern Bay", "silent drama", "directed", "founded monks"],  # many, and none for the second hop
}
LINEAGE = Lineage(
    run="r",
    preset="default",
    strategy="sage",
    model="scripted",
    demo_solver=None,
    corpus="shelf",
    corpus_fingerprint="0" * 64,
    licence="CC0-1.0",
    attribution="",
    retriever="shelf",
)


def proposal(question: str = QUESTION, **update: Any) -> dict[str, Any]:
    steps = chain(
        step(FILM, "Ada Holm", "Who directed Lantern Bay?"),
        step(HOLM, "Vessby", "Where did {film} grow up?"),
        step(TOWN, "1641", "When was {holm} settled?"),
    )
    return {"question": question, "steps": steps} | update


def call(name: str, **arguments: Any) -> Message:
    return Message(
        role="assistant", tool_calls=(ToolCall(id="x", name=name, arguments=orjson.dumps(arguments).decode()),)
    )


class Cast:
    """Plays all roles. `paths(question, sample)`: the solver's number of steps, or 0 or less for a wrong answer."""

    def __init__(self, paths: Callable[[str, int], int], revisions: list[dict[str, Any]] = []) -> None:  # noqa: B006
        self.paths, self.revisions, self.feedback = paths, list(revisions), list[dict[str, Any]]()
        self.first = proposal()
        self.reads: Callable[[int], str] = lambda passages: "1641" if passages == 3 else ""
        self.fits = False

    def __call__(self, request: Request) -> Message:
        turns = [m for m in request.messages if m.role == "assistant"]
        role = request.output.name if request.output else request.tools[-1].name
        if role == "verdict":
            return Message(role="assistant", content='{"correct": false}')
        if role in ("steps", "choose"):
            said = {"faults": []} if role == "steps" else {"grades": [5, 5], "best": 1}
            return Message(role="assistant", content=orjson.dumps(said).decode())
        if role in ("read", "weigh"):
            inputs = prompts.unfence(request.messages[1].content) or {}
            said = {"fits": self.fits} if role == "weigh" else {"answer": self.reads(len(inputs.get("passages", ())))}
            return Message(role="assistant", content=orjson.dumps(said).decode())
        if role == "answer":
            return self.solve(request.messages[1].content, request.sample, len(turns))
        searches = [call("search", query=q) for q in ("Ada Holm painter", "Vessby Tarn")]
        if len(turns) < len(searches) and role == "propose":
            return searches[len(turns)]
        if role == "propose":
            return call("propose", **self.first)
        self.feedback.append((prompts.unfence(request.messages[1].content) or {})["drafts"][-1]["feedback"])
        return call("revise", **self.revisions.pop(0))

    def solve(self, question: str, sample: int, turn: int) -> Message:
        queries = PATHS[self.paths(question, sample) or 3]
        if turn < len(queries):
            return call("search", query=queries[turn])
        return call("answer", answer="1641" if self.paths(question, sample) > 0 else "in 1999")


def seeded(target: int = 3) -> Seed:
    return Seed(key="ab" * 32, passage=FILM, draw=0, side="train", target_steps=target)


def run(cast: Cast, *sets: str, target: int = 3, preset: str = "default") -> Record:
    settings = config.build(
        values={"preset": preset, "strategy": "sage"}, sets=["retrieval.k=1", "difficulty.adversarial=false", *sets]
    )
    context = RunContext(config=settings, llm=ScriptedLLM(cast), retriever=SHELF, lineage=LINEAGE)
    return asyncio.run(run_seed(seeded(target), context))


def test_a_draft_at_its_target_is_accepted_on_fresh_rollouts() -> None:
    record = run(Cast(lambda question, sample: [0, 3, 4, 3, 3, 0, 4, 0][sample]))
    assert (record.status, record.reason) == (Status.ACCEPTED, "")
    assert [rollout.sample for rollout in record.rounds[0].rollouts] == [0, 1]
    assert [rollout.sample for rollout in record.confirmation] == [4, 5, 6, 7]
    assert (record.difficulty, record.solve_rate) == (3, 0.5)
    assert record.usage["generator"].calls == 3
    tried = (*record.rounds[0].rollouts, *record.confirmation)
    assert record.usage["solver"].calls == sum(len(r.trajectory.calls) + 1 for r in tried)


def test_rollouts_stop_as_soon_as_the_verdict_cannot_change() -> None:
    record = run(Cast(lambda question, sample: [0, 2, 3, 3][sample % 4]), "loop.rounds=0")
    assert (record.status, record.reason) == (Status.REJECTED, Cause.SUPERFICIAL)
    assert len(record.rounds[0].rollouts) == 2
    assert record.confirmation == ()


def test_a_longer_screen_finds_what_is_seldom_solved() -> None:
    late = Cast(lambda question, sample: [0, 0, 3, 0][sample % 4])
    assert run(late, "loop.rounds=0").status is Status.REJECTED
    record = run(late, "loop.rounds=0", "loop.screen=4")
    assert record.status is Status.ACCEPTED
    assert len(record.rounds[0].rollouts) == 3


def test_a_fatal_finding_goes_back_without_a_rollout() -> None:
    cast = Cast(lambda question, sample: 3, revisions=[proposal()])
    cast.first = proposal(question=f"{QUESTION[:-1]}, in 1641?")
    record = run(cast)
    assert record.rounds[0].rollouts == ()
    assert cast.feedback[0]["cause"] == Cause.GENERATOR_ERROR
    assert record.status is Status.ACCEPTED
    assert len(record.rounds) == 2


CHECKS = 'checks.enabled=["closed_book", "oracle", "alternatives"]'


def test_what_readers_were_asked_is_kept_and_paid_for() -> None:
    record = run(Cast(lambda question, sample: 3), CHECKS)
    assert record.status is Status.ACCEPTED
    checks = [probe.check for probe in record.rounds[0].probes]
    assert checks == ["closed_book", "oracle"]
    assert record.usage["reader"].calls == 4
    assert [(known.tries, known.right) for known in record.known_to] == [(3, 0)]


def test_what_a_reader_cannot_answer_with_the_evidence_goes_back_without_a_rollout() -> None:
    cast = Cast(lambda question, sample: 3)
    cast.reads = lambda passages: "nobody knows"
    record = run(cast, CHECKS, "loop.rounds=0")
    assert (record.status, record.reason) == (Status.REJECTED, Cause.GENERATOR_ERROR)
    assert record.rounds[0].rollouts == ()


@pytest.mark.parametrize(("fits", "reason"), [(True, Cause.AMBIGUOUS), (False, "beyond_solver")])
def test_a_wrong_answer_that_all_agree_on_makes_it_ambiguous_or_beyond_the_solver(fits: bool, reason: str) -> None:
    cast = Cast(lambda question, sample: 0)
    cast.fits = fits
    record = run(cast, CHECKS, "loop.rounds=0")
    assert (record.status, record.reason) == (Status.REJECTED, reason)
    assert record.rounds[0].probes[-1].answers == ("in 1999",)


@pytest.mark.parametrize("fits", [True, False])
def test_a_rival_that_only_the_confirmation_shows_counts_too(fits: bool) -> None:
    cast = Cast(lambda question, sample: [3, 3, 3, 3, 3, 0, 3, 0][sample])
    cast.fits = fits
    record = run(cast, CHECKS)
    assert record.status is (Status.REJECTED if fits else Status.ACCEPTED)
    assert record.reason == (Cause.AMBIGUOUS if fits else "")
    assert (record.rounds[-1].probes[-1].check, record.solve_rate) == ("alternatives", 0.5)


def test_without_the_readers_nothing_is_beyond_the_solver() -> None:
    assert run(Cast(lambda question, sample: 0), "loop.rounds=0", "checks.enabled=[]").reason == Cause.AMBIGUOUS


def test_too_easy_is_revised_until_it_is_not() -> None:
    harder = [proposal(f"{QUESTION[:-1]}, roughly?"), proposal(f"{QUESTION[:-1]}, in years?")]
    steps = {QUESTION: 2, harder[0]["question"]: 1, harder[1]["question"]: 3}
    cast = Cast(lambda question, sample: steps[question], revisions=harder)
    record = run(cast)
    assert record.status is Status.ACCEPTED
    assert [r.feedback.label if r.feedback else None for r in record.rounds] == [Label.TOO_EASY, Label.TOO_EASY, None]
    assert record.rounds[-1].draft == record.draft
    assert record.draft is not None
    assert record.draft.question == harder[1]["question"]


def test_revisions_are_bounded() -> None:
    cast = Cast(lambda question, sample: 0, revisions=[proposal(f"{QUESTION[:-1]} {n}?") for n in range(9)])
    record = run(cast, "loop.rounds=2", "checks.enabled=[]")
    assert len(record.rounds) == 3
    assert (record.status, record.reason) == (Status.REJECTED, Cause.AMBIGUOUS)


def test_an_unchanged_revision_goes_back_to_the_refiner() -> None:
    cast = Cast(
        lambda question, sample: 2 if question == QUESTION else 3,
        revisions=[proposal(), proposal("Oh, when " + QUESTION[5:])],
    )
    record = run(cast)
    assert record.rounds[1].agent.format_errors == 1
    assert record.status is Status.ACCEPTED


@pytest.mark.parametrize(
    ("fresh", "reason", "difficulty"), [([3, 3, 2, 0], "below_target", 2), ([0, 0, 0, 0], "unconfirmed", None)]
)
def test_what_fresh_rollouts_do_not_confirm_is_rejected_and_kept(
    fresh: list[int], reason: str, difficulty: int | None
) -> None:
    record = run(Cast(lambda question, sample: ([3] * 4 + fresh)[sample]))
    assert (record.status, record.reason, record.difficulty) == (Status.REJECTED, reason, difficulty)
    assert len(record.confirmation) == 4


def test_a_hop_that_a_fresh_rollout_skips_is_kept() -> None:
    record = run(Cast(lambda question, sample: 5 if sample == 6 else 3))
    assert (record.status, record.skippable_hops) == (Status.ACCEPTED, (1,))
    assert run(Cast(lambda question, sample: 3)).skippable_hops == ()


def test_a_generator_with_nothing_to_ask_ends_the_seed() -> None:
    cast = Cast(lambda question, sample: 3)
    cast.first = proposal(question="", steps=[])
    record = run(cast)
    assert (record.status, record.reason, record.draft) == (Status.REJECTED, "no_draft", None)


def test_the_papers_loop_has_no_audit_stop_or_confirmation() -> None:
    easy = Cast(lambda question, sample: 2, revisions=[proposal(f"{QUESTION[:-1]} {n}?") for n in range(9)])
    easy.first = proposal(question=f"{QUESTION[:-1]}, in 1641?")
    record = run(easy, preset="sage")
    assert all(len(r.rollouts) == 4 and not r.findings for r in record.rounds)
    assert (record.status, record.reason) == (Status.ACCEPTED, "relaxed")
    assert run(Cast(lambda question, sample: 3), preset="sage").reason == ""


def test_a_slow_model_fails_the_seed_after_a_second_try() -> None:
    class Slow:
        calls = 0

        async def complete(self, request: Request) -> Any:
            self.calls += 1
            await asyncio.sleep(5)

    slow = Slow()
    settings = config.build(sets=["strategy='sage'", "difficulty.adversarial=false", "runtime.rollout_seconds=0.01"])
    context = RunContext(config=settings, llm=slow, retriever=SHELF, lineage=LINEAGE)
    record = asyncio.run(run_seed(seeded(), context))
    assert (record.status, record.reason, slow.calls) == (Status.FAILED, "deadline", 2)


@pytest.mark.parametrize(("path", "judged"), [(0, 2), (-1, 0)])
def test_no_judge_is_paid_for_an_answer_without_support(path: int, judged: int) -> None:
    record = run(Cast(lambda question, sample: path), "loop.rounds=0")
    assert record.usage["judge"].calls == judged == len([v for v in record.rounds[0].verdicts if v.method == "judge"])
    assert record.status is Status.REJECTED


def test_a_judge_that_cannot_be_read_gives_no_verdict() -> None:
    cast = Cast(lambda question, sample: 0)

    def model(request: Request) -> Message:
        return Message(role="assistant", content="hm") if request.output else cast(request)

    context = RunContext(
        config=config.build(sets=["strategy='sage'", "difficulty.adversarial=false", "retrieval.k=1"]),
        llm=ScriptedLLM(model),
        retriever=SHELF,
        lineage=LINEAGE,
    )
    record = asyncio.run(run_seed(seeded(), context))
    assert (record.status, record.reason) == (Status.FAILED, "no_verdict")

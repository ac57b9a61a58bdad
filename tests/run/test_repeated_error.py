"""A run whose seeds all end by one format error stops early with a cure, loses no seed, and resumes once cured."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import FormatError, ProviderError
from pipeline.llm import ledger
from pipeline.run import Run
from pipeline.run.attempts import format_error
from pipeline.run.plan import Order
from pipeline.run.repeated_error import CURES, SameError
from pipeline.types import Message, Record, Round, Seed, Status, Stop, Trajectory
from tests.chaos.faulty_server import FaultyServer
from tests.run.fakes import RunCallbacks, config, corpus, record
from tests.run.test_batches import config as over_http
from tests.run.test_batches import read_lines, respond_in_thread, run_batches

CHAT = Message(role="user", content="Your last message called no tool. Call one of: search, propose.")
NESTED = Message(role="tool", content='Error: hops: Input should be a valid tuple; propose needs {"hops": []}')
GONE = Message(role="tool", content="Error: No search has returned a passage 'p1234'.")
GOOD = Message(role="tool", content="Doc 1 [p1] Error: a film\nError: it was a film.")


def make_undrafted_record(seed: Seed, *messages: Message, reason: str = "no_draft:format_errors") -> Record:
    agent = Trajectory(messages=messages, calls=(), stop=Stop.FORMAT_ERRORS)
    rounds = (Round(index=0, agent=agent, draft=None),)
    return record(seed).model_copy(update={"status": Status.REJECTED, "reason": reason, "rounds": rounds})


def make_failing_run_seed(
    says: Callable[[int], tuple[Message, ...]],
) -> tuple[list[Seed], Callable[[Seed], Awaitable[Record]]]:
    """Make a `run_seed` whose n-th seed ends without a draft after these messages, or well without messages."""
    tried: list[Seed] = []

    async def run_seed(seed: Seed) -> Record:
        tried.append(seed)
        messages = says(len(tried))
        await asyncio.sleep(0.001 * len(tried))
        return make_undrafted_record(seed, *messages) if messages else record(seed)

    return tried, run_seed


@pytest.mark.parametrize(
    ("messages", "reason", "error"),
    [
        ((CHAT, CHAT, NESTED), "no_draft:format_errors", CHAT.content),
        ((NESTED, GOOD, NESTED, GONE), "no_draft:limits", "hops: Input should be a valid tuple"),
        ((GONE,), "no_draft:limits", "No search has returned a passage '…'."),
        ((GONE,), "no_draft", ""),
        ((GOOD,), "no_draft", ""),
        ((NESTED,), "superficial", ""),
        ((NESTED,), "deadline", ""),
    ],
)
def test_the_commonest_format_error_of_a_seed_without_a_draft(
    messages: tuple[Message, ...], reason: str, error: str
) -> None:
    seed = Order(config(Path(), seeds=1), corpus())[0].seed
    assert format_error(make_undrafted_record(seed, *messages, reason=reason)) == error


async def test_eight_seeds_with_one_error_stop_the_run_and_stay_owed(tmp_path: Path) -> None:
    tried, broken = make_failing_run_seed(lambda number: (NESTED, GOOD, NESTED))
    with Run(config(tmp_path, seeds=40, concurrency=64), corpus()) as run:
        watch = RunCallbacks()
        with pytest.raises(ProviderError) as caught:
            await run.execute(broken, watch)
        assert len(tried) == 8, "no more are at work until one has ended well"
        assert not run.journal.entries
        assert len(watch.attempts) == 8, "what they took is noted"
    line = str(caught.value)
    assert "hops: Input should be a valid tuple" in line
    assert "--tool-call-parser" in line
    assert "runtime.same_error_seeds=0" in line
    assert "\n" not in line
    with Run(config(tmp_path, seeds=40), corpus()) as run:
        again, well = make_failing_run_seed(lambda number: ())
        assert (await run.execute(well, RunCallbacks())).planned == 40
    assert {seed.key for seed in tried} < {seed.key for seed in again}


async def test_seven_errors_or_a_good_seed_among_eight_do_not_stop_the_run(tmp_path: Path) -> None:
    for name, says in (
        ("seven", lambda number: (CHAT,) if number <= 7 else ()),
        ("between", lambda number: () if number % 8 == 0 else (CHAT,)),
        ("other errors", lambda number: (CHAT,) if number % 2 else (GONE,) if number < 14 else ()),
    ):
        tried, mixed = make_failing_run_seed(says)
        with Run(config(tmp_path / name, seeds=24, concurrency=1), corpus()) as run:
            result = await run.execute(mixed, RunCallbacks())
            assert (result.planned, len(tried)) == (24, 24), name
            assert result.reasons["no_draft:format_errors"] == sum(bool(says(n)) for n in range(1, 25))


async def test_errors_of_many_kinds_do_not_stop_the_run(tmp_path: Path) -> None:
    kinds = [Message(role="tool", content=f"Error: The {word}.") for word in "quote hop answer id name form".split()]
    tried, mixed = make_failing_run_seed(lambda number: (kinds[number % 6],))
    with Run(config(tmp_path, seeds=40, concurrency=4), corpus()) as run:
        assert (await run.execute(mixed, RunCallbacks())).reasons == {"no_draft:format_errors": 40}
    assert len(tried) == 40


async def test_the_stop_can_be_turned_off_and_a_short_run_ends_by_itself(tmp_path: Path) -> None:
    for name, how in (("on", {"seeds": 20, "same_error_seeds": 0}), ("short", {"seeds": 5})):
        _, broken = make_failing_run_seed(lambda number: (CHAT,))
        with Run(config(tmp_path / name, **how), corpus()) as run:
            result = await run.execute(broken, RunCallbacks())
            assert result.reasons == {"no_draft:format_errors": how["seeds"]}


async def test_an_unreadable_judge_stops_the_run_too(tmp_path: Path) -> None:
    async def unread(seed: Seed) -> Record:
        ledger.note_end_cause(str(FormatError("'big' gave no readable 'verdict' in 3 tries")))
        return record(seed).model_copy(update={"status": Status.FAILED, "reason": "no_verdict"})

    with Run(config(tmp_path, seeds=40), corpus()) as run:
        with pytest.raises(ProviderError, match="'big' gave no readable 'verdict'.* or name another model"):
            await run.execute(unread, RunCallbacks())
        assert not run.journal.entries


def make_refused_run_seed(words: Callable[[int], str]) -> tuple[list[Seed], Callable[[Seed], Awaitable[Record]]]:
    """Make a `run_seed` whose n-th seed is refused with these words of the server, or ends well without words."""
    tried: list[Seed] = []

    async def run_seed(seed: Seed) -> Record:
        tried.append(seed)
        ledger.note_request(b"answered before")
        if not (line := words(len(tried))):
            return record(seed)
        ledger.note_end_cause(line)
        return record(seed).model_copy(update={"status": Status.FAILED, "reason": "refused"})

    return tried, run_seed


async def test_eight_refused_seeds_stop_the_run_with_the_server_s_message(tmp_path: Path) -> None:
    """The words may differ, since servers name the request in them."""
    tried, run_seed = make_refused_run_seed(
        lambda number: f"http://there/v1 refused a request (400: request {number:x}f is bad)"
    )
    with Run(config(tmp_path, seeds=40, concurrency=64), corpus()) as run:
        watch = RunCallbacks()
        with pytest.raises(ProviderError) as caught:
            await run.execute(run_seed, watch)
        assert (len(tried), len(run.journal.entries)) == (8, 0)
    line = str(caught.value)
    assert "the server refused requests of 8 seeds in a row" in line
    assert "http://there/v1 refused a request (400: request 1f is bad)" in line
    assert "\n" not in line
    assert [attempt.asked for attempt in watch.attempts] == [()] * 8, "what was answered before stays in the cache"
    with Run(config(tmp_path, seeds=40), corpus()) as run:
        _, well = make_refused_run_seed(lambda number: "")
        assert (await run.execute(well, RunCallbacks())).planned == 40


async def test_refused_seeds_among_good_ones_are_journalled_as_failed(tmp_path: Path) -> None:
    _, run_seed = make_refused_run_seed(lambda number: "" if number % 8 == 0 else "not this one")
    with Run(config(tmp_path, seeds=24, concurrency=1), corpus()) as run:
        result = await run.execute(run_seed, RunCallbacks())
    assert (result.planned, result.failed, result.reasons["refused"]) == (24, 21, 21)


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        ("blocked by the Content Management Policy", "relax the server's content filter"),
        ("reasoning_content is missing in the message at index 3", "models.default.reasoning=keep"),
        ("Function call is missing a thought_signature in functionCall parts", "a gateway has dropped it"),
        ("a thought_signature of the reasoning is missing", "models.default.tools to schema or text"),
        ("Function calling is not enabled for this model", "models.default.tools"),
        ("something that nobody knows", "look into the server's log"),
    ],
)
def test_a_refusal_comes_with_its_cure(words: str, cure: str) -> None:
    same = SameError[int](1)
    same.add(words, 1, refused=True)
    assert cure in str(same.stop())


@pytest.mark.parametrize("words", CURES)
def test_every_error_leads_to_its_cure(words: str) -> None:
    same = SameError[int](1)
    same.add(f"so and so {words}.", 1)
    assert CURES[words] in str(same.stop())


@pytest.mark.slow
@pytest.mark.parametrize("workers", [True, False])
async def test_a_cured_run_keeps_no_trace_of_the_error(tmp_path: Path, workers: bool) -> None:
    chats = {"message": {"content": "I would search for it."}, "finish_reason": "stop"}
    ill = [True]

    def says(number: int, body: dict[str, Any]) -> dict[str, Any] | None:
        return {"choices": [chats], "usage": {"prompt_tokens": 9, "completion_tokens": 9}} if ill[0] else None

    async with FaultyServer(script=says) as server:
        submit = respond_in_thread if workers else None
        with pytest.raises(ProviderError, match="called no tool"):
            await run_batches(over_http(tmp_path, server.url), submit)
        assert len(server.asked) == 1 + 8 * 3  # the probe before the run is one request
        ill[0] = False
        mended = read_lines(await run_batches(over_http(tmp_path, server.url), submit))
        fresh = read_lines(await run_batches(over_http(tmp_path / "fresh", server.url), None))
    assert mended == fresh
    assert len(fresh) == 12

"""The shortcut seeker: it wins with less than the target, and what it recalls or cannot show wins nothing."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline import prompts
from pipeline.analysis import seed_rows as seeds
from pipeline.analysis.figures import by_role
from pipeline.llm.base import Completion, Request
from pipeline.llm.cached import Cached
from pipeline.llm.ledger import Counted, counting
from pipeline.loop.assess import feedback_from_audit
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.draft_check import check_draft
from pipeline.loop.episode import run_seed
from pipeline.loop.examine import readings
from pipeline.store.cache import Cache
from pipeline.types import Cause, Message, Record, Status, seeker
from pipeline.types.model_probe import PriorKnowledge, known_to
from tests.loop import test_draft_check as checking
from tests.loop.checks.test_readings import DRAFT, context
from tests.loop.test_episode import call, seeded
from tests.scripted import ScriptedLLM

Script = Mapping[str, Sequence[str]]
"""What a try searches for, in turn, by the way that it begins in; an answer follows. A plus joins those of one turn."""
LONG_WAY = ["Lantern Bay", "Ada Holm painter"]
LOST: Script = {"end": ["harbour"], "clues": ["silent drama", "silent drama"], "guess": LONG_WAY}
SKIPS: Script = {**LOST, "clues": ["Lantern Bay", "founded by monks"]}


class Seeking(checking.Checking):
    """Checks the draft once, which every solver solves in three steps."""

    times = 1

    def __init__(self, script: Script, answer: str = "1641") -> None:
        super().__init__(lambda question, sample: 3)
        self.script, self.answer, self.sent = script, answer, list[Request]()

    def __call__(self, request: object) -> Message:
        assert isinstance(request, Request)
        inputs = prompts.unfence(request.messages[1].content) if request.tools else None
        if inputs is None or "way" not in inputs:
            return super().__call__(request)
        self.sent.append(request)
        turn = sum(message.role == "assistant" for message in request.messages)
        queries = self.script[inputs["way"]]
        if turn < len(queries) and request.tool_choice == "auto":
            sent = [call("search", query=query).tool_calls for query in queries[turn].split(" + ")]
            return Message(role="assistant", tool_calls=tuple(one for calls in sent for one in calls))
        return call("answer", answer=self.answer)

    @property
    def told(self) -> list[tuple[int, str]]:
        """The searches that each try had, and its way."""
        first = [request for request in self.sent if len(request.messages) == 2]
        inputs = [prompts.unfence(request.messages[1].content) or {} for request in first]
        return [(given["searches"], given["way"]) for given in inputs]


async def seek(cast: Seeking, target: int = 3, **values: object) -> CheckResult:
    values = {"retrieval": {"k": 1}, **values}
    return await readings(DRAFT, target, (), context(ScriptedLLM(cast), ("seeker",), **values))


async def test_it_wins_by_the_passage_of_the_end_and_whoever_writes_is_told_by_which_search() -> None:
    cast = Seeking({"end": ["Tarn monks"]})
    answer = await seek(cast)
    (finding,) = answer.findings
    assert (finding.check, finding.cause, finding.fatal, finding.hops) == ("seeker", Cause.SUPERFICIAL, True, (0, 1))
    assert [(p.right, p.evidence, p.hops, len(p.searches)) for p in answer.probes] == [(1, True, (), 1)]
    assert cast.told == [(2, "end")], "the first win ends it"
    assert seeker(answer.probes) == {"seeker_tries": 1, "seeker_solved": 1, "seeker_steps": 1}
    message = feedback_from_audit(DRAFT, answer.findings).message
    assert "in 1 of 3 steps: it searched 'Tarn monks'; it never found the passages that give 'Ada Holm'" in message
    assert message.endswith("only the hops say which is meant. The hops that give 'Ada Holm' and 'Vessby' may stay.")


async def test_who_finds_all_in_fewer_searches_has_found_several_at_once() -> None:
    (finding,) = (await seek(Seeking({"end": ["Lantern Tarn painter"]}), retrieval={"k": 3})).findings
    assert (finding.cause, finding.hops) == (Cause.OVER_SPECIFIED, (2,))
    assert "the first search, 'Lantern Tarn painter', already found the last passage" in finding.detail


async def test_it_loses_without_the_evidence_and_pays_for_no_answer_that_could_not_win() -> None:
    cast = Seeking(LOST)
    answer = await seek(cast)
    assert answer.findings == ()
    assert cast.told == [(2, "end"), (2, "clues"), (2, "guess")]
    # One that answers before its searches are used up has said so itself; of the others nobody asks the last turn.
    assert [(p.answers, p.right, len(p.searches), p.usage.calls) for p in answer.probes] == [
        (("1641",), 1, 1, 2),
        (("",), 0, 1, 2),
        (("",), 0, 2, 2),
    ]
    assert not any(p.evidence for p in answer.probes)
    assert seeker(answer.probes) == {"seeker_tries": 3, "seeker_solved": 0, "seeker_steps": None}
    assert known_to(answer.probes) == (), "a name that a passage had shown is not recalled"
    samples = [request.sample for request in cast.sent]
    assert samples == sorted(samples)
    assert min(samples) > 1000 + 64, "no solver and no policy has these samples"


async def test_a_wrong_answer_with_the_evidence_before_it_wins_nothing() -> None:
    answer = await seek(Seeking(dict.fromkeys(LOST, ("Tarn monks",)), answer="in 1999"))
    assert answer.findings == ()
    assert [(p.right, p.evidence) for p in answer.probes] == [(0, True)] * 3


async def test_what_it_recalls_is_counted_apart_and_is_no_shortcut() -> None:
    cast = Seeking({**LOST, "end": ["Vessby Tarn"]})
    answer = await seek(cast)
    assert answer.findings == ()
    recalled = answer.probes[0]
    assert (recalled.right, recalled.evidence, recalled.hops) == (1, True, (1,))
    assert len(cast.told) == 3, "it does not end the tries"
    assert known_to(answer.probes) == (PriorKnowledge(model="embedded", tries=0, right=0, bridges=1),)
    assert seeker(answer.probes)["seeker_solved"] == 0
    together = Seeking(
        {**LOST, "end": ["Ada Holm painter + Vessby Tarn"], "clues": ["Ada Holm painter", "Vessby Tarn"]}
    )
    made = (await seek(together)).probes
    assert [probe.hops for probe in made[:2]] == [(0, 1), (0,)], "of one turn no search has seen what another found"
    found = await seek(Seeking({**SKIPS, "end": ["Vessby Tarn"]}))
    assert seeker(found.probes) == {"seeker_tries": 2, "seeker_solved": 1, "seeker_steps": 2}
    assert [finding.hops for finding in found.findings] == [(1,)]


@pytest.mark.parametrize(
    ("target", "tries", "told"),
    [
        (1, 3, []),
        (2, 3, [(1, "end"), (1, "clues"), (1, "guess")]),
        (7, 1, [(6, "end")]),
        (8, 4, [(4, "end"), (7, "end"), (7, "clues"), (7, "guess"), (7, "end")]),
        (8, 0, []),
    ],
)
async def test_it_has_one_search_less_than_the_target_and_of_a_far_one_half(
    target: int, tries: int, told: list[tuple[int, str]]
) -> None:
    cast = Seeking(LOST)
    checks = {"run": ("seeker",), "seeker_tries": tries}
    answer = await seek(cast, target, checks=checks)
    assert (cast.told, answer.findings) == (told, ())


SETS = ('checks.run=["oracle", "seeker"]', "loop.rounds=0")


def run(cast: Seeking, cache: Path) -> Record:
    where = checking.context(cast, *SETS)
    where = replace(where, llm=Cached(Counted(where.llm), Cache(cache)))
    return asyncio.run(run_seed(seeded(), where))


def test_a_pair_that_it_cannot_shorten_is_accepted_and_says_who_looked(tmp_path: Path) -> None:
    cast = Seeking(LOST)
    with counting() as ledger:
        record = run(cast, tmp_path / "c")
    assert (record.status, record.difficulty) == (Status.ACCEPTED, 3)
    assert [probe.check for probe in record.rounds[0].probes] == ["oracle", "seeker", "seeker", "seeker"]
    assert len(cast.sent) == 6, "the round asks nothing again of the draft that its author had checked"
    assert record.usage["reader"].calls == by_role(ledger.spending)["reader"].paid.calls == 1 + 6
    assert ledger.spending.by_stage["seeker"].keys() == {"answer"}
    row = seeds.row(record)
    assert (row["seeker_tries"], row["seeker_solved"], row["seeker_steps"]) == (3, 0, None)
    again = Seeking(LOST)
    assert run(again, tmp_path / "c") == record
    assert again.sent == [], "nothing is paid for twice"


def test_the_author_is_told_before_the_round_and_the_seed_ends_without_a_rollout(tmp_path: Path) -> None:
    record = run(Seeking(SKIPS), tmp_path / "c")
    assert (record.status, record.reason) == (Status.REJECTED, Cause.SUPERFICIAL)
    assert (record.rounds[0].rollouts, seeds.row(record)["seeker_steps"]) == ((), 2)
    (told,) = [m.content for m in record.rounds[0].agent.messages if m.name == "check"]
    assert told.startswith("It would be sent back: yes, as too_easy, cause superficial.\n- seeker (hops[1])")
    assert "  searched 'Lantern Bay': hops[0] at rank 1\n  searched 'founded by monks': hops[2] at rank 1" in told


def test_it_is_sent_after_no_draft_that_another_check_sends_back() -> None:
    cast = Seeking(SKIPS)
    cast.reads = lambda passages: "nobody knows"
    told, _ = asyncio.run(check_draft(checking.draft(), 3, checking.SHOWN, checking.context(cast, *SETS)))
    assert "- oracle" in told
    assert cast.sent == []


async def test_a_try_that_its_clock_ends_has_found_no_shortcut() -> None:
    class Slow(ScriptedLLM):
        async def complete(self, request: Request) -> Completion:
            await asyncio.sleep("guess" not in request.messages[1].content)
            return await super().complete(request)

    where = context(Slow(Seeking(SKIPS)), ("seeker",), retrieval={"k": 1}, how={"rollout_seconds": 0.3})
    answer = await readings(DRAFT, 3, (), where)
    assert answer.findings == ()
    assert [[search.query for search in probe.searches] for probe in answer.probes] == [LONG_WAY]

"""Teacher rollouts of the records of `tests/records.py`: rollouts among one distractor, by what becomes of it."""

from collections.abc import Sequence
from typing import Literal

import orjson

from pipeline.agents import grading
from pipeline.agents.tools import render
from pipeline.distractors.encounters import encounters
from pipeline.types import (
    Call,
    Distractor,
    DistractorCheck,
    DistractorEval,
    Draft,
    Message,
    Passage,
    Record,
    Rollout,
    Stop,
    TeacherRollout,
    ToolCall,
    Trajectory,
    Usage,
    Verdict,
)
from pipeline.types.distractor import Kind  # fmt: skip
from tests.records import SYSTEM, World, accepted, world

Searches = Sequence[tuple[str, Sequence[Passage]]]


def lie(w: World) -> Distractor:
    """A guide's false year of the town's founding."""
    return Distractor(
        kind=Kind.DOPPELGANGER, title=f"{w.town.title} (1911 guide)", hop=2, source_id=w.town.id,
        source_sha256=w.town.sha256, claim="1399", mark="1911 guide",
        text=f"In the 1911 guide, {w.town.title} is said to have been founded in 1399.",
    )  # fmt: skip


def played(question: str, searches: Searches, answer: str, sample: int = 0, thought: str = "") -> Rollout:
    messages, calls = [Message(role="system", content=SYSTEM), Message(role="user", content=question)], list[Call]()
    for number, (query, found) in enumerate(searches):
        call = ToolCall(id=f"c{number}", name="search", arguments=orjson.dumps({"query": query}).decode())
        messages += [
            Message(role="assistant", tool_calls=(call,), reasoning=thought),
            Message(role="tool", tool_call_id=call.id, name="search", content=render(found)),
        ]
        ids, repeat = tuple(passage.id for passage in found), query in {earlier.argument for earlier in calls}
        calls.append(Call(id=call.id, tool="search", argument=query, passage_ids=ids, repeat=repeat))
    final = orjson.dumps({"answer": answer}).decode()
    messages.append(Message(role="assistant", tool_calls=(ToolCall(id="end", name="answer", arguments=final),)))
    trajectory = Trajectory(messages=tuple(messages), calls=tuple(calls), stop=Stop.ANSWERED, final=final)
    return Rollout(sample=sample, trajectory=trajectory, answer=answer)


def teacher_rollout(draft: Draft, w: World, searches: Searches, answer: str, sample: int = 0) -> TeacherRollout:
    made, right = played(draft.question, searches, answer, sample), answer == draft.answer
    verdict = Verdict(
        sample=sample, right=right, supported=right, method="exact", steps=made.trajectory.steps,
        calls=len(made.trajectory.calls), hit_step=None, found_at=grading.find_hop_steps(draft, made),
    )  # fmt: skip
    met = encounters(draft, [lie(w)], made, correct=right)
    return TeacherRollout(rollout=made, verdict=verdict, f1=float(right), encounters=met, kept=right)


def distractor_eval(w: World, record: Record) -> DistractorEval:
    """The lie, used; the same of another edition, rejected; and the same rollouts in both arms, but for one."""
    used = lie(w).model_copy(update={"checks": (DistractorCheck(name="marked", passed=True),)})
    failed = used.model_copy(
        update={"mark": "1912", "checks": (DistractorCheck(name="marked", passed=False, detail="why"),)}
    )
    plain, verdicts = record.confirmation, record.confirmation_verdicts
    assert record.draft
    misled = played(record.draft.question, [("the crossing", [w.bridge, used.passage])], "1399", plain[0].sample)
    wrong = verdicts[0].model_copy(update={"right": False, "supported": False})
    return DistractorEval(
        distractors=(failed, used),
        unwritten=(Kind.FALSE_SHORTCUT,),
        without_distractors=plain,
        without_distractors_verdicts=verdicts,
        with_distractors=(misled, *plain[1:]),
        with_distractors_verdicts=(wrong, *verdicts[1:]),
        writer=Usage(calls=2),
    )


def taught(n: int = 1, model: str = "embedded", side: Literal["train", "eval"] = "train") -> Record:
    """An accepted record with four teacher rollouts: two that differ after the distractor, one without, one failed."""
    w, record = world(n), accepted(n, side, model=model)
    assert record.draft
    first = ("the crossing", [w.bridge, lie(w).passage])
    on, truth = ("the engineer", [w.engineer]), ("the town", [w.town])
    made = [
        teacher_rollout(record.draft, w, [first, on, truth], w.year, 0),
        teacher_rollout(record.draft, w, [first, ("founded 1399", [w.noise[0]])], "1399", 1),
        teacher_rollout(record.draft, w, [("the crossing", [w.bridge]), on, truth], w.year, 2),
        teacher_rollout(record.draft, w, [first, on, ("who knows", [w.noise[1]])], "1850", 3),
    ]
    return record.model_copy(update={"teacher_rollouts": tuple(made), "distractor_eval": distractor_eval(w, record)})


def blindly_read(record: Record, *named: bool) -> Record:
    """The record, whose used distractor was named in these blind readings, and its refused one in three of three."""
    assert record.distractor_eval
    distractors = tuple(
        one.model_copy(update={"blind": named if one.used else (True, True, True)})
        for one in record.distractor_eval.distractors
    )
    return record.model_copy(
        update={"distractor_eval": record.distractor_eval.model_copy(update={"distractors": distractors})}
    )

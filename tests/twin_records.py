"""Accepted pairs of `tests/records.py` with a twin that asks when the town burnt down, which no passage states."""

from pipeline.agents import grading
from pipeline.agents.judge import Grade
from pipeline.types import NOT_FOUND, Assessment, ChangedPremise, Probe, Record, Twin, refuses, twin_draft
from tests.records import accepted, world
from tests.teacher_rollouts import played


def twinned(n: int = 0, answers: tuple[str, ...] = (NOT_FOUND, "1399", NOT_FOUND, NOT_FOUND), **how: object) -> Record:
    """Return a record with a twin. Each rollout reads the whole chain and then gives one of the answers."""
    record, w = accepted(n, **how), world(n)  # type: ignore[arg-type]
    draft = record.draft
    assert draft
    tried = ChangedPremise(
        question=draft.question.replace("founded", "burnt down"),
        hop=2,
        changed_from="founded",
        changed_to="burnt down",
        sub_question="When did the town burn down?",
        state="unstated",
        probes=(Probe(check="absent", model="embedded", answers=("unstated",), right=0),),
        outcome="used",
    )
    twin = twin_draft(draft, tried)
    searches = [
        (w.bridge.title, (w.bridge, w.noise[0])),
        (w.engineer.title, (w.engineer,)),
        (f"{w.town.title} burnt down", (w.town, w.noise[2])),
    ]
    rollouts = tuple(played(twin.question, searches, answer, sample) for sample, answer in enumerate(answers))
    verdicts = tuple(
        grading.build_verdict(twin, rollout, Grade(right=refuses(rollout.answer), method="exact"))
        for rollout in rollouts
    )
    refused = tried.model_copy(update={"outcome": "stated", "detail": "a passage states it", "state": ""})
    rate, steps = sum(v.correct for v in verdicts) / len(verdicts), min(v.steps for v in verdicts)
    measured = Assessment(
        model="embedded", retriever="lucene", k=5, rollouts=len(verdicts), solve_rate=rate, least_steps=steps
    )
    used = tried.model_copy(update={"rollouts": rollouts, "verdicts": verdicts, "assessment": measured})
    return record.model_copy(update={"twin": Twin(tries=(refused, used))})

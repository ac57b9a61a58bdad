"""Accepted pairs of `tests/records.py` whose answer is a list, or yes or no: each says so in rollouts of its own."""

from collections.abc import Sequence

from pipeline.agents import grading
from pipeline.agents.judge import Grade
from pipeline.exports.trajectories.spellings import spellings
from pipeline.reward import reward
from pipeline.types import Draft, Passage, Record
from tests.graphs import computed, extend, step
from tests.records import accepted, passage, world
from tests.teacher_rollouts import played

FOUNDERS = "Grim", "Per Dal", "Lund"


def listed(n: int = 0, **how: object) -> Record:
    """Who founded the town: three of its rollouts name all three, each in its own way, and one leaves one out."""
    record, w = accepted(n, **how), world(n)  # type: ignore[arg-type]
    draft = record.draft
    assert draft
    quote = f"The founders of {w.town.title} were Grim, Per Dal and Lund"
    town = passage(f"f{n}", w.town.title, f"{w.town.title} is a market town. {quote}, who drained the marsh.")
    found = [
        step(town, name, f"Who founded {w.town.title}?", "h1", step_id=f"founder{place}")
        for place, name in enumerate(FOUNDERS)
    ]
    found[1]["answer_aliases"] = ["Dal"]
    question = draft.question.replace("In what year was the town founded where", "Who founded the town where")
    answers = ("Lund, Dal and Grim", "Grim; Lund", '["Per Dal", "Grim", "Lund"]', "; ".join(FOUNDERS))
    end = [*found, computed("list", *(each["id"] for each in found))]
    return _asked(record, extend(draft, question, end, [town]), (w.bridge, w.engineer, town), answers)


def decided(n: int = 0, **how: object) -> Record:
    """Whether town and bridge are older than a year: yes for even n, else no, as three of four rollouts say."""
    record, w = accepted(n, **how), world(n)  # type: ignore[arg-type]
    draft = record.draft
    assert draft
    answer, other = ("yes", "no") if n % 2 == 0 else ("no", "yes")
    year = 1990 if answer == "yes" else int(w.year) - 50
    found = [
        step(w.town, w.year, f"When was {w.town.title} founded?", "h1", step_id="town"),
        step(w.bridge, str(1850 + n), f"When was {w.bridge.title} opened?", step_id="bridge"),
    ]
    end = [*found, computed("yes_no", "town", "bridge", condition="before", bound=str(year))]
    question = draft.question.replace("In what year was the town founded where", "Are the bridge and the town where")
    question = question.replace(" was born?", f" was born older than {year}?")
    drafted = extend(draft, question, end, [w.town, w.bridge])
    return _asked(record, drafted, w.chain, (answer, answer.title(), other, answer))


def _asked(record: Record, draft: Draft, chain: Sequence[Passage], answers: Sequence[str]) -> Record:
    last = record.rounds[-1]
    searches = [(found.title, (found,)) for found in chain]
    rollouts = tuple(played(draft.question, searches, answer, sample) for sample, answer in enumerate(answers))
    golds = spellings(draft)
    verdicts = tuple(
        grading.verdict(draft, one, Grade(right=reward.score(one.answer, golds) == 1, method="exact"))
        for one in rollouts
    )
    return record.model_copy(
        update={
            "rounds": (last.model_copy(update={"draft": draft, "rollouts": (), "verdicts": ()}),),
            "confirmation": rollouts,
            "confirmation_verdicts": verdicts,
        }
    )

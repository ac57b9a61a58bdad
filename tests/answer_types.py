"""Accepted pairs of `tests/records.py` whose answer is a list, or yes or no: each says so in rollouts of its own."""

from collections.abc import Mapping, Sequence

from pipeline.agents import grading
from pipeline.agents.judge import Grade
from pipeline.exports.trajectories.spellings import spellings
from pipeline.reward import reward
from pipeline.types import AnswerItem, AnswerType, Draft, Passage, Record
from tests.records import accepted, passage, world
from tests.teacher_rollouts import played

FOUNDERS = (AnswerItem(answer="Grim"), AnswerItem(answer="Per Dal", aliases=("Dal",)), AnswerItem(answer="Lund"))


def listed(n: int = 0, **how: object) -> Record:
    """Who founded the town: three of its rollouts name all three, each in its own way, and one leaves one out."""
    record, w = accepted(n, **how), world(n)  # type: ignore[arg-type]
    draft = record.draft
    assert draft
    quote = f"The founders of {w.town.title} were Grim, Per Dal and Lund"
    town = passage(f"f{n}", w.town.title, f"{w.town.title} is a market town. {quote}, who drained the marsh.")
    answer = "; ".join(item.answer for item in FOUNDERS)
    last = draft.hops[-1].model_copy(
        update={"sub_question": f"Who founded {w.town.title}?", "answer": answer, "passage_id": town.id,
                "quote": quote, "passage_sha256": town.sha256, "relation": "founded by"}
    )  # fmt: skip
    question = draft.question.replace("In what year was the town founded where", "Who founded the town where")
    changed = {"question": question, "answer": answer, "answer_items": FOUNDERS, "hops": (*draft.hops[:-1], last)}
    said = ("Lund, Dal and Grim", "Grim; Lund", '["Per Dal", "Grim", "Lund"]', answer)
    return _asked(record, AnswerType.LIST, changed, (w.bridge, w.engineer, town), said)


def decided(n: int = 0, **how: object) -> Record:
    """Whether the town was founded before a year: yes for even n, else no, as three of four rollouts say."""
    record, w = accepted(n, **how), world(n)  # type: ignore[arg-type]
    draft = record.draft
    assert draft
    answer, other = ("yes", "no") if n % 2 == 0 else ("no", "yes")
    year = int(w.year) + (50 if answer == "yes" else -50)
    question = draft.question.replace("In what year was the town founded where", "Was the town where")
    changed = {"question": question.replace(" was born?", f" was born founded before {year}?"), "answer": answer}
    return _asked(record, AnswerType.BOOLEAN, changed, w.chain, (answer, answer.title(), other, answer))


def _asked(
    record: Record, kind: AnswerType, changes: Mapping[str, object], chain: Sequence[Passage], answers: Sequence[str]
) -> Record:
    last = record.rounds[-1]
    assert last.draft
    fresh: dict[str, object] = {"answer_type": kind, "answer_aliases": (), "answer_precision": "", **changes}
    draft = Draft.model_validate({**last.draft.model_dump(), **fresh})
    searches = [(found.title, (found,)) for found in chain]
    rollouts = tuple(played(draft.question, searches, answer, sample) for sample, answer in enumerate(answers))
    golds = spellings(draft)
    verdicts = tuple(
        grading.verdict(draft, one, Grade(right=reward.score(one.answer, golds) == 1, method="exact"))
        for one in rollouts
    )
    return record.model_copy(
        update={
            "seed": record.seed.model_copy(update={"answer_type": kind}),
            "rounds": (last.model_copy(update={"draft": draft, "rollouts": (), "verdicts": ()}),),
            "confirmation": rollouts,
            "confirmation_verdicts": verdicts,
        }
    )

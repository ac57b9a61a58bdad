"""Accepted pairs of `tests/records.py` whose answer is a list, a choice, a ratio, or yes or no, with their rollouts."""

from collections.abc import Sequence

from pipeline.agents import grading
from pipeline.agents.judge import Grade
from pipeline.exports.trajectories.spellings import spellings
from pipeline.reward import reward
from pipeline.types import Draft, Passage, Record
from tests.graph_drafts import computed, drafted, extend, step
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


def chosen(n: int = 0, **how: object) -> Record:
    """Which of four named bridges were opened after 1900: two were, and every rollout but one names just these."""
    record = accepted(n, **how)  # type: ignore[arg-type]
    years = {"North Arch": "1874", "South Arch": "1911", "East Arch": "1931", "West Arch": "1862"}
    pages = [
        passage(f"arch{n}{place}", name, f"{name} is a bridge. It was opened in {year} by the mayor.")
        for place, (name, year) in enumerate(years.items())
    ]
    found = [
        step(page, year, f"When was {page.title} opened?", step_id=f"arch{place}")
        for place, (page, year) in enumerate(zip(pages, years.values(), strict=True))
    ]
    ids = [each["id"] for each in found]
    question = f"Which of {', '.join(years)} were opened after 1900?"
    draft = drafted(question, [*found, computed("filter", *ids, condition="after", bound="1900")], pages)
    answers = ("South Arch; East Arch", "East Arch and South Arch", "South Arch, East Arch", "South Arch")
    return _asked(record, draft, pages, answers)


def divided(n: int = 0, **how: object) -> Record:
    """How many times as many people live in one town as in another: about four."""
    record = accepted(n, **how)  # type: ignore[arg-type]
    pages = [
        passage(f"many{n}", "Upper Ford", "Upper Ford is a town. It has about 84,000 people."),
        passage(f"few{n}", "Lower Ford", "Lower Ford is a town. It has about 21,000 people."),
    ]
    found = [
        step(pages[0], "84,000 people", "How many people has Upper Ford?", step_id="many"),
        step(pages[1], "21,000 people", "How many people has Lower Ford?", step_id="few"),
    ]
    question = "How many times as many people as Lower Ford has Upper Ford?"
    draft = drafted(question, [*found, computed("ratio", "many", "few")], pages)
    return _asked(record, draft, pages, ("4", "four", "about 4", "3"))


def _asked(record: Record, draft: Draft, chain: Sequence[Passage], answers: Sequence[str]) -> Record:
    last = record.rounds[-1]
    searches = [(found.title, (found,)) for found in chain]
    rollouts = tuple(played(draft.question, searches, answer, sample) for sample, answer in enumerate(answers))
    golds = spellings(draft)
    verdicts = tuple(
        grading.build_verdict(draft, one, Grade(right=reward.score(one.answer, golds) == 1, method="exact"))
        for one in rollouts
    )
    return record.model_copy(
        update={
            "rounds": (last.model_copy(update={"draft": draft, "rollouts": (), "verdicts": ()}),),
            "confirmation": rollouts,
            "confirmation_verdicts": verdicts,
        }
    )

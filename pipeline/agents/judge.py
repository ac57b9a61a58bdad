"""Whether an answer is right: by the reward's own equality where that is sure, else by a judge.

A judge sees question and answers alone. A false "yes" makes a hard question look solved, and nobody looks again; a
false "no" costs a rollout. So a "yes" that is in doubt needs a second one, if possible not by the generator's model.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from pipeline.agents.answers import answer_limits, list_items
from pipeline.agents.structured import request_object, schema
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.llm.base import LLM
from pipeline.prompts import load
from pipeline.reward.answers import SIDES, lies_within, match_items, side
from pipeline.reward.equality import equal, quantity
from pipeline.text import fold, words
from pipeline.text.scripts import is_spaceless
from pipeline.types import NOT_FOUND, AnswerItem, AnswerType, Data, Draft, Message, Usage, refuses
from pipeline.values.interval import read_date

_ROUGHLY = re.compile(r"\b(?:about|around|roughly|approximately) (?:how (?:many|much)|what|which)\b", re.IGNORECASE)
ABOUT = "about|around|some|roughly|approximately"
_ABOUT = re.compile(rf"\A\s*(?:{ABOUT})\s+", re.IGNORECASE)
MOST_JUDGED = 3
"""Items of a list that judges are asked about: with more that differ, it is another list."""


class VerdictOutput(Data):
    """`reason` stands first, so that a model compares before it decides."""

    reason: str = ""
    correct: bool
    sure: bool = True


VERDICT = schema("verdict", VerdictOutput)


class NearMiss(Data):
    """What a judge is given."""

    question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    answer_type: AnswerType
    answer_precision: str = ""
    response: str


class Grade(Data):
    right: bool
    method: Literal["exact", "judge", "split", "none"]
    """`split`: the judges were not of one mind, which is no "yes"."""
    usage: Usage = Usage()
    second: Usage = Usage()
    """Of `usage`, the second judge."""


async def grade(draft: Draft, response: str, context: RunContext, *, ask: bool = True) -> Grade:
    """The grade of one answer; without `ask` by exact match alone. Of a question without an answer, a refusal is right.

    Raises FormatError when a judge gives no readable verdict: that is no "wrong".
    """
    if draft.answer_type is AnswerType.UNANSWERABLE:
        return Grade(right=refuses(response), method="exact" if response else "none")
    if response in ("", NOT_FOUND):
        return Grade(right=False, method="none")
    if items := list_items(draft):
        return await _grade_list(draft, items, response, context, ask=ask)
    case = build_case(draft, response)
    is_right = lies_within(response, answer_limits(draft))
    if is_right is None:
        is_right = decide(case)
    if is_right is not None:
        return Grade(right=is_right, method="exact")
    if not ask:
        return Grade(right=False, method="none" if alike(case) else "exact")
    return await ask_judges(case, context.config.models.judges(), context.llm, context.boundary)


def build_case(draft: Draft, response: str) -> NearMiss:
    """Return what a judge is given of a draft and a response."""
    fields = draft.model_dump(include=set(NearMiss.model_fields))
    return NearMiss(response=response, answer=draft.answer, **fields)


async def _grade_list(
    draft: Draft, items: Sequence[AnswerItem], response: str, context: RunContext, *, ask: bool
) -> Grade:
    """Grade an answer that is a list: right with every item and nothing else, in any order.

    Judges are asked about items that match no other exactly, one by one, each with the item that it shares most words
    with.
    """
    found, others = match_items(response, [list(item.spellings) for item in items])
    missing = [item for number, item in enumerate(items) if number not in found]
    if not missing and not others:
        return Grade(right=True, method="exact")
    pairs = _paired(missing, others) if len(missing) == len(others) <= MOST_JUDGED else []
    judged = bool(pairs)
    if not judged or not ask:
        return Grade(right=False, method="none" if judged else "exact")
    usage = second = Usage()
    for item, said in pairs:
        case = NearMiss(
            # By the whole question a judge would take one item for half an answer.
            question=f"{draft.question} (The answer is a list. Here one item of it is judged.)",
            answer=item.answer,
            answer_aliases=item.aliases,
            answer_type=AnswerType.ENTITY,
            response=said,
        )
        if decide(case) is False:
            return Grade(right=False, method="exact", usage=usage, second=second)
        graded = await ask_judges(case, context.config.models.judges(), context.llm, context.boundary)
        usage, second = usage + graded.usage, second + graded.second
        if not graded.right:
            return graded.model_copy(update={"usage": usage, "second": second})
    return Grade(right=True, method="judge", usage=usage, second=second)


def _paired(missing: Sequence[AnswerItem], others: Sequence[str]) -> list[tuple[AnswerItem, str]]:
    """Each item with what was said in its place; nothing where one has no word in common with any of it."""
    pairs, left = [], list(others)
    for item in missing:
        known = {word for name in item.spellings for word in words(name)}
        said = max(left, key=lambda said: len(known & set(words(said))))
        if known.isdisjoint(words(said)):
            return []
        left.remove(said)
        pairs.append((item, said))
    return pairs


def alike(case: NearMiss) -> bool:
    """Return whether a response may be the known answer in other words.

    It hardly is if they have no word in common, unless one is the initials of the other, or is written in other
    characters.
    """
    golds, response = (case.answer, *case.answer_aliases), case.response
    known = {word for name in golds for word in words(name)}
    return (
        case.answer_type is AnswerType.NUMBER
        or not known.isdisjoint(words(response))
        or any(_abbreviates(response, name) or _abbreviates(name, response) for name in golds)
        or any(map(is_spaceless, (response, *golds)))
    )


def _abbreviates(short: str, name: str) -> bool:
    """Is it made of the first letters of the words that have a capital?"""
    initials = "".join(word[0] for word in name.split() if word[0].isupper())
    return "".join(words(short)) == fold(initials) != ""


def decide(case: NearMiss) -> bool | None:
    """Return whether a response is right as far as a program can be sure, or None if a judge has to decide."""
    golds = [case.answer, *case.answer_aliases]
    if case.answer.casefold() in SIDES:  # yes and no leave nothing to weigh
        return side(case.response) == side(case.answer)
    is_same = same_number(case)
    if is_same is None and equal(case.response, golds):
        return True
    return False if is_same is None and (_is_another_amount(case) or _is_another_date(case)) else is_same


def _is_another_date(case: NearMiss) -> bool:
    """Return whether response and answer are dates, and have another day, month or year where both state it."""
    response, *golds = map(read_date, (case.response, case.answer, *case.answer_aliases))
    if response is None:
        return False
    pairs = [zip(response[:3], gold[:3], strict=True) for gold in golds if gold]
    return len(pairs) == len(golds) and all(any(a != b for a, b in parts if a and b) for parts in pairs)


def _is_another_amount(case: NearMiss) -> bool:
    """Return whether response and answer are amounts of one unit that differ by more than one per cent.

    A bare number is taken to be in the unit of the answer, unless that is a percentage.
    """
    response, *golds = map(quantity, (case.response, case.answer, *case.answer_aliases))
    if response is None or _ROUGHLY.search(case.question):
        return False
    for gold in golds:
        if gold is None or gold.of or response.of or gold.doubtful or response.doubtful or gold.unit is None:
            return False
        kind, size = gold.unit
        if (response.unit or gold.unit)[0] != kind or (response.unit is None and kind == "percent"):
            return False
        value = response.number * (response.unit or gold.unit)[1] / size
        if 100 * abs(value - gold.number) <= abs(gold.number):
            return False
    return True


def same_number(case: NearMiss) -> bool | None:
    """Are both a number without a unit, or a percentage, and the same? None where one of them is anything else, or its
    point could part thousands.

    Whole numbers must be equal, since nothing tells that they are no years or counts; of others one within 1 % is the
    same. Where the question asks for about how many, one to which the known number rounds is the same.
    """
    rough = case.answer_type is AnswerType.NUMBER and _ROUGHLY.search(case.question) is not None
    texts = (case.response, case.answer, *case.answer_aliases)
    said, *known = (quantity(_ABOUT.sub("", text) if rough else text) for text in texts)
    if said is None or said.of or (said.unit and said.unit[0] != "percent"):
        return None
    if any(number and number.doubtful for number in (said, *known)):
        return None
    golds = [gold.number for gold in known if gold and not gold.of and gold.unit == said.unit]
    if said.number in golds or (rough and any(rounds(gold, said.number) for gold in golds)):
        return True
    if len(golds) < len(known):
        return None
    if case.answer_type is not AnswerType.NUMBER:
        return False
    near = [gold for gold in golds if abs(said.number - gold) <= abs(gold) / 100]
    return any(not (said.number.denominator == gold.denominator == 1) for gold in near)


def rounds(exact: Fraction, said: Fraction) -> bool:
    """Does the exact number round to the other in the digits that this has, and is it within a tenth of it?"""
    unit = next((Fraction(10) ** n for n in range(15, -15, -1) if said % Fraction(10) ** n == 0), Fraction(0))
    return said != 0 and 2 * abs(exact - said) <= unit and 10 * abs(exact - said) <= abs(exact)


def judge_prompt(case: NearMiss, boundary: str) -> tuple[Message, ...]:
    """The judge's prompt."""
    return load("judge/verdict").render(
        boundary,
        question=case.question,
        answer=case.answer,
        answer_aliases=case.answer_aliases,
        answer_type=case.answer_type.value,
        answer_precision=case.answer_precision,
        response=case.response,
    )


async def ask_judges(case: NearMiss, judges: tuple[ModelConfig, ...], llm: LLM, boundary: str) -> Grade:
    """Ask the first judge, and the second one about a "yes" that is in doubt.

    A "yes" is in doubt if its judge is not sure, or if the response has no word of the answer.
    """
    messages = judge_prompt(case, boundary)
    usage = second = Usage()
    for place, judge in enumerate(judges):
        # The second, where it is the first again, is asked with its own temperature: cold, it would repeat itself.
        cold = judge.sampling.model_copy(update={"temperature": 0.0})
        model = judge if place else judge.model_copy(update={"sampling": cold})
        output, took = await request_object(llm, model, messages, VERDICT.name, VerdictOutput, sample=place)
        usage += took
        second = took if place else second
        if not output.correct:
            return Grade(right=False, method="split" if place else "judge", usage=usage, second=second)
        if output.sure and alike(case):
            break
    return Grade(right=True, method="judge", usage=usage, second=second)

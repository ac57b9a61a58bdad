"""Decide whether an answer is right: by the reward's equality if that is certain, else by a judge.

A judge sees only the question and the answers. A false "yes" makes a hard question look solved, and nothing corrects
it; a false "no" costs a rollout. So a doubtful "yes" needs a second one, if possible not by the generator's model.
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
"""Ask judges about at most this many items of a list. If more differ, the list is wrong."""


class VerdictOutput(Data):
    """A judge's output. `reason` comes first, so that a model compares before it decides."""

    reason: str = ""
    correct: bool
    sure: bool = True


VERDICT = schema("verdict", VerdictOutput)


class NearMiss(Data):
    """The input of a judge."""

    question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    answer_type: AnswerType
    answer_precision: str = ""
    response: str


class Grade(Data):
    right: bool
    method: Literal["exact", "judge", "split", "none"]
    """`split`: the second judge did not confirm the first one's "yes"."""
    usage: Usage = Usage()
    second: Usage = Usage()
    """The second judge's part of `usage`."""


async def grade(draft: Draft, response: str, context: RunContext, *, ask: bool = True) -> Grade:
    """Grade an answer, without `ask` by exact match alone. A refusal is right if the question has no answer.

    Raise FormatError if a judge gives no readable verdict, which does not mean "wrong".
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
        return Grade(right=False, method="none" if may_be_same(case) else "exact")
    return await ask_judges(case, context.config.models.judges(), context.llm, context.boundary)


def build_case(draft: Draft, response: str) -> NearMiss:
    fields = draft.model_dump(include=set(NearMiss.model_fields))
    return NearMiss(response=response, answer=draft.answer, **fields)


async def _grade_list(
    draft: Draft, items: Sequence[AnswerItem], response: str, context: RunContext, *, ask: bool
) -> Grade:
    """Grade an answer that is a list. It is right if it has every item and nothing else, in any order.

    Judges decide about items without an exact match, one by one, each paired with the item that has most words in
    common with it.
    """
    matched, unmatched = match_items(response, [list(item.spellings) for item in items])
    missing = [item for number, item in enumerate(items) if number not in matched]
    if not missing and not unmatched:
        return Grade(right=True, method="exact")
    pairs = _pair_items(missing, unmatched) if len(missing) == len(unmatched) <= MOST_JUDGED else []
    if not pairs or not ask:
        return Grade(right=False, method="none" if pairs else "exact")
    usage = second = Usage()
    for item, response_item in pairs:
        case = NearMiss(
            # With the bare question, a judge would take one item for an incomplete answer.
            question=f"{draft.question} (The answer is a list. Here one item of it is judged.)",
            answer=item.answer,
            answer_aliases=item.aliases,
            answer_type=AnswerType.ENTITY,
            response=response_item,
        )
        if decide(case) is False:
            return Grade(right=False, method="exact", usage=usage, second=second)
        graded = await ask_judges(case, context.config.models.judges(), context.llm, context.boundary)
        usage, second = usage + graded.usage, second + graded.second
        if not graded.right:
            return graded.model_copy(update={"usage": usage, "second": second})
    return Grade(right=True, method="judge", usage=usage, second=second)


def _pair_items(missing: Sequence[AnswerItem], unmatched: Sequence[str]) -> list[tuple[AnswerItem, str]]:
    """Pair each item with the closest one of the response. Return no pairs if any would have no word in common."""
    pairs, remaining = [], list(unmatched)
    for item in missing:
        item_words = {word for name in item.spellings for word in words(name)}
        closest = max(remaining, key=lambda candidate: len(item_words & set(words(candidate))))
        if item_words.isdisjoint(words(closest)):
            return []
        remaining.remove(closest)
        pairs.append((item, closest))
    return pairs


def may_be_same(case: NearMiss) -> bool:
    """Return whether a response may be the known answer in other words.

    That is unlikely if they have no word in common, unless one is the initials of the other, or is in another script.
    """
    golds, response = (case.answer, *case.answer_aliases), case.response
    gold_words = {word for name in golds for word in words(name)}
    return (
        case.answer_type is AnswerType.NUMBER
        or not gold_words.isdisjoint(words(response))
        or any(_abbreviates(response, name) or _abbreviates(name, response) for name in golds)
        or any(map(is_spaceless, (response, *golds)))
    )


def _abbreviates(short: str, name: str) -> bool:
    initials = "".join(word[0] for word in name.split() if word[0].isupper())
    return "".join(words(short)) == fold(initials) != ""


def decide(case: NearMiss) -> bool | None:
    """Return whether a response is right as far as a program can be sure, or None if a judge has to decide."""
    golds = [case.answer, *case.answer_aliases]
    if case.answer.casefold() in SIDES:  # yes and no leave nothing to weigh
        return side(case.response) == side(case.answer)
    is_same = is_same_number(case)
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


def is_same_number(case: NearMiss) -> bool | None:
    """Return whether response and answer are the same number, both without a unit or both percentages.

    Whole numbers must be equal, since they may be years or counts; other numbers may differ by 1 %. If the question
    asks for about how many, the response may also be the answer rounded.

    Returns:
        None if either is not such a number, or its point may separate thousands.
    """
    rough = case.answer_type is AnswerType.NUMBER and _ROUGHLY.search(case.question) is not None
    texts = (case.response, case.answer, *case.answer_aliases)
    response, *answers = (quantity(_ABOUT.sub("", text) if rough else text) for text in texts)
    if response is None or response.of or (response.unit and response.unit[0] != "percent"):
        return None
    if any(number and number.doubtful for number in (response, *answers)):
        return None
    golds = [gold.number for gold in answers if gold and not gold.of and gold.unit == response.unit]
    if response.number in golds or (rough and any(rounds_to(gold, response.number) for gold in golds)):
        return True
    if len(golds) < len(answers):
        return None
    if case.answer_type is not AnswerType.NUMBER:
        return False
    near = [gold for gold in golds if abs(response.number - gold) <= abs(gold) / 100]
    return any(not (response.number.denominator == gold.denominator == 1) for gold in near)


def rounds_to(exact: Fraction, rounded: Fraction) -> bool:
    unit = next((Fraction(10) ** n for n in range(15, -15, -1) if rounded % Fraction(10) ** n == 0), Fraction(0))
    return rounded != 0 and 2 * abs(exact - rounded) <= unit and 10 * abs(exact - rounded) <= abs(exact)


def judge_prompt(case: NearMiss, boundary: str) -> tuple[Message, ...]:
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
    """Ask the first judge, and the second one about a doubtful "yes".

    A "yes" is doubtful if its judge is not sure, or if the response has no word of the answer.
    """
    messages = judge_prompt(case, boundary)
    usage = second = Usage()
    for judge_index, judge in enumerate(judges):
        # The second judge keeps its temperature: if it is the same model, it would repeat itself at temperature 0.
        cold = judge.sampling.model_copy(update={"temperature": 0.0})
        model = judge if judge_index else judge.model_copy(update={"sampling": cold})
        output, call_usage = await request_object(llm, model, messages, VERDICT.name, VerdictOutput, sample=judge_index)
        usage += call_usage
        second = call_usage if judge_index else second
        if not output.correct:
            return Grade(right=False, method="split" if judge_index else "judge", usage=usage, second=second)
        if output.sure and may_be_same(case):
            break
    return Grade(right=True, method="judge", usage=usage, second=second)

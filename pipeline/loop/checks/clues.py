"""A clue fits the hidden thing alone, all clues but one tell it already, or all of them fit another thing too.

How many things a clue fits is measured on the corpus: a reader names all that fit it among what searches for it find.
What it named is kept as the answers of a `Probe`, one for each clue and one for all that were asked of together.
"""

from collections.abc import Collection, Iterable, Sequence

from pipeline.agents import cited, readers
from pipeline.agents.tools import shown
from pipeline.context import RunContext
from pipeline.loop.checks.base import ALL_STAY, CheckResult, DraftCheck, Found, Meaning, Stage, quoted
from pipeline.loop.checks.complete_list import CompleteOutput, chosen, cut, stating
from pipeline.reward.equality import equal
from pipeline.text import untagged
from pipeline.text.names import contains, normalise
from pipeline.types import Cause, Draft, Finding, Hit, Probe

DEPTH, NAMED_DEPTH = 10, 3
"""Hits of a search for a clue, and of one for a clue with the name of something that fits another one."""
MOST_NAMED = 4
"""Things that are searched for by name."""
MOST_PASSAGES = 20
ROOM = 1600
"""Characters of a passage that is shown whole: what tells whether a thing fits may stand far from the words of a clue.
"""


async def clues(draft: Draft, target: int, context: RunContext) -> CheckResult:
    """Of a question that hides a thing behind clues: a fatal finding for each clue that only this thing fits, for each
    without which the others still tell it, and for another thing that all of them fit.

    What several clues fit is what was named for each of them; a reader is asked about them together only where that
    leaves the hidden thing alone, or something beside it that all of them fit.
    """
    numbers, hidden = cited.clues(draft), _hidden(draft)
    each = {number: await _fitting(draft, (number,), (), context) for number in numbers}
    probes, others = [*each.values()], {number: _others(probe, hidden) for number, probe in each.items()}
    findings = [_alone(draft, number) for number in numbers if not others[number]]
    if not numbers or findings:
        return CheckResult(probes=tuple(probes), findings=tuple(findings))

    async def left(asked: Sequence[int], doubted: Collection[str]) -> list[str]:
        """What beside the hidden thing fits all of these, by a reader who is asked of them together."""
        probes.append(probe := await _fitting(draft, asked, list(doubted)[:MOST_NAMED], context))
        return _others(probe, hidden)

    if (rivals := _common(others, numbers)) and (rivals := await left(numbers, rivals)):
        told = f"all clues together fit {quoted(rivals)} too"
        findings.append(Found(told, numbers).finding("clues", CHECK.cause))
    for number in numbers if len(numbers) > 2 else ():
        rest = tuple(other for other in numbers if other != number)
        fewest = min((others[other] for other in rest), key=len)
        if not _common(others, rest) and not await left(rest, fewest):
            told = f"the other clues fit '{draft.hops[number].answer}' alone, without {_said(draft, number)}"
            needless = tuple(range(cited.start(draft, number), number + 1))
            findings.append(Found(told, needless).finding("needless_clue", Cause.SUPERFICIAL))
    return CheckResult(probes=tuple(probes), findings=tuple(findings))


async def _fitting(draft: Draft, numbers: Sequence[int], names: Iterable[str], context: RunContext) -> Probe:
    """What fits all these clues by the passages that searches for each of them find, also with each of the names."""
    asked = [draft.hops[number].sub_question for number in numbers]
    named = [f"{name} {clue}" for name in names for clue in asked]
    searches, results = [], list[list[Hit]]()
    for name, retriever in context.searched.items():
        found = await retriever.search_many(asked, DEPTH) + await retriever.search_many(named, NAMED_DEPTH)
        searches += [cited.searched(query, hits, name) for query, hits in zip((*asked, *named), found, strict=True)]
        results += found
    gold = [passage for passage in await cited.gather(draft, context.retriever) if passage]
    own = [passage for passage in gold if passage.id in {draft.hops[number].passage_id for number in numbers}]
    given = chosen(own, results, MOST_PASSAGES)
    # In an order that tells nothing of which is which.
    given.sort(key=lambda passage: passage.sha256)
    prompt = context.prompt(
        "constraints/fit", clues=asked, passages=[shown(cut(one, asked, draft, ROOM)) for one in given]
    )
    output, model, usage = await readers.read(prompt, "fit", CompleteOutput, context)
    things = [one.item.strip() for one in output.items if stating(one, given)]
    answers, hidden = tuple({normalise(thing): thing for thing in things}.values()), _hidden(draft)
    return Probe(
        check="clues",
        model=model,
        answers=answers,
        right=int(any(_same(answer, hidden) for answer in answers)),
        hops=tuple(numbers),
        searches=tuple(searches),
        usage=usage,
    )


def _hidden(draft: Draft) -> set[str]:
    """All spellings of the hidden thing."""
    numbers = cited.clues(draft)
    own = {name for number in numbers for name in draft.hops[number].spellings}
    return own | ({draft.answer, *draft.answer_aliases} if numbers and numbers[-1] == len(draft.hops) - 1 else set())


def _others(probe: Probe, hidden: Collection[str]) -> list[str]:
    """What was named beside the hidden thing, for which a longer or shorter form stands where it was not itself."""
    others = [answer for answer in probe.answers if not equal(untagged(answer), list(hidden))]
    return others if len(others) < len(probe.answers) else [one for one in others if not _same(one, hidden)]


def _common(others: dict[int, list[str]], numbers: Sequence[int]) -> list[str]:
    """What was named for each of these clues."""
    return [name for name in others[numbers[0]] if all(_same(name, others[number]) for number in numbers[1:])]


def _same(name: str, names: Iterable[str]) -> bool:
    """Is it one of these, by a longer or a shorter form too?"""
    return any(equal(untagged(name), [one]) or contains(one, name) or contains(name, one) for one in names)


def _alone(draft: Draft, number: int) -> Finding:
    told = f"{_said(draft, number)} is not a clue: nothing else that a search for it finds fits it"
    return Found(told, (number,)).finding("not_a_clue", Cause.OVER_SPECIFIED)


def _said(draft: Draft, number: int) -> str:
    return quoted([draft.hops[number].sub_question])


def told(probe: Probe) -> str:
    fits = " and ".join(f"hops[{number}]" for number in probe.hops)
    return f"{len(probe.answers)} things fit {fits}: {', '.join(probe.answers) or 'none was named'}"


_WIDEN = "Say it by a kind, a span or another property that other things in the corpus have too"
FURTHER = {
    "not_a_clue": Meaning("A clue fits nothing in the corpus but the hidden thing.", f"{_WIDEN}. {ALL_STAY}"),
    "needless_clue": Meaning(
        "The other clues tell the hidden thing without this one.",
        f"Widen the other clues until something else fits them, which this one rules out. {ALL_STAY}",
    ),
}
CHECK = DraftCheck(
    Stage.READ, 7, Cause.AMBIGUOUS, told=told, ask=clues, at_once=clues, further=FURTHER,
    advice=f"Narrow one clue, or add one that rules the other thing out. {ALL_STAY}",
)  # fmt: skip

"""The answer of an aggregate is not what its program gives over the quotes as they stand."""

from pipeline.agents.cited import start
from pipeline.agents.naming import mentions
from pipeline.reward.equality import equal
from pipeline.reward.program import misquoted
from pipeline.text import untagged
from pipeline.text.names import normalise
from pipeline.text.scripts import cased
from pipeline.types import Draft, Program


def program_fault(draft: Draft) -> str:
    """Why the program of a draft does not prove its answer, in one sentence; empty where it does, or there is none."""
    if (program := draft.program) is None:
        return ""
    if fault := _hops_fault(draft, program):
        return fault
    for one in program.values:
        hop = draft.hops[one.hop]
        told, titles = f"{hop.title} | {hop.quote}", {normalise(hop.title), normalise(untagged(hop.title))}
        if normalise(one.value) != normalise(hop.answer):
            return f"hops[{one.hop}] has the answer '{hop.answer}', and its value is '{one.value}'"
        if not mentions(hop.quote, one.value) and normalise(one.value) not in titles:
            return f"the quote of hops[{one.hop}] does not state '{one.value}'"
        if normalise(one.value) not in titles and (fault := misquoted(one.value, hop.quote)):
            return f"hops[{one.hop}]: {fault}"
        if one.name and not mentions(told, one.name):
            return f"neither the title nor the quote of hops[{one.hop}] names '{one.name}'"
    try:
        answer = program.run()
    except ValueError as error:
        return str(error)
    if not equal(draft.answer, [answer]) and not any(equal(answer, [alias]) for alias in draft.answer_aliases):
        return f"the program gives '{answer}', and the answer is '{draft.answer}'"
    return ""


def _hops_fault(draft: Draft, program: Program) -> str:
    numbers = [one.hop for one in program.values]
    if draft.answer_items:
        return "an answer that is computed is no list"
    if numbers != sorted(set(numbers)) or numbers[-1] != len(draft.hops) - 1:
        return "the values are in the order of their hops, one of each, and the last hop has one"
    if len({draft.hops[number].passage_id.rpartition("#")[0] for number in numbers}) < 2:
        return "the values come from one document; take them from two or more"
    if bool(program.set_question) != bool(program.link):
        return "a `set_question` and a `link` are given together or not at all"
    if program.link and not mentions(f"{draft.hops[0].title} | {draft.hops[0].quote}", program.link):
        return f"neither the title nor the quote of hops[0] names the link, '{program.link}'"
    if program.set_question and program.operation == "count":
        return _count_fault(draft, program)
    if not program.set_question and program.operation != "difference":
        untold = [draft.hops[number].title for number in numbers if not _named(draft, number)]
        return f"without a `set_question` the question names every thing: '{untold[0]}' is not named" if untold else ""
    return ""


def _count_fault(draft: Draft, program: Program) -> str:
    """What is counted stands in one quoted list or is joined by one named thing: how many of a kind a corpus happens to
    hold is no fact. That every chain names what joins it `broken_chain` sees."""
    things = [one.name or untagged(draft.hops[one.hop].title) for one in program.values]
    listed = any(all(mentions(hop.quote, thing) for thing in things) for hop in draft.hops)
    if listed or program.link != program.link.lower() or not cased(program.link):
        return ""
    return f"'{program.link}' names no one thing: count what a quoted list or one named thing holds, not all of a kind"


def _named(draft: Draft, number: int) -> bool:
    """Does the question name where the chain of this value starts?"""
    return mentions(draft.question, untagged(draft.hops[start(draft, number)].title).split(", ")[0])

"""A chain as a question with its hops."""

import random
from typing import NamedTuple

from pipeline.embedded import lexicon
from pipeline.embedded.compose import Thing, article, ask_date, ask_entity, ask_number, described, name, restatement, start, statement
from pipeline.embedded.generator_bridge import clue
from pipeline.embedded.generator_chain import Chain, Final, clued
from pipeline.embedded.generator_graph import Edge, Graph, Stated


class Style(NamedTuple):
    """How much a question tells. `full` gives every noun its adjectives; `anchor` stands for the name of the start."""

    full: bool = False
    anchor: str = ""


def question(graph: Graph, chain: Chain, rng: random.Random, style: Style) -> str:
    """One or more right-branching statements from the named start, then what is asked of the last thing."""
    things = [graph.nodes[title] for title in chain.titles]
    pick, pronoun, typed = rng.randrange(3), rng.choice(("that", "this")), rng.random() < 0.4 or style.full
    if not chain.edges:
        return start(ask(style.anchor or name(things[0], typed=True), chain.final, pick))
    breaks = _breaks(chain, rng)
    first = chain.edges[0].stated.fact
    said = start(statement(style.anchor or name(things[0], typed=typed and first.form != "definition"), first))
    for place, edge in enumerate(chain.edges):
        thing = things[place + 1]
        telling = clue(graph, edge.target) if clued(edge) else ""
        if edge.turn:
            said += f" {article(edge.pivot)} {edge.turn.before}"
        tail = f" {edge.turn.after}" if edge.turn and edge.turn.after else ""
        following = chain.edges[place + 1].stated.fact if place + 1 < len(chain.edges) else None
        noun = telling or article(thing.noun.full if style.full else thing.noun.phrase)
        if following is None:
            said += f" {noun}{tail}."
        elif place in breaks or tail:
            said += f" {noun}{tail}. {start(restatement(refer(things[1 : place + 2], pronoun), following))}"
        else:
            said += f" {described(thing, following, telling or (noun if style.full else ''))}"
    return f"{said} {start(ask(refer(things[1:], pronoun), chain.final, pick))}"


def refer(things: list[Thing], pronoun: str) -> str:
    """"that town"; "the latter town" where an earlier one was named alike."""
    last = things[-1].noun
    alike = any(thing.noun.head == last.head for thing in things[:-1])
    return f"the latter {last.head}" if alike else f"{pronoun} {last.phrase}"


def _breaks(chain: Chain, rng: random.Random) -> set[int]:
    """After which edges a new sentence starts: where the description would be too long, and now and then."""
    inner = range(len(chain.edges) - 1)
    long = {i for i in inner if len(chain.edges[i + 1].stated.fact.middle.split()) > 6}
    return long | {i for i in inner if rng.random() < 0.25 and chain.edges[i + 1].stated.fact.form == "clause"}


def ask(subject: str, final: Final, pick: int) -> str:
    fact = final.stated.fact
    if final.kind == "date":
        return ask_date(subject, fact, pick)
    if final.kind == "number":
        return ask_number(subject, fact)
    return ask_entity(subject, fact, final.sort, final.sort_kind)


def hops(graph: Graph, chain: Chain) -> list[dict[str, str]]:
    """One hop for each passage, in order."""
    found = []
    for place, stated in enumerate(chain.evidence):
        thing = graph.nodes[chain.titles[place]]
        final = chain.final
        if place < len(chain.edges):
            edge = chain.edges[place]
            noun = graph.nodes[edge.target].noun
            sort, kind = (edge.pivot, lexicon.kind(edge.pivot.split()[-1])) if edge.back else (noun.phrase, noun.kind)
            final = Final(stated, "entity", edge.mention, sort, kind)
        entered = chain.edges[place - 1] if place else None
        found.append(
            {
                "sub_question": start(ask(_subject(graph, thing, entered), final, 0)),
                "answer": chain.answers[place],
                "passage_id": stated.passage.id,
                "quote": _quote(stated, entered.back if entered else None),
                "relation": stated.fact.relation,
            }
        )
    return found


def _subject(graph: Graph, thing: Thing, entered: Edge | None) -> str:
    """The thing by its name; one that is reached over another's name, by its description with that name."""
    if not entered or not entered.back:
        return name(thing, typed=True)
    fact = entered.back.fact
    if thing.noun.kind != lexicon.WORK:
        return name(thing, typed=True)
    how = "starring" if not fact.verb.auxiliary else fact.verb.rest + " by" if fact.form != "definition" else "by"
    return f"the {thing.noun.full} {how} {entered.mention}"


def _quote(stated: Stated, back: Stated | None) -> str:
    """The sentence of the fact, from or up to the one that ties it to the hop before."""
    spans = [stated.fact.quote, *([back.fact.quote] if back else [])]
    return stated.passage.text[min(s.start for s in spans) : max(s.end for s in spans)]

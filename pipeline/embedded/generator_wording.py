"""A chain as a question with its hops."""

import random
from itertools import pairwise

from pipeline.embedded import lexicon
from pipeline.embedded.agent_noun import agent_noun
from pipeline.embedded.compose import (
    Thing,
    agreeing,
    article,
    ask_date,
    ask_entity,
    ask_number,
    described,
    name,
    nested,
    restatement,
    said,
    start,
    statement,
)
from pipeline.embedded.fact import Fact
from pipeline.embedded.generator_bridge import clue
from pipeline.embedded.generator_chain import Chain, Final, clued
from pipeline.embedded.generator_graph import Edge, Graph, Stated


def question(graph: Graph, chain: Chain, rng: random.Random, *, full: bool = False) -> str:
    """Statements from the named start up to the last thing but one, and a question that describes the last by that one.

    With two things it is one sentence: "On what date was the director who directed X born?".
    `full` gives every noun its adjectives.
    """
    pick, pronoun, typed = rng.randrange(3), rng.choice(("that", "this")), rng.random() < 0.6 or full
    anchor = name(graph.nodes[chain.start], typed=typed or not chain.edges)
    if not chain.edges:
        return start(ask(anchor, chain.final, pick))
    plain = name(graph.nodes[chain.start], typed=typed and chain.edges[0].stated.fact.form != "definition")
    if graph.nodes[chain.start].noun.head not in plain.lower().split():
        chain = _agreeing(graph, chain)
    *before, last = chain.edges
    told, inner = "", anchor
    # Over the maker of what was told before, "the film directed by the director of that film" is too much at once.
    maker = "" if last.back and before else _maker(graph, last)
    if last.back and not maker:
        told = _statements(graph, chain, plain, pronoun, full=full, upto_pivot=True) + " "
        inner = f"{pronoun} {last.pivot}"
    elif before:
        told = _statements(graph, chain._replace(edges=tuple(before)), plain, pronoun, full=full) + " "
        inner = refer([graph.nodes[title] for title in chain.titles[:-1]], pronoun)
    if maker:
        inner = f"the {maker} of {inner}"
    subject = inner if maker and not last.back else _nested(graph, last, inner, full=full)
    asked = start(ask(subject, chain.final, pick)) if subject else ""
    if subject and not _stutters(asked) and not _heavy(subject, asked):
        return told + asked
    told = _statements(graph, chain, plain, pronoun, full=full)
    return f"{told} {start(ask(refer([graph.nodes[t] for t in chain.titles], pronoun), chain.final, pick))}"


def _maker(graph: Graph, edge: Edge) -> str:
    """ "director", where the edge leads to or over the director of its source."""
    to = edge.pivot.split()[-1] if edge.back else graph.nodes[edge.target].noun.head
    return agent_noun(edge.stated.fact, graph.nodes[edge.source].noun, to)


def _nested(graph: Graph, edge: Edge, inner: str, *, full: bool = False) -> str:
    """The edge's target, described by its source or, over a name between, by that."""
    source, target = graph.nodes[edge.source].noun, graph.nodes[edge.target]
    sort = target.noun.full if full else target.noun.phrase
    told = clue(graph, edge.target).split(" ", 1)[1] if clued(edge) else sort
    if not edge.back:
        return nested(inner, edge.stated.fact, source, told, target.noun.kind)
    fact = edge.back.fact
    if fact.form == "reduced" and fact.verb.passive and not fact.of:
        # "the band founded in 2007 by that actor"
        verb = "" if f" {fact.verb.rest} in " in told else f"{fact.verb.rest} "
        return f"the {told} {verb}{fact.middle} {inner}"
    return f"the {described(target, fact, told)} {inner}"


def _stutters(text: str) -> bool:
    """ "is located located", "is based located", "is located is located on"."""
    words = text.lower().strip("?").split()
    if any(words[i : i + 2] == words[i + 2 : i + 4] for i in range(len(words) - 3)):
        return True
    return any(one == other or (one.endswith("ed") and other.endswith("ed")) for one, other in pairwise(words))


def _agreeing(graph: Graph, chain: Chain) -> Chain:
    """With the first fact's verb as the name before it wants it."""
    first, *others = chain.edges
    fact = agreeing(first.stated.fact, graph.nodes[chain.start])
    return chain._replace(edges=(first._replace(stated=first.stated._replace(fact=fact)), *others))


_LONG = 10
"""Words after which a reader has lost what was asked before them."""


def _heavy(subject: str, asked: str) -> bool:
    """ "On which date did the actor born on ... who starred in the latter film die?": who is told, then asked about."""
    return len(subject.split()) > _LONG and not asked.endswith(f"{subject}?")


def _statements(
    graph: Graph,
    chain: Chain,
    anchor: str,
    pronoun: str,
    *,
    full: bool,
    upto_pivot: bool = False,
) -> str:
    """Right-branching sentences that lead from the start to the chain's last thing."""
    things, edges, breaks = [graph.nodes[title] for title in chain.titles], chain.edges, _breaks(chain)
    maker = _led_by(graph, chain, 0)
    told = start(_opening(anchor, edges[0].stated.fact, maker))
    for place, edge in enumerate(edges):
        thing = things[place + 1]
        following = edges[place + 1].stated.fact if place + 1 < len(edges) else None
        if maker and not edge.back and following:
            told, maker = f"{told} {said(following)}", ""
            continue
        telling = clue(graph, edge.target) if clued(edge) else ""
        if upto_pivot and following is None:
            return f"{told} {article(edge.pivot)}."
        if edge.turn:
            told += f" {_goes_on(edge)}" if maker else f" {article(edge.pivot)} {edge.turn.before}"
        maker, tail = "", f" {edge.turn.after}" if edge.turn and edge.turn.after else ""
        noun = telling or article(thing.noun.full if full else thing.noun.phrase)
        if following is None:
            told += f" {noun}{tail}."
        elif place in breaks or tail:
            maker = _led_by(graph, chain, place + 1)
            again = refer(things[: place + 2], pronoun)
            told += f" {noun}{tail}. {start(_opening(again, following, maker, known=True))}"
        else:
            told += f" {described(thing, following, telling or (noun if full else ''))}"
    return told


def _opening(subject: str, fact: Fact, maker: str, *, known: bool = False) -> str:
    """What a sentence begins with, up to the next thing or, of a maker, up to the verb."""
    if maker:
        return f"the {maker} of {subject}"
    return restatement(subject, fact) if known else statement(subject, fact)


def _led_by(graph: Graph, chain: Chain, place: int) -> str:
    """The noun of who made the source of that edge, where a sentence can have that one as its subject."""
    edge, following = chain.edges[place], chain.edges[place + 1 : place + 2]
    goes_on = bool(_goes_on(edge)) if edge.turn else not clued(edge) and any(not e.stated.fact.of for e in following)
    return _maker(graph, edge) if goes_on else ""


def _goes_on(edge: Edge) -> str:
    """ "who also directed" without its pronoun; nothing where that is not its subject ("in which ... is based")."""
    pronoun, _, rest = edge.turn.before.partition(" ") if edge.turn else ("", "", "")
    return rest if pronoun in ("who", "that") else ""


def refer(things: list[Thing], pronoun: str) -> str:
    """Of the last: "that town"; "the latter town" where one before it is told alike, the first being named."""
    first, *others, last = (thing.noun for thing in things)
    if any(noun.head == last.head for noun in others):
        return f"the latter {last.head}"
    short = len(last.phrase.split()) > 2 and first.head != last.head
    return f"{pronoun} {last.head if short else last.phrase}"


def _breaks(chain: Chain) -> set[int]:
    """After which edges a new sentence starts, as the description would be too long."""
    return {i for i in range(len(chain.edges) - 1) if len(chain.edges[i + 1].stated.fact.middle.split()) > 7}


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
    if thing.noun.kind != lexicon.WORK:
        return _nested(graph, entered, entered.mention) or name(thing, typed=True)
    fact = entered.back.fact
    how = "starring" if not fact.verb.auxiliary else fact.verb.rest + " by" if fact.form != "definition" else "by"
    return f"the {thing.noun.full} {how} {entered.mention}"


def _quote(stated: Stated, back: Stated | None) -> str:
    """The sentence of the fact, from or up to the one that ties it to the hop before."""
    spans = [stated.fact.quote, *([back.fact.quote] if back else [])]
    return stated.passage.text[min(s.start for s in spans) : max(s.end for s in spans)]

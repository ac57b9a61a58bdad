"""Records as a run leaves them, made from a small invented country, for the tests of views, export and report.

Everything is consistent: quotes, steps, hit steps, observations by the product. `world(n)` gives a chain for each n.
"""

from collections.abc import Sequence  # noqa: I001
from typing import Literal, NamedTuple

import orjson

from pipeline.agents import grading, tools
from pipeline.store.journal import RunIdentity
from pipeline.types import (
    AnswerType, Call, Cause, Draft, Feedback, Finding, Hop, Label, Lineage, Message, Passage, Record, Rollout, Round,
    Seed, Status, Stop, ToolCall, Trajectory, Usage, Verdict, sha256,
)  # fmt: skip
from tests.graph_drafts import chained
from tests.hostile_texts import HOSTILE

SYSTEM = "Answer the question with the search tool. Ground every step in what the search returned."
ENGINEERS = ["Ada Brannick", "Tomas Veldt", "Ilse Corrin", "Piers Hallam", "Nora Ostrava", "Jun Takeda", "Eli Marsh"]
TOWNS = ["Kirkholm", "Dunmere", "Saltby", "Orrin Vale", "Hexley", "Port Amity", "Stannard", "Lower Wick"]
RIVERS = ["Tarn", "Ouse", "Melk", "Avar", "Lune", "Isker", "Bree", "Calder", "Wye"]
KINDS = ["suspension bridge", "stone viaduct", "iron footbridge", "swing bridge", "railway bridge"]
RUN = RunIdentity(sha256("run"), sha256("fells"))


class World(NamedTuple):
    """One evidence chain: a bridge, its engineer, the town of birth with its year."""

    bridge: Passage
    engineer: Passage
    town: Passage
    noise: tuple[Passage, ...]
    year: str
    wrong: str
    question: str

    @property
    def chain(self) -> tuple[Passage, Passage, Passage]:
        return self.bridge, self.engineer, self.town


def passage(document: str, title: str, text: str) -> Passage:
    start = len(title) + 1
    return Passage(id=f"{document}#0", document_id=document, title=title, text=text, start=start, end=start + len(text))


def world(n: int) -> World:
    kind, river = KINDS[n % len(KINDS)], RIVERS[n % len(RIVERS)]
    engineer, town = f"{ENGINEERS[n % len(ENGINEERS)]}", TOWNS[n % len(TOWNS)]
    year, wrong = str(1201 + 7 * n), str(1520 + n)
    name = f"{river} Crossing"
    return World(
        passage(f"b{n}", name, f"The {name} is a {kind} over the River {river}. It was designed by {engineer} and "
                f"opened to traffic in {1850 + n}, replacing a ferry that had run there for two centuries."),
        passage(f"e{n}", engineer, f"{engineer} was an engineer of bridges and harbours. Born in {town}, the second "
                f"of five children, {engineer} was apprenticed to a clockmaker before turning to iron."),
        passage(f"t{n}", town, f"{town} is a market town in the northern fells. It was founded in {year} by monks "
                f"who drained the marsh; its church tower dates from {wrong}."),
        tuple(
            passage(f"x{n}-{i}", f"List of bridges {n}-{i}", f"This list names bridges of district {i}, the oldest "
                    f"of which was repaired in {1700 + i} after a flood.") for i in range(4)
        ),
        year,
        wrong,
        f"In what year was the town founded where the designer of the {kind} over the River {river} was born?",
    )  # fmt: skip


def draft(w: World, *, one_hop: bool = False) -> Draft:
    quotes = (w.bridge.text.split(" and opened")[0] + " and opened", w.engineer.text.split(",")[0].split(". ")[1],
              w.town.text.split(" by monks")[0].split(". ")[1])  # fmt: skip
    parts = (
        ("Who designed the bridge?", w.engineer.title, w.bridge),
        ("Where was the engineer born?", w.town.title, w.engineer),
        ("When was the town founded?", w.year, w.town),
    )
    hops = [
        Hop(sub_question=question, answer=answer, passage_id=p.id, title=p.title, quote=quote,
            passage_sha256=p.sha256)
        for (question, answer, p), quote in zip(parts, quotes, strict=True)
    ]  # fmt: skip
    question = w.question
    if one_hop:
        hops, question = hops[2:], hops[2].sub_question
    return chained(
        question, hops, answer_aliases=(f"AD {w.year}",), answer_type=AnswerType.DATE, answer_precision="year"
    )


def trajectory(
    opening: Sequence[Message],
    searches: Sequence[tuple[str, Sequence[Passage]]],
    final: tuple[str, dict[str, str]] | None,
    stop: Stop = Stop.ANSWERED,
) -> Trajectory:
    """An agent that makes these searches, one a turn, and ends with the tool call `final`."""
    messages, calls = list(opening), list[Call]()
    for turn, (query, found) in enumerate(searches):
        call = ToolCall(id=f"call-{turn}", name="search", arguments=orjson.dumps({"query": query}).decode())
        messages.append(Message(role="assistant", content=f"I look for: {query}", tool_calls=(call,)))
        messages.append(Message(role="tool", content=tools.render(found), tool_call_id=call.id, name="search"))
        repeat = any(query == earlier.argument for earlier in calls)
        calls.append(
            Call(id=call.id, tool="search", argument=query, passage_ids=tuple(p.id for p in found), repeat=repeat)
        )
    arguments = orjson.dumps(final[1]).decode() if final else ""
    if final:
        call = ToolCall(id="call-last", name=final[0], arguments=arguments)
        messages.append(Message(role="assistant", tool_calls=(call,)))
    usage = Usage(calls=len(calls) + 1, prompt_tokens=900 * (len(calls) + 1), completion_tokens=40 * (len(calls) + 1))
    return Trajectory(messages=tuple(messages), calls=tuple(calls), stop=stop, final=arguments, usage=usage)


Style = Literal["right", "wrong", "lucky", "repeats", "forced", "silent"]


def rollout(w: World, d: Draft, sample: int, style: Style = "right") -> Rollout:
    """One attempt: `right` in three steps, `lucky` in one, `repeats` one search twice, `forced` ends on its budget."""
    noise = w.noise
    searches: list[tuple[str, Sequence[Passage]]] = [
        (f"{w.bridge.title} designer", (w.bridge, *noise[:2])),
        (f"{w.engineer.title} born", (noise[1], w.engineer)),
        (f"{w.town.title} founded", (w.town, noise[2])),
    ]
    answer = {"wrong": w.wrong, "silent": ""}.get(style, d.answer)
    if style == "lucky":
        searches = [(d.question, (w.town, w.bridge, noise[0]))]
    elif style in ("wrong", "silent"):
        searches = [*searches[:2], ("church tower", noise[:3])]
    elif style == "repeats":
        searches = [searches[0], *searches]
    stop = {"forced": Stop.SEARCH_BUDGET, "silent": Stop.MAX_TURNS}.get(style, Stop.ANSWERED)
    opening = (Message(role="system", content=SYSTEM), Message(role="user", content=d.question))
    final = ("answer", {"answer": answer}) if answer else None
    return Rollout(sample=sample, trajectory=trajectory(opening, searches, final, stop), answer=answer)


def verdict(w: World, r: Rollout, d: Draft) -> Verdict:
    calls = [call for call in r.trajectory.calls if not call.repeat]
    hit = next((i for i, call in enumerate(calls, 1) if w.town.id in call.passage_ids), None)
    right = r.answer not in ("", w.wrong)
    return Verdict(
        sample=r.sample, right=right, supported=hit is not None, method="exact" if r.answer else "none",
        usage=Usage(calls=1, prompt_tokens=150, completion_tokens=5) if r.answer and r.answer != w.year else Usage(),
        steps=len(calls), calls=len(r.trajectory.calls), hit_step=hit, found_at=grading.find_hop_steps(d, r),
    )  # fmt: skip


def agent(w: World, tool: str, d: Draft | None) -> Trajectory:
    """The generator's or refiner's trace, ending in `d` or in nothing."""
    opening = (Message(role="system", content="You make questions."), Message(role="user", content=w.bridge.text))
    searches = [(w.engineer.title, (w.engineer, w.noise[0])), (w.town.title, (w.town,))]
    final = (tool, {"question": d.question, "answer": d.answer}) if d else None
    return trajectory(opening, searches, final, Stop.ANSWERED if d else Stop.MAX_TURNS)


def round_(w: World, d: Draft, index: int, styles: Sequence[Style], feedback: Feedback | None = None) -> Round:
    rollouts = tuple(rollout(w, d, sample, style) for sample, style in enumerate(styles))
    made = agent(w, "revise" if index else "propose", d)
    return Round(
        index=index, agent=made, draft=d, rollouts=rollouts,
        verdicts=tuple(verdict(w, r, d) for r in rollouts), feedback=feedback,
    )  # fmt: skip


def seed(w: World, n: int, target: int = 3, side: Literal["train", "eval"] = "train") -> Seed:
    return Seed(key=RUN.key(w.bridge.id, n), passage=w.bridge, draw=n, side=side, target_steps=target)


def lineage(model: str = "embedded") -> Lineage:
    return Lineage(
        run=RUN.digest[:12], preset="default", strategy="sage", model=model, trainable="embedded" not in model,
        demo_solver=1 if model == "embedded" else None, corpus="fells", corpus_fingerprint=RUN.corpus_fingerprint,
        licence="CC-BY-SA-4.0", attribution="The chroniclers of the northern fells", retriever="lucene",
    )  # fmt: skip


def record(s: Seed, status: Status, reason: str, rounds: Sequence[Round], model: str = "embedded") -> Record:
    return Record(key=s.key, seed=s, status=status, reason=reason, rounds=tuple(rounds), lineage=lineage(model))


def confirmed(base: Record, w: World, styles: Sequence[Style]) -> Record:
    assert base.draft
    rollouts = tuple(rollout(w, base.draft, 100 + i, style) for i, style in enumerate(styles))
    verdicts = tuple(verdict(w, r, base.draft) for r in rollouts)
    return base.model_copy(update={"confirmation": rollouts, "confirmation_verdicts": verdicts})


def measured_in_its_round(old: Record) -> Record:
    """Return the record with its confirmation, which older versions made after the last round, in that round."""
    last = old.rounds[-1].model_copy(update={"rollouts": old.confirmation, "verdicts": old.confirmation_verdicts})
    return old.model_copy(update={"rounds": (*old.rounds[:-1], last), "confirmation": (), "confirmation_verdicts": ()})


TOO_EASY = Feedback(label=Label.TOO_EASY, cause=Cause.SUPERFICIAL, hops=(0,),
                    message="Solved in 1 step of 3: the first search returned the passage of the answer.")  # fmt: skip
UNSOLVED = Feedback(label=Label.UNSOLVED, cause=Cause.SOLVER_ERROR, hops=(2,),
                    message="0 of 4 correct: every rollout reached the town but answered another year.")  # fmt: skip


def accepted(
    n: int = 0,
    side: Literal["train", "eval"] = "train",
    rounds: int = 1,
    model: str = "embedded",
    *,
    one_hop: bool = False,
) -> Record:
    """Candidate in its last round and confirmed by 3 of 4; earlier rounds were too easy."""
    w = world(n)
    d = draft(w, one_hop=one_hop)
    easy = d.model_copy(update={"question": f"When was {w.town.title}, the town of an engineer, founded?"})
    early = [round_(w, easy, i, ["lucky"], TOO_EASY) for i in range(rounds - 1)]
    last = round_(w, d, rounds - 1, ["right", "wrong", "right", "repeats"])
    base = record(seed(w, n, side=side), Status.ACCEPTED, "", [*early, last], model)
    return confirmed(base, w, ["right", "repeats", "wrong", "right"])


def accepted_with_one_hop(n: int = 1000) -> Record:
    return accepted(n, one_hop=True)


def below_target(n: int = 2000) -> Record:
    """A candidate whose fresh rollouts solved it in one step."""
    w = world(n)
    base = record(seed(w, n), Status.REJECTED, "below_target", [round_(w, draft(w), 0, ["right"] * 4)])
    return confirmed(base, w, ["lucky", "right", "right", "wrong"])


def rejected(n: int = 3000, reason: str = "superficial") -> Record:
    """Sent back in every round: a shortcut (`superficial`), unsolved (`solver_error`), or unsound (`co_located`)."""
    d = draft(w := world(n))
    if reason == "solver_error":
        rounds = [round_(w, d, i, ["wrong", "wrong", "silent", "wrong"], UNSOLVED) for i in range(2)]
    elif reason == "co_located":
        finding = Finding(check="co_location", cause=Cause.CO_LOCATED, hops=(0, 1), detail="one passage")
        back = Feedback(
            label=Label.UNSOUND, cause=Cause.CO_LOCATED, message="Hops 1 and 2 sit in one passage.", hops=(0, 1)
        )
        rounds = [round_(w, d, 0, [], back).model_copy(update={"findings": (finding,)})]
    else:
        rounds = [round_(w, d, i, ["lucky"], TOO_EASY) for i in range(3)]
    return record(seed(w, n), Status.REJECTED, reason, rounds)


def no_draft(n: int = 4000) -> Record:
    w = world(n)
    finding = Finding(check="no_draft", cause=Cause.GENERATOR_ERROR, detail="no fact to ask about")
    return record(
        seed(w, n),
        Status.REJECTED,
        "no_draft",
        [Round(index=0, agent=agent(w, "propose", None), draft=None, findings=(finding,))],
    )


def failed(n: int = 5000) -> Record:
    w = world(n)
    return record(seed(w, n), Status.FAILED, "deadline", [round_(w, draft(w), 0, ["right"])])


def hostile(n: int = 6000, text: str = "") -> Record:
    """An accepted record with `text` (default: all of `HOSTILE`) wherever corpus or model text goes."""
    poison = text or " ".join(HOSTILE)
    base = accepted(n)
    tree = base.model_dump(mode="json")
    for place in (tree["seed"]["passage"], *_drafts(tree), *_messages(tree)):
        for name in ("title", "text", "question", "content", "detail"):
            if place.get(name):
                place[name] += " " + poison
    for d in _drafts(tree):
        d["answer_aliases"] += ["1969", "true", "null", poison]
        for step in d["graph"]["steps"]:
            step["sub_question"] = poison
            step["citation"].update(title=poison, quote=poison + step["answer"])
    tree["lineage"]["attribution"] = poison
    return Record.model_validate(tree)


def _drafts(tree: dict) -> list[dict]:  # type: ignore[type-arg]
    return [r["draft"] for r in tree["rounds"]]


def _messages(tree: dict) -> list[dict]:  # type: ignore[type-arg]
    rollouts = [*tree["confirmation"], *(r for past in tree["rounds"] for r in past["rollouts"])]
    return [message for r in rollouts for message in r["trajectory"]["messages"]]


def batch(size: int = 24) -> list[Record]:
    """A small run in plan order: every kind, both sides."""
    makers = (
        lambda n: accepted(n, rounds=1 + n % 3),
        lambda n: rejected(n, "superficial"),
        lambda n: rejected(n, "solver_error"),
        lambda n: accepted(n, side="eval" if n % 8 == 3 else "train"),
        lambda n: rejected(n, "co_located"),
        below_target,
        no_draft,
        lambda n: failed(n) if n % 16 == 7 else accepted_with_one_hop(n),
    )
    return [makers[n % len(makers)](n) for n in range(size)]

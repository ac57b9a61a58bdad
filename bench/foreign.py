"""Do solvers that share nothing with ours find the same pairs hard, and can chance alone confirm them?

The one-shot reader searches the question once and answers the best span of the wanted type; the random-walk reader
searches a random piece of the question and follows random names; the guesser walks as far as the target asks for and
answers any span of that type that it has seen. All have their own words, spans and types, by regular expression
alone: nothing of pipeline.embedded, no tagger. Only the judge and the support rule are those of the loop.
"""

import argparse
import asyncio
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scipy.stats import kendalltau  # type: ignore[import-untyped]

from bench import overlap
from bench.common import Dug, Ground, dug, heading, interval, median, opened, share, table
from pipeline.agents import grading
from pipeline.agents.judge import grade
from pipeline.agents.tools import render
from pipeline.context import RunContext
from pipeline.types import Call, Draft, Message, Passage, Record, Rollout, Stop, Trajectory

WALKS, LONGEST, GUESSES, MOST_GUESSED = 8, 6, 40, 0.01
WORD = re.compile(r"[A-Za-z0-9À-ÿ]+")
NAME = re.compile(r"[A-Z][\w'’.-]*(?:(?: (?:of|the|de|and|von|van|la|le|&))* [A-Z0-9][\w'’.-]*)*")
MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
DAY = re.compile(rf"(?:\d{{1,2}} )?(?:{MONTH})(?: \d{{1,2}},?)? \d{{4}}|\b1\d{{3}}\b|\b20\d\d\b")
COUNT = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
COMMON = frozenset(
    "a an the of in on at to for by with from and or is are was were be been that which who whom whose what when where "
    "how many did does do it its this these those as into than then there their his her has have had not one".split()
)


def terms(text: str) -> list[str]:
    return [word for word in (w.lower() for w in WORD.findall(text)) if word not in COMMON]


def wanted(question: str) -> re.Pattern[str]:
    """The pattern of the answer, from the question's own words."""
    low = question.lower()
    if re.search(r"\bwhen\b|\b(?:what|which) (?:year|date|month|day|decade)\b|\bdate of\b", low):
        return DAY
    many = re.search(r"\bhow (?:many|much|long|tall|high|far|large|old)\b|\bwhat (?:number|population)\b", low)
    return COUNT if many else NAME


def spans(question: str, passage: Passage) -> list[tuple[str, str]]:
    """Spans of the wanted type that the question does not name, each with its sentence; the title is one too."""
    pattern, known = wanted(question), set(terms(question))
    sentences = [passage.title, *re.split(r"(?<=[a-z)\d]{2}[.!?]) +(?=[A-Z])", passage.text)]
    found = [(m.group().strip(" .,"), sentence) for sentence in sentences for m in pattern.finditer(sentence)]
    return [(span, sentence) for span, sentence in found if set(terms(span)) - known]


@dataclass
class Walk:
    """What a foreign solver has searched and seen."""

    context: RunContext
    calls: list[Call] = field(default_factory=list)
    texts: list[Message] = field(default_factory=list)
    seen: list[Passage] = field(default_factory=list)

    async def search(self, query: str) -> list[Passage]:
        passages = [hit.passage for hit in await self.context.retriever.search(query, self.context.config.retrieval.k)]
        name = f"c{len(self.calls)}"
        repeat = any(call.argument == query for call in self.calls)
        ids = tuple(passage.id for passage in passages)
        self.calls.append(Call(id=name, tool="search", argument=query, passage_ids=ids, repeat=repeat))
        self.texts.append(Message(role="tool", content=render(passages), tool_call_id=name, name="search"))
        self.seen += [passage for passage in passages if passage not in self.seen]
        return passages

    def rollout(self, sample: int, answer: str) -> Rollout:
        trajectory = Trajectory(messages=tuple(self.texts), calls=tuple(self.calls), stop=Stop.ANSWERED)
        return Rollout(sample=sample, trajectory=trajectory, answer=answer)


def best(question: str, passages: Sequence[Passage]) -> str:
    """The span whose sentence and passage share most with the question, rare words counting more."""
    asked = set(terms(question))
    spread = Counter(word for passage in passages for word in set(terms(f"{passage.title} {passage.text}")))
    worth: dict[str, float] = defaultdict(float)
    for rank, passage in enumerate(passages, 1):
        whole = set(terms(f"{passage.title} {passage.text}"))
        for span, sentence in spans(question, passage):
            near = sum(1 / spread[word] for word in asked & set(terms(sentence)))
            worth[span] += near + 0.3 * sum(1 / spread[word] for word in asked & whole) / rank
    return max(worth, key=lambda span: worth[span]) if worth else ""


async def one_shot(question: str, sample: int, context: RunContext) -> Rollout:
    walk = Walk(context)
    return walk.rollout(sample, best(question, await walk.search(question)))


async def wander(question: str, steps: int, chance: random.Random, context: RunContext) -> Walk:
    """Start from a random piece of the question, then search names picked at random from all that was seen."""
    walk, tokens = Walk(context), question.rstrip("?").split()
    size = min(len(tokens), chance.randint(3, 7))
    start = chance.randrange(len(tokens) - size + 1)
    found = await walk.search(" ".join(tokens[start : start + size]))
    for _ in range(steps - 1):
        names = [name for passage in (found or walk.seen) for name in NAME.findall(f"{passage.title} | {passage.text}")]
        clue = chance.choice(terms(question) or [""])
        found = await walk.search(f"{chance.choice(names)} {clue}" if names else clue)
    return walk


async def random_walk(question: str, sample: int, context: RunContext) -> Rollout:
    chance = random.Random(f"{question}|{sample}")
    walk = await wander(question, chance.randint(1, LONGEST), chance, context)
    return walk.rollout(sample, best(question, walk.seen))


async def guess(question: str, sample: int, steps: int, context: RunContext) -> Rollout:
    """A span of the wanted type from one of the passages seen, both drawn at random."""
    chance = random.Random(f"guess|{question}|{sample}")
    walk = await wander(question, steps, chance, context)
    found = spans(question, chance.choice(walk.seen)) if walk.seen else []
    return walk.rollout(sample, chance.choice(found)[0] if found else "")


async def marked(draft: Draft, rollout: Rollout, context: RunContext) -> tuple[bool, bool, int]:
    """Right by the judge; correct as the loop counts it (the support was read too); steps."""
    verdict = grading.verdict(draft, rollout, await grade(draft, rollout.answer, context))
    return verdict.right, verdict.correct, verdict.steps


@dataclass
class Tried:
    """One accepted pair and what the foreign solvers made of it."""

    record: Record
    shot: bool
    walks: list[bool]
    guesses: list[bool]
    """Which are correct, as the loop counts it, in no fewer steps than the target."""
    lucky: float
    """Share that is right, whether its support was read or not."""

    @property
    def guessed(self) -> float:
        return sum(self.guesses) / len(self.guesses)

    def confirmed(self, k: int) -> float:
        """The chance that one of k guesses is correct."""
        return 1 - (1 - self.guessed) ** k

    def carried(self, screen: int, k: int) -> float:
        """The chance that guesses carry it through the screen and then the confirmation, as the loop asks for both.

        Each factor is of other guesses: the square of one noisy share would be too large.
        """
        half = len(self.guesses) // 2
        first, second = sum(self.guesses[:half]) / half, sum(self.guesses[half:]) / (len(self.guesses) - half)
        return (1 - (1 - first) ** screen) * (1 - (1 - second) ** k)


async def tried(record: Record, context: RunContext) -> Tried:
    draft = record.draft
    assert draft is not None
    question, target = draft.question, record.seed.target_steps
    shot, _, _ = await marked(draft, await one_shot(question, 0, context), context)
    walks = [(await marked(draft, await random_walk(question, n, context), context))[0] for n in range(WALKS)]
    guesses = [await marked(draft, await guess(question, n, target, context), context) for n in range(GUESSES)]
    return Tried(
        record=record,
        shot=shot,
        walks=walks,
        guesses=[correct and steps >= target for _, correct, steps in guesses],
        lucky=sum(right for right, _, _ in guesses) / GUESSES,
    )


def by_difficulty(all_tried: list[Tried]) -> str:
    rows = []
    for level in sorted({t.record.difficulty or 0 for t in all_tried}):
        here = [t for t in all_tried if t.record.difficulty == level]
        walks = [won for t in here for won in t.walks]
        rates = [t.record.solve_rate or 0.0 for t in here]
        rows.append(
            (
                level,
                len(here),
                f"{median(rates):.2f}",
                share(sum(t.shot for t in here), len(here)),
                share(sum(walks), len(walks)),
            )
        )
    return table(("difficulty", "pairs", "our solve rate", "one-shot right", "walks right"), rows)


def ranks(all_tried: list[Tried]) -> str:
    """Kendall's τ-b of each foreign fail rate with each of our measures; positive: they agree on what is hard."""
    theirs: dict[str, Callable[[Tried], float]] = {
        "one-shot fails": lambda t: float(not t.shot),
        "walks fail": lambda t: 1 - sum(t.walks) / len(t.walks),
        "both": lambda t: float(not t.shot) + 1 - sum(t.walks) / len(t.walks),
    }
    ours: dict[str, Callable[[Tried], float]] = {
        "difficulty": lambda t: float(t.record.difficulty or 0),
        "target": lambda t: float(t.record.seed.target_steps),
        "1 - solve rate": lambda t: 1 - (t.record.solve_rate or 0.0),
        "median steps": lambda t: median([v.steps for v in t.record.measured if v.correct]),
    }
    rows = []
    for name, their in theirs.items():
        found = [kendalltau([their(t) for t in all_tried], [our(t) for t in all_tried]) for our in ours.values()]
        rows.append((name, *(f"{f.statistic:+.2f} (p {f.pvalue:.3f})" for f in found)))
    return table(("Kendall tau", *ours), rows)


async def main(options: argparse.Namespace) -> bool:
    run: Dug = dug(options.run, options.out, options.pairs)
    ground: Ground = opened(run.config.corpus.name, options.out, [f"retrieval.k={run.config.retrieval.k}"])
    accepted = run.accepted[: options.pairs]
    print(
        heading("foreign", accepted),
        f"\n{len(accepted)} accepted pairs, {WALKS} walks of 1 to {LONGEST} searches each\n",
    )
    all_tried = [await tried(record, ground.context) for record in accepted]
    print(by_difficulty(all_tried), ranks(all_tried), sep="\n\n")
    k, screen = run.config.loop.rollouts, run.config.screened() or run.config.loop.rollouts
    through = interval(all_tried, lambda ts: sum(t.carried(screen, k) for t in ts) / len(ts))
    by_k = interval(all_tried, lambda ts: sum(t.confirmed(k) for t in ts) / len(ts))
    once = interval(all_tried, lambda ts: sum(t.guessed for t in ts) / len(ts))
    right = interval(all_tried, lambda ts: sum(t.lucky for t in ts) / len(ts))
    print(f"\nguessing, {GUESSES} guesses a pair: confirms with K = {k}: {by_k} (less than {MOST_GUESSED})")
    print(f"carries a pair through a screen of {screen} and K fresh ones: {through}")
    print(f"one guess is correct: {once}; right without its support: {right}\n")
    print(overlap.report(accepted, ground.corpus, options.gold))
    return by_k.value < MOST_GUESSED


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default="wiki/latest")
    parser.add_argument("--pairs", type=int, help="only the first so many accepted pairs")
    parser.add_argument(
        "--gold", type=Path, help="folder with the gold sets (*.jsonl), beside the corpus they are over"
    )
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)

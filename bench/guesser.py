"""Can chance alone confirm a pair? `python -m bench.guesser [RUN] [--pairs N]`, over the accepted pairs of a run.

A guesser searches a random piece of the question and then random names as often as the target asks for, and answers any
span of the wanted type that it has seen: by regular expressions of its own, nothing of pipeline.demo, no tagger.
Only the judge and the support rule are those of the loop. Intervals are bootstrapped over pairs.
"""

import argparse
import asyncio
import random
import re
import sys
from pathlib import Path

from bench.common import heading, interval, load_run, open_ground
from pipeline.agents import grading
from pipeline.agents.judge import grade
from pipeline.agents.tools import render
from pipeline.context import RunContext
from pipeline.types import Call, Message, Passage, Record, Rollout, Stop, Trajectory

GUESSES, MOST = 40, 0.01
WORD = re.compile(r"[A-Za-z0-9À-ÿ]+")
NAME = re.compile(r"[A-Z][\w'’.-]*(?:(?: (?:of|the|de|and|von|van|la|le|&))* [A-Z0-9][\w'’.-]*)*")
MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
DAY = re.compile(rf"(?:\d{{1,2}} )?(?:{MONTH})(?: \d{{1,2}},?)? \d{{4}}|\b1\d{{3}}\b|\b20\d\d\b")
COUNT = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
SENTENCES = re.compile(r"(?<=[a-z)\d]{2}[.!?]) +(?=[A-Z])")
COMMON = frozenset(
    "a an the of in on at to for by with from and or is are was were be been being that which who whom whose what when "
    "where how many did does do it its this these those as into than then there their his her has have had not "
    "one".split()
)


def terms(text: str) -> list[str]:
    return [word for word in (w.lower() for w in WORD.findall(text)) if word not in COMMON]


def answer_pattern(question: str) -> re.Pattern[str]:
    """The pattern of the answer, from the question's own words."""
    low = question.lower()
    if re.search(r"\bwhen\b|\b(?:what|which) (?:year|date|month|day|decade)\b|\bdate of\b", low):
        return DAY
    many = re.search(r"\bhow (?:many|much|long|tall|high|far|large|old)\b|\bwhat (?:number|population)\b", low)
    return COUNT if many else NAME


def spans(question: str, passage: Passage) -> list[str]:
    """Spans of the wanted type that the question does not name; the title is one too."""
    known, texts = set(terms(question)), [passage.title, *SENTENCES.split(passage.text)]
    found = [match.group().strip(" .,") for text in texts for match in answer_pattern(question).finditer(text)]
    return [span for span in found if set(terms(span)) - known]


async def guess(question: str, sample: int, steps: int, context: RunContext) -> Rollout:
    """A span of the wanted type from one of the passages seen, both drawn at random."""
    chance, tokens = random.Random(f"guess|{question}|{sample}"), question.rstrip("?").split()
    calls, messages, seen = list[Call](), list[Message](), list[Passage]()
    found = list[Passage]()
    size = min(len(tokens), chance.randint(3, 7))
    start = chance.randrange(len(tokens) - size + 1)
    query = " ".join(tokens[start : start + size])
    for step in range(steps):
        if step:
            names = [name for passage in (found or seen) for name in NAME.findall(f"{passage.title} | {passage.text}")]
            clue = chance.choice(terms(question) or [""])
            query = f"{chance.choice(names)} {clue}" if names else clue
        found = [hit.passage for hit in await context.retriever.search(query, context.config.retrieval.k)]
        name, repeat = f"c{step}", any(call.argument == query for call in calls)
        ids = tuple(passage.id for passage in found)
        calls.append(Call(id=name, tool="search", argument=query, passage_ids=ids, repeat=repeat))
        messages.append(Message(role="tool", content=render(found), tool_call_id=name, name="search"))
        seen += [passage for passage in found if passage not in seen]
    options = spans(question, chance.choice(seen)) if seen else []
    trajectory = Trajectory(messages=tuple(messages), calls=tuple(calls), stop=Stop.ANSWERED)
    return Rollout(sample=sample, trajectory=trajectory, answer=chance.choice(options) if options else "")


async def correct_share(record: Record, context: RunContext) -> float:
    """Of the guesses those that are correct, as the loop counts it, in no fewer steps than the target."""
    draft, target, count = record.draft, record.seed.target_steps, 0
    assert draft
    for sample in range(GUESSES):
        rollout = await guess(draft.question, sample, target, context)
        verdict = grading.build_verdict(draft, rollout, await grade(draft, rollout.answer, context))
        count += verdict.correct and verdict.steps >= target
    return count / GUESSES


async def main(options: argparse.Namespace) -> bool:
    run = load_run(options.run, options.out, options.pairs)
    ground = open_ground(run.config.corpus.name, options.out, [f"retrieval.k={run.config.retrieval.k}"])
    shares = [await correct_share(record, ground.context) for record in run.accepted]
    k = run.config.loop.rollouts
    confirmed = interval([1 - (1 - one) ** k for one in shares], lambda chances: sum(chances) / len(chances))
    print(heading("guesser", run.accepted))
    print(f"{len(shares)} pairs, {GUESSES} guesses each: confirms with K = {k}: {confirmed} (less than {MOST})")
    return confirmed.value < MOST


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default="wiki/latest")
    parser.add_argument("--pairs", type=int, help="only the first so many accepted pairs")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)

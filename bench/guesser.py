"""Measure how often chance confirms an accepted pair: `python -m bench.guesser [RUN] [--pairs N]`.

A guesser searches for a random piece of the question and then for random names, as often as the target asks for, and
answers with any span of the expected type that it has seen. It uses regular expressions only; judge and support rule
are those of the loop. Intervals are bootstrapped over pairs.
"""

import argparse
import asyncio
import random
import re
import sys
from pathlib import Path

from bench.common import bootstrap, format_heading, load_run
from pipeline.agents import grading
from pipeline.agents.judge import grade
from pipeline.agents.tools import render
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.run import prepare
from pipeline.types import Call, Message, Passage, Record, Rollout, Stop, Trajectory

GUESSES, MAX_SHARE = 40, 0.01
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


def content_words(text: str) -> list[str]:
    return [word for word in (w.lower() for w in WORD.findall(text)) if word not in COMMON]


def answer_pattern(question: str) -> re.Pattern[str]:
    lowered = question.lower()
    if re.search(r"\bwhen\b|\b(?:what|which) (?:year|date|month|day|decade)\b|\bdate of\b", lowered):
        return DAY
    pattern = r"\bhow (?:many|much|long|tall|high|far|large|old)\b|\bwhat (?:number|population)\b"
    return COUNT if re.search(pattern, lowered) else NAME


def find_spans(question: str, passage: Passage) -> list[str]:
    """Return spans of the expected type that the question does not name. The title counts as a sentence."""
    question_words, texts = set(content_words(question)), [passage.title, *SENTENCES.split(passage.text)]
    matches = [match.group().strip(" .,") for text in texts for match in answer_pattern(question).finditer(text)]
    return [span for span in matches if set(content_words(span)) - question_words]


async def guess(question: str, sample: int, steps: int, context: RunContext) -> Rollout:
    """Answer with a random span of the expected type from a random passage that the searches returned."""
    rng, tokens = random.Random(f"guess|{question}|{sample}"), question.rstrip("?").split()
    calls, messages, seen = list[Call](), list[Message](), list[Passage]()
    hits = list[Passage]()
    size = min(len(tokens), rng.randint(3, 7))
    start = rng.randrange(len(tokens) - size + 1)
    query = " ".join(tokens[start : start + size])
    for step in range(steps):
        if step:
            names = [name for passage in (hits or seen) for name in NAME.findall(f"{passage.title} | {passage.text}")]
            clue = rng.choice(content_words(question) or [""])
            query = f"{rng.choice(names)} {clue}" if names else clue
        hits = [hit.passage for hit in await context.retriever.search(query, context.config.retrieval.k)]
        name, repeat = f"c{step}", any(call.argument == query for call in calls)
        ids = tuple(passage.id for passage in hits)
        calls.append(Call(id=name, tool="search", argument=query, passage_ids=ids, repeat=repeat))
        messages.append(Message(role="tool", content=render(hits), tool_call_id=name, name="search"))
        seen += [passage for passage in hits if passage not in seen]
    options = find_spans(question, rng.choice(seen)) if seen else []
    trajectory = Trajectory(messages=tuple(messages), calls=tuple(calls), stop=Stop.ANSWERED)
    return Rollout(sample=sample, trajectory=trajectory, answer=rng.choice(options) if options else "")


async def measure_luck(record: Record, context: RunContext) -> float:
    """Return the share of guesses that the loop would count as correct in at least the target's steps."""
    draft, target, count = record.draft, record.seed.target_steps, 0
    assert draft
    for sample in range(GUESSES):
        rollout = await guess(draft.question, sample, target, context)
        verdict = grading.build_verdict(draft, rollout, await grade(draft, rollout.answer, context))
        count += verdict.correct and verdict.steps >= target
    return count / GUESSES


async def main(options: argparse.Namespace) -> bool:
    run = load_run(options.run, options.out)
    values = {"corpus": {"name": run.config.corpus.name}, "runtime": {"out": str(options.out)}}
    config = build(values=values, sets=[f"retrieval.k={run.config.retrieval.k}"])
    context = prepare.context(config, prepare.corpus(config))
    shares = [await measure_luck(record, context) for record in run.accepted[: options.pairs]]
    k = run.config.loop.rollouts
    confirmed = bootstrap([1 - (1 - share) ** k for share in shares], lambda chances: sum(chances) / len(chances))
    print(format_heading("guesser", run.accepted))
    print(f"{len(shares)} pairs, {GUESSES} guesses each: confirms with K = {k}: {confirmed} (less than {MAX_SHARE})")
    return confirmed.value < MAX_SHARE


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default="wiki/latest")
    parser.add_argument("--pairs", type=int, help="only the first so many accepted pairs")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)

"""Do the gates, and the audit before them, catch what is planted, and leave the gold questions alone?

A hundred of each fault are planted into 2WikiMultihopQA questions whose evidence the audit finds sound. A swapped
answer and dropped evidence are the audit's to catch. A second valid answer is laid over the index; that it is found, by
the audit or by agents who search as a generator and a solver do, is part of catching it. The rest are the gates'. Caps
of share and number are off throughout, since any second pair would do to trip some of them, and the benchmark lists but
where their own plants are judged. The exit code is 1 where a share is missed.
"""

import argparse
import asyncio
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from bench import planting
from bench.audit_gold import Gold, as_draft
from bench.common import Ground, opened, share, table
from pipeline.agents import tools
from pipeline.agents.evidence import gather
from pipeline.agents.solver import attempt, solver
from pipeline.config.gates import GateConfig
from pipeline.dataset.gates import Gates, described
from pipeline.loop import audit as audits
from pipeline.loop.audit import soundness
from pipeline.loop.audit.uniqueness import another_answer
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.overlay import Overlay
from pipeline.text import normalise
from pipeline.types import Draft, Message, Passage, Record, Rollout, Round, Seed, Status, Stop, Trajectory, sha256

LEAST_CAUGHT, MOST_FALSE = 0.95, 0.02
CAPS = tuple(name for name in described() if name.startswith("overused") or name == "quota")
BARE = Trajectory(messages=(), calls=(), stop=Stop.ANSWERED)
DEAF = GateConfig(off=(*CAPS, "contaminated"))


class Case(NamedTuple):
    draft: Draft
    sound: bool


class Hidden:
    """A retriever without some documents: what the corpus would be had they been lost."""

    def __init__(self, retriever: Retriever, passage_id: str) -> None:
        self._retriever, self._gone = retriever, passage_id

    async def get(self, passage_id: str) -> Passage | None:
        return None if passage_id == self._gone else await self._retriever.get(passage_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._retriever, name)


async def case(row: dict[str, Any], gold: Gold) -> Case | None:
    """A 2Wiki row with the hops that its triples name; none where one names no supporting document."""
    ids = dict(zip(map(normalise, row["supporting_titles"]), row["supporting_ids"], strict=True))
    hops = []
    for subject, relation, found in row["evidences"]:
        name = normalise(subject)
        home = ids.get(name) or next((home for title, home in sorted(ids.items()) if title.startswith(name)), None)
        hop = await gold.hop(f"What is the {relation} of {subject}?", found, home) if home else None
        if hop is None:
            return None
        hops.append(hop)
    draft = as_draft(row["question"], row["answer"], hops, row["answer_aliases"])
    evidence = await gather(draft, gold.retriever)
    chain = row["type"] in ("compositional", "inference") and normalise(hops[-1].answer) == normalise(draft.answer)
    sound = chain and not any(check(draft, evidence) for check in soundness.CHECKS)
    return Case(draft, sound and draft.answer.lower() in hops[-1].quote.lower())


def record(draft: Draft, ground: Ground, rollouts: tuple[Rollout, ...] = (), agent: Trajectory | None = None) -> Record:
    key = sha256(draft.model_dump_json())
    passage = Passage(id="seed#0", document_id="seed", title="", text="", start=0, end=0)
    seed = Seed(key=key, passage=passage, draw=0, side="train", answer_type=draft.answer_type, target_steps=2)
    last = Round(index=0, agent=agent or BARE, draft=draft, rollouts=rollouts)
    return Record(
        key=key, seed=seed, status=Status.ACCEPTED, reason="", rounds=(last,), lineage=ground.context.lineage
    )  # fmt: skip


async def tried(draft: Draft, ground: Ground, retriever: Retriever, samples: int) -> Record:
    agent = solver(ground.config, ground.context.llm, retriever)
    rollouts = [await attempt(agent, draft.question, sample) for sample in range(samples)]
    return record(draft, ground, tuple(rollouts), await walked(draft, retriever, ground.config.retrieval.k))


async def walked(draft: Draft, retriever: Retriever, k: int) -> Trajectory:
    """What a generator sees that walks this chain: it searches for the name of every entity that it meets."""
    found = await retriever.search_many([hop.title for hop in draft.hops], k)
    seen = [Message(role="tool", content=tools.render([hit.passage for hit in hits])) for hits in found]
    return BARE.model_copy(update={"messages": tuple(seen)})


def dropped(
    records: list[Record], settings: GateConfig, before: list[Record] | None = None, show: bool = False
) -> list[str]:
    """The gate that drops each of the records, `before` having passed; empty where none does."""
    gates = Gates(settings)
    for one in before or []:
        gates.admit(gates.check(one))
    drops = [gates.admit(gates.check(one)) for one in records]
    for one, drop in zip(records, drops, strict=True):
        if show and drop and one.draft:
            print(f"{drop.gate}: {drop.why}: {one.draft.question} -> {one.draft.answer}")
    return [drop.gate if drop else "" for drop in drops]


async def audited(drafts: list[Draft], retrievers: list[Retriever], ground: Ground, target: int = 2) -> list[str]:
    found = []
    for draft, retriever in zip(drafts, retrievers, strict=True):
        findings = await audits.audit(draft, target, retriever, ground.config.retrieval.k)
        found.append(next((finding.check for finding in findings if finding.fatal), ""))
    return found


async def doubted(drafts: list[Draft], retrievers: list[Retriever], gates: list[str], k: int) -> list[str]:
    """What says that there is another answer: the audit, which comes first, or else the gate that dropped it."""
    found = [await another_answer(draft, at, k) for draft, at in zip(drafts, retrievers, strict=True)]
    return [finding[0].check if finding else gate for finding, gate in zip(found, gates, strict=True)]


async def planted(bases: list[Draft], questions: list[str], ground: Ground) -> dict[str, list[str]]:
    """By fault, what caught each plant."""
    chance, retriever = random.Random(5), ground.context.retriever
    plain = [record(draft, ground) for draft in bases]
    rivals = [planting.rival(draft, bases, chance) for draft in bases]
    half = len(bases) // 2
    cut = [planting.dropped_hop(draft, chance) for draft in bases[:half]]
    lost = [Hidden(retriever, draft.hops[chance.randrange(len(draft.hops))].passage_id) for draft in bases[half:]]
    copied = [planting.near_duplicate(draft, n, chance) for n, draft in enumerate(bases)]
    listed = [
        planting.benchmark_question(draft, question, n, chance)
        for n, (draft, question) in enumerate(zip(bases, questions, strict=False))
    ]
    swapped = [planting.swapped_answer(draft, bases, chance) for draft in bases]
    leaks = [record(planting.leaked_answer(draft, chance), ground) for draft in bases]
    # An accepted pair has K rollouts of its verdict and K of its confirmation.
    k = 2 * ground.config.loop.rollouts
    laid: list[Retriever] = [Overlay(retriever, [one.passage]) for one in rivals]
    seen = [await tried(one.draft, ground, over, k) for one, over in zip(rivals, laid, strict=True)]
    return {
        "swapped answer": await audited(swapped, [retriever] * len(swapped), ground),
        "dropped gold passage": await audited([*cut, *bases[half:]], [retriever] * half + list(lost), ground),
        "second valid answer": await doubted(bases, laid, dropped(seen, DEAF), ground.config.retrieval.k),
        "benchmark question": dropped([record(draft, ground) for draft in listed], GateConfig(off=CAPS)),
        "near duplicate": dropped([record(draft, ground) for draft in copied], DEAF, before=plain),
        "leaked answer": dropped(leaks, DEAF),
    }


def report(found: dict[str, list[str]], alarms: list[str], cases: list[Case]) -> bool:
    rows = []
    for fault, caught in found.items():
        by = Counter(name for name in caught if name)
        said = ", ".join(f"{name} {n}" for name, n in by.most_common())
        kept = by.total() >= LEAST_CAUGHT * len(caught)
        rows.append((fault, share(by.total(), len(caught)), "kept" if kept else "BROKEN", said))
    print(table(("planted", "caught", f"at least {LEAST_CAUGHT:.0%}", "by"), rows))
    by = Counter(name for name in alarms if name)
    good = by.total() <= MOST_FALSE * len(alarms)
    said = ", ".join(f"{name} {n}" for name, n in by.most_common())
    print(f"\nfalse alarms on 2Wiki: {share(by.total(), len(alarms))} (at most {MOST_FALSE:.0%}; {said or 'none'})")
    print(f"of these, sound chains to plant in: {sum(c.sound for c in cases)}\n{'kept' if good else 'BROKEN'}")
    return good and all(row[2] == "kept" for row in rows)


async def main(options: argparse.Namespace) -> bool:
    ground = opened(str(options.corpus), options.out)
    gold = Gold(ground.context.retriever)
    rows = [json.loads(line) for line in (options.gold / "2wiki_train500.jsonl").read_text().splitlines()]
    made = [await case(row, gold) for row in rows[: options.limit]]
    cases = [one for one in made if one]
    others = [
        json.loads(line)["question"]
        for name in ("hotpotqa_train100", "musique_train100")
        for line in (options.gold / f"{name}.jsonl").read_text().splitlines()
    ]
    random.Random(3).shuffle(others)
    print(
        f"gates: {len(cases)} of {len(made)} 2Wiki questions have their evidence in {options.corpus.name}; solver "
        f"{ground.context.lineage.solver_digest[:12]}, {options.samples} rollouts of each, "
        f"{2 * ground.config.loop.rollouts} of each second valid answer (figures of the loop, not of the data)\n"
    )
    gold_records = [await tried(one.draft, ground, ground.context.retriever, options.samples) for one in cases]
    drafts, index = [one.draft for one in cases], [ground.context.retriever] * len(cases)
    alarms = await doubted(drafts, index, dropped(gold_records, DEAF, show=options.show), ground.config.retrieval.k)
    clean = [one.draft for one, gate in zip(cases, alarms, strict=True) if one.sound and not gate]
    found = await planted(clean[: options.plants], others, ground)
    return report(found, alarms, cases)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="the corpus that holds the gold documents")
    parser.add_argument("--gold", type=Path, required=True, help="the folder of the gold questions")
    parser.add_argument("--plants", type=int, default=100)
    parser.add_argument("--limit", type=int, help="only the first so many gold questions")
    parser.add_argument("--samples", type=int, default=4, help="rollouts of each gold question")
    parser.add_argument("--show", action="store_true", help="print the false alarms")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)

"""Does the audit call the right questions too easy? Gold questions are fed to it as drafts.

Questions that people wrote to need several hops should pass; the single-hop sub-questions of the same data should not,
when two steps are wanted. Only the shortcut checks are asked: whether a gold set's own passages hold what our rules of
soundness want is not the question here, and is counted apart.
"""

import argparse
import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.common import Interval, interval, opened, table
from pipeline.agents.evidence import gather
from pipeline.loop.audit import shortcuts, soundness
from pipeline.retrieval.base import Retriever
from pipeline.text import contains, dates, numbers, sentences
from pipeline.types import AnswerType, Draft, Finding, Hop, Passage

SINGLE = "single-hop sub-questions"
MOST_MUSIQUE, LEAST_SINGLE = 0.15, 0.65


class Case(NamedTuple):
    group: str
    draft: Draft
    target: int


class Called(NamedTuple):
    case: Case
    easy: bool
    causes: tuple[str, ...]
    sound: bool

    @property
    def group(self) -> str:
        return self.case.group


class Gold:
    """Gold rows as drafts over a retriever that has their documents."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        self.lost = 0

    async def hop(self, question: str, answer: str, document: str) -> Hop | None:
        """The hop on the first passage of the document that names the answer, else on its first."""
        passages = await self.retriever.document(document)
        if not passages:
            return None
        passage = next((p for p in passages if contains(p.text, answer)), passages[0])
        return Hop(
            sub_question=question,
            answer=answer,
            passage_id=passage.id,
            title=passage.title,
            quote=_quote(passage, answer),
            passage_sha256=passage.sha256,
        )

    async def cases(self, row: dict[str, Any]) -> list[Case]:
        """The question with all its hops, and each sub-question that is one ("Hello Love >> performer" is none)."""
        hops = [await self.hop(*step) for step in _steps(row["decomposition"])]
        good = [hop for hop in hops if hop]
        if len(good) < len(hops):
            self.lost += 1
            return []
        whole = Case(
            f"{len(good)} hops", as_draft(row["question"], row["answer"], good, row["answer_aliases"]), len(good)
        )
        single = [hop for hop in good if ">>" not in hop.sub_question]
        return [whole, *(Case(SINGLE, as_draft(h.sub_question, h.answer, [h], []), 2) for h in single)]


def _steps(decomposition: list[dict[str, str]]) -> Iterator[tuple[str, str, str]]:
    """(sub-question, answer, document) of each step; "#1" becomes the first step's answer."""
    known = [part["answer"] for part in decomposition]
    for part in decomposition:
        question = re.sub(r"#(\d+)", lambda m: known[int(m[1]) - 1], part["question"])
        yield question, part["answer"], part["support_id"]


def _quote(passage: Passage, answer: str) -> str:
    spans = sentences(passage.text)
    held = [s for s in spans if contains(passage.text[s.start : s.end], answer)]
    span = (held or spans)[0]
    return passage.text[span.start : span.end]


def as_draft(question: str, answer: str, hops: list[Hop], aliases: list[str]) -> Draft:
    kind = AnswerType.DATE if dates(answer) else AnswerType.NUMBER if numbers(answer) else AnswerType.ENTITY
    asked = question.strip().rstrip(" ?") + "?"
    return Draft(question=asked, answer=answer, answer_aliases=tuple(aliases), answer_type=kind, hops=tuple(hops))


async def called(case: Case, retriever: Retriever, k: int) -> Called:
    evidence = await gather(case.draft, retriever)
    sound = not any(check(case.draft, evidence) for check in soundness.CHECKS)
    findings: list[Finding] = []
    for check in shortcuts.CHECKS:
        findings += await check(case.draft, evidence, retriever, k)
    needless = {hop for finding in findings for hop in finding.hops}
    easy = bool(findings) and len(case.draft.hops) - len(needless) < case.target
    return Called(case, easy, tuple(sorted({f.check for f in findings})), sound)


def report(found: list[Called]) -> bool:
    groups = sorted({c.group for c in found})
    rows = []
    for group in groups:
        here = [c for c in found if c.group == group]
        causes = Counter(cause for c in here if c.easy for cause in c.causes)
        said = ", ".join(f"{name} {n}" for name, n in causes.most_common())
        rows.append((group, len(here), sum(c.sound for c in here), _share(here), said))
    print(table(("", "questions", "sound by our rules", "called too easy", "by"), rows))
    whole = _share([c for c in found if c.group != SINGLE])
    single = _share([c for c in found if c.group == SINGLE])
    good = whole.value <= MOST_MUSIQUE and single.value >= LEAST_SINGLE
    print(
        f"\nMuSiQue {whole} (at most {MOST_MUSIQUE}), its single-hop sub-questions {single} (at least {LEAST_SINGLE})"
    )
    print("kept" if good else "BROKEN")
    return good


def _share(found: list[Called]) -> Interval:
    return interval(found, lambda cs: sum(c.easy for c in cs) / len(cs) if cs else float("nan"))


async def main(options: argparse.Namespace) -> bool:
    ground = opened(str(options.corpus), options.out, [f"retrieval.k={options.k}"])
    gold = Gold(ground.context.retriever)
    rows = [json.loads(line) for line in options.gold.read_text().splitlines()[: options.limit]]
    cases = [case for row in rows for case in await gold.cases(row)]
    found = [await called(case, ground.context.retriever, options.k) for case in cases]
    print(f"audit_gold: {options.gold.stem} over {options.corpus.name}, k {options.k}; {gold.lost} lack a document\n")
    good = report(found)
    wrong = [c for c in found if c.easy is not (c.group == SINGLE)]
    for c in wrong[: options.show]:
        print(f"{c.group}, {', '.join(c.causes) or 'nothing found'}: {c.case.draft.question}")
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="the corpus that holds the gold documents")
    parser.add_argument("--gold", type=Path, required=True, help="MuSiQue questions (.jsonl)")
    parser.add_argument("--limit", type=int, help="only the first so many")
    parser.add_argument("--show", type=int, default=0, help="print so many that it judged otherwise than we want")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)

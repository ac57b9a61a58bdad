"""Can a classifier tell a run's altered passages from those they were made of? `python -m bench.telltale RUN`

Needs scikit-learn. The classifier is given single passages, half of them altered, and nothing of their questions: it
weighs words, pairs of words and runs of letters by a logistic regression. A passage and what was made of it are never
parted between training and testing, in five folds drawn anew each time; by chance it is right in half of the cases.
"""

import argparse
import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from bench.common import load_run
from pipeline.run import prepare

FOLDS, TIMES = 5, 20


async def load_altered(run_name: str, out: Path) -> list[tuple[str, str, str]]:
    """Of each altered passage that is used: the id of its source, its text, and the source's."""
    run = load_run(run_name, out)
    context = prepare.context(run.config.with_runtime(out=out), prepare.corpus(run.config.with_runtime(out=out)))
    found = []
    for record in sorted(run.accepted, key=lambda record: record.key):
        for made in record.distractor_eval.used if record.distractor_eval else ():
            source = await context.retriever.get(made.source_id) if made.kind == "altered" else None
            if source:
                found.append((source.id, f"{made.title}\n{made.text}", f"{source.title}\n{source.text}"))
    return found


def accuracy(found: Sequence[tuple[str, str, str]], seed: int) -> float:
    """The share of passages that are named rightly."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline, make_union

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    sources = sorted({source for source, *_ in found})
    random.Random(seed).shuffle(sources)
    fold = {source: place % FOLDS for place, source in enumerate(sources)}
    hits = []
    for number in range(FOLDS):
        learnt = [texts for source, *texts in found if fold[source] != number]
        asked = [texts for source, *texts in found if fold[source] == number]
        model = make_pipeline(make_union(words, letters), LogisticRegression(C=10, max_iter=2000))
        model.fit([text for texts in learnt for text in texts], [True, False] * len(learnt))
        said = model.predict([text for texts in asked for text in texts])
        hits += [one == truth for one, truth in zip(said, [True, False] * len(asked), strict=True)]
    return fmean(hits)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("run")
    arguments.add_argument("--out", type=Path, default=Path("outputs"))
    given = arguments.parse_args()
    found = asyncio.run(load_altered(given.run, given.out))
    if len({source for source, *_ in found}) < FOLDS:
        raise SystemExit(f"the run has altered passages of fewer than {FOLDS} sources")
    shares = [accuracy(found, seed) for seed in range(TIMES)]
    print(f"{len(found)} altered passages: {fmean(shares):.1%} right ({min(shares):.1%} to {max(shares):.1%})")


if __name__ == "__main__":
    main()

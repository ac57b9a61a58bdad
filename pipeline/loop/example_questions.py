"""The examples of `questions.like` that a seed shows to its generator and writer."""

from rank_bm25 import BM25Plus

from pipeline.context import RunContext
from pipeline.retrieval.analysers import analyser_for
from pipeline.retrieval.engines.bm25 import analyse
from pipeline.types import Seed, sha256

SHOWN = 3


def choose_examples(seed: Seed, context: RunContext) -> list[str]:
    """Return the examples whose words are nearest to the seed's passage, the nearest first.

    A hash decides between equal ones, so that seeds far from all examples do not all get the same. The order of the
    examples does not matter.
    """
    examples = sorted(set(context.config.questions.like))
    if not examples:
        return []
    analyser = analyser_for(context.lineage.language)
    # BM25 divides by the mean length, so a question of stop words alone counts as a word.
    engine = BM25Plus([analyse(example, analyser) or [example] for example in examples])
    scores = engine.get_scores(analyse(f"{seed.passage.title}\n{seed.passage.text}", analyser))
    ranked = sorted(
        zip(scores.tolist(), examples, strict=True), key=lambda pair: (-pair[0], sha256(f"{seed.place}\n{pair[1]}"))
    )
    return [example for _, example in ranked[:SHOWN]]

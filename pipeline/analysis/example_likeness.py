"""How close the questions of a data set are to the user's examples, by their words alone."""

import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

import polars as pl

from pipeline.analysis.estimates import percent
from pipeline.analysis.figures import ACCEPTED
from pipeline.text import sentences
from pipeline.types import Data

_ASKING = re.compile(r"\b(?:how (?:many|much)|how|who|whom|whose|which|what|when|where|why)\b")
_KINDS = 8
"""Kinds of question that have a row."""


class Comparison(Data):
    name: str
    value: str = ""
    examples: str
    pairs: str


def find_question_word(question: str) -> str:
    """Return the word that asks, in the last sentence with a question mark; the first word if there is none.

    Sentences before it tell what is known, and their "which" and "who" ask nothing.
    """
    parts = [question[slice(*span)].strip().lower() for span in sentences(question)] or [""]
    asking = next((part for part in reversed(parts) if part.endswith(("?", "？"))), parts[-1])
    match = _ASKING.search(asking)
    return match[0] if match else "".join(asking.split()[:1]).strip(",.:;?")


def compare_with_examples(seeds: pl.LazyFrame, examples: Sequence[str]) -> tuple[Comparison, ...]:
    """Return the rows of the card's table; none without examples or accepted pairs."""
    if not examples:
        return ()
    pairs = seeds.filter(ACCEPTED).select("question", "answer_type").collect()
    questions = pairs["question"].to_list()
    if not questions:
        return ()
    kinds_of_examples, kinds = (Counter(map(find_question_word, texts)) for texts in (examples, questions))
    shares = {
        kind: (kinds_of_examples[kind] / len(examples), kinds[kind] / len(questions))
        for kind in {*kinds_of_examples, *kinds}
    }
    frequent = sorted(shares, key=lambda kind: (-sum(shares[kind]), kind))[:_KINDS]
    lengths = [median(len(question.split()) for question in texts) for texts in (examples, questions)]
    answer_types = sorted(Counter(pairs["answer_type"].to_list()).items(), key=lambda entry: (-entry[1], entry[0]))
    return (
        Comparison(name="questions", examples=str(len(examples)), pairs=str(len(questions))),
        Comparison(name="words, median", examples=f"{lengths[0]:g}", pairs=f"{lengths[1]:g}"),
        *(
            Comparison(name="asks", value=kind, examples=percent(shares[kind][0]), pairs=percent(shares[kind][1]))
            for kind in frequent
        ),
        *(
            Comparison(name="answer type", value=answer_type, examples="–", pairs=percent(count / len(questions)))
            for answer_type, count in answer_types
        ),
    )

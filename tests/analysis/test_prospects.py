"""What questions a corpus seems to carry, before a model is asked."""

from pathlib import Path

import orjson

from pipeline import corpus
from pipeline.analysis.prospects import GROUPS, LONGEST, Prospects, estimate_prospects
from pipeline.links.opening import open_links
from pipeline.operations import operations


def estimate(rows: list[str], folder: Path) -> Prospects:
    path = folder / "mine.jsonl"
    path.write_bytes(b"\n".join(orjson.dumps({"title": f"Page {n}", "text": text}) for n, text in enumerate(rows)))
    loaded = corpus.load(corpus.resolve(str(path)), folder / "out")
    return estimate_prospects(open_links(loaded, 20))


def test_every_operation_has_contents_that_carry_it() -> None:
    assert set().union(*GROUPS.values()) == set(operations())


def test_a_linked_corpus_carries_several_steps_and_operations(tmp_path: Path) -> None:
    prospects = estimate_prospects(open_links(corpus.load(corpus.resolve("tiny"), tmp_path), 20))
    assert prospects.seeds > 30
    assert prospects.steps[1] == 1
    assert prospects.steps[2] >= prospects.steps[LONGEST] > 0.5
    assert prospects.operations["ratio"] > 0.5
    assert "yes_no" not in prospects.operations
    assert 0 < prospects.pairs[0] < prospects.pairs[1] < prospects.seeds
    assert "Steps that links carry, with the share of seeds: 2 (" in prospects.describe()


def test_a_corpus_without_links_carries_one_step_and_no_operation(tmp_path: Path) -> None:
    names = "Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Ironwood Juniper".split()
    text = (
        "In the year 18{n}0 the old house of {name} was sold by its owner to {name}ton, who lived in it alone for many "
        "years and never spoke to anybody in the street."
    )
    prospects = estimate([text.format(n=n, name=name) for n, name in enumerate(names)], tmp_path)
    assert prospects.steps[2] == 0
    assert set(prospects.operations.values()) == {0}
    assert prospects.pairs == (0, 0)
    assert "operations: none often" in prospects.describe()


def test_a_corpus_whose_passages_start_no_question_says_why(tmp_path: Path) -> None:
    prospects = estimate(["Too short.", "So is this."], tmp_path)
    assert prospects.describe().startswith("No sampled passage can start a question: too_short 2: fewer than 25 words")

"""Whatever the names and texts are, the card has the same keys, the same licence and no open fence."""

import re
from functools import cache

import pytest
import yaml
from datasets import Features
from hypothesis import given
from hypothesis import strategies as st

from pipeline.analysis.example_likeness import compare_with_examples
from pipeline.config import RunConfig, build
from pipeline.exports.card.card import Contents, bar, card, code, features, fence, front_matter, metadata
from pipeline.exports.views import base
from pipeline.types import Usage
from tests.hostile_texts import HOSTILE, MARKUP
from tests.records import accepted, batch, below_target, hostile
from tests.seed_tables import figures, page, table

ROWS = {"qa": {"train": 3, "eval": 1}, "sft": {"train": 2}}


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast one, since every card has a page of front matter. The loader in Python reads random texts below, and whole
cards in `test_data_set`, by way of `datasets`."""


def make_card(*records, config=None, **contents):
    return card(figures(records), Contents(rows=ROWS, **contents), config or RunConfig())


def read_front_matter(text):
    return yaml.load(text.split("\n---\n")[0].removeprefix("---\n"), Loader=LOADER)


def test_front_matter_names_configs_with_their_files():
    first, second = read_front_matter(make_card(accepted(), digests={"qa": "1f"}))["configs"]
    assert first == {
        "config_name": "qa",
        "description": "rows 1f",
        "default": True,
        "data_files": [
            {"split": "train", "path": "qa/train-*.parquet"},
            {"split": "eval", "path": "qa/eval-*.parquet"},
        ],
    }
    assert second["config_name"] == "sft"


@pytest.mark.parametrize("name", base.names())
def test_the_types_in_the_card_are_those_that_datasets_reads(name):
    schema = base.load(name).schema
    features_read = Features.from_arrow_schema(schema)
    assert features(schema) == (None if "Json" in repr(features_read) else features_read._to_yaml_list())


def test_the_card_declares_types_and_shows_bars_and_examples():
    pairs = [accepted(n) for n in (1, 2)]
    text = make_card(*batch(16), examples=tuple(pair.draft for pair in pairs))
    (info,) = read_front_matter(text)["dataset_info"]
    assert info["config_name"] == "qa"
    assert {"name": "question", "dtype": "string"} in info["features"]
    assert "| accepted | 5 | ██████░░░░░░░░░░░░░░ |" in text
    assert [bar(*parts) for parts in ((0, 0), (3, 3))] == ["░" * 20, "█" * 20]
    assert all(pair.draft.question in text for pair in pairs)
    assert "## Examples" in text


def test_the_licence_is_the_corpuss_and_share_alike_is_stated():
    text = make_card(accepted())
    assert read_front_matter(text)["license"] == "cc-by-sa-4.0"
    assert "share-alike" in text
    lineage = accepted().lineage.model_copy(update={"licence": "CC0-1.0"})
    free = make_card(accepted().model_copy(update={"lineage": lineage}))
    assert read_front_matter(free)["license"] == "cc0-1.0"
    assert "share-alike" not in free


def make_card_in(language):
    lineage = accepted().lineage.model_copy(update={"language": language})
    return make_card(accepted().model_copy(update={"lineage": lineage}))


def test_the_language_is_the_corpuss_and_may_be_unknown():
    assert read_front_matter(make_card_in("de"))["language"] == ["de"]
    assert "The language of the corpus is `de`." in make_card_in("de")
    assert "language" not in read_front_matter(make_card_in("unknown"))
    assert "The language of the corpus is `unknown`." in make_card_in("unknown")


def test_the_card_is_tagged_synthetic_and_says_whose_figures_it_shows():
    assert "synthetic" in read_front_matter(make_card(accepted()))["tags"]
    assert "these figures describe the pipeline, not the quality of data" in make_card(accepted())
    assert "these figures describe the pipeline, not the quality of data" not in make_card(accepted(model="qwen"))


def test_the_card_says_which_roles_one_model_played():
    def make_card_of_models(**roles):
        models = {role: {"provider": "openai", "model": name} for role, name in roles.items()}
        return make_card(accepted(), config=build(values={"models": models}))

    assert "`a` played generator, solver, judge: one model graded its own" in make_card_of_models(default="a")
    assert "`a` played generator, solver: one model has the same blind spots" in make_card_of_models(
        default="a", judge="b"
    )
    assert "played" not in make_card_of_models(generator="a", solver="b", judge="c")
    assert "`a` read passages for the checks" in make_card_of_models(default="a", solver="b")
    assert "`c` read passages for the checks" in make_card_of_models(default="a", solver="b", reader="c")


@pytest.mark.parametrize(
    ("strategies", "sentence"),
    [
        (("compose", "sage"), "Splits are by document: no document gives questions to both."),
        (("harden",), "Splits are by question: one document may give evidence to both."),
        (("sage", "harden"), "and those of the questions that somebody brought by question: one document may give"),
    ],
)
def test_the_card_says_what_the_split_separates(strategies, sentence):
    records = [accepted(n) for n in range(len(strategies))]
    renamed = [
        record.model_copy(update={"lineage": record.lineage.model_copy(update={"run": name, "strategy": name})})
        for record, name in zip(records, strategies, strict=True)
    ]
    assert sentence in " ".join(make_card(*renamed).split())


@pytest.mark.parametrize(
    ("views", "sentence"),
    [
        (("qa", "sft", "sft_masked"), "in `sft` and `sft_masked`. "),
        (("sft", "sft_sharegpt", "sft_masked"), "in `sft`, `sft_sharegpt` and `sft_masked`. "),
        (("sft_masked",), "in `sft_masked`. "),
        (("qa",), ""),
    ],
)
def test_counts_of_rollouts_name_the_views_that_are_written(views, sentence):
    counts = {"solver": dict.fromkeys(("made", "correct", "fit", "passed", "kept"), 3)}
    contents = Contents(rows={view: {"train": 1} for view in views}, selected=counts)
    text = " ".join(card(figures([accepted()]), contents, RunConfig()).split())
    assert ("## From rollouts to rows" in text) is bool(sentence)
    assert sentence in text


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (["preset=sage"], "from 4 rollouts."),
        (["loop.rollouts=6"], "from 6 rollouts."),
        (["solve_rate=0.2-0.8"], "from 4 fresh rollouts."),
        (["solve_rate=0.2-0.8", "models.policies.small.model=embedded-weak", "policy=small"], "from 4 rollouts."),
    ],
)
def test_the_card_says_which_rollouts_measure_a_question(sets, words):
    text = " ".join(make_card(accepted(), below_target(), config=build(sets=sets)).split())
    assert f"The solver's part comes {words}" in text
    assert "1 of 2 candidates were accepted." in text


def test_the_card_shows_funnel_difficulty_cost_prompts_and_seed():
    text = make_card(*batch(16), config=RunConfig(seed=77))
    for phrase in ("| accepted | 5 |", "| 3 | 16 |", "| solver |", "`solver/answer`", "seed 77", "in its version 1"):
        assert phrase in text


@cache
def make_harmless_card():
    return make_card(accepted(), examples=(accepted().draft,))


@pytest.mark.parametrize("text", [*HOSTILE, *MARKUP])
def test_hostile_text_changes_no_structure(text):
    record = hostile(text=text)
    poisoned = record.lineage.model_copy(update={"corpus": text, "model": text, "run": text})
    record = record.model_copy(update={"lineage": poisoned})
    text_of_card = make_card(record, examples=(record.draft,))
    plain = make_harmless_card()
    assert read_front_matter(text_of_card).keys() - {"license_name"} == read_front_matter(plain).keys()
    assert read_front_matter(text_of_card)["license"] == "cc-by-sa-4.0"
    assert list_headings(text_of_card) == list_headings(plain).replace("# `fells`", "# " + code(text))


def list_headings(text):
    """Return the headings outside of fences, as Markdown sees them."""
    headings, closing = [], None
    for line in text.split("\n---\n", 1)[1].split("\n"):
        mark = re.match(r"`{3,}", line)
        if closing is None and mark:
            closing = mark[0]
        elif closing and line == closing:
            closing = None
        elif closing is None and line.startswith("#"):
            headings.append(line)
    assert closing is None
    return "\n".join(headings)


@given(st.text())
def test_front_matter_keeps_any_text(text):
    assert yaml.safe_load(front_matter({"a": text, "b": [text]}).strip("-\n")) == {"a": text, "b": [text]}


@given(st.text(alphabet="`\n a#|\u2028~\x1b"))
def test_no_text_leaves_its_fence(text):
    first, *inner, last = fence(text).split("\n")
    assert first == last + "text"
    assert last.strip("`") == ""
    assert not any(re.match(rf"\s*`{{{len(last)},}}", line) for line in inner)


@given(st.text(alphabet="`\n a#|\u2028<"))
def test_no_text_leaves_its_code_span(text):
    span = code(text)
    marks = re.match("`+", span)[0]
    assert span.endswith(marks)
    assert "\n" not in span
    assert "|" not in span
    assert marks not in re.findall("`+", span[len(marks) : -len(marks)])


def test_size_categories_are_the_hubs():
    sizes = [
        metadata(figures([]), Contents(rows={"qa": {"train": n}}), RunConfig())["size_categories"][0]
        for n in (10, 999, 1000, 20_000, 999_999, 10**6, 10**7, 10**12)
    ]
    assert sizes == ["n<1K", "n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "1B<n<10B"]


def make_cached_pair(**cached):
    """Make a pair whose generator had 90 prompt tokens, some of them cached by the server."""
    pair = accepted()
    usage = Usage(calls=2, prompt_tokens=90, completion_tokens=7, cached_tokens=60, **cached)
    first, *later_rounds = pair.rounds
    first = first.model_copy(update={"agent": first.agent.model_copy(update={"usage": usage})})
    return pair.model_copy(update={"rounds": (first, *later_rounds)})


@pytest.mark.parametrize(("cached", "mark"), [({}, ""), ({"estimated_cached_tokens": 60}, "≈")])
def test_computed_and_cached_tokens_are_separate_and_estimates_are_marked(cached, mark):
    pair = make_cached_pair(**cached)
    text = make_card(pair)
    assert f"| generator | 2 | {mark}30 | {mark}60 | 7 |" in text
    assert ("≈: a server reports no cached tokens." in text) is bool(mark)
    report = page([pair], RunConfig())
    assert f'<td>generator</td><td class="n">2</td><td class="n">{mark}30</td><td class="n">{mark}60</td>' in report
    assert ("≈: a server reports no cached tokens." in report) is bool(mark)


def test_the_card_compares_the_questions_with_the_examples():
    pairs = [accepted(n) for n in range(2)]
    examples = ("Vess is a town. How many ships are there?", "Who was it that built which pier?", "Name a town.")
    rows = compare_with_examples(table(pairs), examples)
    assert (rows[0].examples, rows[0].pairs) == ("3", "2")
    assert (rows[1].name, rows[1].examples) == ("words, median", "7")
    asked = {row.value: row.examples for row in rows if row.name == "asks" and row.examples != "0%"}
    assert asked == {"how many": "33%", "who": "33%", "name": "33%"}
    text = make_card(*pairs, beside_examples=rows)
    assert "| asks `how many` | 33% | 0% |" in text
    assert f"| answer type `{pairs[0].draft.answer_type}` | – | 100% |" in text
    assert "Beside the questions" not in make_card(*pairs)

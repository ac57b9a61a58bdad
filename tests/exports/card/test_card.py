"""Whatever the names and texts are, the card has the same keys, the same licence and no open fence."""

import re
from functools import cache

import pytest
import yaml
from datasets import Features
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import RunConfig, build
from pipeline.exports.card.card import Contents, bar, card, code, features, fence, front_matter, metadata
from pipeline.exports.views import base
from pipeline.types import Usage
from tests.hostile import HOSTILE, MARKUP
from tests.records import accepted, batch, hostile
from tests.tables import figures, page

ROWS = {"qa": {"train": 3, "eval": 1}, "sft": {"train": 2}}


def made(*records, config=None, **contents):
    return card(figures(records), Contents(rows=ROWS, **contents), config or RunConfig())


def front(text):
    return yaml.safe_load(text.split("\n---\n")[0].removeprefix("---\n"))


def test_front_matter_names_configs_with_their_files():
    first, second = front(made(accepted()))["configs"]
    assert first == {
        "config_name": "qa",
        "default": True,
        "data_files": [
            {"split": "train", "path": "qa/train-*.parquet"},
            {"split": "eval", "path": "qa/eval-*.parquet"},
        ],
    }
    assert second["config_name"] == "sft"


@pytest.mark.parametrize("name", base.names())
def test_the_types_in_the_card_are_those_that_datasets_reads_in_the_files(name):
    schema = base.load(name).schema
    read = Features.from_arrow_schema(schema)
    assert features(schema) == (None if "Json" in repr(read) else read._to_yaml_list())


def test_the_card_declares_types_and_shows_bars_and_examples():
    pairs = [accepted(n) for n in (1, 2)]
    text = made(*batch(16), examples=tuple(pair.draft for pair in pairs))
    (info,) = front(text)["dataset_info"]
    assert info["config_name"] == "qa"
    assert {"name": "question", "dtype": "string"} in info["features"]
    assert "| accepted | 5 | ██████░░░░░░░░░░░░░░ |" in text
    assert [bar(*parts) for parts in ((0, 0), (3, 3))] == ["░" * 20, "█" * 20]
    assert all(pair.draft.question in text for pair in pairs)
    assert "## Examples" in text


def test_licence_is_the_corpus_s_and_share_alike_is_said():
    text = made(accepted())
    assert front(text)["license"] == "cc-by-sa-4.0"
    assert "share-alike" in text
    lineage = accepted().lineage.model_copy(update={"licence": "CC0-1.0"})
    free = made(accepted().model_copy(update={"lineage": lineage}))
    assert front(free)["license"] == "cc0-1.0"
    assert "share-alike" not in free


def spoken(language):
    lineage = accepted().lineage.model_copy(update={"language": language})
    return made(accepted().model_copy(update={"lineage": lineage}))


def test_the_language_is_the_corpus_s_and_unknown_where_nobody_said_it():
    assert front(spoken("de"))["language"] == ["de"]
    assert "The language of the corpus is `de`." in spoken("de")
    assert "language" not in front(spoken("unknown"))
    assert "The language of the corpus is `unknown`." in spoken("unknown")


def test_it_is_tagged_synthetic_and_says_whose_figures_they_are():
    assert "synthetic" in front(made(accepted()))["tags"]
    assert "these figures describe the pipeline, not the quality of data" in made(accepted())
    assert "these figures describe the pipeline, not the quality of data" not in made(accepted(model="qwen"))


def test_it_says_where_one_model_played_several_roles():
    def played(**roles):
        models = {role: {"provider": "openai", "model": name} for role, name in roles.items()}
        return made(accepted(), config=build(values={"models": models}))

    assert "`a` played generator, solver, judge: one model graded its own" in played(default="a")
    assert "`a` played generator, solver: one model has the same blind spots" in played(default="a", judge="b")
    assert "played" not in played(generator="a", solver="b", judge="c")
    assert "`a` read passages for the checks" in played(default="a", solver="b")
    assert "`c` read passages for the checks" in played(default="a", solver="b", reader="c")


@pytest.mark.parametrize(
    ("strategies", "told"),
    [
        (("compose", "sage"), "Splits are by document: no document gives questions to both."),
        (("harden",), "Splits are by question: one document may give evidence to both."),
        (("sage", "harden"), "and those of the questions that somebody brought by question: one document may give"),
    ],
)
def test_it_says_what_the_split_parts(strategies, told):
    records = [accepted(n) for n in range(len(strategies))]
    made_so = [
        record.model_copy(update={"lineage": record.lineage.model_copy(update={"run": name, "strategy": name})})
        for record, name in zip(records, strategies, strict=True)
    ]
    assert told in " ".join(made(*made_so).split())


@pytest.mark.parametrize(
    ("views", "told"),
    [
        (("qa", "sft", "sft_masked"), "in `sft` and `sft_masked`. "),
        (("sft", "sft_sharegpt", "sft_masked"), "in `sft`, `sft_sharegpt` and `sft_masked`. "),
        (("sft_masked",), "in `sft_masked`. "),
        (("qa",), ""),
    ],
)
def test_what_became_of_rollouts_is_said_of_the_views_that_there_are(views, told):
    counts = {"solver": dict.fromkeys(("made", "correct", "fit", "passed", "kept"), 3)}
    contents = Contents(rows={view: {"train": 1} for view in views}, selected=counts)
    text = " ".join(card(figures([accepted()]), contents, RunConfig()).split())
    assert ("## From rollouts to rows" in text) is bool(told)
    assert told in text


def test_a_preset_without_confirmation_says_so():
    assert "This preset confirms nothing" in made(accepted(), config=build(values={"preset": "sage"}))
    assert "This preset confirms nothing" not in made(accepted())


def test_it_holds_funnel_difficulty_cost_prompts_and_seed():
    text = made(*batch(16), config=RunConfig(seed=77))
    for wanted in ("| accepted | 5 |", "| 3 | 16 |", "| solver |", "`solver/answer`", "seed 77", "in its version 1"):
        assert wanted in text


@cache
def harmless():
    return made(accepted(), examples=(accepted().draft,))


@pytest.mark.parametrize("text", [*HOSTILE, *MARKUP])
def test_hostile_text_changes_no_structure(text):
    record = hostile(text=text)
    poisoned = record.lineage.model_copy(update={"corpus": text, "model": text, "run": text})
    record = record.model_copy(update={"lineage": poisoned})
    found = made(record, examples=(record.draft,))
    plain = harmless()
    assert front(found).keys() - {"license_name"} == front(plain).keys()
    assert front(found)["license"] == "cc-by-sa-4.0"
    assert headings(found) == headings(plain).replace("# `fells`", "# " + code(text))


def headings(text):
    """The headings outside of fences, as Markdown sees them."""
    kept, closing = [], None
    for line in text.split("\n---\n", 1)[1].split("\n"):
        mark = re.match(r"`{3,}", line)
        if closing is None and mark:
            closing = mark[0]
        elif closing and line == closing:
            closing = None
        elif closing is None and line.startswith("#"):
            kept.append(line)
    assert closing is None
    return "\n".join(kept)


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


def test_sizes_are_the_hub_s():
    sizes = [
        metadata(figures([]), Contents(rows={"qa": {"train": n}}), RunConfig())["size_categories"][0]
        for n in (10, 999, 1000, 20_000, 999_999, 10**6, 10**7, 10**12)
    ]
    assert sizes == ["n<1K", "n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "1B<n<10B"]


def counted(**cached):
    """A pair whose generator had 90 prompt tokens, of which the server had some cached."""
    pair = accepted()
    usage = Usage(calls=2, prompt_tokens=90, completion_tokens=7, cached_tokens=60, **cached)
    first, *others = pair.rounds
    first = first.model_copy(update={"agent": first.agent.model_copy(update={"usage": usage})})
    return pair.model_copy(update={"rounds": (first, *others)})


@pytest.mark.parametrize(("cached", "mark"), [({}, ""), ({"estimated_cached_tokens": 60}, "≈")])
def test_computed_and_cached_tokens_are_told_apart_and_estimates_are_marked(cached, mark):
    pair = counted(**cached)
    text = made(pair)
    assert f"| generator | 2 | {mark}30 | {mark}60 | 7 |" in text
    assert ("≈: a server reports no cached tokens." in text) is bool(mark)
    shown = page([pair], RunConfig())
    assert f'<td>generator</td><td class="n">2</td><td class="n">{mark}30</td><td class="n">{mark}60</td>' in shown
    assert ("≈: a server reports no cached tokens." in shown) is bool(mark)

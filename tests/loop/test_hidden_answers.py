"""In which forms an answer is masked in the facts that a writer sees, and found in a wording."""

import pytest

from pipeline.loop.hidden_answers import HiddenAnswers
from pipeline.types.graph import FoundStep, Graph
from tests.loop.graphs import chain, cited


@pytest.mark.parametrize(
    ("answer", "text", "masked"),
    [
        ("Sweden", "The Swedish navy and Swedes abroad", "The [hidden] navy and [hidden] abroad"),
        ("Norway", "a Norwegian town", "a [hidden] town"),
        ("Netherlands", "the Dutch crown", "the [hidden] crown"),
        ("Peru", "two Peruvians", "two [hidden]"),
        ("1,234", "1234 of 12,345 seats", "[hidden] of 12,345 seats"),
        ("3.5 million", "3,500,000 people", "[hidden] people"),
        ("3 March 1894", "built in 1894, on March 3, 1894, not 1895", "built in [hidden], on [hidden], not 1895"),
        ("Ada Holm", "Holm and Ada Maria Holm, at home", "[hidden] and [hidden], at home"),
        ("276 deaths/100,000 births", "276 per 100,000", "[hidden] per 100,000"),
        ("Ada Center", "the Herb Hockey Center", "the Herb Hockey Center"),
        ("7", "all 7 of the 17", "all [hidden] of the 17"),
        ("Martin", "the marten and a Marsh", "the marten and a Marsh"),
    ],
)
def test_forms_of_an_answer_are_masked(answer: str, text: str, masked: str) -> None:
    assert HiddenAnswers(chain(answer, quote=f"{answer} is told of. {text}")).mask(text) == masked


def test_name_of_a_first_step_is_no_secret() -> None:
    hidden = HiddenAnswers(chain("Bergen", root="Bergen Pier (ferry stop)"))
    assert hidden.describe_leaks("Which town owns Bergen Pier?") == ""
    assert hidden.describe_leaks("What is the pier of Bergen?") == "it says 'Bergen', which gives [hidden] away"


def test_title_of_a_hidden_things_page_is_hidden() -> None:
    hidden = HiddenAnswers(chain("Sweden", page="Kingdom of Svea"))
    assert hidden.mask("The Kingdom of Svea has lakes.") == "The [hidden] has lakes."


def test_leak_is_told_without_the_answer() -> None:
    leaks = HiddenAnswers(chain("Sweden")).describe_leaks("Which Swedish lake is it?")
    assert leaks == "it says 'Swedish', which gives [hidden] away"


def test_word_that_the_evidence_uses_as_a_kind_is_no_part_of_a_name() -> None:
    graph = chain("Copper Pier", quote="Copper Pier is a pier. The Pier is made of copper.")
    assert HiddenAnswers(graph).mask("The Pier") == "The Pier"


@pytest.mark.parametrize(
    ("answer", "text", "masked"),
    [
        (
            "Springfield, Massachusetts",
            "Springfield is a town. Boston is in Massachusetts.",
            "[hidden] is a town. Boston is in Massachusetts.",
        ),
        ("Holm, Moor and Brandt", "Brandt left.", "[hidden] left."),
        ("Vess", "Vess (/vɛs/, German: Wess) is a town. (A list)", "[hidden] ([hidden]) is a town. (A list)"),
        ("Vess", "Vess, pronounced /vɛs/, is a town.", "[hidden], pronounced [hidden], is a town."),
        ("Ada Holm", "It is also known as the Ada Holm Hockey Center.", "It is also known as the [hidden]."),
        ("Vess", "Vess (once called the Old Pier) is near.", "[hidden] (once called the [hidden]) is near."),
        ("Vess", "It is better known as Tarn. Tarn", "It is better known as [hidden]. [hidden]"),
        ("Vess", "The lake of Mora, also called Siljan, is large.", "The lake of Mora, also called Siljan, is large."),
        ("Sweden", "Sweden, officially the Kingdom of Svea", "[hidden], officially the [hidden]"),
    ],
)  # fmt: skip
def test_other_names_that_a_passage_gives_are_masked(answer: str, text: str, masked: str) -> None:
    assert HiddenAnswers(chain(answer, quote=text)).mask(text) == masked


def test_word_that_names_of_several_things_share_is_no_part_of_one() -> None:
    quote = "Moor Pier is large. The famous Copper lies in Vess; they call it Moor."
    assert HiddenAnswers(chain("Moor Pier", quote=quote)).mask("Moor") == "[hidden]"
    assert HiddenAnswers(chain("Moor Pier", quote=quote, last="Moor Hall")).mask("Moor") == "Moor"


@pytest.mark.parametrize(
    ("asked", "masked", "leak"),
    [
        ("When was the city of Calisia founded?", "[thing of a]", "it says 'Kalisz', which gives [thing of a] away"),
        ("When was Kalisz founded?", "Kalisz", ""),
        ("When was Kalisz's market founded?", "Kalisz", ""),
    ],
)  # fmt: skip
def test_thing_that_a_first_step_only_describes_is_hidden(asked: str, masked: str, leak: str) -> None:
    step = FoundStep(
        id="a", sub_question=asked, answer="1257", citation=cited("k", "Kalisz", "Kalisz was founded in 1257.")
    )
    hidden = HiddenAnswers(Graph(steps=(step,)))
    assert hidden.mask(step.citation.quote) == f"{masked} was founded in [a]."
    assert hidden.describe_leaks("When was Kalisz founded?") == leak

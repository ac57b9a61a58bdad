"""The forms in which an answer is masked in the facts that a writer sees, and found in a wording."""

import pytest

from pipeline.loop.hidden_answers import HiddenAnswers
from pipeline.types.graph import ComputedStep, FoundStep, Graph
from tests.loop.graphs import make_citation, make_graph


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
        ("1970", "in the 1970s, not 1970", "in the 1970s, not [hidden]"),
        ("Orion's belt", "Orion’s belt and Orion", "[hidden] and Orion"),
        ("The Ada Holm Show", "The Last Picture Show", "The Last Picture Show"),
        ("Tarn Park", "in Tarn, where the Tarn Otters play", "in Tarn, where the Tarn Otters play"),
        ("Finnish Radio Company", "a Finnish station", "a Finnish station"),
        ("Holm of Mora", "the island of Mora", "the island of Mora"),
        ("South Sudan", "Sudan is its neighbour", "Sudan is its neighbour"),
        ("Racing Club", "There, Racing won. Racing plays.", "There, [hidden] won. [hidden] plays."),
    ],
)
def test_forms_of_an_answer_are_masked(answer: str, text: str, masked: str) -> None:
    assert HiddenAnswers(make_graph(answer, quote=f"{answer} is told of. {text}")).mask(text) == masked


def test_name_in_a_first_step_is_no_secret() -> None:
    hidden = HiddenAnswers(make_graph("Bergen", root="Bergen Pier (ferry stop)"))
    assert hidden.describe_leaks("Which town owns Bergen Pier?") == ""
    assert hidden.describe_leaks("What is the pier of Bergen?") == "it says 'Bergen', which gives [hidden] away"


def test_title_of_a_hidden_answers_page_is_hidden() -> None:
    hidden = HiddenAnswers(make_graph("Sweden", page="Kingdom of Svea"))
    assert hidden.mask("The Kingdom of Svea has lakes.") == "The [hidden] has lakes."


def test_leak_is_described_without_the_answer() -> None:
    leaks = HiddenAnswers(make_graph("Sweden")).describe_leaks("Which Swedish lake is it?")
    assert leaks == "it says 'Swedish', which gives [hidden] away"


def test_common_noun_in_the_evidence_is_no_part_of_a_name() -> None:
    graph = make_graph("Copper Pier", quote="Copper Pier is a pier. The Pier is made of copper.")
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
        ("Vess", "Vess ([ˈvɛs] is a town.", "[hidden] ([hidden] is a town."),
        ("Racing Club", "It is also known simply as Racing.", "It is also known simply as [hidden]."),
        ("Vess", "Vess, pronounced /vɛs/, is a town.", "[hidden], pronounced [hidden], is a town."),
        ("Ada Holm", "It is also known as the Ada Holm Hockey Center.", "It is also known as the [hidden]."),
        ("Vess", "Vess (once called the Old Pier) is near.", "[hidden] (once called the [hidden]) is near."),
        ("Vess", "It is better known as Tarn. Tarn", "It is better known as [hidden]. [hidden]"),
        ("Vess", "The lake of Mora, also called Siljan, is large.", "The lake of Mora, also called Siljan, is large."),
        ("Sweden", "Sweden, officially the Kingdom of Svea", "[hidden], officially the [hidden]"),
    ],
)  # fmt: skip
def test_other_names_that_a_passage_gives_are_masked(answer: str, text: str, masked: str) -> None:
    assert HiddenAnswers(make_graph(answer, quote=text)).mask(text) == masked


def test_word_that_names_of_several_things_share_is_no_part_of_one() -> None:
    quote = "Moor Pier is large. The famous Copper lies in Vess. Moor is old."
    assert HiddenAnswers(make_graph("Moor Pier", quote=quote)).mask("Moor") == "[hidden]"
    assert HiddenAnswers(make_graph("Moor Pier", quote=quote, last="Moor Hall")).mask("Moor") == "Moor"


@pytest.mark.parametrize(
    ("sub_question", "masked", "leak"),
    [
        ("When was the city of Calisia founded?", "[thing of a]", "it says 'Kalisz', which gives [thing of a] away"),
        ("When was Kalisz founded?", "Kalisz", ""),
        ("When was Kalisz's market founded?", "Kalisz", ""),
    ],
)  # fmt: skip
def test_thing_that_a_first_step_only_describes_is_hidden(sub_question: str, masked: str, leak: str) -> None:
    step = FoundStep(
        id="a",
        sub_question=sub_question,
        answer="1257",
        citation=make_citation("k", "Kalisz", "Kalisz was founded in 1257."),
    )
    hidden = HiddenAnswers(Graph(steps=(step,)))
    assert hidden.mask(step.citation.quote) == f"{masked} was founded in [a]."
    assert hidden.describe_leaks("When was Kalisz founded?") == leak


def test_value_is_masked_next_to_its_own_step_alone_and_found_in_any_wording() -> None:
    """Two towns each have a year, and the year of one is no answer about the other."""
    towns = [
        FoundStep(id=f"town{n}", sub_question=f"Which town has pier {n}?", answer=f"Vess {'AB'[n]}",
                  citation=make_citation(f"pier{n}", f"Pier {n}",
                                         f"Pier {n} lies in Vess {'AB'[n]} since 1894 and 1895."))
        for n in range(2)
    ]  # fmt: skip
    years = [
        FoundStep(id=f"year{n}", sub_question=f"When was {{town{n}}} founded?", answer=answer, needs=(f"town{n}",),
                  citation=make_citation(f"town{n}", f"Vess {'AB'[n]}", f"It was founded in {answer}."))
        for n, answer in enumerate(("1894", "1895"))
    ]  # fmt: skip
    last = ComputedStep(id="z", sub_question="?", answer="1", needs=("year0", "year1"), operation="difference")
    graph = Graph(steps=(*towns, *years, last))
    hidden = HiddenAnswers(graph)
    text = "In 1894 and 1895"
    masked = [hidden.mask(text, step) for step in graph.found]
    assert masked == ["In [year0] and 1895", "In 1894 and [year1]"] * 2
    assert hidden.describe_leaks("Is it 1895?") == "it says '1895', which gives [year1] away"
    dated = towns[0].model_copy(update={"sub_question": "Which town had pier 0 in 1895?"})
    assert HiddenAnswers(Graph(steps=(dated, towns[1], *years, last))).describe_leaks("Is it 1895?") == ""


def test_same_value_of_two_steps_has_the_label_of_each() -> None:
    first, second = make_graph("5 years", last="5 years").steps
    graph = Graph(steps=(first, second))
    assert [HiddenAnswers(graph).mask("5 years", step) for step in graph.steps] == ["[hidden]", "[last]"]


@pytest.mark.parametrize(
    ("page", "sub_question", "quote", "masked"),
    [
        ("Rota", "When did {hidden} begin?", "Rota is a tool of Vess.", "[thing of last] is a tool of [hidden]."),
        ("Sami", "What do the Sami see in {hidden}?", "The Sami see Vess run.", "The Sami see [hidden] run."),
        ("Greek (Vess)", "What does {hidden} count?", "It lists Greek stars.", "It lists Greek stars."),
    ],
)  # fmt: skip
def test_page_about_another_thing_is_not_taken_for_the_hidden_one(
    page: str, sub_question: str, quote: str, masked: str
) -> None:
    first, second = make_graph("Vess", last="1894").steps
    second = second.model_copy(update={"sub_question": sub_question, "citation": make_citation("page", page, quote)})
    assert HiddenAnswers(Graph(steps=(first, second))).mask(quote) == masked


@pytest.mark.parametrize("sub_question", ["Which group used a script?", "Is it the group APT32 that used a script?"])
def test_answer_of_a_first_step_is_hidden_though_the_step_is_about_it(sub_question: str) -> None:
    citation = make_citation("k", "Scripts", "APT32 uses scripts.")
    hidden = HiddenAnswers(
        Graph(steps=(FoundStep(id="a", sub_question=sub_question, answer="APT32", about="APT32", citation=citation),))
    )
    assert hidden.mask(citation.quote) == "[a] uses scripts."

"""A second answer to the last step, among the passages that the agents were shown."""

import pytest

from pipeline.agents import tools
from pipeline.types import Record
from tests.gates.test_gates import judged, only
from tests.graphs import changed
from tests.records import accepted, passage, world

TOWN = world(0).town.title


def shown(text: str, title: str = "Annals of the fells") -> Record:
    """An accepted record one of whose fresh rollouts was shown this passage too."""
    tree = accepted().model_dump(mode="json")
    message = tree["confirmation"][0]["trajectory"]["messages"][7]
    assert message["role"] == "tool"
    message["content"] += "\n\n" + tools.render([passage("annals", title, text)])
    return Record.model_validate(tree)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (f"Old books differ. {TOWN} was founded in 1199 by a duke.", "Annals of the fells"),
        ("It was founded in 1199 by a duke.", TOWN),
        (f"{TOWN}, they say, had been founded only in March 1350.", "Annals of the fells"),
    ],
)
def test_another_answer_to_the_last_step(text: str, title: str) -> None:
    last = accepted().draft.hops[-1]
    quote = last.model_copy(update={"quote": f"{TOWN} was founded in {last.answer}"})
    record = shown(text, title)
    draft = changed(record.draft, hops=(*record.draft.hops[:-1], quote))
    final = record.rounds[-1].model_copy(update={"draft": draft})
    assert judged([record.model_copy(update={"rounds": (final,)})], only("rival_answer")) == ["rival_answer"]


@pytest.mark.parametrize(
    "text",
    [
        f"{TOWN} was founded in {world(0).year} by a duke.",
        f"{TOWN} was burnt in 1350.",
        "Dunmere was founded in 1199.",
    ],
)
def test_what_is_no_rival(text: str) -> None:
    assert judged([shown(text)], only("rival_answer")) == [""]
    assert judged([accepted(n) for n in range(12)], only("rival_answer")) == [""] * 12

"""A second answer to the last step among the passages that the agents saw drops a pair."""

import pytest

from pipeline.agents import tools
from pipeline.types import Record
from tests.gates.pairs import enable_only, run_gates
from tests.graph_drafts import changed
from tests.records import accepted, passage, world

TOWN = world(0).town.title


def make_record(text: str, title: str = "Annals of the fells") -> Record:
    """Make an accepted record with this passage among the results of one fresh rollout."""
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
def test_another_answer_to_the_last_step_drops_the_pair(text: str, title: str) -> None:
    last = accepted().draft.hops[-1]
    quote = last.model_copy(update={"quote": f"{TOWN} was founded in {last.answer}"})
    record = make_record(text, title)
    draft = changed(record.draft, hops=(*record.draft.hops[:-1], quote))
    final = record.rounds[-1].model_copy(update={"draft": draft})
    assert run_gates([record.model_copy(update={"rounds": (final,)})], enable_only("rival_answer")) == ["rival_answer"]


@pytest.mark.parametrize(
    "text",
    [f"{TOWN} was founded in {world(0).year} by a duke.", f"{TOWN} was burnt in 1350.", "Dunmere was founded in 1199."],
)
def test_other_sentences_are_no_rival(text: str) -> None:

    assert run_gates([make_record(text)], enable_only("rival_answer")) == [""]
    assert run_gates([accepted(n) for n in range(12)], enable_only("rival_answer")) == [""] * 12

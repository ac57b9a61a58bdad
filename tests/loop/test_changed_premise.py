"""The inputs of a twin's writer, and what counts as one changed premise."""

from collections import Counter

import pytest

from pipeline.loop.unanswerable import KINDS, choose_premise_kind, find_misfit
from pipeline.types import AnswerType, ChangedPremise, sha256
from tests.graph_drafts import chained
from tests.loop.cast import FILM, HOLM, TOWN, make_seed
from tests.loop.twins import CHANGED, Playing, get_twin
from tests.passages import hop


@pytest.mark.parametrize(
    ("update", "outcome"),
    [
        ({"changed_from": "painted"}, "unchanged"),
        ({"changed_to": "home town"}, "unchanged"),
        ({"changed_to": "composed"}, "unchanged"),
        ({"question": "Who wrote the music of Lantern Bay?"}, "rewritten"),
        ({"question": "When was the home town of the person who wrote the music of Lantern Bay settled, 1641?"},
         "answer_named"),
    ],
)  # fmt: skip
def test_a_change_of_no_or_more_than_one_premise_is_refused_unread(update: dict[str, str], outcome: str) -> None:
    twin = get_twin(Playing(CHANGED | update), "questions.tries=1")
    assert [attempt.outcome for attempt in twin.tries] == [outcome]
    assert twin.tries[0].searches == ()
    assert twin.usages["reader"] == []


@pytest.mark.parametrize(
    ("update", "why"),
    [
        ({"changed_from": "Directed"}, "`changed_from` does not stand in the question letter by letter: 'Directed'"),
        ({"changed_to": ""}, "`changed_to` does not stand in the new question letter by letter: ''"),
        ({"changed_from": "the"}, "`changed_from` stands 2 times in the question, give more of the words there: 'the'"),
        ({"changed_to": "the"}, "`changed_to` stands 3 times in the new question, give more of the words there: 'the'"),
    ],
)
def test_the_writer_is_told_unless_the_changed_words_stand_once_in_each_question(
    update: dict[str, str], why: str
) -> None:
    writer = Playing([CHANGED | update, CHANGED])
    assert [attempt.outcome for attempt in get_twin(writer).tries] == ["unchanged", "used"]
    assert writer.inputs[1]["refused"][0]["why"] == f"unchanged: {why}"


@pytest.mark.parametrize(
    ("before", "old", "new"),
    [
        ("Who wrote the German opera that was first given in Germany in 1902?", "German", "Italian"),
        ("Which art school did the founder of the Martin party attend?", "art", "music"),
        ("Who won the race of 19 days in 1902?", "19", "21"),
        ("Wer schrieb die Malerfürsten des Romans?", "Maler", "Dichter"),
        ("谁写了1902年在德国首演的歌剧？", "德国", "法国"),
    ],
)
def test_a_premise_is_a_whole_word(before: str, old: str, new: str) -> None:
    evidence = hop(FILM, "Ada Holm")
    draft = chained(question=before, answer="Ada Holm", answer_type=AnswerType.ENTITY, hops=(evidence,))
    changed = {"hop": 0, "changed_from": old, "changed_to": new, "sub_question": "Who?"}
    assert find_misfit(draft, ChangedPremise(question=before.replace(old, new, 1), **changed)) == ("", "")


def test_words_that_occur_twice_in_a_language_without_spaces_are_no_premise() -> None:
    draft = chained(
        question="德国，谁在德国写了它？", answer="Orm", answer_type=AnswerType.ENTITY, hops=(hop(FILM, "Orm"),)
    )
    changed = {"question": "法国，谁在德国写了它？", "changed_from": "德国", "changed_to": "法国", "sub_question": "?"}
    assert find_misfit(draft, ChangedPremise(hop=0, **changed))[1].startswith("`changed_from` stands 2 times")


def test_a_writer_gets_the_passages_and_a_different_kind_of_premise_for_each_pair_and_attempt() -> None:
    writer = Playing([CHANGED | {"changed_from": "nothing"}, CHANGED])
    get_twin(writer)
    first, second = writer.inputs
    assert [passage["text"] for passage in first["passages"]] == [FILM.text, HOLM.text, TOWN.text]
    assert first["prefer"] == choose_premise_kind(make_seed().key, 0)
    assert second["prefer"] == choose_premise_kind(make_seed().key, 1) != first["prefer"]
    drawn_kinds = Counter(choose_premise_kind(sha256(str(n)), 0) for n in range(700))
    assert drawn_kinds.keys() == set(KINDS)
    assert min(drawn_kinds.values()) > 60

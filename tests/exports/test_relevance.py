from pipeline.exports import relevance
from tests.records import accepted, rejected, trajectory, world

W = world(0)


def of(pair):
    return {query.text: query for query in relevance.queries(pair)}


def ids(passages):
    return [passage.docid for passage in passages]


def test_question_sub_questions_and_searches_with_the_evidence_of_their_hops():
    made = of(accepted(0))
    found = {text: (query.kind, query.hops, ids(query.positives)) for text, query in made.items()}
    bridge, engineer, town = (passage.id for passage in W.chain)
    assert found[W.question] == ("question", (0, 1, 2), [bridge, engineer, town])
    assert found["Where was the engineer born?"] == ("sub_question", (1,), [engineer])
    assert found[f"{W.engineer.title} born"] == ("search", (1,), [engineer])
    # It brought no evidence.
    assert "church tower" not in found


def test_negatives_are_what_the_searches_for_that_evidence_brought_beside_it():
    made = of(accepted(0))
    noise = [passage.id for passage in W.noise]
    assert ids(made[f"{W.engineer.title} born"].negatives) == [noise[1]]
    # The second is brought by two of the searches.
    assert ids(made[W.question].negatives) == [noise[1], noise[0], noise[2]]


def test_what_names_an_answer_or_lies_beside_the_evidence_is_no_negative():
    telling = W.noise[1].model_copy(update={"text": f"The chronicle says AD {W.year}."})
    beside = W.noise[2].model_copy(update={"id": f"{W.town.document_id}#1", "document_id": W.town.document_id})
    pair = shown_beside(telling, beside, W.noise[3])
    assert ids(of(pair)["When was the town founded?"].negatives) == [W.noise[3].id]
    # The year is the answer of the last hop: to the first question it is no evidence.
    assert telling.id in ids(of(pair)["Who designed the bridge?"].negatives)


def test_a_query_without_a_hard_negative_is_left_out():
    assert of(shown_beside()) == {}


def test_a_seed_without_a_draft_has_none():
    assert not of(rejected(5).model_copy(update={"rounds": ()}))


def shown_beside(*others):
    """A pair whose only rollout finds all evidence at once, beside these passages."""
    pair = accepted(0)
    rollout, passages = pair.confirmation[0], (*W.chain, *others)
    searched = trajectory(rollout.trajectory.messages[:2], [("all of it", passages)], ("answer", {"answer": W.year}))
    bare = pair.rounds[-1].model_copy(update={"rollouts": (), "verdicts": ()})
    update = {
        "rounds": (bare,),
        "confirmation": (rollout.model_copy(update={"trajectory": searched}),),
        "confirmation_verdicts": pair.confirmation_verdicts[:1],
    }
    return pair.model_copy(update=update)

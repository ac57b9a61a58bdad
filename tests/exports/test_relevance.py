from pipeline.exports import relevance
from tests.records import accepted, rejected, trajectory, world

W = world(0)


def list_queries(pair):
    return {query.text: query for query in relevance.queries(pair)}


def list_ids(passages):
    return [passage.docid for passage in passages]


def test_queries_are_question_sub_questions_and_searches_with_their_evidence():
    queries = list_queries(accepted(0))
    summary = {text: (query.kind, query.hops, list_ids(query.positives)) for text, query in queries.items()}
    bridge, engineer, town = (passage.id for passage in W.chain)
    assert summary[W.question] == ("question", (0, 1, 2), [bridge, engineer, town])
    assert summary["Where was the engineer born?"] == ("sub_question", (1,), [engineer])
    assert summary[f"{W.engineer.title} born"] == ("search", (1,), [engineer])
    # This search returned no evidence.
    assert "church tower" not in summary


def test_negatives_are_other_results_of_the_searches_that_returned_the_evidence():
    queries = list_queries(accepted(0))
    noise = [passage.id for passage in W.noise]
    assert list_ids(queries[f"{W.engineer.title} born"].negatives) == [noise[1]]
    # Two of the searches return the second.
    assert list_ids(queries[W.question].negatives) == [noise[1], noise[0], noise[2]]


def test_a_passage_with_an_answer_or_of_an_evidence_document_is_no_negative():
    telling = W.noise[1].model_copy(update={"text": f"The chronicle says AD {W.year}."})
    neighbour = W.noise[2].model_copy(update={"id": f"{W.town.document_id}#1", "document_id": W.town.document_id})
    pair = make_pair_with(telling, neighbour, W.noise[3])
    assert list_ids(list_queries(pair)["When was the town founded?"].negatives) == [W.noise[3].id]
    # The year answers the last hop, so it is no evidence for the first question.
    assert telling.id in list_ids(list_queries(pair)["Who designed the bridge?"].negatives)


def test_a_query_without_a_hard_negative_is_left_out():
    assert list_queries(make_pair_with()) == {}


def test_a_seed_without_a_draft_has_none():
    assert not list_queries(rejected(5).model_copy(update={"rounds": ()}))


def make_pair_with(*passages_beside):
    """Make a pair whose only rollout retrieves all evidence at once, together with these passages."""
    pair = accepted(0)
    rollout, passages = pair.confirmation[0], (*W.chain, *passages_beside)
    single_search = trajectory(
        rollout.trajectory.messages[:2], [("all of it", passages)], ("answer", {"answer": W.year})
    )
    bare = pair.rounds[-1].model_copy(update={"rollouts": (), "verdicts": ()})
    update = {
        "rounds": (bare,),
        "confirmation": (rollout.model_copy(update={"trajectory": single_search}),),
        "confirmation_verdicts": pair.confirmation_verdicts[:1],
    }
    return pair.model_copy(update=update)

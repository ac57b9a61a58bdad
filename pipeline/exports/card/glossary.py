"""What every status, label, cause, reject reason, check and stop means, in one sentence each.

Report, card and `digsite inspect` show these sentences, and docs/glossary.md is made of them: `python -m
pipeline.exports.card.glossary > docs/glossary.md`. The sentence of a gate or a check is the first line of its
docstring.
"""

import sys
from collections.abc import Mapping

from pipeline.gates import described
from pipeline.loop.checks.base import meanings
from pipeline.types import Cause, Label, Status, Stop

STATUSES: Mapping[str, str] = {
    Status.ACCEPTED: "The question was confirmed at its target by fresh rollouts.",
    Status.REJECTED: "No draft of the seed met its target, or a gate dropped the pair.",
    Status.FAILED: "Something outside the question ended the seed: a clock or an unreadable judge.",
}
LABELS: Mapping[str, str] = {
    Label.UNSOUND: "The audit found an error in the draft itself.",
    Label.TOO_EASY: "A solver, or a check, needed fewer steps than the target, or it was solved too often.",
    Label.UNSOLVED: "No rollout gave the answer with its evidence, or too few did.",
    Label.CANDIDATE: "A rollout was correct, and none of them needed fewer steps than the target.",
}
CAUSES: Mapping[str, str] = {
    Cause.CO_LOCATED: "One passage holds the evidence of several hops.",
    Cause.OVER_SPECIFIED: "The question says so much that one search finds the last passage directly.",
    Cause.QUERY_COLLAPSE: "One search brings the passages of several hops together.",
    Cause.SUPERFICIAL: "Some hops are not needed to reach the answer, or there are too few of them.",
    Cause.RETRIEVAL_MISS: "No rollout found the passages of some hops.",
    Cause.SOLVER_ERROR: "The passages were found, and the solver still answered wrongly.",
    Cause.GENERATOR_ERROR: "The draft is wrong: a false quote, a broken chain, or evidence without the answer.",
    Cause.AMBIGUOUS: "Another answer fits the question too.",
    Cause.PRIOR_KNOWLEDGE: "The model to be trained knows the answer, or a solver searched with what it had not read.",
    Cause.UNDATED: "The answer changes with time, and the question names no date.",
    Cause.UNNATURAL: "A reader found the wording unnatural: nobody would ask it so.",
    Cause.ABOVE_BAND: "The model that the pairs are for solved it more often than the target's band of solve rates.",
    Cause.BELOW_BAND: "The model that the pairs are for solved it less often than the target's band of solve rates.",
}
REASONS = {
    "below_target": "A fresh rollout solved it in fewer steps than the target.",
    "outside_band": "Of the fresh tries of the model that the pairs are for, too many or too few were correct.",
    "unconfirmed": "No fresh rollout solved it again.",
    "beyond_solver": "No rollout was correct, but a reader with the evidence was: a stronger solver may solve it.",
    "no_walk": "The corpus links its passage to nothing that a question could end in; no model was asked.",
    "no_draft": "The generator found nothing to ask, and said so.",
    "no_draft:format_errors": "The generator proposed no question: its calls could not be read.",
    "no_draft:limits": "The generator proposed no question before its turns, tokens or context ended.",
    "no_verdict": "The judge's answer could not be read, so there is no verdict.",
    "deadline": "A rollout ran out of its time twice.",
    "relaxed": "Accepted although too easy, as the preset allows after the last round.",
    "surplus": "Finished beyond the plan; it is used when more pairs are wanted.",
}
OLD_CHECKS = {
    "skip_ahead": "Of older runs: a search for a later hop finds its passage without the hops before it.",
    "naive_rag": "Of older runs: the answer is given from the passages of one search with the question.",
}
TWINS: Mapping[str, str] = {
    "unchanged": "No premise was changed, or the change is not where the writer says.",
    "rewritten": "More than one premise was changed.",
    "answer_named": "The changed question names the answer of its pair.",
    "stated": "A passage states the changed premise.",
    "unclear": "A reader could not tell whether a passage states the changed premise.",
    "answered": "A reader or a solver gave an answer, and passages support it.",
    "unsolved": "No rollout searched and found that there is no answer.",
    "unwritten": "The writer gave nothing that could be read.",
}
STOPS: Mapping[str, str] = {
    Stop.ANSWERED: "It gave an answer.",
    Stop.SEARCH_BUDGET: "It had used all its searches and was made to answer.",
    Stop.MAX_TURNS: "It reached the limit of turns.",
    Stop.MAX_TOKENS: "It reached the limit of tokens.",
    Stop.FORMAT_ERRORS: "Too many of its calls in a row could not be read.",
    Stop.REPEATS: "It made the same calls again and again.",
    Stop.CONTEXT: "The conversation no longer fitted the model's context.",
    Stop.NO_WALK: "It was never asked: there was no walk to begin with.",
}


def checks() -> dict[str, str]:
    """What each check looks for: the first line of its file, and what it says of all else that it finds."""
    return {name: meaning.gloss for name, meaning in meanings().items()} | OLD_CHECKS


def gloss(reason: str) -> str:
    """The sentence for a status, reason or cause as it stands in record, card or report; empty for an unknown one.

    `gate:leak: the question …` and `surplus: below_target` are glossed by their code, the part before the detail.
    """
    code = reason.partition(": ")[0]
    if code.startswith("gate:"):
        return described().get(code.removeprefix("gate:"), "")
    # A few checks have the name of the cause that they find; a reason is a cause.
    every = (REASONS, STATUSES, LABELS, CAUSES, checks(), STOPS)
    return next((sentences[code] for sentences in every if code in sentences), "")


def page() -> str:
    """docs/glossary.md."""
    tables: dict[str, Mapping[str, str]] = {
        "How a seed ends": STATUSES,
        "What the feedback says of a draft": LABELS,
        "Why a draft is sent back": CAUSES,
        "Other reasons of rejected and failed seeds": REASONS,
        "What the checks look for": checks(),
        "Why a try at a question without an answer is refused": TWINS,
        "What the gates drop": described(),
        "How an agent stops": STOPS,
    }
    lines = [_HEAD]
    for title, entries in tables.items():
        lines += [f"## {title}", "", "| code | meaning |", "|---|---|"]
        lines += [f"| `{code}` | {meaning} |" for code, meaning in sorted(entries.items())] + [""]
    return "\n".join(lines)


_HEAD = """# Glossary

Written by `python -m pipeline.exports.card.glossary`. Report, card and `digsite inspect` use the same sentences.

| word | meaning |
|---|---|
| corpus, passage | a set of documents; a part of a document that a search returns |
| split, side | documents are train or eval by a hash of their id, before any seed (`pipeline/corpus/split.py`) |
| seed | one planned attempt to make a question, starting from one passage |
| hop | one link of the evidence chain: sub-question, answer, passage, quote |
| draft | a question with its answer and hops, before it is accepted |
| step | one search or open call of an agent that is not a repeat |
| repeat | a search with the same words, or a document opened again (`pipeline/agents/calls.py`) |
| target | how many steps a question must need at least |
| rollout | one attempt of the solver at a question |
| correct | the answer is right, and the rollout had seen the evidence for it |
| difficulty | the least number of steps over the correct rollouts |
| solve rate, pass@K | the share of K rollouts that are correct; whether any of them is |
| hit step | the step at which the answer first shows in a search result |
| audit | checks of a draft before any rollout |
| probe | one question to a reader about a draft: from memory, with what searches for its end find, with all evidence |
| shortcut seeker | a reader that knows the target and wins by answering in fewer searches, in any way |
| confirmation | K fresh rollouts of a candidate; only they give the exported difficulty |
| gate | a rule between the journal and the data set: duplicates, leaks, licences, quotas |
| view | the projection of records that one consumer reads |
| distractor | a synthetic passage that suggests a wrong answer to one question |
| overlay | the index of a question together with its distractors |
| blind reader | a reader that sees six passages, and must name the one among them that somebody else has written |
| twin | the question of a pair with one premise changed, so that the corpus holds no answer |
| teacher | a solver that answers among distractors, for trajectories to train on |
| journal | one line per seed, append-only; everything else in a run's folder is derived from it |
"""


if __name__ == "__main__":
    sys.stdout.write(page())

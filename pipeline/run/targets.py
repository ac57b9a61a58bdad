"""Refuse, before anything is paid for, targets that the corpus or the models' contexts cannot carry."""

from pipeline.agents.tools import render
from pipeline.config import RunConfig
from pipeline.corpus import Corpus
from pipeline.errors import UsageError
from pipeline.llm.token_estimate import tokens

_SAMPLE = 100
"""The number of passages from which the average size is estimated."""
_PROMPT, _STEP = 1_500, 100
"""Tokens of a conversation without passages: its prompt with the tools, and the call or hop of each step."""


def check(config: RunConfig, corpus: Corpus) -> None:
    """Raise UsageError, one line with what to set, if no question can reach the highest target."""
    if config.steps_required:
        _check_contexts(config, _passage_tokens(corpus))


def _passage_tokens(corpus: Corpus) -> int:
    places = range(0, len(corpus.passages), len(corpus.passages) // _SAMPLE + 1)
    return sum(tokens(render([corpus.in_order_of_ids(place)])) for place in places) // len(places)


def _check_contexts(config: RunConfig, passage_tokens: int) -> None:
    """Check the contexts of each role.

    A role that searches sees k passages per step and keeps them all. A writer holds one passage per step, and a reader
    those and one more search.
    """
    hits_per_search, models, max_steps = config.retrieval.k, config.models, config.steps[1]
    searcher = _PROMPT, hits_per_search * passage_tokens + _STEP, f"{hits_per_search} for each step"
    writer = 2 * _PROMPT, passage_tokens + _STEP, "one for each step"
    reader = (
        _PROMPT + hits_per_search * passage_tokens,
        passage_tokens + _STEP,
        f"one for each step and {hits_per_search} beside them",
    )
    needs_by_role = {"solver": searcher, **{f"policies.{name}": searcher for name in models.policies}}
    needs_by_role |= {"generator": writer, "refiner": writer} | ({"reader": reader} if config.checks_enabled() else {})
    for role, (fixed, per_step, portion) in needs_by_role.items():
        room, setting = models.by_setting()[role].room, f"models.{role}.context"
        if room and role in ("generator", "refiner") and config.generator.request_tokens < room:
            room, setting = config.generator.request_tokens, "generator.request_tokens"
        if room is None or (needed := fixed + max_steps * per_step) <= room:
            continue
        fewer = (
            f", or ask for at most {reachable} with --steps" if (reachable := (room - fixed) // per_step) > 0 else ""
        )
        raise UsageError(
            f"the context of the {role} is too small for a target of {max_steps} steps: its passages ({portion}) need "
            f"{needed:,} tokens, and a request may have {room:,}; raise {setting}, or lower retrieval.k{fewer}"
        )

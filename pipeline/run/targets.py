"""Which targets a run can reach: what models' contexts or the corpus cannot carry is refused before it is paid for."""

from pipeline.agents.tools import render
from pipeline.config import RunConfig
from pipeline.corpus import Corpus
from pipeline.errors import UsageError
from pipeline.llm.token_estimate import tokens

_SAMPLE = 100
"""Passages from which the size of a passage is estimated."""
_PROMPT, _STEP = 1_500, 100
"""Tokens of a conversation without what was searched: its prompt with the tools, and the call or hop of each step."""


def check(config: RunConfig, corpus: Corpus) -> None:
    """Raises UsageError, one line with what to set, where no question can take the greatest target."""
    if config.steps_required:
        _contexts(config, _passage_tokens(corpus))


def _passage_tokens(corpus: Corpus) -> int:
    """About the tokens of a passage as it is shown, from a sample."""
    places = range(0, len(corpus.passages), len(corpus.passages) // _SAMPLE + 1)
    return sum(tokens(render([corpus.in_order_of_ids(place)])) for place in places) // len(places)


def _contexts(config: RunConfig, passage: int) -> None:
    """Whoever searches is shown k passages for every step and forgets none; whoever writes has one for every step in
    hand, and whoever checks these and one search more."""
    k, models, most = config.retrieval.k, config.models, config.steps[1]
    searches = _PROMPT, k * passage + _STEP, f"{k} for each step"
    writes = 2 * _PROMPT, passage + _STEP, "one for each step"
    reads = _PROMPT + k * passage, passage + _STEP, f"one for each step and {k} beside them"
    held = {"solver": searches, **{f"policies.{name}": searches for name in models.policies}}
    held |= {"generator": writes, "refiner": writes} | ({"reader": reads} if config.checks_run() else {})
    for role, (rest, step, what) in held.items():
        room, setting = models.named()[role].room, f"models.{role}.context"
        if room and role in ("generator", "refiner") and config.generator.request_tokens < room:
            room, setting = config.generator.request_tokens, "generator.request_tokens"
        if room is None or (needed := rest + most * step) <= room:
            continue
        fewer = f", or ask for at most {can} with --steps" if (can := (room - rest) // step) > 0 else ""
        raise UsageError(
            f"a target of {most} steps does not fit the {role}: passages, {what}, take {needed:,} tokens, and a "
            f"request has room for {room:,}: raise {setting}, lower retrieval.k{fewer}"
        )

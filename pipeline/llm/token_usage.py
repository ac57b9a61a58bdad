"""The token counts of an answer: those that its server reports, and an estimate of the cached tokens otherwise."""

from typing import Any

from pipeline.types import Usage

_CACHED = (
    ("usage", "prompt_tokens_details", "cached_tokens"),  # OpenAI, vLLM, SGLang, xAI
    ("usage", "input_tokens_details", "cached_tokens"),
    ("usage", "prompt_cache_hit_tokens"),  # DeepSeek
    ("usage", "cached_tokens"),  # Moonshot
    ("usage", "cache_read_input_tokens"),  # Anthropic, behind most gateways
    ("timings", "cache_n"),  # llama.cpp
)
"""Where servers report how many prompt tokens they had cached."""
_BESIDE_INPUT = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Tokens that Anthropic counts beside `input_tokens`. They are part of `prompt_tokens`."""
_MOST = 1e12


def read_usage(answer: Any, shared_prefix: float) -> Usage:
    """Return the token counts of an answer. Missing counts are 0; no count is negative or greater than its total.

    If a server does not report cached tokens, they are estimated: `shared_prefix` is the share of the prompt that is a
    prefix of the previous request of the conversation too.
    """
    prompt = _count(answer, "usage", "prompt_tokens")
    if prompt is None:
        prompt = sum(_count(answer, "usage", name) or 0 for name in ("input_tokens", *_BESIDE_INPUT))
    completion = _count(answer, "usage", "completion_tokens")
    if completion is None:
        completion = _count(answer, "usage", "output_tokens") or 0
    reasoning = _count(answer, "usage", "completion_tokens_details", "reasoning_tokens") or 0
    usage = Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        reasoning_tokens=min(completion, reasoning),
    )
    reported = [count for path in _CACHED if (count := _count(answer, *path)) is not None]
    if reported:  # A gateway may fill in one field and leave 0 in another.
        return usage.model_copy(update={"cached_tokens": min(prompt, max(reported))})
    return estimate_cached(usage, shared_prefix)


def estimate_cached(usage: Usage, shared_prefix: float) -> Usage:
    cached = int(usage.prompt_tokens * shared_prefix)
    return usage.model_copy(update={"cached_tokens": cached, "estimated_cached_tokens": cached})


def _count(tree: Any, *path: str) -> int | None:
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    is_count = isinstance(tree, int | float) and not isinstance(tree, bool) and abs(tree) < _MOST
    return max(0, int(tree)) if is_count else None

"""What answers requests: servers, files of weights, and the models that come with the product."""

from importlib import import_module
from typing import Any, Final

from pipeline.types import DEMO_MODELS

BUILT_IN: Final = "embedded"
"""The provider of the models that come with the product."""
PROVIDERS = (BUILT_IN, "openai", "gguf")
_HOMES = dict.fromkeys(DEMO_MODELS, "pipeline.demo")
"""The package of each model that comes with the product: it states its `capabilities` and makes the `model`."""


def built_in(name: str) -> Any:
    """The package of the model of that name; None for any other model."""
    return import_module(_HOMES[name]) if name in _HOMES else None

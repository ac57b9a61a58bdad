"""The providers of models: servers, files of weights, and the demo models that come with Digsite."""

from importlib import import_module
from typing import Any, Final

from pipeline.types import DEMO_MODELS

BUILT_IN: Final = "embedded"
"""The provider of the demo models."""
PROVIDERS = (BUILT_IN, "openai", "gguf")
_HOMES = dict.fromkeys(DEMO_MODELS, "pipeline.demo")
"""The package of each demo model. It has the functions `capabilities` and `model`."""


def built_in(name: str) -> Any:
    """Return the package of the demo model with that name, or None for any other model."""
    return import_module(_HOMES[name]) if name in _HOMES else None

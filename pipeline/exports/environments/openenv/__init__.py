"""Search questions with verified answers, as an environment of OpenEnv."""

from .client import SearchEnv
from .models import SearchAction, SearchObservation
from .training import SearchTools

__all__ = ["SearchAction", "SearchEnv", "SearchObservation", "SearchTools"]

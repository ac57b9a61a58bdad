"""Search questions with verified answers, as an environment of verifiers: `load_environment()`."""

import verifiers.v1 as vf

from .taskset import SearchEnv, SearchEnvConfig, SearchTaskset

__all__ = ["SearchEnv", "SearchTaskset", "load_environment"]


def load_environment(split: str = "train", **settings) -> vf.Env:
    """Load the environment with the questions of a split. `settings` are fields of `SearchEnvConfig`."""
    return vf.load_environment(SearchEnvConfig(taskset={"id": __name__, "split": split}, **settings))

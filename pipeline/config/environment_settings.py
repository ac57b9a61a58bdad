"""The settings of additional tools for agents that answer questions."""

from pipeline.types import Data


class EnvironmentConfig(Data):
    """`[environment]`: tools beyond `search`, `open` and `answer`. `environment.json`, `digsite serve` and the views
    follow these settings."""

    pages: bool = False
    """Whether `open` takes a position to start at, and says where a passage is in its document and how many passages
    the document has, so that all of a long document can be read. If false, it only shows the passages around one. The
    teacher has no `open`."""
    find: bool = False
    """Whether solver, policies and teacher have the tool `find`, which searches within one document. It returns as many
    passages as a search and counts as a search."""

    @property
    def notes(self) -> tuple[str, ...]:
        return ("solver/_find",) if self.find else ()

"""The tools of who answers, beyond `search`, `open` and `answer`."""

from pipeline.types import Data


class EnvironmentConfig(Data):
    """`[environment]`: `environment.json`, `digsite serve` and the views follow it."""

    pages: bool = False
    """Whether `open` takes the position to begin at, and says where in its document a passage stands and how many the
    document has: any place of a long document can be read. If false, it shows the passages around one alone. The
    teacher has no `open`."""
    find: bool = False
    """Whether solver, policies and teacher have the tool `find`: the passages of one document, of any length, that hold
    given words best, as many as a search shows. It counts as a search."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the prompts of who answers by searching are followed by."""
        return ("solver/_find",) if self.find else ()

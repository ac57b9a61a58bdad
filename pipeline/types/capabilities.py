"""What the product may expect of a model, whatever kind of model it is."""

from pydantic import Field

from pipeline.types.data import Data, sha256
from pipeline.types.question import AnswerType


class Capabilities(Data):
    """What a model states of itself. The defaults are those of any language model."""

    understands: bool = True
    """It understands whatever it is asked. One that does not goes by rules: its readings are no second opinion, its
    verdict is the same each time, and a corpus may hold nothing that it can ask for."""
    limited: bool = True
    """Its context ends somewhere, and so do its answers."""
    trainable: bool = True
    """Models may be trained on what it writes."""
    answer_types: tuple[AnswerType, ...] = tuple(AnswerType)
    """The types of answer that its questions have."""
    english_only: bool = False
    """It reads no other language."""
    code: dict[str, str] = Field(default_factory=dict)
    """Digests of the code that its answers rest on, by the names under which a run's settings hold them; empty where
    weights do."""

    @property
    def calls_tools(self) -> bool:
        """Is it known, without a call, that it makes tool calls as a server gives them? What goes by rules was written
        to; of weights only a try tells."""
        return not self.understands

    @property
    def code_digest(self) -> str:
        """One for all of its code; empty where it has none."""
        digests = list(self.code.values())
        return sha256("".join(digests)) if len(digests) > 1 else "".join(digests)

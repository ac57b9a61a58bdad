"""What the product may expect of a model, whatever kind of model it is."""

from pipeline.types.data import Data


class Capabilities(Data):
    """What a model states of itself. The defaults are those of any language model."""

    understands: bool = True
    """It understands whatever it is asked. One that does not goes by rules: its readings are no second opinion, its
    verdict is the same each time, and a corpus may hold nothing that it can ask for."""
    limited: bool = True
    """Its context ends somewhere, and so do its answers."""
    trainable: bool = True
    """Models may be trained on what it writes."""
    english_only: bool = False
    """It reads no other language."""
    version: int | None = None
    """The version of a model that is code of the product; None for weights."""

    @property
    def calls_tools(self) -> bool:
        """Is it known, without a call, that it makes tool calls as a server gives them? What goes by rules was written
        to; of weights only a try tells."""
        return not self.understands

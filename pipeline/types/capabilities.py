"""The capabilities that the pipeline may expect of a model."""

from pipeline.types.data import Data


class Capabilities(Data):
    """The capabilities of a model. The defaults are those of any language model."""

    understands: bool = True
    """Whether it understands any request. A model that does not follows rules: its readings are not a second opinion,
    its verdict is always the same, and it may find no question in a corpus."""
    limited: bool = True
    """Whether its context and its answers have a limited length."""
    trainable: bool = True
    """Whether models may be trained on its outputs."""
    english_only: bool = False
    """Whether it reads English only."""
    version: int | None = None
    """The version of a model that is code of the product; None for weights."""

    @property
    def calls_tools(self) -> bool:
        """Return whether it certainly makes tool calls. Rules are written to do so; other models have to be tried."""
        return not self.understands

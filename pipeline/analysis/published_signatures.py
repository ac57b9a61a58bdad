"""The signatures that papers report for other data sets, to compare with our own."""

from typing import NamedTuple

SOURCE = "FORT, arXiv 2606.12087"


class PublishedSignature(NamedTuple):
    """The figures of a data set, measured with its own corpus, tools and solver."""

    data_set: str
    solving_cost: float
    first_hit: float
    """The search after which the answer was first shown."""
    prior_knowledge: float
    """Share of the questions that a model answers without a search."""


PUBLISHED = (
    PublishedSignature("FORT", 141.0, 46.9, 0.110),
    PublishedSignature("REDSearcher", 92.1, 18.7, 0.118),
    PublishedSignature("OpenSeeker", 84.7, 9.3, 0.319),
    PublishedSignature("InfoSeek", 20.6, 5.7, 0.020),
)

"""What one statement of a passage is taken to say."""

from typing import NamedTuple

from pipeline.embedded.facts_clause import Verb
from pipeline.text import Span


class Fact(NamedTuple):
    """ "<subject> <verb> <middle> <object>", where the middle holds the preposition before the object."""

    kind: str
    """`link`, `date` or `number`."""
    form: str
    verb: Verb
    middle: str
    """Between verb and object; of a definition from its article on."""
    object: Span
    """Place of the object in the text. Where a name ends is a guess."""
    tail: str
    """What a number counts or measures ("appearances")."""
    hint: str
    """The noun before a name that says what it is ("the novel The Wives of Bath"); of a number, how it is asked for."""
    quote: Span
    relation: str
    precision: str = ""
    after: str = ""
    """What follows a number's noun ("in the league")."""
    of: str = ""
    """What of the subject the clause is about ("score"), if not the subject itself."""
    named: bool = False
    """The middle names something else: too telling for any but the first hop."""
    shared: bool = False
    """Other objects stand in the same relation: the link alone does not say which one is meant."""

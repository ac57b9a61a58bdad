"""Two hops lie in one document."""

from pipeline.loop.checks.base import Case, DraftCheck, Found, Stage, quoted
from pipeline.types import Cause


async def one_document(case: Case) -> Found | None:
    """Whoever opens a document has read all of its passages in one step."""
    documents = [passage and passage.document_id for passage in case.evidence]
    again = [number for number, document in enumerate(documents) if document and document in documents[:number]]
    titles = quoted([case.draft.hops[number].title for number in again])
    return Found(f"these hops lie in the document of an earlier hop: {titles}", (*again,)) if again else None


CHECK = DraftCheck(Stage.SOUND, 7, Cause.GENERATOR_ERROR, look=one_document)

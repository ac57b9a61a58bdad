"""Compare the documents of two states of a corpus, by their ids and contents."""

from pipeline.corpus.hashes import hash_text
from pipeline.corpus.prepared import Corpus, stored_sha256
from pipeline.types.version import DocumentChanges


def count_changes(before: Corpus, after: Corpus) -> DocumentChanges:
    old, new = _hash_documents(before), _hash_documents(after)
    shared = old.keys() & new.keys()
    same = sum(old[key] == new[key] for key in shared)
    return DocumentChanges(
        added=len(new) - len(shared), changed=len(shared) - same, removed=len(old) - len(shared), same=same
    )


def _hash_documents(corpus: Corpus) -> dict[int, int]:
    # Numbers take a third of the memory of the texts, and a corpus may have millions of documents.
    return {hash_text(document.id): hash_text(stored_sha256(document)) for document in corpus.documents}

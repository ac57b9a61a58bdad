"""Records to journal: small, with multi-byte text, and each a valid `Record`."""

from collections.abc import Callable

import pytest

from pipeline.types import Lineage, Passage, Record, Seed, Status, sha256

LINEAGE = Lineage(
    run="r", preset="default", strategy="sage", model="fake", demo_solver=None, corpus="tiny", corpus_fingerprint="f",
    licence="CC0-1.0", attribution="", retriever="none",
)  # fmt: skip


@pytest.fixture
def make() -> Callable[[int], Record]:
    def record(number: int) -> Record:
        text = f"Zoë №{number} lived in Łódź — “she” said {{so}}."
        passage = Passage(
            id=f"d{number}#0", document_id=f"d{number}", title="Zoë", text=text, start=4, end=4 + len(text)
        )
        key = sha256(str(number))
        return Record(
            key=key,
            seed=Seed(
                key=key,
                passage=passage,
                draw=0,
                side="train",
                target_steps=number % 3 + 1,
            ),
            status=Status.ACCEPTED if number % 3 else Status.REJECTED,
            reason="" if number % 3 else "below_target",
            rounds=(),
            lineage=LINEAGE,
        )

    return record

"""Drafts that a strong model made and the audit of that day refused: which of them are refused now.

`recorded.jsonl` has a line for each draft of three runs: the passages that its hops cite, what one search with the
question found, how often the reader was right without evidence, and the fatal findings of that day. Texts are made up.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from pipeline.agents.cited import gather
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.loop.checks.base import Case
from pipeline.loop.checks.one_document import one_document
from pipeline.loop.examine import readings
from pipeline.types import AnswerType, Draft, Hit, Hop, Passage
from tests.loop.test_episode import LINEAGE
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

ROWS = [orjson.loads(line) for line in (Path(__file__).parent / "recorded.jsonl").read_bytes().splitlines()]
READER = {"provider": "openai", "model": "read"}


class Recorded(Shelf):
    """Finds what the search found then."""

    def __init__(self, row: dict[str, Any]) -> None:
        ids = dict.fromkeys([*row["hops"], *row["hits"]])
        super().__init__(*(stub(passage_id) for passage_id in ids))
        self._hits = row["hits"]

    async def search(self, query: str, k: int) -> list[Hit]:
        return [Hit(passage=self.passages[passage_id], score=1.0) for passage_id in self._hits[:k]]


def stub(passage_id: str) -> Passage:
    document, _, n = passage_id.rpartition("#")
    return passage(document, f"Title {document}", f"It says {passage_id}.", int(n))


def drafted(row: dict[str, Any]) -> Draft:
    hops = [
        Hop(sub_question="?", answer=f"answer {n}", passage_id=key, title="", quote="", passage_sha256="")
        for n, key in enumerate(row["hops"])
    ]
    return Draft(question="What?", answer=hops[-1].answer, answer_type=AnswerType.ENTITY, hops=tuple(hops))


async def fatal(row: dict[str, Any], **models: object) -> list[str]:
    """With a reader that is right by heart as often as it was."""
    draft, shelf = drafted(row), Recorded(row)
    if await one_document(Case(draft, await gather(draft, shelf), shelf, 1, row["target"])):
        return ["one_document"]
    said = orjson.dumps({"answer": draft.answer if row["right"].get("closed_book") else ""}).decode()
    config = build(values={"checks": {"run": ["closed_book"], "tries": 1}, "models": {"default": READER, **models}})
    read = await readings(draft, row["target"], (), RunContext(config, ScriptedLLM(lambda _: said), shelf, LINEAGE))
    return [finding.check for finding in read.findings if finding.fatal]


KNOWN = [row for row in ROWS if "closed_book" in row["fatal"]]


async def test_what_a_reader_knew_by_heart_refuses_none_of_them() -> None:
    assert len(KNOWN) == 15
    assert Counter([check for row in ROWS for check in await fatal(row)]) == {"one_document": 3}


async def test_a_policy_that_knew_as_much_refuses_what_it_knew_and_no_more() -> None:
    rows = [row for row in KNOWN if len({key.rpartition("#")[0] for key in row["hops"]}) > 2]
    found = Counter([check for row in rows for check in await fatal(row, policies={"mine": READER})])
    assert found == {"closed_book": len(rows)}

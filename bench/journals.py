"""Journals of any length for the benches: lines made from one record of each kind, and the corpus of their plan."""

import hashlib
from collections.abc import Sequence
from typing import Any

import orjson

from pipeline.run.plan import Planned
from pipeline.store.journal import Head, encode
from pipeline.types import Passage, Record
from tests import records
from tests.run.fakes import FACT, RunCallbacks, passage

ACCEPTED_OF = 3
"""One line in so many is a pair."""
KEY, ORDER, PASSAGE, DRAW = "f" * 64, "999999-999999999999", "the-passage#0", 999999
TOKEN, ANSWER = "Qxqxqxqx", "Zxzxzxzx"
"""Stand in a pattern for what differs from line to line: names in question and evidence, and the answer."""
FILLING = (
    "the river and the old stone bridge of the market town in the north where the route was built and opened again "
)


class Passages(Sequence[Passage]):
    """As many passages as asked for, none of them in memory."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: Any) -> Any:
        return passage(place, FACT * 3)


class Source:
    """A corpus of such passages."""

    fingerprint, language = "f" * 64, "en"

    def __init__(self, size: int) -> None:
        self.passages = Passages(size)

    def in_order_of_ids(self, place: int) -> Passage:
        found: Passage = self.passages[place]
        return found


def pattern(kind: str, size: int) -> Record:
    """A record whose line has about so many bytes: what an agent read fills it, or it is cut down to its draft."""
    tree = (records.accepted() if kind == "accepted" else records.rejected()).model_dump(mode="json")
    tree["key"] = tree["seed"]["key"] = KEY
    tree["seed"]["passage"]["id"], tree["seed"]["draw"] = PASSAGE, DRAW
    for past in tree["rounds"]:
        past["draft"] |= {
            "question": f"Of {TOKEN}, in what year was the town founded where its designer was born?",
            "answer": ANSWER,
            "answer_aliases": [],
            "answer_type": "entity",
        }
        for place, hop in enumerate(past["draft"]["hops"]):
            hop |= {"passage_id": f"{TOKEN}{place}#0", "title": f"{TOKEN} {place}", "relation": f"{TOKEN} {place}"}
        end = {"answer": ANSWER, "sub_question": "How is it named?", "quote": f"It is named {ANSWER}"}
        past["draft"]["hops"][-1] |= end
    for made in (*tree["confirmation"], *(rollout for past in tree["rounds"] for rollout in past["rollouts"])):
        made["answer"] = ANSWER
    traces = [made["trajectory"] for made in tree["confirmation"]]
    traces += [one for past in tree["rounds"] for one in (past["agent"], *(r["trajectory"] for r in past["rollouts"]))]
    read = [message for trace in traces for message in trace["messages"] if message["role"] == "tool"]
    missing = size - len(orjson.dumps(tree))
    if missing > 0:
        for message in read:
            message["content"] += " " + (FILLING * (missing // len(read) // len(FILLING) + 1))[: missing // len(read)]
    else:
        tree["rounds"] = tree["rounds"][-1:]
        tree["rounds"][0]["draft"]["hops"] = tree["rounds"][0]["draft"]["hops"][1:]
        tree["rounds"][0] |= {"agent": {**traces[-1], "messages": [], "calls": []}, "rollouts": [], "verdicts": []}
        tree["confirmation"], tree["confirmation_verdicts"] = (
            tree["confirmation"][:1],
            tree["confirmation_verdicts"][:1],
        )
        for made in tree["confirmation"]:
            made["trajectory"] |= {"messages": made["trajectory"]["messages"][:2], "calls": []}
    return Record.model_validate(tree)


class Lines:
    """Journal lines by number, made from one pattern of each kind by replacing what differs."""

    def __init__(self, size: int) -> None:
        self._bodies = {}
        for kind in ("accepted", "rejected"):
            record = pattern(kind, size)
            head = Head(key=KEY, order=ORDER, status=record.status, reason=record.reason, target_steps=3)
            self._bodies[kind] = encode(head, record).partition(b",")[2]

    def body(self, number: int, planned: Planned) -> bytes:
        body = self._bodies["rejected" if number % ACCEPTED_OF else "accepted"]
        name = "".join(chr(97 + int(digit)) for digit in f"{number:08}").capitalize()
        for old, new in (
            (KEY, planned.seed.key),
            (ORDER, planned.order),
            (PASSAGE, planned.seed.passage.id),
            (f'"draw":{DRAW}', f'"draw":{planned.seed.draw}'),
            (TOKEN, name),
            (ANSWER, f"Z{name[::-1].lower()}"),
        ):
            body = body.replace(old.encode(), new.encode())
        return body

    def line(self, number: int, planned: Planned) -> bytes:
        body = self.body(number, planned)
        return b'{"sha256":"%b",%b\n' % (hashlib.sha256(body).hexdigest().encode(), body)

    def record(self, number: int, planned: Planned) -> Record:
        tree = orjson.loads(b"{" + self.body(number, planned))["record"]
        return Record.model_validate(tree).model_copy(update={"seed": planned.seed})


class Quiet(RunCallbacks):
    """Keeps nothing."""

    def record(self, record: Record) -> None: ...

    def attempt(self, attempt: Any) -> None: ...

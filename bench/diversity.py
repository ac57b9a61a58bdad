"""Is it always the same question? Limits on the accepted pairs of a run; the exit code is 1 where one is broken."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from bench.common import Dug, dug, entropy, heading, share, table
from pipeline.run import prepare
from pipeline.run.plan import Order
from pipeline.text import normalise
from pipeline.types import Draft


class Limit(NamedTuple):
    """A figure beside what it may be; a share counts from 0 to 1."""

    what: str
    value: float
    most: float
    example: str = ""
    least: bool = False
    """`most` is the least."""

    @property
    def kept(self) -> bool:
        return self.value >= self.most if self.least else self.value <= self.most


def most(what: str, counts: Counter[str], of: int, limit: float) -> Limit:
    """The share of the commonest. Two of a small set are no habit: a share never counts below two pairs."""
    kind, count = counts.most_common(1)[0] if counts else ("", 0)
    return Limit(what, count / max(1, of), max(limit, 1 / max(1, of)), f"{kind} ({count})")


def limits(drafts: list[Draft], seeds: int) -> list[Limit]:
    n = len(drafts)
    passages = _each(dict.fromkeys(hop.passage_id for hop in draft.hops) for draft in drafts)
    relations = _each(dict.fromkeys(hop.relation.lower() for hop in draft.hops if hop.relation) for draft in drafts)
    place, often = passages.most_common(1)[0] if passages else ("", 0)
    return [
        most("one answer", Counter(normalise(draft.answer) for draft in drafts), n, 0.01),
        Limit("pairs on one passage", often, 5, place),
        most("one opening of four words", Counter(opening(draft) for draft in drafts), n, 0.10),
        most("one relation", relations, n, 0.20),
        Limit("accepted / seeds before the filter", n / max(1, seeds), 0.20, f"{n} of {seeds}", least=True),
    ]


def opening(draft: Draft) -> str:
    return " ".join(draft.question.lower().split()[:4])


def _each(items: Iterable[Iterable[str]]) -> Counter[str]:
    return Counter(name for names in items for name in names)


def before_filter(run: Dug) -> int:
    """Passages drawn for this plan, those that the seed filter dropped included."""
    order = Order(run.config, prepare.corpus(run.config))
    order[len(run.records) - 1]
    return len(run.records) + sum(order.dropped(len(run.records)).values())


def main(options: argparse.Namespace) -> bool:
    run = dug(options.run, options.out, options.pairs)
    drafts = [record.draft for record in run.accepted if record.draft]
    print(heading("diversity", run.records), f"\n{len(drafts)} accepted of {len(run.records)} seeds\n")
    if not drafts:
        return False
    found = limits(drafts, before_filter(run))
    rows = [
        (
            x.what,
            f"{x.value:.3g}",
            f"{'>=' if x.least else '<='} {x.most:.3g}",
            "kept" if x.kept else "BROKEN",
            x.example[:60],
        )
        for x in found
    ]
    print(table(("", "value", "limit", "", "the commonest"), rows))
    hops = [hop for draft in drafts for hop in draft.hops]
    print("\nrelations of hops:", entropy(Counter(hop.relation.lower() for hop in hops)))
    print("answer types:", entropy(Counter(draft.answer_type.value for draft in drafts)))
    print("openings of four words:", entropy(Counter(map(opening, drafts))))
    print(
        "families:",
        ", ".join(f"{k} {share(v, len(drafts))}" for k, v in Counter(d.family for d in drafts).most_common()),
    )
    print("hops:", ", ".join(f"{k}: {v}" for k, v in sorted(Counter(len(d.hops) for d in drafts).items())))
    return all(limit.kept for limit in found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", default="wiki/latest")
    parser.add_argument("--pairs", type=int, help="only up to so many accepted pairs")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if main(parser.parse_args()) else 1)

"""A walk over a reference work: which entries to read, and which question about them to propose."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from pipeline.embedded.facts_subject import plain
from pipeline.embedded.generator_table import NAME, Teller, Works
from pipeline.embedded.generator_told import Drawn, drafts
from pipeline.embedded.generator_walk import MOST_TURNS, Walk
from pipeline.text import words

_LOOKED_AT = 60
_AT_ONCE = 8
_LABELS = 4
"""By which other entries are told, and this one may be."""
_PROSE = "became established after during century"
"""Words that bring the page of an entry that tells a story."""
_FAR = 8
"""More than all links of a chain: what leads nowhere is read last."""
_MENTIONED = re.compile(r"(?<=[a-z,] )[A-Z][\w’'-]+(?: (?:and )?[A-Z][\w’'-]+)*")


class Entries:
    """One generator's view of where it is among entries."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.works = walk, Works(walk.graph.passages.values())
        self.jitter = lambda text: random.Random(f"{walk.wording}{text}").random()

    def open(self, steps: int) -> Iterator[Drawn]:
        """Drafts of so many hops that no search has shown to be unsound, the best first."""
        found = drafts(self.works, self.walk.seed, steps, self.walk.goal.type, self.jitter)
        return (draft for draft in islice(found, _LOOKED_AT) if not self.failed(draft))

    def next_queries(self) -> list[str]:
        """What to search for now; nothing where a draft is ready, or the budget is out."""
        left = self.walk.goal.budget - len(self.walk.found)
        if self.walk.goal.steps == 1 or self.walk.turns >= MOST_TURNS or left <= 0:
            return []
        good = list(islice(self.open(self.walk.goal.steps), 4))
        if good and not self.untried(good[0]):
            return []
        wanted = [query for draft in good for query in self.untried(draft)] or self.frontier()
        return list(dict.fromkeys(wanted))[: min(left, 2 * _AT_ONCE)]

    def untried(self, draft: Drawn) -> list[str]:
        return [query for query in _trials(draft) if query not in self.walk.found and words(query)]

    def failed(self, draft: Drawn) -> bool:
        """Does a search that was made for it show that fewer would do, or that a hop's own would not?"""
        return self.walk.refuted([hop["passage_id"] for hop in draft.hops], _trials(draft))

    def frontier(self) -> list[str]:
        """The pages of the seed's entry, then those of entries that it mentions or that mention it, then any."""
        own, titles = plain(self.walk.seed.title), [page.title for page in self.walk.graph.passages.values()]
        told = [teller for of in self.works.tellers.values() for teller in of]
        telling = Counter(_pages(teller.passage.title for teller in told))
        pages = sorted(dict.fromkeys(_pages(titles)), key=lambda page: -telling[page])
        queries = [f"{own} {own} {own} {_PROSE}", own, *(f"{own} {page}" for page in pages)]
        labels = [teller.relation for teller in told if teller.by_row]
        queries += [f"{own} {label}" for label, _ in Counter(labels).most_common(_LABELS)]
        known = dict.fromkeys(map(plain, titles))
        ranked = [
            (away + rank, f"{name} {page}")
            for name, away in self._near(known).items()
            for rank, page in enumerate(pages if name in known else pages[:1])
        ]
        queries += [query for _, query in sorted(ranked, key=lambda pair: pair[0])]
        return [query for query in (*dict.fromkeys(queries), *pages) if query not in self.walk.found]

    def _near(self, known: Iterable[str]) -> dict[str, int]:
        """Names and how many links lead to them from the seed's entry; far away where none is known to."""
        links = [(title, name) for title, of in self.works.tellers.items() for name in _mentioned(of, known)]
        links += [(title, row.answer) for title, row in self.works.firsts]
        near = {plain(self.walk.seed.title): 0}
        for away in range(1, self.walk.goal.steps):
            for one, other in [*links, *((b, a) for a, b in links)]:
                if near.get(one) == away - 1:
                    near.setdefault(other, away)
        return near | {name: _FAR for name in known if name not in near}

    def arguments(self) -> dict[str, object] | None:
        """The best draft of the length wanted, else of a shorter one."""
        for steps in range(self.walk.goal.steps, 1, -1):
            for draft in self.open(steps):
                return draft.arguments()
        return None


def _mentioned(tellers: Iterable[Teller], known: Iterable[str]) -> list[str]:
    """Known entries that they name, and names of which it is not known whether they are one's."""
    clauses = " ".join(teller.clause for teller in tellers if not NAME.fullmatch(teller.clause.partition(" is ")[2]))
    return [*(name for name in known if name in clauses), *_MENTIONED.findall(clauses)]


def _pages(titles: Iterable[str]) -> list[str]:
    """What tells the pages of entries apart: "Geography" of "Algeria (Geography)"."""
    names = (title.removeprefix(plain(title)).strip(" ()") for title in titles)
    return [name for name in names if name]


def _trials(draft: Drawn) -> list[str]:
    return [*(hop["sub_question"] for hop in draft.hops), draft.question]

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
        """The pages of the seed's entry, then those that tell the entries which it mentions."""
        own, titles = plain(self.walk.seed.title), [page.title for page in self.walk.graph.passages.values()]
        of_others = (teller for title, of in self.works.tellers.items() if title != own for teller in of)
        told = [*self.works.tellers.get(own, ()), *of_others]
        telling = Counter(_pages(teller.passage.title for teller in told))
        pages = sorted(dict.fromkeys(_pages(titles)), key=lambda page: -telling[page])
        queries = [f"{own} {own} {own} {_PROSE}", own, *(f"{own} {page}" for page in pages)]
        labels = [teller.relation for teller in told if teller.clause.startswith("whose")]
        queries += [f"{own} {label}" for label, _ in Counter(labels).most_common(_LABELS)]
        queries += self._others(told, list(map(plain, titles)), pages)
        return [query for query in dict.fromkeys(queries) if query not in self.walk.found]

    def _others(self, told: Iterable[Teller], known: list[str], pages: list[str]) -> list[str]:
        """Names with the page that tells most, then with others; what may be no entry is looked up once, later."""
        clauses = [teller.clause for teller in told if not NAME.fullmatch(teller.clause.partition(" is ")[2])]
        mentioned = [name for both in _MENTIONED.findall(" ".join(clauses)) for name in (*both.split(" and "), both)]
        mentioned += [row.answer for _, row in self.works.firsts]
        entries = [name for name in mentioned if name in known]
        ranked = [(rank, f"{name} {page}") for rank, page in enumerate(pages) for name in entries]
        ranked += [(1, f"{name} {page}") for page in pages[:1] for name in mentioned if name not in known]
        ranked += [(2 + rank, f"{name} {page}") for rank, page in enumerate(pages) for name in known]
        ranked += [(len(pages), page) for page in pages]
        return [query for _, query in sorted(ranked, key=lambda pair: pair[0])]

    def arguments(self) -> dict[str, object] | None:
        """The best draft of the length wanted, else of a shorter one."""
        for steps in range(self.walk.goal.steps, 1, -1):
            for draft in self.open(steps):
                return draft.arguments()
        return None


def _pages(titles: Iterable[str]) -> list[str]:
    """What tells the pages of entries apart: "Geography" of "Algeria (Geography)"."""
    names = (title.removeprefix(plain(title)).strip(" ()") for title in titles)
    return [name for name in names if name]


def _trials(draft: Drawn) -> list[str]:
    return [*(hop["sub_question"] for hop in draft.hops), draft.question]

"""The attack from the end: what searches for it find, and whether who knows nothing else would answer from it.

The chain has the shape of one that a strong model made and two people skipped with one search.
"""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from pipeline import prompts
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.assess import feedback_from_audit
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.checks.end import MOST_PASSAGES, end, fair, opened
from pipeline.loop.draft_check import check_draft
from pipeline.types import AnswerType, Cause, Draft, Hop, Passage
from tests import shelf
from tests.loop.test_episode import LINEAGE
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

START = passage("start", "Vosk syndrome", "Vosk syndrome comes from changes in the gene TARN2. Its fever begins early.")
GENE = passage("gene", "TARN2", "TARN2 guards the gut. Variations in it raise the risk of Holm disease.")
SURGERY = passage(
    "s", "Holm disease: surgery", "Pills help. Up to 20 percent of people with Holm disease need surgery."
)
WARD = passage("ward", "Quill disease", "Of people with Quill disease, up to 35 percent of adults need surgery later.")
KNEE = passage("knee", "Lamb disease", "In Lamb disease up to 50 percent of people need surgery on the knee.")
OTHERS = [passage(f"o{n}", f"Ailment {n}", "Some people with this disease need rest.") for n in range(9)]
QUESTION = (
    "Vosk syndrome is caused by a gene that also raises the risk of another disease. Up to what percentage of people "
    "with that other disease need surgery?"
)
ATTACK = "up to percent of people with the disease need surgery"


def hop(found: Passage, answer: str, asked: str, kind: str = "") -> Hop:
    return shelf.hop(found, answer, asked, found.text, answer_kind=kind)


HOPS = (
    hop(START, "TARN2", "Which gene causes Vosk syndrome?", "gene"),
    hop(GENE, "Holm disease", "Of which other disease does TARN2 raise the risk?", "disease"),
    hop(SURGERY, "20 percent", "Up to what percentage of people with Holm disease need surgery?", "percentage"),
)
DRAFT = Draft(question=QUESTION, answer="20 percent", answer_type=AnswerType.ENTITY, hops=HOPS)


class Attacker:
    """Searches so, and says of the passages that it is shown what it is told to say of these titles."""

    def __init__(self, *queries: str, fits: tuple[Passage, ...] = (), commits: Passage | None = None, answer: str = ""):
        self.queries, self.fits, self.commits, self.answer = queries, fits, commits, answer
        self.shown: list[str] = []
        self.parts: list[str] = []

    def __call__(self, request: Request) -> str:
        inputs: dict[str, Any] = prompts.unfence(request.messages[-1].content) or {}
        if request.output and request.output.name == "skip":
            self.parts = inputs["parts"]
            return orjson.dumps({"queries": self.queries}).decode()
        self.shown = [one["title"] for one in inputs["passages"]]
        said = {"fits": [one.shown_id for one in self.fits], "answer": self.answer}
        return orjson.dumps(said | {"passage": self.commits.shown_id if self.commits else None}).decode()


def context(attacker: Attacker, *passages: Passage) -> RunContext:
    config = build(values={"checks": {"run": ["end"]}, "models": {"default": {"provider": "openai", "model": "m"}}})
    return RunContext(config, ScriptedLLM(attacker), Shelf(*passages), LINEAGE)


async def attacked(attacker: Attacker, *more: Passage, draft: Draft = DRAFT, target: int = 3) -> CheckResult:
    return await end(draft, target, context(attacker, START, GENE, SURGERY, *more))


COMMITS = {"fits": (SURGERY, WARD, KNEE), "commits": SURGERY, "answer": "20 percent"}


async def test_a_draft_whose_end_one_search_brings_goes_back_with_that_search() -> None:
    attacker = Attacker(ATTACK, **COMMITS)  # type: ignore[arg-type]
    there = context(attacker, START, GENE, SURGERY, WARD, KNEE, *OTHERS)
    told, (probe,) = await check_draft(DRAFT, 3, {}, there)
    assert attacker.parts == ["Up to what percentage of people with disease need surgery?"]
    assert (probe.hops, probe.right, probe.answers, probe.usage.calls) == ((0, 1), 1, ("20 percent",), 2)
    assert [search.query for search in probe.searches] == [*attacker.parts, ATTACK, QUESTION]
    (finding,) = (await end(DRAFT, 3, there)).findings
    assert (finding.cause, finding.hops, finding.fatal) == (Cause.SUPERFICIAL, (0, 1), False)
    assert all(SURGERY.id in search.passage_ids for search in finding.searches)
    assert told.startswith("It would be sent back: yes, as too_easy, cause superficial.")
    assert f"searched '{ATTACK}': hops[2] at rank 1; a reader would have answered from it" in told
    assert feedback_from_audit(DRAFT, [finding.model_copy(update={"fatal": True})]).message.endswith(
        "The hops that give 'TARN2' and 'Holm disease' may stay."
    )


async def test_the_words_that_lead_there_are_told_but_for_those_that_stand_anywhere() -> None:
    asked = "Vosk syndrome raises the risk of a disease for which pills help. How many people with it need surgery?"
    there = context(Attacker(ATTACK, **COMMITS), START, GENE, SURGERY, WARD, KNEE, *OTHERS)  # type: ignore[arg-type]
    (finding,) = (await end(DRAFT.model_copy(update={"question": asked}), 3, there)).findings
    assert finding.detail.endswith("; of the question's words that passage holds pills, help")


@pytest.mark.parametrize(
    ("said", "skips"),
    [
        (COMMITS, True),
        (COMMITS | {"answer": "35 percent"}, False),
        (COMMITS | {"commits": None}, False),
        (COMMITS | {"commits": WARD}, False),
        ({"fits": (SURGERY, WARD), "answer": "20 percent"}, True),
        ({"fits": (SURGERY, WARD), "answer": "35 percent"}, False),
        ({"answer": ""}, False),
    ],
)
async def test_only_who_would_answer_rightly_and_not_by_chance_has_skipped(said: dict[str, Any], skips: bool) -> None:
    found = await attacked(Attacker(ATTACK, **said), WARD, KNEE)
    assert [finding.hops for finding in found.findings] == ([(0, 1)] if skips else [])
    weak = skips and "commits" not in said
    assert ["since one other passage that was found so could be the end" in f.detail for f in found.findings] == (
        [weak] * skips
    )


async def test_where_no_search_brings_the_last_passage_nobody_reads() -> None:
    many = [passage(f"m{n}", f"Malady {n}", f"{QUESTION} {ATTACK}, {n}.") for n in range(4)]
    found = await attacked(Attacker(ATTACK), *many)
    assert found.findings == ()
    assert [(probe.answers, probe.hops, probe.usage.calls) for probe in found.probes] == [((), (), 1)]


async def test_a_reader_is_shown_other_documents_and_nothing_that_tells_what_is_skipped() -> None:
    attacker = Attacker(ATTACK, "raise the risk", "Vosk syndrome fever")
    tells = passage("tells", "Gut", "TARN2 guards the gut and raises the risk of Holm disease.")
    again = passage("ward", "Quill disease: again", "Some people with Quill disease need surgery twice.", n=1)
    await attacked(attacker, WARD, again, KNEE, tells, *OTHERS)
    assert SURGERY.title in attacker.shown
    assert len(attacker.shown) <= MOST_PASSAGES
    assert {START.title, GENE.title, tells.title, again.title}.isdisjoint(attacker.shown)


async def test_a_search_of_another_retriever_counts_as_its_own() -> None:
    attacker = Attacker(ATTACK, **COMMITS)  # type: ignore[arg-type]
    there = replace(context(attacker, START, GENE), others={"dense": Shelf(START, GENE, SURGERY, WARD, KNEE)})
    (finding,) = (await end(DRAFT, 3, there)).findings
    assert {search.retriever for search in finding.searches} == {"dense"}


@pytest.mark.parametrize(("target", "hops"), [(1, HOPS), (2, HOPS[2:])])
async def test_nothing_can_be_skipped_where_one_step_is_wanted_or_there_is_one(
    target: int, hops: tuple[Hop, ...]
) -> None:
    draft = DRAFT.model_copy(update={"hops": hops})
    assert await attacked(Attacker(), draft=draft, target=target) == CheckResult()


async def test_where_several_chains_decide_all_of_their_ends_must_be_found() -> None:
    last = hop(WARD, "35 percent", "Up to what percentage of people with Quill disease need surgery?")
    other = hop(passage("u", "Udo", "He fell ill. Udo had Quill disease."), "Quill disease", "What had Udo?", "disease")
    pair = {"hops": (*HOPS[1:], other, last), "answer": "Udo", "answer_type": AnswerType.COMPARISON}
    draft = DRAFT.model_copy(update=pair)
    attacker = Attacker(ATTACK, fits=(SURGERY, WARD), answer="Udo")
    found = await attacked(attacker, WARD, draft=draft)
    assert len(attacker.parts) == 2
    assert [finding.hops for finding in found.findings] == [(0, 2)]
    assert (await attacked(Attacker(ATTACK, answer="Udo"), draft=draft)).findings == (), "one of them is not there"


def test_what_only_the_hops_before_give_is_named_by_its_kind_or_left_open() -> None:
    assert opened(DRAFT, 1) == "Of which other disease does gene raise the risk?"
    asked = HOPS[2].model_copy(update={"sub_question": "How many of Holm disease's patients with TARN2 need surgery?"})
    draft = DRAFT.model_copy(update={"hops": (*HOPS[:2], asked)})
    assert opened(draft, 2) == "How many of disease patients with gene need surgery?"
    bare = tuple(one.model_copy(update={"answer_kind": ""}) for one in draft.hops)
    assert opened(draft.model_copy(update={"hops": bare}), 2) == "How many of … patients with … need surgery?"
    named = draft.model_copy(update={"question": "Does TARN2 lead to surgery?"})
    assert "TARN2" in opened(named, 2)


@pytest.mark.parametrize(
    ("name", "kind", "asked", "said"),
    [
        ("Ada", "", "Who adapted the novel of Ada in Canada?", "Who adapted the novel of … in Canada?"),
        ("The Keeper (1997 film)", "", "Who wrote the film of 1997, The Keeper?", "Who wrote the film of 1997, …?"),
        ("Holm", "malady", "How many with the malady Holm recover?", "How many with the malady recover?"),
        ("Holm", "malady", "How many with Holm (H1) or Holm's fever?", "How many with malady or malady fever?"),
        ("Holm fever (HF)", "", "What cures HF?", "What cures …?"),
        ("Rise and Fall", "play", "Who wrote Rise and Fall and sang?", "Who wrote play and sang?"),
        ("Großwesel", "Ort", "Wann war die Gründung Großwesels?", "Wann war die Gründung Ort?"),
        ("東京", "都市", "東京の人口は？", "都市の人口は？"),
    ],
)
def test_nothing_is_cut_in_the_middle_of_a_word_or_left_in_brackets(
    name: str, kind: str, asked: str, said: str
) -> None:
    first = HOPS[1].model_copy(update={"answer": name, "answer_kind": kind, "title": "Z"})
    last = HOPS[2].model_copy(update={"sub_question": asked, "title": name})
    draft = DRAFT.model_copy(update={"question": "Which?", "hops": (first, last)})
    assert opened(draft, 1) == said


def test_queries_that_name_what_the_hops_give_are_memory_and_no_attack() -> None:
    written = ["Holm disease surgery", "20 percent need surgery", "tarn2 surgery", " ", "need surgery", "surgery, need"]
    assert fair(DRAFT, written) == ["need surgery"]
    assert fair(DRAFT, ["Vosk syndrome surgery"]) == ["Vosk syndrome surgery"], "the question names it"


async def test_a_chain_that_stays_is_attacked_with_the_searches_of_before_but_for_words_taken_out() -> None:
    attacker = Attacker("need surgery", ATTACK)
    there = context(attacker, START, GENE, SURGERY)
    asked = []
    for question in (QUESTION, f"{QUESTION[:-13]} an operation?"):
        (probe,) = (await end(DRAFT.model_copy(update={"question": question}), 3, there)).probes
        asked.append([search.query for search in probe.searches][1:-1])
    assert asked == [["need surgery", ATTACK], ["up to percent of people with the disease"]]


async def test_of_a_script_without_blanks_only_the_characters_that_were_taken_out_go() -> None:
    attacker = Attacker("小镇是由修士在哪一年建立的", "小镇建立年份")
    there = context(attacker, START, GENE, SURGERY)
    for question in ("他的家乡小镇是由修士在哪一年建立的？", "他来自一个小镇，修士在哪一年建立了它？"):
        (probe,) = (await end(DRAFT.model_copy(update={"question": question}), 3, there)).probes
    assert [search.query for search in probe.searches][1:-1] == ["小镇 修士在哪一年建立", "小镇建立年份"]

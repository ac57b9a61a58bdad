"""A sound pair in any language passes every gate, and a faulty one is dropped as an English one would be."""

import pytest

from pipeline.config.exports import GateConfig
from pipeline.gates.benchmarks.fingerprints import marks
from pipeline.types import AnswerType, Draft, Record
from tests.gates.pairs import enable_only, make_pair, run_gates
from tests.loop.checks.test_languages import CASES, CHINESE, Case, make_draft

SETTINGS = GateConfig(solve_rate=(0.01, 1.0), naturalness=1, known_to=0.5)


def make_case_pair(case: Case, n: int = 0, **changes: object) -> Record:
    draft: Draft = make_draft(case, **changes)
    return make_pair(n, **{name: getattr(draft, name) for name in type(draft).model_fields})


@CASES
def test_a_sound_pair_passes_every_gate(case: Case) -> None:
    assert not SETTINGS.off
    assert run_gates([make_case_pair(case)], SETTINGS) == [""]


@CASES
def test_the_same_pair_in_other_writing_is_a_duplicate(case: Case) -> None:
    question = case.question.upper().replace("？", " ?").replace("，", "、").replace(", ", " ")
    apart = tuple(h.model_copy(update={"passage_id": f"x{h.passage_id}"}) for h in make_draft(case).hops)
    assert run_gates(
        [make_case_pair(case), make_case_pair(case, 1, question=question, hops=apart)], enable_only("duplicate")
    ) == ["", "duplicate"]


SAME_ANSWER = [
    # They have one year and one answer in common, and nothing else.
    ("1990年德国统一时，谁在柏林指挥了第九交响曲？", "那位1990年获奖的小说家的父亲叫什么名字？"),
    ("من قاد الأوركسترا في برلين عام 1990؟", "ما اسم والد الروائي الذي فاز بالجائزة في سنة 1990؟"),
    ("Wer dirigierte 1990 in Berlin die Neunte?", "Wie hieß der Vater der Dichterin, die 1990 den Preis erhielt?"),
]


@pytest.mark.parametrize(("first", "second"), SAME_ANSWER)
def test_questions_with_only_answer_and_year_in_common_are_no_duplicates(first: str, second: str) -> None:
    def make_unrelated_pair(n: int, question: str) -> Record:
        hops = tuple(h.model_copy(update={"passage_id": f"{n}", "answer": f"{n}"}) for h in make_draft(CHINESE).hops)
        return make_pair(n, question=question, answer="X", answer_type=AnswerType.ENTITY, hops=hops)

    assert run_gates([make_unrelated_pair(1, first), make_unrelated_pair(2, second)], enable_only("duplicate")) == [
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("question", "answer", "kind", "drop"),
    [
        ("青石镇的导演的故乡在哪里？", "青石镇", AnswerType.ENTITY, "leak"),
        ("于１６４１年１０月３日奠基的古镇是哪一天奠基的？", "1641年10月3日", AnswerType.DATE, "leak"),
        ("人口3.5万的古镇有多少人？", "35,000", AnswerType.NUMBER, "leak"),
        ("Wann, am 03.10.1641, wurde der Ort zur Stadt?", "3. Oktober 1641", AnswerType.DATE, "leak"),
        ("An welchem Tag im Oktober 1641 wurde der Ort zur Stadt?", "3. Oktober 1641", AnswerType.DATE, ""),
        ("青石镇是否比灯塔湾古老？", "是", AnswerType.ENTITY, ""),
        ("Ist Großwesel nicht älter, ja oder nein?", "nein", AnswerType.ENTITY, ""),
    ],
)
def test_a_question_that_contains_its_answer_is_a_leak(question: str, answer: str, kind: AnswerType, drop: str) -> None:
    assert run_gates([make_pair(0, question=question, answer=answer, answer_type=kind)], enable_only("leak")) == [drop]


@pytest.mark.parametrize(
    "text",
    [
        "请写信到ada@fells.example.org联系她",
        "电话+44 20 7946 0958转接",
        "密钥AKIA" + "A2B3" * 4 + "已失效",
        "ติดต่อada@fells.example.orgได้",
    ],
)
def test_personal_data_is_found_without_spaces_around_it(text: str) -> None:
    quote = make_draft(CHINESE).hops[-1].model_copy(update={"quote": text})
    assert run_gates([make_pair(0, hops=(quote,))], enable_only("personal")) == ["personal"]


def test_figures_between_chinese_characters_are_no_personal_data() -> None:
    text = "该镇建于1641年10月3日，人口1,234,567人，面积12.5平方公里，电影于1990-1994年间上映。"
    assert run_gates([make_case_pair(CHINESE, question=f"{text}它叫什么？")], enable_only("personal")) == [""]


def test_openings_are_counted_without_spaces_too() -> None:
    alike = [make_case_pair(CHINESE, n, question=f"执导影片《灯塔湾》的那{n}位艺术家是谁？") for n in range(4)]
    unlike = [make_case_pair(CHINESE, n, question=f"{chr(0x4E00 + 40 * n) * 8}是谁？") for n in range(4)]
    settings = enable_only("overused_opening", least=2, openings=0.0)
    assert run_gates(alike, settings) == ["", "", "overused_opening", "overused_opening"]
    assert run_gates(unlike, settings) == [""] * 4


def test_a_benchmark_shares_a_sentence_of_characters_and_not_a_name() -> None:
    def grams(question: str) -> set[str]:
        return set(marks(question, (), ()))

    name = "中华人民共和国第一届全国人民代表大会"
    assert not grams(f"{name}于哪一年在北京召开了它的第一次会议，由谁主持？") & grams(
        f"谁在那之后出席了{name}并且当选为主席团的成员？"
    )
    long = "在那座由僧人建于明朝并且以石桥闻名于世的沅水河畔的古镇里出生的画家导演了哪一部影片"
    assert grams(f"请问，{long}？") & grams(f"{long}？请用一句话回答。")

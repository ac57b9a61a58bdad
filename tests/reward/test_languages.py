"""In other scripts the shipped scorer agrees with the product's own reading of answers, dates and numbers."""

import pytest

from pipeline.agents.judge import NearMiss, decide
from pipeline.reward import reward
from pipeline.text import dates, numbers
from pipeline.types import AnswerType

CHINESE, GERMAN = "2019年5月3日", "3. Oktober 1641"
RIGHT = [
    # Names: case, width, accents, marks and spaces without a meaning.
    ("「北京」。", "北京"), ("北 京", "北京"), ("《灯塔湾》", "灯塔湾"), ("Ｔｏｋｙｏ", "Tokyo"),
    ("か\u3099き", "がき"),
    ("マリー・キュリー", "マリーキュリー"), ("ﾄｳｷｮｳ", "トウキョウ"), ("서울 특별시", "서울특별시"),
    ("กรุง เทพ", "กรุงเทพ"),
    ("القَاهِرة", "القاهرة"), ("القـاهرة؟", "القاهرة"), ("שָׁלוֹם", "שלום"), ("दिल्ली।", "दिल्ली"),
    ("МОСКВА.", "«Москва»"), ("Ёж", "еж"), ("ΟΔΥΣΣΕΥΣ", "Οδυσσεύς"), ("GROSSWESEL", "Großwesel"),
    ("Muller", "Müller"),
    ("İstanbul", "Istanbul"), ("Việt Nam", "Viet Nam"),
    # Dates: forms of one language and of several, and more detail than the question asks for.
    ("２０１９年５月３日", CHINESE), ("2019 年 5 月 3 日", CHINESE), ("2019年05月03日。", CHINESE),
    ("2019-05-03", CHINESE),
    ("3 May 2019", CHINESE), ("2019년 5월 3일", CHINESE), ("2019年5月3日", "2019年"), ("2019年", "2019"),
    ("2019", "2019년"),
    ("2019년5월", "2019년 5월"), ("٢٠١٩", "2019"), ("२०१९", "2019"), ("๒๕๖๒", "2562"),
    ("am 3. Oktober 1641", GERMAN), ("3.OKTOBER 1641", GERMAN), ("03.10.1641", GERMAN), ("1641-10-03", GERMAN),
    ("October 3, 1641", GERMAN), (GERMAN, "Oktober 1641"), ("1. Jänner 1875", "1. Januar 1875"),
    ("3. 10. 1641", GERMAN), ("Donnerstag, 3. Oktober 1641", GERMAN),
    ("Mai 1702", "1702"),
    # Numbers: other digits, marks and scales.
    ("１２３４", "1234"), ("٣٢٤", "324"), ("3.5万", "35000"), ("2亿", "200,000,000"), ("1.234.567", "1234567"),
    ("1.234,5", "1234.5"), ("1’234’567", "1,234,567"), ("12\u202f345", "12345"),
]  # fmt: skip
WRONG = [
    ("京北", "北京"), ("北京市", "北京"), ("東京", "京都"), ("がき", "かき"), ("パパ", "ハハ"), ("부산", "서울"),
    ("서울시", "서울"),
    ("ปา", "ป่า"), ("हिन्दु", "हिन्दी"), ("क़लम", "कलम"), ("الإسكندرية", "القاهرة"), ("Киев", "Москва"),
    ("Моcква", "Москва"),
    ("Mueller", "Müller"), ("是", "否"),
    ("2019年5月4日", CHINESE), ("2019年5月", CHINESE), ("2018年", "2019年"), ("2019-03-05", CHINESE),
    ("2019년 6월", "2019년 5월"),
    ("4. Oktober 1641", GERMAN), ("Oktober 1641", GERMAN), ("10.03.1641", GERMAN), ("1642", GERMAN),
    ("Juni 1702", "Juli 1702"),
    ("3.5万", "3.5"), ("3.5亿", "3.5万"), ("1.234.568", "1234567"), ("٣٢٤", "325"), ("1234,5", "12345"),
]  # fmt: skip
NO_READING_OF_OURS = [
    # The product leaves these to its judge: units, and marks that its numbers do not know.
    ("3500人", "3500"), ("3,500人", "3500人"), ("100 km", "100公里"), ("5米", "5 m"), ("5 м", "5 m"),
    ("12,5 %", "12.5%"),
    ("3500 Einwohner", "3500"), ("12.500 Einwohner", "12.500"),
    ("١٬٢٣٤", "1234"), ("１，２３４", "1234"), ("2019年5月3号", CHINESE),
]  # fmt: skip
ANOTHER_QUANTITY = [("3600人", "3500人"), ("100公里", "100米"), ("5米", "5 ft"), ("3,5", "35")]


def is_right(response: str, gold: str) -> bool:
    """Return whether both match exactly, or are the same number or the same date as precisely as the gold answer is."""
    if decide(NearMiss(question="?", answer=gold, answer_type=AnswerType.ENTITY, response=response)):
        return True
    ours, theirs = dates(response), dates(gold)
    if ours and theirs:
        return all(a == b for a, b in zip(ours[0][:3], theirs[0][:3], strict=True) if b)
    counts, expected = [n.value for n in numbers(response)], [n.value for n in numbers(gold)]
    return len(expected) == 1 and counts == expected


@pytest.mark.parametrize(("pairs", "worth"), [(RIGHT, 1.0), (WRONG, 0.0)])
def test_exactly_the_answers_that_the_product_accepts_are_rewarded(pairs: list[tuple[str, str]], worth: float) -> None:
    assert [pair for pair in pairs if is_right(*pair) != bool(worth)] == []
    assert [(response, gold) for response, gold in pairs if reward.score(response, [gold]) != worth] == []


@pytest.mark.parametrize(("pairs", "worth"), [(NO_READING_OF_OURS, 1.0), (ANOTHER_QUANTITY, 0.0)])
def test_units_and_marks_of_other_languages_are_known(pairs: list[tuple[str, str]], worth: float) -> None:
    assert [(response, gold) for response, gold in pairs if reward.score(response, [gold]) != worth] == []

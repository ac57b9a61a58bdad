from datetime import date
from fractions import Fraction

import pytest

from pipeline.values.interval import DATE, SHARE, ValueInterval, read_interval


def make_day(*parts: int) -> Fraction:
    return Fraction(date(*parts).toordinal())


@pytest.mark.parametrize(
    ("text", "low", "high", "kind"),
    [
        ("44 %", Fraction(435, 1000), Fraction(445, 1000), SHARE),
        ("2.2 percent", Fraction(215, 10_000), Fraction(225, 10_000), SHARE),
        ("1 in 36,000", Fraction(1, 36_500), Fraction(1, 35_500), SHARE),
        ("1 in 15,000 to 40,000", Fraction(1, 40_000), Fraction(1, 15_000), SHARE),
        ("1 in 15,000 to 1 in 40,000", Fraction(1, 40_000), Fraction(1, 15_000), SHARE),
        ("2 per 100,000", Fraction(15, 1_000_000), Fraction(25, 1_000_000), SHARE),
        ("between 10 and 20 km", Fraction(10_000), Fraction(20_000), "length"),
        ("300 km", Fraction(295_000), Fraction(305_000), "length"),
        ("about 300 km", Fraction(250_000), Fraction(350_000), "length"),
        ("3.5 million people", Fraction(3_450_000), Fraction(3_550_000), "people"),
        ("12 members", Fraction(12), Fraction(12), "members"),
        ("65,536 bytes", Fraction(65_536), Fraction(65_536), "bytes"),
        ("three", Fraction(3), Fraction(3), ""),
        ("-5 °C", Fraction(-11, 2), Fraction(-9, 2), "celsius"),
        ("1875", make_day(1875, 1, 1), make_day(1876, 1, 1), DATE),
        ("March 1875", make_day(1875, 3, 1), make_day(1875, 4, 1), DATE),
        ("31 December 1875", make_day(1875, 12, 31), make_day(1876, 1, 1), DATE),
        ("1914–1918", make_day(1914, 1, 1), make_day(1919, 1, 1), DATE),
        ("the 1960s", make_day(1960, 1, 1), make_day(1970, 1, 1), DATE),
        ("early 2022", make_day(2022, 1, 1), make_day(2023, 1, 1), DATE),
        ("mid-March 2022", make_day(2022, 3, 1), make_day(2022, 4, 1), DATE),
        ("since late 2022", make_day(2022, 1, 1), None, DATE),
        ("the mid-to-late 1960s", make_day(1960, 1, 1), make_day(1970, 1, 1), DATE),
    ],
)
def test_text_is_read_as_an_interval(text, low, high, kind):
    interval = read_interval(text)
    assert interval is not None
    assert interval[:3] == (low, high, kind)


@pytest.mark.parametrize(
    ("text", "low", "high", "kind"),
    [
        ("276 deaths/100,000 live births", "275.5/100000", "276.5/100000", "deaths/live births"),
        ("276 deaths per 100,000 live births", "275.5/100000", "276.5/100000", "deaths/live births"),
        ("10-20 deaths/1,000 births", "1/100", "2/100", "deaths/births"),
        ("about 5 deaths/1,000 births", "4.5/1000", "5.5/1000", "deaths/births"),
        ("2.5 children born/woman", "2.45", "2.55", "children born/woman"),
        ("12.5 people per km2", "12.45", "12.55", "people/km2"),
        ("$1,200 per month", "1150", "1250", "$/month"),
        ("33.506 million tonnes of CO2", "33505500000", "33506500000", "mass of co2"),
        ("34 tonnes of CO2 emissions", "33500", "34500", "mass of co2 emissions"),
        ("27% of GDP", "0.265", "0.275", "share of gdp"),
        ("60 sec", "59.5", "60.5", "second"),
        ("1,276 confirmed cases", "1276", "1276", "confirmed cases"),
        ("85 km/h", "84500", "85500", "speed"),
        ("10-20", "10", "20", ""),
    ],
)
def test_words_after_a_number_are_part_of_its_kind(text, low, high, kind):
    interval = read_interval(text)
    assert interval is not None
    limits = [Fraction(top) / Fraction(bottom or 1) for top, _, bottom in (low.partition("/"), high.partition("/"))]
    assert (interval.low, interval.high, interval.kind) == (*limits, kind)


def test_rate_keeps_its_qualifier():
    interval = read_interval("at least 3 deaths/1,000 births")
    assert interval is not None
    assert (interval.low, interval.high) == (Fraction(3, 1000), None)


def test_value_of_odds_is_as_stated():
    odds, width = read_interval("1 in 5"), read_interval("7,200")
    assert odds is not None
    assert width is not None
    assert (odds.value, width.value) == (Fraction(1, 5), Fraction(7200))


@pytest.mark.parametrize(
    "text", ["5 km/3 mi", "10 km-20 km", "1 km and 2 years", "0x0c2", "1,276 deaths (2019)", "12.5.3"]
)
def test_text_with_a_second_number_has_no_interval(text):
    assert read_interval(text) is None


def test_long_unit_is_read_quickly():
    assert read_interval("1 " + " a1b" * 28 + " 9") is None


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("at least 300 km", Fraction(300_000), None),
        ("more than 5", Fraction(5), None),
        ("up to 40 %", None, Fraction(2, 5)),
        ("after 1875", make_day(1876, 1, 1), None),
        ("since 1875", make_day(1875, 1, 1), None),
        ("at least 1875", None, make_day(1876, 1, 1)),
        ("before March 1875", None, make_day(1875, 3, 1)),
    ],
)
def test_bound_leaves_the_interval_open(text, low, high):
    interval = read_interval(text)
    assert interval is not None
    assert (interval.low, interval.high) == (low, high)


@pytest.mark.parametrize("text", ["Paris", "0x0C", "5½ miles", "", "1 km and 2 years later " * 9, "3 in 2", "F-16"])
def test_text_without_one_value_has_no_interval(text):
    assert read_interval(text) is None


def test_exact_number_is_not_widened():
    assert read_interval("60,000,000 gas", is_exact=True) == ValueInterval(
        Fraction(60_000_000), Fraction(60_000_000), "gas"
    )
    assert read_interval("60,000,000 gas") == ValueInterval(Fraction(59_500_000), Fraction(60_500_000), "gas")


def test_dates_that_touch_are_in_order_and_equal_dates_are_not():
    first, second = read_interval("1875"), read_interval("1876")
    assert first is not None
    assert second is not None
    assert first.lies_below(second)
    assert not second.lies_below(first)
    assert not first.lies_below(first)


def test_amounts_that_touch_or_overlap_are_not_in_order():
    assert not ValueInterval(Fraction(1), Fraction(2), "").lies_below(ValueInterval(Fraction(2), Fraction(3), ""))
    assert not ValueInterval(Fraction(1), None, "").lies_below(ValueInterval(Fraction(5), Fraction(6), ""))

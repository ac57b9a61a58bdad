"""Answers that are computed from quoted values: exact, in their units, and refused where there is a doubt."""

import pytest

from pipeline.reward.program import compute, misquoted


def plain(*values: str) -> list[tuple[str, str]]:
    return [(value, "") for value in values]


WHICH = [("1875", "Sea Fog"), ("May 1880", "Low Tide"), ("1 June 1880", "Dry Dock")]


@pytest.mark.parametrize(
    ("operation", "values", "how", "answer"),
    [
        ("count", plain("Sea Fog", "Low Tide", "Dry Dock"), {}, "3"),
        ("count", WHICH, {"condition": "after", "bound": "1875"}, "2"),
        ("count", WHICH, {"condition": "before", "bound": "June 1880"}, "2"),
        ("count", [("the Tarn", "A"), ("the Lot", "B"), ("Tarn", "C")], {"condition": "is", "bound": "Tarn"}, "2"),
        ("count", [("12 km", "A"), ("900 m", "B")], {"condition": "over", "bound": "1 km"}, "1"),
        ("count", [("12", "A"), ("9", "B")], {"condition": "under", "bound": "9"}, "0"),
        ("count", plain("1875", "1875", "1890"), {"condition": "before", "bound": "1880"}, "2"),
        ("sum", plain("7", "twelve"), {"unit": "films"}, "19 films"),
        ("sum", plain("3 km", "500 m"), {"unit": "km"}, "3.5 km"),
        ("sum", plain("1.2 million", "800,000"), {}, "2000000"),
        ("difference", plain("7 km", "12 km"), {"unit": "km"}, "5 km"),
        ("difference", plain("1875", "1930"), {"unit": "years"}, "55 years"),
        ("difference", plain("1 May 1875", "April 30, 1930"), {"unit": "years"}, "54 years"),
        ("difference", plain("1930", "May 1875"), {"unit": "years"}, None),
        ("difference", plain("3 May 1875", "1 May 1875"), {"unit": "days"}, "2 days"),
        ("difference", plain("May 1875", "3 May 1875"), {"unit": "days"}, None),
        ("difference", plain("1", "2", "3"), {}, None),
        ("earliest", WHICH, {}, "Sea Fog"),
        ("latest", WHICH, {}, "Dry Dock"),
        ("latest", WHICH[:2], {"condition": "before", "bound": "1880"}, "Sea Fog"),
        ("latest", [("1880", "Sea Fog"), ("May 1880", "Low Tide")], {}, None),
        ("earliest", [("1880", "Sea Fog"), ("1880", "Low Tide")], {}, None),
        ("earliest", [("long ago", "Sea Fog"), ("1880", "Low Tide")], {}, None),
        ("earliest", [("3 May", "Sea Fog"), ("1880", "Low Tide")], {}, None),
        ("latest", WHICH, {"condition": "after", "bound": "1900"}, None),
        ("most", [("3 km", "Tarn"), ("3,500 m", "Lot")], {}, "Lot"),
        ("least", plain("17", "4", "9"), {}, "4"),
        ("most", [("3 km", "Tarn"), ("3,500", "Lot")], {}, None),
        ("sum", plain("3 km", "5 kg"), {"unit": "km"}, None),
        ("sum", plain("3 km", "5 km"), {}, None),
        ("count", plain("Sea Fog", "sea fog"), {}, None),
        ("difference", plain("-5 °C", "10 °C"), {"unit": "celsius"}, "15 celsius"),
        ("most", [("-5", "A"), ("−7", "B")], {}, "A"),
        # 1.200 is a thousand and more in some languages.
        ("difference", plain("3.500", "900"), {}, None),
        ("sum", plain("1.234", "1,234"), {}, None),
        ("most", [("1.234 million", "A"), ("2.345 million", "B")], {}, "B"),
        ("least", [("43.126 seconds", "A"), ("43.031 seconds", "B")], {}, "B"),
        ("sum", plain("1.200", "12,5", "12.5"), {}, None),
        ("count", [("950 km", "A"), ("1.200 km", "B")], {"condition": "over", "bound": "1000 km"}, None),
        ("most", [("950 Einwohner", "A"), ("1.200 Einwohner", "B")], {}, "B"),
        ("sum", plain("3.500", "1.234.567"), {}, "1238067"),
        ("most", [("84.500 km", "A"), ("900,5 km", "B")], {}, "A"),
        ("most", plain("84.500 km", "900,5 km"), {}, "84.500 km"),
        ("count", [("1.200", "A"), ("12,5", "B")], {"condition": "over", "bound": "100"}, "1"),
        ("sum", plain("1,250", "12,5"), {}, "13.75"),
        ("sum", plain("1.250", "12.5", "1,234.5"), {}, "1248.25"),
        ("count", [("1880", "Sea Fog")], {"condition": "before", "bound": "May 1880"}, None),
    ],
)
def test_it_computes_what_the_values_prove(operation: str, values: list[tuple[str, str]], how, answer) -> None:
    if answer is not None:
        assert compute(operation, values, **how) == answer
        return
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        compute(operation, values, **how)


@pytest.mark.parametrize("operation", ["count", "sum", "earliest", "most"])
def test_the_order_of_the_values_says_nothing(operation: str) -> None:
    values = {"sum": plain("1", "2", "3"), "most": [("1", "A"), ("3", "B"), ("2", "C")]}.get(operation, WHICH)
    assert compute(operation, values) == compute(operation, values[::-1])


@pytest.mark.parametrize(
    ("value", "quote", "fault"),
    [
        ("1875", "It was founded in 1875, and burnt by 1900.", ""),
        ("1 May 1875", "She was born on 1 May 1875.", ""),
        ("12 km", "It is 12 km long.", ""),
        ("five", "Five films were shot, or five.", ""),
        ("Sea Fog", "He made Sea Fogs.", ""),
        ("1875", "She was born on 1 May 1875.", "1 May 1875"),
        ("1875", "May 1, 1875 saw it.", "May 1, 1875"),
        ("12", "It cost 12 million.", "12 million"),
        ("12", "It is 12 km long.", "12 km"),
        ("12", "It cost $12.", "$12"),
        ("12", "It is 12.5 km long.", "does not state"),
        ("1880", "She (1825-1880) painted.", ""),
        ("1825", "She (1825-1880) painted.", ""),
        ("12", "It was seen on 2001-12-05.", "does not state"),
        ("1967", "It is a 1967 album by Ada Holm.", ""),
        ("1967", "They sold 1967 albums.", "1967 albums"),
        ("1967", "It is 1967 m high.", "1967 m"),
        ("5 °C", "It had a low of −5 °C.", "-5 °C"),
        ("5", "It was cold (-5 °C).", "-5 °C"),
        ("-5 °C", "It had a low of −5 °C.", ""),
        ("-5", "It had a low of 5 degrees.", "does not state"),
        ("17", "It was 1917.", "does not state"),
    ],
)
def test_a_value_is_given_whole(value: str, quote: str, fault: str) -> None:
    assert (fault in misquoted(value, quote)) if fault else misquoted(value, quote) == ""

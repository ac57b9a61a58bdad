"""The words of texts, as columns."""

import numpy as np
import pytest

from pipeline.links.tokens import words


def test_words_are_told_apart_as_they_are_written() -> None:
    read = words(["Ada L. Lovelace met Mr. Ives. She wrote CVE-2021-44228.\nÉmile läuft; 他来了。", "", "x"])
    texts = ["Ada", "L", "Lovelace", "met", "Mr", "Ives", "She", "wrote", "CVE", "2021", "44228", "Émile", "läuft"]
    assert len(read) == len(texts) + 4
    assert np.flatnonzero(read.first).tolist() == [0, 6, 11, 16]
    assert np.flatnonzero(read.tied).tolist() == [9, 10]
    assert read.single.tolist() == [False] * 13 + [True] * 3 + [False]
    assert read.near[:6].tolist() == [False, True, True, True, True, True]
    assert read.text.tolist() == [0] * 16 + [2]
    assert words(["ADA"]).hash == words(["(ada)"]).hash != words(["adb"]).hash


@pytest.mark.parametrize("day", ["24. Oktober 1832", "3. März 1832", "12. mai 1908", "12. května 1908"])
def test_a_day_with_a_point_is_a_part_of_its_date(day: str) -> None:
    read = words([f"Sie wurde am {day} dort geboren. Er war 12. Dann kam sie."])
    assert np.flatnonzero(read.first).tolist() == [0, 8, 11]
    assert read.near[3:6].all()

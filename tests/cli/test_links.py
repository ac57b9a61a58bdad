from pathlib import Path

from tests.cli.conftest import Digsite


def test_links_shows_phrases_and_who_shares_them(digsite: Digsite, tmp_path: Path) -> None:
    phrases = digsite("links", "tiny", "--json", "--out", tmp_path).json
    assert phrases
    phrase = phrases[0]
    assert phrase["documents"] >= 2
    assert len(phrase["passages"]) >= 2
    assert digsite("links", "tiny", phrase["phrase"], "--json", "--out", tmp_path).json == [phrase]
    passage_id = next(passage["passage"] for passage in phrase["passages"])
    assert phrase in digsite("links", "tiny", passage_id, "--json", "--out", tmp_path).json
    assert (
        phrase
        in digsite("links", "tiny", passage_id.partition("#")[0], "--json", "--limit", "99", "--out", tmp_path).json
    )
    text = digsite("links", "tiny", phrase["phrase"], "--out", tmp_path).out
    assert phrase["phrase"] in text
    assert passage_id in text
    assert len(digsite("links", "tiny", "--json", "--limit", "1", "--out", tmp_path).json) == 1
    unknown = digsite("links", "tiny", "no such thing", "--out", tmp_path)
    assert (unknown.code, unknown.out) == (2, "")
    assert "'no such thing' is neither a phrase that links documents of this corpus" in unknown.err

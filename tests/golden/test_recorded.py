"""Recorded runs give the frozen bytes: records, every view, card and report, and the requests on the way."""

from collections import Counter

import pytest

from tests.golden import frozen, goldens, recording, runs


@pytest.fixture(scope="module", params=[*runs.RUNS, "strong-model"])
def golden(request, tmp_path_factory) -> tuple[str, frozen.Texts]:
    """Name of a golden, and what it gives now."""
    return request.param, goldens.GOLDENS[request.param](tmp_path_factory.mktemp(request.param))


def test_a_recorded_run_gives_the_frozen_bytes(golden) -> None:
    frozen.check(*golden)


def test_a_recorded_run_makes_the_frozen_requests(golden) -> None:
    frozen.check(*golden, requests=True)


@pytest.mark.parametrize("name", runs.RUNS)
def test_a_recording_has_all_roles_in_all_stages(name) -> None:
    places = [place.split(" | ") for place in recording.read(name)]
    stages = Counter(stage for _, stage, *_ in places)
    assert {"round 0", "round 1", "confirmation", "distractors", "teach", "branching"} <= stages.keys()
    roles = {words[2].split()[0] for words in places} | {
        words[-1].split()[0] for words in places if "verdict" in words[-1]
    }
    authors = {
        "compose": {"propose", "steps", "wordings", "choose"},
        "sage": {"propose", "revise"},
        "ragshaper": {"explore", "compose", "revise"},
    }
    assert authors[name] | {"answer", "verdict", "read", "write"} <= roles

"""Licences that forbid adaptations or contradict each other are dropped; unknown ones are left to the user."""

import pytest

from pipeline.config import build
from pipeline.corpus import Manifest
from pipeline.errors import UsageError
from pipeline.gates.licence import conflict, share_alike
from pipeline.run import prepare
from tests.gates.pairs import enable_only, run_gates
from tests.records import accepted


@pytest.mark.parametrize(
    ("licence", "message"),
    [
        ("CC-BY-ND-4.0", "forbids adaptations"),
        ("CC-BY-NC-ND-4.0 AND CC0-1.0", "forbids adaptations"),
        ("CC-BY-SA-4.0 AND GFDL-1.3-only", "contradict"),
        ("CC-BY-SA AND GFDL", "contradict"),
        ("CC-BY-SA-4.0 AND CC-BY-NC-4.0", "contradict"),
        ("CC-BY-SA-4.0 AND CC-BY-NC-SA-4.0", "contradict"),
        ("all rights reserved", "cannot be read"),
        ("CC-BY-4.0 AND (MIT OR GFDL-1.3-only)", "cannot be read"),
    ],
)
def test_a_licence_that_forbids_redistribution_is_dropped(licence: str, message: str) -> None:
    assert message in conflict(licence)
    record = accepted()
    record = record.model_copy(update={"lineage": record.lineage.model_copy(update={"licence": licence})})
    assert run_gates([record], enable_only("licence")) == ["licence"]


@pytest.mark.parametrize(
    "licence",
    ["", "unknown", "CC0-1.0", "CC-BY-SA-3.0 AND CC-BY-SA-4.0", "CC-BY-SA-4.0 OR GFDL-1.3-only", "CC-BY-NC-SA-4.0",
     "MIT AND Apache-2.0", "CC-BY-ND-4.0 OR CC-BY-4.0", "CC-BY-NC-4.0 AND CC-BY-NC-SA-4.0"],
)  # fmt: skip
def test_other_licences_pass(licence: str) -> None:
    assert conflict(licence) == ""


@pytest.mark.parametrize(
    "licence",
    ["CC-BY-SA-4.0", "cc-by-sa", "GFDL", "LGPL-3.0-only", "AGPL-3.0-or-later", "CC-BY-NC-SA",
     "CC-BY-4.0 AND ODbL-1.0", "CC-BY-SA-4.0 OR GFDL-1.3-only"],
)  # fmt: skip
def test_share_alike_licences_are_recognised_under_every_name(licence: str) -> None:
    assert share_alike(licence)


@pytest.mark.parametrize("licence", ["CC-BY-4.0 OR CC-BY-SA-4.0", "CC0-1.0", "CC-BY-SAMPLING-1.0"])
def test_a_licence_with_an_alternative_is_not_share_alike(licence: str) -> None:
    assert not share_alike(licence)


def test_a_corpus_with_such_a_licence_is_refused_before_the_run_begins(tmp_path) -> None:
    manifest = Manifest(name="poems", reader="jsonl", source=tmp_path, licence="CC-BY-NC-ND-4.0")
    with pytest.raises(UsageError, match=r"poems: the licence .* forbids .*gates.off"):
        prepare.check_gates(build(), manifest)
    prepare.check_gates(build(sets=['gates.off=["licence"]']), manifest)

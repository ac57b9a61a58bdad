"""`digsite stats` compares aims with what was measured, and says which aims fit."""

from pathlib import Path

from tests.cli.conftest import Digsite


def test_aims_stand_beside_the_steps_that_were_measured(digsite: Digsite, out: Path) -> None:
    stats = digsite("stats", "tiny", "--out", out, "--json").json
    (target,) = stats["targets"]
    assert (target["steps"], stats["unreached"], stats["aims"]) == (1, [], {"1": 1})
    output = digsite("stats", "tiny", "--out", out)
    assert "--set 'difficulty.aims={1=1}'" in output.out
    assert any(line.split()[:2] == ["1", str(target["planned"])] for line in output.out.splitlines())

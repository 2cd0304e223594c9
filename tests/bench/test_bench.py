"""The harness works: every shape and command at a small size, with figures, growth and a picture. Nothing is timed."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bench import judged_plans, policy_cost
from bench.commands import COMMANDS, SHAPES
from bench.growth import exponent
from bench.measure import run
from bench.picture import svg

BENCH = Path(__file__).parent


@pytest.mark.slow  # test_history.py runs two of them
@pytest.mark.parametrize("shape", SHAPES)
def test_every_command_runs_on_every_shape(tmp_path, shape):
    result = tmp_path / "costs.json"
    sizes = "4,8" if shape == "dag" else "4"
    command = [sys.executable, str(BENCH / "run.py"), "-shapes", shape, "-sizes", sizes, "-runs", "1"]
    more = ["-json", str(result), "-svg", str(tmp_path / "p.svg")]
    ran = subprocess.run([*command, *more], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = json.loads(result.read_text())
    assert {row["command"] for row in found["costs"]} == {c.name for c in COMMANDS.values() if shape not in c.without}
    assert all(row["wall"] > 0 and row["memory"] > 2**20 and not row["stopped"] for row in found["costs"])
    assert len(found["growth"]) == (len(COMMANDS) if shape == "dag" else 0)
    ElementTree.parse(tmp_path / "p.svg")


def test_the_exponent_of_a_power_law():
    assert exponent([(n, 3 * n**1.5) for n in (10, 100, 1000)]) == pytest.approx(1.5)
    assert exponent([(10, 1.0), (10, 2.0)]) is None


def test_a_command_that_takes_too_long_is_stopped(tmp_path):
    cost, _ = run(["sleep", "60"], tmp_path, 0.2)
    assert cost.code is None and cost.wall < 30


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="nothing to draw"):
        svg({}, "empty")


def test_judging_is_measured(capsys):
    assert judged_plans.main(["-megabytes", "0.2", "-runs", "1"]) == 0
    assert "findings" in capsys.readouterr().out


@pytest.mark.slow
def test_what_policies_add_is_measured(capsys):
    assert policy_cost.main(["-sizes", "3", "-runs", "1"]) == 0
    assert "policies add" in capsys.readouterr().out

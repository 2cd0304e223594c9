"""Plans as people see them.

The texts in plans/*.txt were compared line by line with what OpenTofu prints for the same plans; where they differ we
mean it (own sentences, `# forces replacement` on dynamic values too). PLANNER_GOLDEN=write renews them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cli.conftest import make_terminal
from render import from_json

from planner.render.plan import PlanText

HERE = Path(__file__).parent
CASES = HERE.parent / "conformance" / "cases"
RECORDED = [
    ("cbd-single", "normal"),
    ("count-shift", "normal"),
    ("deposed-prior", "normal"),
    ("destroy-modules", "destroy"),
    ("foreach-set-keychange", "normal"),
    ("import-with-update", "normal"),
    ("lifecycle-destroy-false", "normal"),
    ("module-removed-whole", "normal"),
    ("moved-simple", "normal"),
    ("noop", "normal"),
    ("output-changes", "normal"),
    ("refresh-only-outputs", "refresh-only"),
    ("remote-state-deferred", "normal"),
    ("removed-forget", "normal"),
    ("replace-flag", "normal"),
    ("replace-triggered-by", "normal"),
    ("tainted-replaced", "normal"),
    ("var-sensitive", "normal"),
    ("var-validation-fails", "normal"),
]
OWN = [("every_kind_of_change", "normal"), ("everything_created", "normal"), ("everything_destroyed", "destroy")]


def shown(data, mode, secrets=False, terminal=False):
    screen = make_terminal(terminal)
    PlanText(from_json.plan(data, mode), lambda provider, mode, type: None, screen, secrets).show()
    return screen.stdout.getvalue()


def check(text, path):
    if os.environ.get("PLANNER_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "mode"), RECORDED)
def test_recorded_plan(name, mode):
    data = json.loads((CASES / name / "expected" / "plan.json").read_text(encoding="utf-8"))
    check(shown(data, mode), HERE / "plans" / f"{name}.txt")


@pytest.mark.parametrize(("name", "mode"), OWN)
def test_plan(name, mode):
    data = json.loads((HERE / "plans" / f"{name}.json").read_text(encoding="utf-8"))
    check(shown(data, mode), HERE / "plans" / f"{name}.txt")


def test_secrets_only_on_request():
    data = json.loads((HERE / "plans" / "every_kind_of_change.json").read_text(encoding="utf-8"))
    assert "hush" not in "".join(
        line for line in shown(data, "normal").split("\n") if "wholesens" in line or "sensitive" in line
    )
    assert '"hush" -> "hush2"' in shown(data, "normal", secrets=True)


def test_colour_only_on_a_terminal():
    data = json.loads((HERE / "plans" / "everything_created.json").read_text(encoding="utf-8"))
    assert "\x1b[" not in shown(data, "normal")
    coloured = shown(data, "normal", terminal=True)
    assert "\x1b[32m+\x1b[0m" in coloured
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown(data, "normal")

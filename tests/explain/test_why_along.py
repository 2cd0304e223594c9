"""What comes along with a -target: the plan says so, and `why` has the steps from what is targeted."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFIGURATION = """
resource "terraform_data" "b" { input = local.c }
locals { c = terraform_data.c.id }
resource "terraform_data" "c" { input = 1 }
resource "terraform_data" "e" { input = terraform_data.b.output }
resource "terraform_data" "other" {
  count = 2
}
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(CONFIGURATION)


def marked(planner, *options: str) -> dict[str, str]:
    """address -> the line about -target under the headline of its change."""
    marks, address = {}, ""
    for line in planner("plan", "-no-color", *options).out.splitlines():
        if line.startswith("  # (included by"):
            marks[address] = line.removeprefix("  # ")
        elif line.startswith("  # ") and not line.startswith("  # ("):
            address = line.split(" ")[3]
    return marks


def test_a_plan_marks_what_no_target_names(planner):
    along = "(included by -target=terraform_data.e)"
    assert marked(planner, "-target=terraform_data.e") == {"terraform_data.b": along, "terraform_data.c": along}
    two = "(included by -target=terraform_data.e and 1 more)"
    options = ("-target=terraform_data.e", "-target=terraform_data.other[1]")
    assert marked(planner, *options) == {"terraform_data.b": two, "terraform_data.c": two}
    assert marked(planner) == {}
    assert marked(planner, "-exclude=terraform_data.other") == {}


def test_why_has_the_steps(planner):
    out = planner("why", "terraform_data.c", "-target=terraform_data.e").out
    assert "terraform_data.c is included by -target=terraform_data.e:\n" in out
    steps = (
        "terraform_data.e needs terraform_data.b",
        "terraform_data.b needs local.c",
        "local.c needs terraform_data.c",
    )
    assert [out.index(step) for step in steps] == sorted(out.index(step) for step in steps)
    assert "included by" not in planner("why", "terraform_data.e", "-target=terraform_data.e").out


def test_what_is_destroyed_before(planner):
    assert planner("apply", "-auto-approve").code == 0
    along = "(included by -target=terraform_data.c)"
    options = ("-destroy", "-target=terraform_data.c")
    assert marked(planner, *options) == {"terraform_data.b": along, "terraform_data.e": along}
    out = planner("why", "terraform_data.e", *options).out
    assert "terraform_data.e depends on terraform_data.c" in out

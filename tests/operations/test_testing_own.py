"""What test files of our own suffix say besides: runs in parallel, states that are kept, values that are known late."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Planner = Callable[..., Any]
MEETING = """
variable "me" {}
variable "other" {}
resource "terraform_data" "a" {
  input = var.me
  provisioner "local-exec" {
    command = "touch ${var.me}; for i in $(seq 600); do [ -e ${var.other} ] && exit 0; sleep 0.05; done; exit 1"
  }
}
output "me" {
  value = terraform_data.a.output
}
"""
"""an apply that comes to its end only while another one is under way"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def meeting(name: str, other: str, more: str = "") -> str:
    return f'run "{name}" {{\n  variables {{\n    me = "{name}"\n    other = "{other}"\n  }}\n{more}}}\n'


def test_parallel_runs_are_under_way_together(here: Path, planner: Planner) -> None:
    keys = ['  state_key = "1"\n', '  state_key = "2"\n']
    runs = meeting("x", "y", keys[0]) + meeting("y", "x", keys[1])
    runs += meeting("z", "x", '  state_key = "3"\n').replace('"z"\n', "run.y.me\n", 1)
    (here / "main.tf").write_text(MEETING)
    (here / "a.plannertest.hcl").write_text("test {\n  parallel = true\n}\n" + runs)
    ran = planner("test", "-no-color")
    assert ran.out == (
        'a.plannertest.hcl... pass\n  run "x"... pass\n  run "y"... pass\n  run "z"... pass\n\n'
        "Success! 3 passed, 0 failed.\n"
    )
    assert ran.code == 0


def test_after_an_error_what_is_beside_goes_on(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text('variable "v" {\n  default = 1\n}\noutput "o" {\n  value = var.v\n}\n')
    (here / "a.plannertest.hcl").write_text(
        'run "x" {\n  parallel = true\n  variables {\n    v = nothing.x\n  }\n}\n'
        'run "y" {\n  parallel = true\n  state_key = "y"\n}\n'
        'run "z" {\n  parallel = true\n  state_key = "z"\n  variables {\n    v = run.x.o\n  }\n}\n'
        'run "last" {\n}\n'
    )
    assert planner("test", "-no-color").out.splitlines()[:5] == [
        "a.plannertest.hcl... fail",
        '  run "x"... fail',
        '  run "y"... pass',
        '  run "z"... skip',
        '  run "last"... skip',
    ]


def test_a_parallel_run_sees_no_outputs_of_those_beside(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text('variable "v" {\n  default = 1\n}\noutput "o" {\n  value = var.v\n}\n')
    (here / "a.plannertest.hcl").write_text(
        'run "x" {\n  parallel = true\n  variables {\n    v = run.y.o\n  }\n}\n'
        'run "y" {\n  parallel = true\n  state_key = "y"\n}\n'
    )
    ran = planner("test", "-no-color")
    assert ran.code == 1
    assert "Unsupported attribute" in ran.err
    assert '  run "x"... fail\n  run "y"... pass\n' in ran.out


def test_what_a_run_keeps_is_written_down_and_not_forgotten(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text('resource "terraform_data" "a" {\n}\n')
    (here / "a.plannertest.hcl").write_text(
        'run "x" {\n  skip_cleanup = true\n}\nrun "y" {\n  state_key = "other"\n}\n'
        'run "z" {\n  skip_cleanup = true\n  state_key = "a/b"\n}\n'
    )
    ran = planner("test", "-no-color")
    assert ran.code == 0, ran.err
    folder = here / ".terraform/test"
    assert sorted(p.name for p in folder.iterdir()) == ["a.plannertest.hcl-a%2Fb.tfstate", "a.plannertest.hcl.tfstate"]
    state = json.loads((folder / "a.plannertest.hcl.tfstate").read_text())
    assert [r["name"] for r in state["resources"]] == ["a"]
    assert "Writing state to file: .terraform/test/a.plannertest.hcl.tfstate" in ran.err
    again = planner("test", "-no-color")
    assert again.code == 1
    assert "State of an earlier test remains" in again.err
    assert json.loads((folder / "a.plannertest.hcl.tfstate").read_text()) == state
    assert planner("destroy", "-auto-approve", "-state=.terraform/test/a.plannertest.hcl.tfstate").code == 0


def test_what_a_run_keeps_is_never_lost_without_a_word(here: Path, planner: Planner) -> None:
    kept = ".terraform/test/k.plannertest.hcl.tfstate"
    command = f"[ -e blocked ] || {{ mkdir -p .terraform/test; echo other > {kept}; }}"
    (here / "main.tf").write_text(
        f'resource "terraform_data" "a" {{\n  provisioner "local-exec" {{\n    command = "{command}"\n  }}\n}}\n'
    )
    (here / "k.plannertest.hcl").write_text('run "x" {\n  skip_cleanup = true\n}\n')
    ran = planner("test", "-no-color")
    folder = here / ".terraform/test"
    assert (here / kept).read_text() == "other\n"
    assert "Writing state to file: .terraform/test/k.plannertest.hcl.2.tfstate" in ran.err
    assert [r["name"] for r in json.loads((folder / "k.plannertest.hcl.2.tfstate").read_text())["resources"]] == ["a"]
    shutil.rmtree(folder)
    folder.write_text("")
    (here / "blocked").touch()
    ran = planner("test", "-no-color")
    assert ran.code == 1
    assert "Failed to persist state" in ran.err
    assert "cleaned up by hand:\n  - terraform_data.a" in ran.err


LATE = """
run "planned" {
  command = plan
  state_key = "p"
  assert {
    condition     = terraform_data.b.input == "made"
    error_message = "wrong"
  }
}
run "applied" {
  state_key = "a"
  assert {
    condition     = terraform_data.a.id == "made" && terraform_data.b.input == "made"
    error_message = "wrong"
  }
}
run "again" {
  state_key = "a"
  command = plan
  assert {
    condition     = terraform_data.a.id == "made" && terraform_data.b.input == "made"
    error_message = "wrong"
  }
}
"""
OVERRIDE = 'override_resource {{\n  target = terraform_data.a\n  values = {{ id = "made" }}\n{}}}\n'
MOCKED = (
    'mock_provider "terraform" {{\n{}  mock_resource "terraform_data" {{\n'
    '    defaults = {{ id = "made" }}\n{}  }}\n}}\n'
)
WHEN = "  override_during = {}\n"


@pytest.mark.parametrize(
    ("text", "is_late"),
    [
        (OVERRIDE.format(""), False),
        (OVERRIDE.format(WHEN.format("plan")), False),
        (OVERRIDE.format(WHEN.format("apply")), True),
        (MOCKED.format("", ""), False),
        (MOCKED.format(WHEN.format("apply"), ""), True),
        (MOCKED.format("", WHEN.format("apply")), True),
        (MOCKED.format(WHEN.format("apply"), WHEN.format("plan")), False),
    ],
)
def test_when_values_are_known(text: str, is_late: bool, here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text(
        'resource "terraform_data" "a" {\n}\nresource "terraform_data" "b" {\n  input = terraform_data.a.id\n}\n'
    )
    (here / "a.plannertest.hcl").write_text(text + LATE)
    ran = planner("test", "-no-color")
    assert ran.out.splitlines()[1:4] == [
        f'  run "planned"... {"fail" if is_late else "pass"}',
        *(f'  run "{name}"... {"skip" if is_late else "pass"}' for name in ("applied", "again")),
    ]
    if is_late:
        assert "Unknown condition run" in ran.err
        (here / "a.plannertest.hcl").write_text(text + LATE[LATE.index('run "applied"') :])
        assert planner("test").code == 0


def test_what_is_wrong_with_these_arguments(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text("")
    (here / "a.plannertest.hcl").write_text(
        'test {\n  parallel = "perhaps"\n}\ntest {\n}\n'
        'run "x" {\n  skip_cleanup = []\n  state_key = [1]\n}\n'
        'override_resource {\n  target = a.b\n  override_during = "plan"\n}\n'
        "override_data {\n  target = data.a.b\n  override_during = apply\n}\n"
        'mock_provider "x" {\n  override_during = never\n  mock_data "d" {\n    override_during = plan\n  }\n}\n'
    )
    (here / "b.tftest.hcl").write_text(
        'test {\n}\nrun "x" {\n  parallel = true\n  skip_cleanup = true\n}\n'
        "override_resource {\n  target = a.b\n  override_during = plan\n}\n"
        'mock_provider "x" {\n  override_during = apply\n}\n'
    )
    events = [json.loads(line) for line in planner("test", "-json").out.splitlines()]
    found = [e["diagnostic"] for e in events if e.get("type") == "diagnostic"]
    told = [(d["range"]["filename"][0], d["range"]["start"]["line"], d["summary"]) for d in found]
    assert told == [
        ("a", 2, "Unsuitable value type"),
        ("a", 4, 'Multiple "test" blocks'),
        ("a", 7, "Unsuitable value type"),
        ("a", 8, "Unsuitable value type"),
        ("a", 12, 'Invalid "override_during" keyword'),
        ("a", 16, "Unsupported argument"),
        ("a", 19, 'Invalid "override_during" keyword'),
        ("a", 21, "Unsupported argument"),
        ("b", 1, "Unsupported block type"),
        ("b", 4, "Unsupported argument"),
        ("b", 5, "Unsupported argument"),
        ("b", 9, "Unsupported argument"),
        ("b", 12, "Unsupported argument"),
    ]


def test_every_question_and_object_that_makes_no_sense_is_told_at_its_place(here: Path, planner: Planner) -> None:
    (here / "main.tf").write_text('resource "terraform_data" "a" {\n  count = 2\n}\noutput "o" {\n  value = 1\n}\n')
    (here / "policies").mkdir()
    (here / "policies/p.dl").write_text('@reason("never")\ndeny("no", A, "no") :- acts(A, "delete").\n')
    asked = [
        'query {\n question = "nonsense("\n rows = 1\n}\n',
        'query {\n question = "nosuch(X)"\n rows = 1\n}\n',
        'query {\n question = "operation(X, \\"destroy\\")"\n rows = 0\n}\n',
        *(
            f'policy "no" {{\n verdict = "{verdict}"\n address = "{address}"\n}}\n'
            for verdict, address in (
                ("pass", "terraform_data.b"),
                ("deny", "terraform_data.a[2]"),
                ("pass", "terraform_data.a"),
                ("pass", "terraform_data.a[1]"),
                ("pass", "output.o"),
                ("deny", "terraform_data.a"),
            )
        ),
    ]
    (here / "a.plannertest.hcl").write_text('run "x" {\n' + "".join(asked) + "}\n")
    events = [json.loads(line) for line in planner("test", "-json", "-policy=policies").out.splitlines()]
    found = [e["diagnostic"] for e in events if e.get("type") == "diagnostic"]
    told = {(d["range"]["start"]["line"], d["summary"]) for d in found}
    assert {d["range"]["filename"] for d in found} == {"a.plannertest.hcl"}
    assert told == {
        (2, "Syntax error in a question"),
        (6, "Unknown predicate"),
        (10, "Unknown word"),
        (10, "No row has this value"),
        (14, "Unknown object"),
        (18, "Unknown object"),
        (34, "Test policy verdict failed"),
    }


def test_without_any_policies_it_is_said_where_they_come_from(here: Path, planner: Planner) -> None:
    (here / "a.plannertest.hcl").write_text('run "x" {\n  policy "owner" {\n    verdict = "deny"\n  }\n}\n')
    (here / "main.tf").write_text("")
    ran = planner("test", "-no-color")
    said = "No policy has the code owner. There are no policies: name some with -policy=DIR, or put policies"
    assert ran.code == 1 and said in " ".join((ran.out + ran.err).split())

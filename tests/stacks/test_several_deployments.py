"""Many deployments of a stack, worked on in processes: what they say is what one after the other would say."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Ran

Planner = Callable[..., Ran]

STACK = """
variable "name" { type = string }
component "net" {
  source = "./m"
  inputs = { name = var.name }
}
component "web" {
  for_each = toset([for c in [component.net.id] : substr(c, 8, 1)])
  source   = "./m"
  inputs   = { name = "${var.name}${each.key}" }
}
output "name" {
  type  = string
  value = component.net.name
}
"""
MODULE = """
variable "name" {
  type = string
  validation {
    condition     = var.name != "bad"
    error_message = "not so"
  }
}
resource "terraform_data" "x" { input = var.name }
check "short" {
  assert {
    condition     = length(var.name) < 6
    error_message = "long name"
  }
}
output "id" { value = terraform_data.x.id }
output "name" { value = terraform_data.x.output }
"""
NAMES = ("eu", "us", "longish", "longer", "bad", "sa")


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Planner) -> Path:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/main.tf").write_text(MODULE)
    (tmp_path / "x.tfcomponent.hcl").write_text(STACK)
    deployments = "".join(f'deployment "{name}" {{ inputs = {{ name = "{name}" }} }}\n' for name in NAMES)
    (tmp_path / "x.tfdeploy.hcl").write_text(deployments)
    monkeypatch.chdir(tmp_path)
    assert planner("stacks", "init").code == 0
    return tmp_path


def lines_of(text: str) -> list[Any]:
    """JSON lines in the order of deployments, without times; components of one are worked on at a time."""
    found = [json.loads(line) for line in text.splitlines()]
    for line in found:
        del line["@timestamp"]
    return sorted(found, key=lambda line: json.dumps(line, sort_keys=True))


def test_plans_say_the_same_in_one_process_and_in_several(stack: Path, planner: Planner) -> None:
    alone = planner("stacks", "plan", "-workers=1", "-report=alone.json", "-json-into=alone.lines")
    several = planner("stacks", "plan", "-workers=2", "-report=several.json", "-json-into=several.lines")
    assert (several.code, several.out, several.err) == (alone.code, alone.out, alone.err)
    assert alone.code == 1 and "not so" in alone.err and "on x.tfcomponent.hcl" not in alone.out
    assert [line for line in alone.out.splitlines() if line.startswith("Deployment ")] == [
        f"Deployment {name}" for name in sorted(NAMES) if name != "bad"
    ]
    assert lines_of((stack / "several.lines").read_text()) == lines_of((stack / "alone.lines").read_text())
    documents = [json.loads((stack / f"{name}.json").read_text()) for name in ("alone", "several")]
    texts = [re.sub(r'"timestamp": "[^"]*"', "", json.dumps(document)) for document in documents]
    assert texts[0] == texts[1]
    assert planner("stacks", "plan", "-deployment=[elus]*", "-detailed-exitcode", "-workers=2").code == 2


def test_json_lines_come_through(stack: Path, planner: Planner) -> None:
    alone, several = (planner("stacks", "plan", "-json", f"-workers={n}") for n in (1, 2))
    assert lines_of(alone.out) == lines_of(several.out) and several.code == 1
    assert [json.loads(line).get("type") for line in several.out.splitlines()].count("version") == 1


def test_all_are_applied_and_one_that_fails_keeps_no_other(stack: Path, planner: Planner) -> None:
    ran = planner("stacks", "apply", "-auto-approve", "-workers=2")
    assert ran.code == 1 and "not so" in ran.err
    done = [line for line in ran.out.splitlines() if line.endswith("2 added, 0 changed, 0 destroyed.")]
    assert [line.split(":")[0] for line in done] == [name for name in sorted(NAMES) if name != "bad"]
    outputs = json.loads(planner("stacks", "output", "-json").out)
    assert outputs["us"]["name"]["value"] == "us" and outputs["bad"] == {}
    ran = planner("stacks", "plan", "-deployment=[elus]*", "-detailed-exitcode", "-workers=2")
    assert ran.code == 0, ran.out
    ran = planner("stacks", "destroy", "-auto-approve", "-workers=2")
    assert ran.code == 0 and ran.out.count("2 destroyed") == 5


def test_a_broken_stack_is_said_once(stack: Path, planner: Planner) -> None:
    (stack / "m/main.tf").write_text(MODULE.replace("var.name }", "var.nam }"))
    ran = planner("stacks", "plan", "-workers=2")
    assert ran.code == 1 and ran.err.count("m/main.tf line 9") == 1


def test_workers_are_a_number(stack: Path, planner: Planner) -> None:
    ran = planner("stacks", "plan", "-workers=-1")
    assert ran.code == 1 and "must not be negative" in ran.err


@pytest.mark.skipif(sys.platform != "linux", reason="kill and PPID as they are there")
def test_a_process_that_dies_takes_one_deployment_with_it(stack: Path, planner: Planner) -> None:
    once = "if mkdir killed 2>/dev/null; then kill -9 $PPID; sleep 5; fi"
    text = MODULE.replace(
        "input = var.name }", f'\n input = var.name\n provisioner "local-exec" {{\n command = "{once}"\n }}\n}}'
    )
    (stack / "m/main.tf").write_text(text)
    ran = planner("stacks", "apply", "-auto-approve", "-workers=2", "-deployment=[elus]*")
    assert ran.code == 1 and ran.err.count("A process ended unexpectedly") == 1, ran.err
    assert len(re.findall("2 added, 0 changed, 0 destroyed", ran.out)) == 4
    assert planner("stacks", "apply", "-auto-approve", "-deployment=[elus]*", "-workers=2").code == 0


def test_who_is_asked_sees_all_plans_and_what_was_deferred(stack: Path, planner: Planner) -> None:
    words = ("stacks", "apply", "-workers=2", "-markdown=several.md", "-html=several.html")
    ran = planner(*words, stdin="yes\n" * 3 + "no\nyes\n" + "yes\n" * 4, terminal=True)
    assert ran.code == 1 and "not so" in ran.err
    assert ran.out.count("Apply cancelled.") == 1
    done = re.findall(r"32m(\w+): 2 added, 0 changed, 0 destroyed\.", ran.out)
    assert done == ["eu", "longer", "longish", "us"]
    assert ran.out.count("Do you want to perform these actions in the deployment eu?") == 2
    assert json.loads(planner("stacks", "output", "-json").out)["sa"] == {}
    report = (stack / "several.md").read_text()
    rows = re.findall(r"\| (`(?:eu|longer|longish|us): component[^|]*) \| applied", report)
    assert sum(row.count(": component") for row in rows) == 8 and "`eu: component.net`, `us: component.net` (2)" in rows
    assert "`sa: component.net` | applied" not in report and (stack / "several.html").exists()


def test_nobody_is_asked_about_what_checks_approve(stack: Path, planner: Planner) -> None:
    text = (
        (stack / "x.tfdeploy.hcl").read_text().replace("{ inputs", "{\n deployment_group = deployment_group.g\n inputs")
    )
    text = (
        text.replace('" } }', '" }\n}') + 'deployment_group "g" { auto_approve_checks = [deployment_auto_approve.r] }\n'
    )
    text += 'deployment_auto_approve "r" {\n  check { condition = context.plan.changes.remove == 0 }\n}\n'
    (stack / "x.tfdeploy.hcl").write_text(text)
    ran = planner("stacks", "apply", "-workers=2", "-input=false", "-deployment=[elus]*")
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.count("Approved by r.") == 10 and ran.out.count("2 added") == 5

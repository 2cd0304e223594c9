"""What programs and reviewers get of deployments: JSON lines, documents, Markdown and pages."""

from __future__ import annotations

import json
import stat
from typing import Any

from stacks.test_deployments import LATER, TWO, Stack, stack

__all__ = ["stack"]
DEPLOY = 'deployment "a" { inputs = { name = "a", regions = ["eu"] } }\n'
BOTH = DEPLOY + 'deployment "b" { inputs = { name = "b", regions = ["eu"] } }\n'
SECRET = """
variable "name" { type = string }
resource "terraform_data" "x" { input = sensitive(var.name) }
output "name" {
  value     = terraform_data.x.output
  sensitive = true
}
"""
KEEPING = """
component "c" {
  source = "./m"
  inputs = { name = "hush-hush" }
}
output "name" {
  type      = string
  value     = component.c.name
  sensitive = true
}
"""


def lines(stack: Stack, *words: str, code: int = 0) -> list[dict[str, Any]]:
    ran = stack.planner("stacks", *words, "-json")
    assert ran.code == code, ran.out + ran.err
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert found[0]["type"] == "version"
    return found[1:]


def of_type(found: list[dict[str, Any]], type: str) -> list[dict[str, Any]]:
    return [line for line in found if line["type"] == type]


def test_lines_of_a_plan_say_where(stack: Stack) -> None:
    stack.write(TWO, BOTH)
    stack.run("init")
    found = lines(stack, "plan")
    assert {line["deployment"] for line in found} == {"a", "b"}
    changes = [(c["deployment"], c["component"], c["change"]["action"]) for c in of_type(found, "planned_change")]
    both = [(d, c, "create") for d in "ab" for c in ("component.net", 'component.web["eu"]')]
    assert changes == both
    assert of_type(found, "planned_change")[0]["change"]["resource"]["addr"] == "terraform_data.x"
    (one, other) = of_type(found, "deployment_planned")
    assert (one["deployment"], one["applyable"], one["complete"]) == ("a", True, True)
    assert other["changes"] == {"add": 2, "change": 0, "forget": 0, "import": 0, "remove": 0}


def test_lines_of_an_apply_and_of_a_destruction(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    found = lines(stack, "apply", "-auto-approve")
    done = [(c["component"], c["hook"]["resource"]["addr"]) for c in of_type(found, "apply_complete")]
    assert done[0] == ("component.first", "terraform_data.x") and len(done) == 4
    rounds = [line["complete"] for line in of_type(found, "deployment_planned")]
    assert rounds[0] is False and rounds[-1] is True
    deferred = [line for line in of_type(found, "component_planned") if line["component"] == "component.many[*]"]
    assert deferred[0]["deferred"] == [{"because": "for_each", "what": ""}]
    whole = [line for line in of_type(found, "change_summary") if "component" not in line]
    assert [(line["changes"]["operation"], line["changes"]["add"]) for line in whole] == [("apply", 4)]
    assert found[-1]["outputs"] == {"count": {"sensitive": False, "type": "number", "value": 1}}
    found = lines(stack, "destroy", "-auto-approve")
    whole = [line for line in of_type(found, "change_summary") if "component" not in line]
    assert [(line["changes"]["operation"], line["changes"]["remove"]) for line in whole] == [("destroy", 4)]


def test_problems_say_which_deployment(stack: Stack) -> None:
    stack.write(TWO, DEPLOY + 'deployment "b" { inputs = { name = [1], regions = [] } }\n')
    stack.run("init")
    (problem,) = of_type(lines(stack, "plan", code=1), "diagnostic")
    assert problem["deployment"] == "b" and problem["@level"] == "error"
    (problem,) = of_type(lines(stack, "plan", "-deployment=c", code=1), "diagnostic")
    assert "deployment" not in problem
    (problem,) = of_type(lines(stack, "plan", "-parallelism=x", code=1), "diagnostic")
    assert problem["@level"] == "error"


def test_without_somebody_to_ask_nothing_is_applied(stack: Stack) -> None:
    stack.write(TWO, DEPLOY)
    stack.run("init")
    (problem,) = of_type(lines(stack, "apply", code=1), "diagnostic")
    assert "asking is switched off" in problem["@message"] and stack.states() == {}


def test_lines_go_to_a_file_beside_the_text(stack: Stack) -> None:
    stack.write(TWO, DEPLOY)
    stack.run("init")
    text = stack.run("apply", "-auto-approve", "-json-into=lines")
    assert "a: 2 added" in text
    found = [json.loads(line) for line in (stack.folder / "lines").read_text().splitlines()]
    assert len(of_type(found, "apply_complete")) == 2
    assert stat.S_IMODE((stack.folder / "lines").stat().st_mode) == 0o600


def test_sensitive_values_are_in_no_line(stack: Stack) -> None:
    (stack.folder / "m" / "main.tf").write_text(SECRET)
    stack.write(KEEPING, 'deployment "a" { inputs = {} }\n')
    stack.run("init")
    found = lines(stack, "apply", "-auto-approve")
    assert "hush" not in json.dumps(found)
    assert found[-1]["outputs"]["name"] == {"sensitive": True, "type": "string"}


def test_the_document_is_for_its_owner(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    stack.run("plan", "-report=plans.json")
    assert stat.S_IMODE((stack.folder / "plans.json").stat().st_mode) == 0o600
    document = json.loads((stack.folder / "plans.json").read_text())
    assert document["errored"] is False
    (deployment,) = document["deployments"]
    first = deployment["components"][0]
    assert (first["address"], first["changes"]["add"]) == ("component.first", 1)
    assert first["plan"]["resource_changes"][0]["address"] == "terraform_data.x"
    assert deployment["outputs"] == {"count": {"known": False, "sensitive": False}}
    assert "Cannot write" in stack.run("plan", "-report=no/where", code=1)

"""Instances of which some objects are left for another round: what is done, what waits, and what is said of it."""

from __future__ import annotations

import pytest
from stacks.test_deployments import Stack, stack

__all__ = ["stack"]
GIVES = """
variable "v" { type = string }
resource "terraform_data" "x" {
  input = { v = var.v, value = "x" }
}
resource "terraform_data" "more" {
  for_each = toset([%s])
  input    = { v = each.key, value = "more" }
}
output "more" { value = [for m in terraform_data.more : m.output.v] }
output "id" { value = terraform_data.x.id }
"""
TAKES = """
variable "v" { type = any }
resource "terraform_data" "y" {
  input = { v = var.v, value = "y" }
}
output "y" { value = terraform_data.y.output.v }
"""
PARTS = """
component "a" {
  source = "./gives"
  inputs = { v = "v" }
}
component "b" {
  source = "./takes"
  inputs = { v = component.a.more }
}
output "y" {
  type  = any
  value = component.b.y
}
"""
CHAIN = """
component "first" {
  source = "./m"
  inputs = { name = "n" }
}
component "a" {
  source = "./gives"
  inputs = { v = component.first.id }
}
component "b" {
  source = "./takes"
  inputs = { v = component.a.id }
}
"""
AFTER = """
component "a" {
  source = "./gives"
  inputs = { v = "v" }
}
component "b" {
  source     = "./takes"
  inputs     = { v = "known" }
  depends_on = [component.a]
}
stack "s" {
  source     = "./s"
  inputs     = { name = "s" }
  depends_on = [component.a]
}
"""
ONE = 'deployment "d" { inputs = {} }\n'


@pytest.fixture
def parts(stack: Stack) -> Stack:
    module(stack, "gives", GIVES % "terraform_data.x.id")
    module(stack, "takes", TAKES)
    return stack


def module(stack: Stack, name: str, text: str) -> None:
    (stack.folder / name).mkdir(exist_ok=True)
    (stack.folder / name / "main.tf").write_text(text)


def written(stack: Stack, components: str) -> None:
    stack.write(components, ONE)
    stack.run("init")


def test_what_a_deferred_part_gives_is_waited_for(parts: Stack) -> None:
    written(parts, PARTS)
    assert parts.plan() == {"d": {"component.a": "plan", "component.b": "defer"}}
    text = parts.run("plan")
    assert "component.b is deferred: some of component.a is deferred." in text
    assert "d: Plan: 1 to add, 0 to change, 0 to destroy; 1 deferred; parts of component.a deferred." in text
    assert parts.run("query", 'component_changes("component.a", "defer", N)').split()[-1] == "1"
    assert (
        "depends on component.a, which is partly deferred, and the input v of component.b is not known yet"
        in parts.run("why", "deferred", "component.b")
    )
    assert "d: 3 added, 0 changed, 0 destroyed." in parts.run("apply", "-auto-approve")
    (more,) = parts.outputs()["d"]["y"]
    assert len(more) == 36
    assert "d: no changes." in parts.run("plan")


def test_a_part_that_turns_out_while_applying_waits_for_the_next_round(parts: Stack) -> None:
    module(parts, "gives", GIVES % "var.v")
    written(parts, CHAIN)
    text = parts.run("apply", "-auto-approve")
    assert "d: 4 added, 0 changed, 0 destroyed." in text
    first, second = text.split("Deployment d")[1:]
    assert "terraform_data.more" in first.split("Left for a later plan")[1].split("component.")[0]
    assert 'terraform_data.more["' in second
    assert "d: no changes." in parts.run("plan")


def test_outputs_of_the_last_apply_are_not_those_of_a_deferred_part(parts: Stack) -> None:
    written(parts, PARTS)
    parts.run("apply", "-auto-approve")
    before = parts.outputs()
    path = parts.folder / "gives" / "main.tf"
    path.write_text(path.read_text().replace("input = { v = var.v,", "triggers_replace = [1]\n  input = { v = var.v,"))
    text = parts.run("apply", "-auto-approve")
    assert parts.outputs() != before
    assert text.count("component.b: terraform_data.y: Modif") == 2  # begun and done: once, with what is so now


def test_depends_on_waits_for_all_of_it_in_child_stacks_too(parts: Stack) -> None:
    written(parts, AFTER)
    found = {"component.a": "plan", "component.b": "defer", "stack.s.component.c": "defer"}
    assert parts.plan() == {"d": found}
    text = parts.run("why", "deferred", "component.b")
    assert "component.b depends on component.a, which is partly deferred" in text
    parts.run("apply", "-auto-approve")
    assert "no changes." in parts.run("plan")


def test_a_plan_with_nothing_but_a_deferred_part_says_so(parts: Stack) -> None:
    text = 'variable "v" {}\nresource "terraform_data" "x" {\n  count = length(var.v)\n}\noutput "id" { value = 1 }\n'
    module(parts, "gives", text)
    written(parts, CHAIN)
    text = parts.run("plan")
    assert "No changes: component.a" not in text
    assert "terraform_data.x: count at gives/main.tf:3" in text


def test_why_of_parts_that_are_left(parts: Stack) -> None:
    written(parts, PARTS)
    text = parts.run("why", "deferred", "component.a")
    assert "terraform_data.more of component.a is deferred to a later round: its for_each at gives/main.tf:7" in text
    text = " ".join(parts.run("why", "component.a.terraform_data.more", code=1).split())
    assert "is left for a later plan: the for_each of terraform_data.more at gives/main.tf:7" in text
    assert "-exclude" not in text
    text = " ".join(parts.run("why", "component.a.output.more", code=1).split())
    assert "-exclude" not in text
    assert "Write the component after the word" in parts.run("why", "deferred", code=1)


def test_why_goes_through_the_instances_between(parts: Stack) -> None:
    written(parts, CHAIN)
    text = parts.run("why", "component.b", "component.first")
    assert "component.b depends on component.a" in text
    assert "component.a depends on component.first" in text
    assert "does not depend on" in " ".join(parts.run("why", "component.first", "component.b", code=1).split())

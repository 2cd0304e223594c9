"""Looking into the states of deployments, and editing them."""

from __future__ import annotations

import json

import pytest
from stacks.test_deployments import TWO, Stack, stack

__all__ = ["stack"]
DEPLOY = 'deployment "a" { inputs = { name = "a", regions = ["eu"] } }\n'
WEB = 'component.web["eu"]'


@pytest.fixture
def applied(stack: Stack) -> Stack:
    stack.write(TWO, DEPLOY + 'deployment "b" { inputs = { name = "b", regions = ["eu"] } }\n')
    stack.run("init")
    stack.run("apply", "-auto-approve", "-deployment=a")
    return stack


def test_what_deployments_have(applied: Stack) -> None:
    text = applied.run("show")
    assert "Deployment a\n\ncomponent.net:\n\n# terraform_data.x:" in text
    assert 'Outputs of a:\n\nnames = {\n    "eu" = "eu-a"\n}' in text
    assert "Deployment b\n\nNothing has been applied yet." in text
    text = applied.run("show", "-deployment=a", "-component=component.web")
    assert WEB in text and "component.net:" not in text and "Outputs of a" not in text
    assert 'Did you mean "component.net"' in " ".join(
        applied.run("show", "-deployment=a", "-component=component.ne", code=1).split()
    )


def test_the_same_as_a_document(applied: Stack) -> None:
    a, b = json.loads(applied.run("show", "-json"))["deployments"]
    assert (a["deployment"], a["applied"], b["applied"], b["components"]) == ("a", True, False, [])
    assert [component["address"] for component in a["components"]] == ["component.net", WEB]
    (resource,) = a["components"][0]["state"]["values"]["root_module"]["resources"]
    assert resource["values"]["input"] == "a"
    assert a["outputs"]["names"]["value"] == {"eu": "eu-a"}


def test_sensitive_values_are_hidden(stack: Stack) -> None:
    (stack.folder / "m" / "main.tf").write_text(
        'variable "name" { type = string }\n'
        'resource "terraform_data" "x" { input = sensitive(var.name) }\n'
        'output "name" {\n  value     = var.name\n  sensitive = true\n}\n'
    )
    component = 'component "c" {\n  source = "./m"\n  inputs = { name = "hush-hush" }\n}\n'
    component += 'output "name" {\n  type      = string\n  value     = component.c.name\n  sensitive = true\n}\n'
    stack.write(component, 'deployment "a" { inputs = {} }\n')
    stack.run("init")
    stack.run("apply", "-auto-approve")
    text = stack.run("show")
    assert "    input  = (sensitive value)" in text
    assert text.count("\nname = (sensitive value)") == 2  # of the component and of the deployment
    assert text.count("hush-hush") == 1 and '    output = "hush-hush"' in text  # what the provider says is not marked
    assert "    input  = (sensitive value)" in stack.run("state", "show", "component.c.terraform_data.x")
    assert stack.run("show", "-show-sensitive").count("hush-hush") == 4


def test_the_instances_in_the_states(applied: Stack) -> None:
    lines = ["component.net.terraform_data.x", f"{WEB}.terraform_data.x"]
    assert applied.run("state", "list", "-deployment=a").split("\n")[:2] == lines
    assert applied.run("state", "list").split("\n")[0] == f"a: {lines[0]}"
    for word in ("component.web", WEB, lines[1]):
        assert applied.run("state", "list", "-deployment=a", word).strip() == lines[1]
    assert "Not in the state" in applied.run("state", "list", "-deployment=a", "component.net.terraform_data.y", code=1)
    assert "No such component" in applied.run("state", "list", "-deployment=a", "component.no", code=1)
    found = [json.loads(line) for line in applied.run("state", "list", "-json").splitlines()]
    assert (found[1]["deployment"], found[1]["component"]) == ("a", "component.net")


def test_one_instance(applied: Stack) -> None:
    text = applied.run("state", "show", "-deployment=a", f"{WEB}.terraform_data.x")
    assert text.startswith("# terraform_data.x:") and '"eu-a"' in text
    assert "Name one of a, b" in " ".join(applied.run("state", "show", f"{WEB}.terraform_data.x", code=1).split())
    assert "Not a resource" in applied.run("state", "show", "-deployment=a", WEB, code=1)
    assert "One address is needed" in applied.run("state", "show", "-deployment=a", code=1)
    assert "is not a valid address" in applied.run("state", "show", "-deployment=a", f"{WEB}.]", code=1)


def test_objects_get_another_address_in_their_component(applied: Stack) -> None:
    old, new = f"{WEB}.terraform_data.x", f"{WEB}.terraform_data.y"
    assert "Would move" in applied.run("state", "mv", "-deployment=a", "-dry-run", old, new)
    assert "Successfully moved 1" in applied.run("state", "mv", "-deployment=a", old, new)
    assert new in applied.run("state", "list", "-deployment=a")
    assert "Not in the state" in applied.run("state", "mv", "-deployment=a", old, new, code=1)
    text = " ".join(applied.run("state", "mv", "-deployment=a", new, "component.net.terraform_data.z", code=1).split())
    assert "-state=stack-states/a.web~eu/terraform.tfstate" in text
    assert "-state-out=stack-states/a.net/terraform.tfstate" in text and "planner state mv" in text
    applied.run("state", "mv", "-deployment=a", new, old)
    assert "no changes." in applied.run("plan", "-deployment=a")


def test_objects_are_forgotten(applied: Stack) -> None:
    address = f"{WEB}.terraform_data.x"
    assert f"Would remove {address}" in applied.run("state", "rm", "-deployment=a", "-dry-run", address)
    assert "Successfully removed 1" in applied.run("state", "rm", "-deployment=a", address)
    assert applied.states()["a.web~eu"] == [] and applied.states()["a.net"] == ["a"]
    assert len(list((applied.folder / "stack-states" / "a.web~eu").glob("*.backup"))) == 1
    assert "Not in the state" in applied.run("state", "rm", "-deployment=a", address, code=1)
    assert "1 to add" in applied.run("plan", "-deployment=a")


def test_the_family_lists_its_commands(stack: Stack) -> None:
    assert "  rm    Forget objects" in stack.run("state", code=1)
    assert "Did you mean stacks state list" in stack.run("state", "lst", code=1)


@pytest.mark.parametrize(
    "words",
    [
        ("show",), ("output",), ("graph",), ("query", "component(C)"), ("policy", "-policy=p.dl"), ("why", "approved"),
        ("state", "list"), ("state", "show", "component.net.terraform_data.x"),
        ("state", "rm", "component.net.terraform_data.x"), ("state", "mv", "component.net.a.x", "component.net.a.y"),
    ],
)  # fmt: skip
def test_a_stack_that_is_not_right_is_told(stack: Stack, words: tuple[str, ...]) -> None:
    (stack.folder / "p.dl").write_text('deny("x", C, "y") :- component(C).\n')
    stack.write(TWO, DEPLOY)
    assert "Module net is not installed" in stack.run(*words, code=1)
    stack.write(TWO, "deployment {")
    assert "x.tfdeploy.hcl line 1" in stack.run(*words, code=1)

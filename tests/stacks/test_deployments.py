"""Deployments planned, applied, changed and destroyed from the command line, with real states and plugins."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Ran

Planner = Callable[..., Ran]

MODULE = """
variable "name" { type = string }
resource "terraform_data" "x" { input = var.name }
output "id" { value = terraform_data.x.id }
output "name" { value = terraform_data.x.output }
"""
TWO = """
variable "name" { type = string }
variable "regions" { type = set(string) }
component "net" {
  source = "./m"
  inputs = { name = var.name }
}
component "web" {
  for_each = var.regions
  source   = "./m"
  inputs   = { name = "${each.key}-${component.net.name}" }
}
output "names" {
  type  = map(string)
  value = { for k, c in component.web : k => c.name }
}
"""
LATER = """
variable "name" { type = string }
component "first" {
  source = "./m"
  inputs = { name = var.name }
}
component "many" {
  for_each = toset([component.first.id])
  source   = "./m"
  inputs   = { name = "many" }
}
stack "inner" {
  for_each = component.many
  source   = "./s"
  inputs   = { name = each.value.name }
}
component "last" {
  source     = "./m"
  inputs     = { name = "last" }
  depends_on = [stack.inner]
}
output "count" {
  type  = number
  value = length(stack.inner)
}
"""
INNER = """
variable "name" { type = string }
component "c" {
  source = "../m"
  inputs = { name = "inner ${var.name}" }
}
output "id" {
  type  = string
  value = component.c.id
}
"""


class Stack:
    def __init__(self, folder: Path, planner: Planner) -> None:
        self.folder, self.planner = folder, planner

    def write(self, component: str, deploy: str) -> None:
        (self.folder / "x.tfcomponent.hcl").write_text(component)
        (self.folder / "x.tfdeploy.hcl").write_text(deploy)

    def run(self, *words: str, code: int = 0) -> str:
        ran = self.planner("stacks", *words)
        assert ran.code == code, ran.out + ran.err
        assert "Traceback" not in ran.err and "Internal error" not in ran.err
        return ran.out + ran.err

    def plan(self, *words: str, code: int = 0) -> dict[str, dict[str, str]]:
        """What is done about each component of each deployment."""
        ran = self.planner("stacks", "plan", "-json", *words)
        assert ran.code == code, ran.out + ran.err
        lines = [json.loads(line) for line in ran.out.splitlines()]
        found: dict[str, dict[str, str]] = {}
        for line in lines:
            if line.get("type") == "component_planned":
                found.setdefault(line["deployment"], {})[line["component"]] = line["action"]
            elif line.get("type") == "deployment_planned":
                found.setdefault(line["deployment"], {})
        return found

    def states(self) -> dict[str, list[str]]:
        found = {}
        for path in (self.folder / "stack-states").glob("*/terraform.tfstate"):
            state = json.loads(path.read_text())
            objects = [i["attributes"]["input"] for r in state["resources"] for i in r["instances"]]
            found[path.parent.name] = [value["value"] for value in objects if value is not None]
        return found

    def outputs(self) -> Any:
        return {
            name: {key: output["value"] for key, output in outputs.items()}
            for name, outputs in json.loads(self.run("output", "-json")).items()
        }


@pytest.fixture
def stack(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> Stack:
    for name, text in {"m/main.tf": MODULE, "s/x.tfcomponent.hcl": INNER}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return Stack(tmp_path, planner)


def test_the_life_of_two_deployments(stack: Stack) -> None:
    deploy = 'deployment "a" { inputs = { name = "a", regions = ["eu", "us"] } }\n'
    stack.write(TWO, deploy + 'deployment "b" { inputs = { name = "b", regions = ["eu"] } }\n')
    stack.run("init")
    planned = {"component.net": "plan", 'component.web["eu"]': "plan", 'component.web["us"]': "plan"}
    assert stack.plan() == {"a": planned, "b": {k: v for k, v in planned.items() if "us" not in k}}
    assert not (stack.folder / "stack-states").exists()
    text = stack.run("apply", "-auto-approve")
    assert "a: 3 added, 0 changed, 0 destroyed." in text and "b: 2 added" in text
    assert stack.states() == {
        "a": [],
        "a.net": ["a"],
        "a.web~eu": ["eu-a"],
        "a.web~us": ["us-a"],
        "b": [],
        "b.net": ["b"],
        "b.web~eu": ["eu-b"],
    }
    assert stack.outputs() == {"a": {"names": {"eu": "eu-a", "us": "us-a"}}, "b": {"names": {"eu": "eu-b"}}}
    assert stack.run("plan", "-detailed-exitcode").count("no changes.") == 2
    stack.write(TWO, deploy.replace('"a",', '"A",'))
    text = stack.run("apply", "-auto-approve", "-deployment=a")
    assert "a: 0 added, 3 changed, 0 destroyed." in text
    assert stack.states()["a.web~us"] == ["us-A"] and stack.states()["b.net"] == ["b"]
    assert "a: 0 added, 0 changed, 3 destroyed." in stack.run("destroy", "-auto-approve")
    assert set(stack.states()) == {"a", "b", "b.net", "b.web~eu"}
    assert stack.outputs() == {"a": {}}


def test_what_is_made_from_something_is_destroyed_first(stack: Stack) -> None:
    stack.write(TWO, 'deployment "a" { inputs = { name = "a", regions = ["eu"] } }\n')
    stack.run("init")
    stack.run("apply", "-auto-approve")
    lines = [line for line in stack.run("destroy", "-auto-approve").splitlines() if "Destruction complete" in line]
    assert [line.split(":")[0] for line in lines] == ['component.web["eu"]', "component.net"]


def test_what_cannot_be_planned_yet_is_deferred_until_nothing_is(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    assert stack.plan() == {
        "a": {
            "component.first": "plan",
            "component.many[*]": "defer",
            "stack.inner[*].component.c": "defer",
            "component.last": "defer",
        }
    }
    text = stack.run("plan")
    assert "component.many[*] is deferred: how many instances there are is not known yet." in text
    assert "component.last is deferred: stack.inner[*].component.c is deferred." in text
    assert "a: 4 added" in stack.run("apply", "-auto-approve")
    assert stack.outputs() == {"a": {"count": 1}}
    assert len(stack.states()) == 5
    assert "no changes." in stack.run("plan", "-detailed-exitcode")
    assert "a: 0 added, 0 changed, 4 destroyed." in stack.run("destroy", "-auto-approve")
    assert set(stack.states()) == {"a"}


@pytest.mark.parametrize("forgets", [False, True])
def test_what_is_gone_from_the_configuration_needs_a_removed_block(stack: Stack, forgets: bool) -> None:
    deploy = 'deployment "a" { inputs = { name = "a", regions = ["eu", "us"] } }\n'
    stack.write(TWO, deploy)
    stack.run("init")
    stack.run("apply", "-auto-approve")
    deploy = deploy.replace('"eu", ', "")
    stack.write(TWO, deploy)
    text = " ".join(stack.run("plan", code=1).split())
    assert 'component.web["eu"] has a state in the deployment a' in text
    assert 'removed { from = component.web["eu"]' in text
    removed = 'removed {\n  from = component.web["eu"]\n  source = "./m"\n  inputs = { name = component.net.name }\n'
    removed += "  lifecycle { destroy = false }\n}\n" if forgets else "}\n"
    stack.write(TWO + removed, deploy)
    assert stack.plan()["a"]['component.web["eu"]'] == ("forget" if forgets else "destroy")
    text = stack.run("apply", "-auto-approve")
    assert ("Destruction complete" in text) is not forgets
    assert set(stack.states()) == {"a", "a.net", "a.web~us"}
    assert "no changes." in stack.run("plan")


def test_a_removed_component_uses_what_is_installed_of_its_source(stack: Stack) -> None:
    body = ' {\n  source = "./m"\n  inputs = { name = "x" }\n'
    deploy = 'deployment "d" { inputs = {} }\n'
    stack.write(f'component "a"{body}}}\ncomponent "b"{body}}}\n', deploy)
    stack.run("init")
    stack.run("apply", "-auto-approve")
    blocks = [f"removed{body}  from   = component.{name}\n}}\n" for name in "ab"]
    stack.write("".join(blocks), deploy)
    assert stack.plan()["d"] == {"component.a": "destroy", "component.b": "destroy"}
    stack.run("init")
    stack.write(blocks[1] + blocks[0], deploy)  # whose numbers are others now
    assert stack.plan()["d"] == {"component.a": "destroy", "component.b": "destroy"}
    shutil.copytree(stack.folder / "m", stack.folder / "other")
    stack.write(blocks[0].replace("./m", "./other") + blocks[1], deploy)
    assert "since planner stacks init" in " ".join(stack.run("plan", code=1).split())


def test_a_removed_block_about_what_is_asked_for(stack: Stack) -> None:
    removed = 'removed {\n  from = component.web["eu"]\n  source = "./m"\n}\n'
    stack.write(TWO, 'deployment "a" { inputs = { name = "a", regions = ["eu"] } }\n')
    stack.run("init")
    stack.run("apply", "-auto-approve")
    stack.write(TWO + removed, 'deployment "a" { inputs = { name = "a", regions = ["eu"] } }\n')
    stack.run("init")
    assert "Removed component still exists" in stack.run("plan", code=1)


def test_a_deployment_that_is_to_be_destroyed(stack: Stack) -> None:
    deploy = 'deployment "a" { inputs = { name = "a", regions = ["eu"] } }\n'
    stack.write(TWO, deploy)
    stack.run("init")
    stack.run("apply", "-auto-approve")
    stack.write(TWO, deploy.replace("{ inputs", "{\n  destroy = true\n  inputs").replace("} }", "}\n}"))
    assert stack.plan() == {"a": {'component.web["eu"]': "destroy", "component.net": "destroy"}}
    stack.run("apply", "-auto-approve")
    assert set(stack.states()) == {"a"}


def test_a_circle_shows_the_way_round(stack: Stack) -> None:
    component = """
locals { x = component.b.name }
component "a" {
  source = "./m"
  inputs = { name = local.x }
}
component "b" {
  source = "./m"
  inputs = { name = component.a.name }
}
"""
    stack.write(component, 'deployment "d" { inputs = {} }\n')
    stack.run("init")
    text = stack.run("plan", code=1)
    assert text.count("waits for itself") == 1
    assert "component.a reads local.x (x.tfcomponent.hcl:5" in text
    assert "local.x reads component.b (" in text and "component.b reads component.a" in text


def test_variable_sets_of_the_environment_have_comments(stack: Stack) -> None:
    (stack.folder / "varsets").mkdir()
    (stack.folder / "varsets" / "v.env").write_text("# one\n  # NAME=b\n NAME = a \n")
    deploy = 'store "varset" "v" {\n  name     = "v"\n  category = "env"\n}\n'
    deploy += 'deployment "a" { inputs = { name = jsonencode(store.varset.v.stable), regions = ["eu"] } }\n'
    stack.write(TWO, deploy)
    stack.run("init")
    assert "# NAME" not in stack.run("plan")


def test_inputs_of_deployments(stack: Stack) -> None:
    (stack.folder / "token").write_text("secret-token\n")
    (stack.folder / "sets").mkdir()
    (stack.folder / "sets" / "v-1.tfvars").write_text('region = "eu"\n')
    deploy = """
identity_token "t" { audience = ["x"] }
store "varset" "v" {
  id       = "v-1"
  category = "terraform"
}
locals { regions = [store.varset.v.stable.region] }
deployment "a" { inputs = { name = "a", regions = local.regions, token = identity_token.t.jwt } }
"""
    variable = 'variable "token" {\n  type      = string\n  ephemeral = true\n}\n'
    stack.write(TWO + variable, deploy)
    stack.run("init")
    assert "No such variable set" in stack.run("plan", code=1)
    text = stack.run("apply", "-auto-approve", "-varset-dir=sets", "-identity-token=t=token")
    assert "secret-token" not in text
    assert 'component.web["eu"]' in text
    assert "does not have the form NAME=VALUE" in stack.run("plan", "-identity-token=t", code=1)
    assert "The deployments are a." in stack.run("plan", "-deployment=b", "-varset-dir=sets", code=1)


def test_one_stack_reads_what_another_publishes(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> None:
    above = tmp_path_factory.mktemp("above")
    (above / "m").mkdir()
    (above / "m" / "main.tf").write_text(MODULE)
    upstream = Stack(above, stack.planner)
    one = 'component "c" {\n  source = "./m"\n  inputs = { name = "up" }\n}\n'
    one += 'output "n" {\n  type  = string\n  value = component.c.name\n}\n'
    upstream.write(one, 'deployment "u" { inputs = {} }\npublish_output "n" { value = deployment.u.n }\n')
    deploy = 'upstream_input "up" {\n  type   = "stack"\n  source = "app.example.com/o/p/s"\n}\n'
    deploy += 'deployment "a" { inputs = { name = upstream_input.up.n, regions = [] } }\n'
    stack.write(TWO, deploy)
    stack.run("init")
    assert "-upstream=ADDRESS=DIRECTORY" in stack.run("plan", code=1)
    where = f"-upstream=app.example.com/o/p/s={above}"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(above)
        upstream.run("init")
        upstream.run("apply", "-auto-approve")
    stack.run("apply", "-auto-approve", where)
    assert stack.states()["a.net"] == ["up"]


def test_nothing_is_lost_when_a_component_fails(stack: Stack) -> None:
    bad = MODULE + 'resource "terraform_data" "y" {\n  provisioner "local-exec" { command = "exit 3" }\n}\n'
    (stack.folder / "bad").mkdir()
    (stack.folder / "bad" / "main.tf").write_text(bad)
    bad_web = "./bad".join(TWO.rsplit("./m", 1))
    stack.write(bad_web, 'deployment "a" { inputs = { name = "a", regions = ["eu"] } }\n')
    stack.run("init")
    text = stack.run("apply", "-auto-approve", code=1)
    assert text.count("local-exec provisioner error") == 1
    failed = json.loads((stack.folder / "stack-states/a.web~eu/terraform.tfstate").read_text())
    assert stack.states()["a.net"] == ["a"] and len(failed["resources"]) == 2
    (stack.folder / "bad" / "main.tf").write_text(bad.replace("exit 3", "true"))
    stack.run("apply", "-auto-approve")
    assert stack.outputs() == {"a": {"names": {"eu": "eu-a"}}}


RULES = """
deployment "a" {
  inputs           = { name = "%s", regions = ["eu"] }
  deployment_group = deployment_group.g
}
deployment_group "g" { auto_approve_checks = [deployment_auto_approve.calm, deployment_auto_approve.here] }
deployment_auto_approve "calm" {
  check {
    condition = context.plan.changes.change == 0
    reason    = "It changes ${context.plan.changes.change} objects of ${context.plan.changes.total}."
  }
  check { condition = context.plan.component_changes["component.net"].remove == 0 && context.success }
}
deployment_auto_approve "here" {
  check { condition = context.plan.deployment == deployment.a && context.plan.mode == "normal" %s}
}
"""


def test_what_checks_of_a_group_approve_is_not_asked_about(stack: Stack) -> None:
    stack.write(TWO, RULES % ("a", ""))
    stack.run("init")
    text = stack.run("apply", "-input=false")
    assert "Approved by calm, here." in text and "a: 2 added" in text
    stack.write(TWO, RULES % ("b", ""))
    text = " ".join(stack.run("apply", "-input=false", code=1).split())
    assert "Not approved by calm: the check at x.tfdeploy.hcl:8" in text
    assert "is false: It changes 2 objects of 2." in text
    assert "prompts are disabled" in text
    assert stack.states()["a.net"] == ["a"]
    stack.run("apply", "-auto-approve")


def test_what_cannot_be_decided_is_not_approved(stack: Stack) -> None:
    stack.write(TWO, RULES % ("a", "&& context.plan.what == 1 "))
    stack.run("init")
    text = " ".join(stack.run("apply", "-input=false", code=1).split())
    assert "Not approved by here" in text and "cannot be decided: Unsupported attribute" in text


CHECKED = """
store "varset" "v" {
  name     = "v"
  category = "terraform"
}
deployment "a" {
  inputs           = { name = "n", regions = ["eu"] }
  deployment_group = deployment_group.g
}
deployment_group "g" { auto_approve_checks = [deployment_auto_approve.r] }
deployment_auto_approve "r" {
  check {
    condition = %s
    reason    = "not with ${store.varset.v.password}"
  }
}
"""


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("null", "cannot be decided: it is neither true nor false"),
        ('"true"', "cannot be decided: it is neither true nor false"),
        ("context.plan.changes.add == 0", "is false: (sensitive)"),
    ],
)
def test_checks_that_approve_nothing(condition: str, said: str, stack: Stack) -> None:
    (stack.folder / "varsets").mkdir()
    (stack.folder / "varsets" / "v.tfvars").write_text('password = "hidden"\n')
    stack.write(TWO, CHECKED % condition)
    stack.run("init")
    text = " ".join(stack.run("apply", "-input=false", code=1).split())
    assert said in text and "hidden" not in text


def test_what_is_forgotten_is_counted_by_objects(stack: Stack) -> None:
    path = stack.folder / "m" / "main.tf"
    path.write_text(path.read_text() + 'resource "terraform_data" "more" { count = 2 }\n')
    stack.write(SEVERAL, 'deployment "d" { inputs = {} }\n')
    stack.run("init")
    stack.run("apply", "-auto-approve")
    removed = 'removed {\n  from   = component.a\n  source = "./m"\n  lifecycle { destroy = false }\n}\n'
    stack.write(removed, 'deployment "d" { inputs = {} }\n')
    rows = stack.run("query", 'component_changes(C, "forget", N)').splitlines()[2:]
    assert [row.split()[-1] for row in rows] == ["3", "3"]


def test_why(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    text = stack.run("why", "deferred", "component.last")
    assert "component.last depends on stack.inner[*].component.c, which is deferred" in text
    assert "for_each of component.many reads component.first: x.tfcomponent.hcl:8" in text
    assert "x.tfcomponent.hcl:8: for_each = toset([component.first.id])" in text
    text = stack.run("why", "component.last", "stack.inner[*].component.c")
    assert "component.last depends on stack.inner[*].component.c" in text
    assert "x.tfcomponent.hcl:20: depends_on = [stack.inner]" in text
    assert "is not deferred" in stack.run("why", "deferred", "component.first", code=1)
    text = " ".join(stack.run("why", "deferred", "component.firs", code=1).split())
    assert 'Did you mean "component.first"' in text
    assert "does not depend on" in stack.run("why", "component.first", "component.last", code=1)
    assert "No group of the deployment has checks" in stack.run("why", "approved", code=1)
    proofs = json.loads(stack.run("why", "-json", "deferred", "component.last"))["proofs"]
    assert [proof["goal"][0] for proof in proofs] == ["put_off", "waits_until"]


def test_why_approved(stack: Stack) -> None:
    stack.write(TWO, RULES % ("a", ""))
    stack.run("init")
    assert "all checks of calm hold" in stack.run("why", "approved")
    stack.write(TWO, RULES % ("a", "&& context.plan.changes.add == 0 "))
    text = " ".join(stack.run("why", "approved").split())
    assert "the check x.tfdeploy.hcl:15,3-8 of here has the outcome fails" in text


def test_parts_of_modules_are_deferred(stack: Stack) -> None:
    module = MODULE + 'resource "terraform_data" "more" {\n  count = length(terraform_data.x.id) > 0 ? 2 : 0\n}\n'
    module += 'output "more" { value = length(terraform_data.more) }\n'
    (stack.folder / "later").mkdir()
    (stack.folder / "later" / "main.tf").write_text(module)
    component = 'component "a" {\n  source = "./later"\n  inputs = { name = "a" }\n}\n'
    component += 'output "more" {\n  type  = number\n  value = component.a.more\n}\n'
    stack.write(component, 'deployment "d" { inputs = {} }\n')
    stack.run("init")
    assert "terraform_data.more: count at later/main.tf:7" in stack.run("plan")
    assert "d: 3 added, 0 changed, 0 destroyed." in stack.run("apply", "-auto-approve")
    assert stack.outputs() == {"d": {"more": 2}}
    assert "no changes." in stack.run("plan", "-detailed-exitcode")


POLICY = """
@name("own") @reason("{A} is made in {C} of b")
deny("no-eu", A, "Nothing in eu") :-
  run("deployment", "b"), run("component", C), C = "component.web[\\"eu\\"]", action(A, "create").
"""


def test_policies_judge_each_component(stack: Stack) -> None:
    deploy = 'deployment "%s" { inputs = { name = "n", regions = ["eu"] } }\n'
    stack.write(TWO, deploy % "a" + deploy % "b")
    (stack.folder / "policies").mkdir()
    (stack.folder / "policies" / "own.dl").write_text(POLICY)
    stack.run("init")
    text = stack.run("plan", "-policy=policies", code=1)
    assert text.count("Denied by policy no-eu") == 1 and "a: Plan: 2 to add" in text
    text = stack.run("apply", "-auto-approve", "-policy=policies", code=1)
    assert "a: 2 added" in text
    assert set(stack.states()) == {"a", "a.net", "a.web~eu"}
    assert {path.name for path in (stack.folder / "stack-states").iterdir()} == {"a", "a.net", "a.web~eu"}
    stack.run("apply", "-auto-approve", "-policy=policies", "-policy-override=no-eu", "-override-reason=test")
    assert "b.web~eu" in stack.states()


ENCRYPTION = """
key_provider "pbkdf2" "k" {
  passphrase = "correct horse battery staple"
  iterations = 200000
}
method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
state {
  method   = method.aes_gcm.m
  enforced = true
}
"""


def test_states_are_encrypted_where_the_environment_says_so(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_ENCRYPTION", ENCRYPTION)
    stack.write(TWO, 'deployment "a" { inputs = { name = "canary", regions = ["eu"] } }\n')
    stack.run("init")
    stack.run("apply", "-auto-approve")
    kept = [path for path in (stack.folder / "stack-states").rglob("*") if path.is_file()]
    assert len(kept) >= 4 and not any(b"canary" in path.read_bytes() for path in kept)
    assert stack.outputs() == {"a": {"names": {"eu": "eu-canary"}}}
    assert "no changes." in stack.run("plan")
    monkeypatch.setenv("TF_ENCRYPTION", "what")
    assert "TF_ENCRYPTION" in stack.run("plan", code=1)
    monkeypatch.delenv("TF_ENCRYPTION")
    assert "encrypted" in stack.run("plan", code=1)


def test_an_interrupt_ends_what_is_under_way_and_begins_nothing_more(stack: Stack) -> None:
    slow = (
        MODULE
        + 'resource "terraform_data" "y" {\n  provisioner "local-exec" { command = "touch begun; sleep 1.5" }\n}\n'
    )
    (stack.folder / "m" / "main.tf").write_text(slow)
    stack.write(TWO, 'deployment "a" { inputs = { name = "a", regions = ["eu"] } }\n')
    stack.run("init")
    words = [sys.executable, "-m", "planner", "stacks", "apply", "-auto-approve", "-no-color"]
    running = subprocess.Popen(words, cwd=stack.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 60
    while not (stack.folder / "begun").exists():
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    text, _ = running.communicate(timeout=60)
    assert running.returncode == 1 and "Traceback" not in text
    assert "Interrupt received." in text and text.count("Execution halted") == 1
    resources = json.loads((stack.folder / "stack-states/a.net/terraform.tfstate").read_text())["resources"]
    assert len(resources) == 2
    assert {path.name for path in (stack.folder / "stack-states").iterdir()} <= {"a", "a.net"}
    (stack.folder / "m" / "main.tf").write_text(MODULE)
    stack.run("apply", "-auto-approve")


KEYS = """
component "first" {
  source = "./m"
  inputs = { name = "n" }
}
"""
SEVERAL = 'component "a" {\n  for_each = ["x", "y"]\n  source   = "./m"\n  inputs   = { name = each.key }\n}\n'


def test_a_removed_block_with_keys_that_are_not_known_yet(stack: Stack) -> None:
    stack.write(SEVERAL, 'deployment "d" { inputs = {} }\n')
    stack.run("init")
    stack.run("apply", "-auto-approve")
    keys = 'removed {\n  for_each = [component.first.id == "" ? "" : "x", "y"]\n  from     = component.a[each.key]\n'
    stack.write(
        KEYS + keys + '  source   = "./m"\n  inputs   = { name = "gone" }\n}\n', 'deployment "d" { inputs = {} }\n'
    )
    stack.run("init")
    deferred = {'component.a["x"]': "defer", 'component.a["y"]': "defer", "component.first": "plan"}
    assert stack.plan() == {"d": deferred}
    text = stack.run("why", "deferred", 'component.a["x"]')
    assert "a removed block, whose for_each or key is not known yet, may name" in text
    assert "d: 1 added, 0 changed, 2 destroyed." in stack.run("apply", "-auto-approve")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('[sensitive("hidden")]', "Keys are shown"),
        ("toset([sensitive(component.first.id)])", "Keys are shown"),
        ("null", "for_each must not be null"),
        ('["a", "a"]', "only if its elements are distinct strings"),
        ("[1]", "only if its elements are distinct strings"),
    ],
)
def test_keys_that_may_not_be_shown(keys: str, said: str, stack: Stack) -> None:
    several = SEVERAL.replace('["x", "y"]', keys)
    stack.write(KEYS + several, 'deployment "d" { inputs = {} }\n')
    stack.run("init")
    text = stack.run("plan", code=1)
    assert said in " ".join(text.split()) and 'a["hidden"]' not in text


def test_a_list_with_keys_that_are_not_known_yet(stack: Stack) -> None:
    several = SEVERAL.replace('["x", "y"]', '[component.first.id, "y"]')
    stack.write(KEYS + several, 'deployment "d" { inputs = {} }\n')
    stack.run("init")
    assert stack.plan() == {"d": {"component.a[*]": "defer", "component.first": "plan"}}
    assert "d: 3 added, 0 changed, 0 destroyed." in stack.run("apply", "-auto-approve")


def test_a_question_with_one_answer_names_no_deployment(stack: Stack) -> None:
    deploy = [f'deployment "{name}" {{ inputs = {{ name = "{name}", regions = ["{name}", "x"] }} }}\n' for name in "ab"]
    stack.write(TWO, "".join(deploy))
    stack.run("init")
    for words in (('component.web["x"]', "component.net"), ("-not", "component.net", 'component.web["x"]')):
        text = stack.run("why", *words)
        assert text == stack.run("why", "-deployment=a", *words)
    only_a = ('component.web["a"]', "component.net")
    assert "Missing deployment" in stack.run("why", *only_a, code=1)
    assert "depends on component.net" in stack.run("why", "-deployment=a", *only_a)
    assert "does not depend on" in " ".join(stack.run("why", "component.net", 'component.web["x"]', code=1).split())
    assert "Missing deployment" in stack.run("why", "deferred", "component.net", code=1)

"""Stacks with odd surroundings: names that mean something elsewhere, files that cannot be read, secrets in outputs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli.conftest import Ran
from stacks.test_deployments import MODULE, Planner
from state.test_state_lock import holding

from planner.workflows.stacks.states import decoded

ONE = """
component "c" {
  source = "./m"
  inputs = { name = "n" }
}
output "n" {
  type  = string
  value = component.c.name
}
"""
SECRET = """
variable "secret" {
  type      = string
  sensitive = true
}
variable "token" {
  type      = string
  ephemeral = true
}
output "n" {
  type  = string
  value = %s
}
"""
STORE = """
store "varset" "v" {
  name     = "v"
  category = "%s"
}
deployment "d" { destroy = store.varset.v.X == "x" }
"""
UPSTREAM = """
upstream_input "other" {
  type   = "stack"
  source = "%s"
}
publish_output "p" { value = upstream_input.other.p }
deployment "d" { destroy = upstream_input.other.p == 1 }
"""


APART = """
component "a" {
  source = "./m"
  inputs = { name = "n" }
}
component "b" {
  source = "./m"
  inputs = { name = component.a.name }
}
"""
NEVER = """
component "c" {
  source = "./m"
  inputs = { name = %s }
}
component "d" {
  for_each = toset([component.c.ever])
  source   = "./m"
  inputs   = { name = "d" }
}
"""
EVER = """
variable "name" { type = string }
data "terraform_remote_state" "x" {
  backend = "local"
  config  = { path = "${path.root}/${terraform_data.x.id}/../nothing.tfstate" }
}
resource "terraform_data" "x" { input = var.name }
output "name" { value = var.name }
output "ever" { value = data.terraform_remote_state.x.outputs.ever }
"""


@pytest.fixture
def run(tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch) -> Planner:
    monkeypatch.chdir(tmp_path)
    Path("m").mkdir()
    Path("m/main.tf").write_text(MODULE)

    def run(deploy: str, *words: str, components: str = ONE, code: int = 0) -> Ran:
        Path("x.tfcomponent.hcl").write_text(components)
        Path("x.tfdeploy.hcl").write_text(deploy)
        assert planner("stacks", "init").code == 0
        ran = planner("stacks", *words)
        assert ran.code == code, ran.out + ran.err
        assert "Traceback" not in ran.err
        return ran

    return run


def test_a_deployment_called_default_leaves_the_root_module_its_state(run: Planner) -> None:
    Path("terraform.tfstate").write_text('{"version": 4, "serial": 7, "lineage": "mine"}')
    run('deployment "default" {}', "apply", "-auto-approve")
    assert '"lineage": "mine"' in Path("terraform.tfstate").read_text()
    assert sorted(os.listdir("stack-states")) == ["default.c", "default~"]
    assert 'n = "n"' in run('deployment "default" {}', "output").out
    run('deployment "default" {}', "destroy", "-auto-approve")
    assert not os.path.exists("stack-states/default.c")


@pytest.mark.parametrize("command", [("plan",), ("apply", "-auto-approve")])
def test_states_of_a_deployment_that_is_declared_no_more_are_named(run: Planner, command: tuple[str, ...]) -> None:
    both = 'deployment "gone" {}\ndeployment "here" {}\n'
    run(both, "apply", "-auto-approve")
    assert "Deployment not declared" not in run(both, *command).out
    assert 'The deployment "gone" has states' in run('deployment "here" {}', *command).out


@pytest.mark.parametrize("text", ["c~~61", "c~~6", "c~+1", "c~~ 1", "c~~C3~A9", "", "c."])
def test_only_one_name_means_an_instance(text: str) -> None:
    assert decoded(text) is None


@pytest.mark.parametrize("value", ["var.secret", '"${var.secret}!"'])
def test_a_sensitive_value_stays_so_in_an_output_that_does_not_say_it(run: Planner, value: str) -> None:
    deploy = 'deployment "d" { inputs = { secret = "HUNTER2", token = "t" } }'
    ran = run(deploy, "apply", "-auto-approve", components=SECRET % value)
    assert "HUNTER2" not in ran.out + run(deploy, "output", components=SECRET % value).out


def test_an_ephemeral_value_is_kept_in_no_output(run: Planner) -> None:
    deploy = 'deployment "d" { inputs = { secret = "s", token = "TOKEN" } }'
    ran = run(deploy, "apply", "-auto-approve", components=SECRET % "var.token", code=1)
    assert "The value of output.n is ephemeral" in ran.err
    assert not os.listdir("stack-states")


@pytest.mark.parametrize(("category", "name"), [("env", "v.env"), ("terraform", "v.tfvars")])
def test_a_variable_set_that_cannot_be_read_is_named(run: Planner, category: str, name: str) -> None:
    Path("varsets").mkdir()
    os.mkfifo(f"varsets/{name}")
    assert f"The file varsets/{name} cannot be read: Not a regular file." in " ".join(
        run(STORE % category, "plan", code=1).err.split()
    )


@pytest.mark.parametrize("make", [os.mkfifo, lambda name: os.symlink("nowhere", name)])
def test_settings_that_cannot_be_read_are_named(run: Planner, make: object) -> None:
    make("planner.stack.hcl")  # type: ignore[operator]
    assert "planner.stack.hcl cannot be read" in run('deployment "d" {}', "plan", code=1).err


def test_stacks_that_publish_what_is_made_from_each_other_are_refused(
    run: Planner, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("other/m").mkdir(parents=True)
    Path("other/m/main.tf").write_text(MODULE)
    Path("other/x.tfcomponent.hcl").write_text(ONE)
    Path("other/x.tfdeploy.hcl").write_text(UPSTREAM % "..")
    monkeypatch.chdir("other")
    assert planner("stacks", "init").code == 0
    monkeypatch.chdir("..")
    assert "Upstream waits for itself" in run(UPSTREAM % "other", "plan", code=1).err


def test_why_names_the_line_after_applying_too(run: Planner) -> None:
    two = f'{ONE}component "d" {{\n  source = "./m"\n  inputs = {{ name = component.c.name }}\n}}\n'
    run('deployment "d" {}', "apply", "-auto-approve", components=two)
    ran = run('deployment "d" {}', "why", "component.d", "component.c", components=two)
    assert "x.tfcomponent.hcl:12: inputs = { name = component.c.name }" in " ".join(ran.out.split())


@pytest.mark.parametrize("command", [("plan",), ("apply", "-auto-approve")])
def test_one_deployment_with_wrong_inputs_keeps_none_of_the_others(run: Planner, command: tuple[str, ...]) -> None:
    number = f'variable "n" {{\n  type    = number\n  default = 1\n}}\n{ONE}'
    deploy = 'deployment "a" { inputs = { n = "x" } }\ndeployment "b" { inputs = { n = tonumber("y") } }\n'
    ran = run(deploy + 'deployment "c" {}\n', *command, components=number, code=1)
    said = " ".join(ran.err.split())
    assert "on x.tfdeploy.hcl line 1" in said and 'var.n given by the deployment "a"' in said
    assert "on x.tfdeploy.hcl line 2" in said
    assert "c: Plan: 1 to add" in ran.out


def test_a_removed_child_stack_is_forgotten_or_refused(run: Planner) -> None:
    Path("s").mkdir()
    Path("s/x.tfcomponent.hcl").write_text(ONE.replace("./m", "../m"))
    run('deployment "d" {}', "apply", "-auto-approve", components='stack "s" { source = "./s" }')
    gone = 'removed {\n  from   = stack.s\n  source = "./s"\n%s}\n'
    assert "write removed blocks for its components" in " ".join(
        run('deployment "d" {}', "plan", components=gone % "", code=1).err.split()
    )
    forget = gone % "  lifecycle { destroy = false }\n"
    run('deployment "d" {}', "apply", "-auto-approve", components=forget)
    assert os.listdir("stack-states") == ["d"]


def test_a_file_that_is_none_is_named(run: Planner, planner: Planner) -> None:
    run('deployment "d" {}', "validate")
    os.mkfifo("y.tfdeploy.hcl")
    assert "y.tfdeploy.hcl: Not a regular file" in planner("stacks", "validate").err


def test_what_means_nothing_here_is_told(run: Planner) -> None:
    ran = run('deployment "d" { import = true }', "validate")
    assert "Nothing is imported" in ran.out + ran.err


@pytest.mark.parametrize("notes", [None, b"{", b"[]", b'{"made_from": 3}'])
def test_without_notes_the_configuration_says_what_is_destroyed_first(run: Planner, notes: bytes | None) -> None:
    """By name a would go first; b is made from it."""
    run('deployment "d" {}', "apply", "-auto-approve", components=APART)
    path = Path("stack-states/d/.terraform.tfstate.stack.json")
    assert path.exists()
    path.unlink() if notes is None else path.write_bytes(notes)
    ran = run('deployment "d" {}', "destroy", "-auto-approve", components=APART)
    last, first = (ran.out.index(f"component.{name}: terraform_data.x: Destroying") for name in "ab")
    assert first < last
    assert ("Damaged records of a deployment" in ran.out + ran.err) == (notes is not None)


@pytest.mark.parametrize("notes", [None, b"{"], ids=["missing", "damaged"])
def test_without_notes_an_undeclared_component_is_removed_or_reported(run: Planner, notes: bytes | None) -> None:
    run('deployment "d" {}', "apply", "-auto-approve", components=APART)
    path = Path("stack-states/d/.terraform.tfstate.stack.json")
    path.unlink() if notes is None else path.write_bytes(notes)
    one = APART[: APART.index('component "b"')]
    ran = run('deployment "d" {}', "plan", components=one, code=1)
    assert "component.b has a state in the deployment d" in (ran.out + ran.err).replace("\n", " ")
    removed = 'removed {\n  from   = component.b\n  source = "./m"\n  inputs = { name = "n" }\n}\n'
    run('deployment "d" {}', "apply", "-auto-approve", components=one + removed)
    assert not Path("stack-states/d.component.b").exists()
    run('deployment "d" {}', "destroy", "-auto-approve", components=one)


def test_a_deployment_is_applied_by_one_at_a_time(run: Planner) -> None:
    run('deployment "d" {}', "apply", "-auto-approve")
    with holding(Path("stack-states/d/terraform.tfstate")):
        ran = run('deployment "d" {}', "apply", "-auto-approve", code=1)
        assert "stack-states/d/terraform.tfstate" in ran.err
        run('deployment "d" {}', "plan")
    run('deployment "d" {}', "apply", "-auto-approve")


def test_a_place_without_a_state_is_no_instance(run: Planner) -> None:
    run('deployment "d" {}', "apply", "-auto-approve")
    Path("stack-states/d.backup").mkdir()
    assert "d.backup" not in run('deployment "d" {}', "plan").out
    run('deployment "d" {}', "destroy", "-auto-approve")


def test_a_cancelled_apply_leaves_no_place(run: Planner) -> None:
    run('deployment "d" {}', "apply", "-input=false", code=1)
    assert not os.listdir("stack-states")


def test_what_is_wrong_with_an_upstream_is_said(
    tmp_path: Path, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("up", "down"):
        (tmp_path / name).mkdir()
    (tmp_path / "up/x.tfcomponent.hcl").write_text("component {}\n")
    (tmp_path / "up/x.tfdeploy.hcl").write_text('deployment "d" {}\npublish_output "o" { value = deployment.d.o }\n')
    (tmp_path / "down/x.tfcomponent.hcl").write_text('variable "v" { type = string }\n')
    text = 'upstream_input "up" {\n  type = "stack"\n  source = "../up"\n}\n'
    (tmp_path / "down/x.tfdeploy.hcl").write_text(text + 'deployment "d" { inputs = { v = upstream_input.up.o } }\n')
    monkeypatch.chdir(tmp_path / "down")
    ran = planner("stacks", "plan")
    assert ran.code == 1 and "Upstream ../up: Missing name for component" in ran.err
    (tmp_path / "up/x.tfcomponent.hcl").write_text('variable "unused" {\n  type = string\n  default = ""\n}\n')
    assert planner("stacks", "plan").code == 0  # it was never applied: nobody knows


def test_a_removed_component_that_is_not_installed_is_named_as_written(run: Planner, planner: Planner) -> None:
    run('deployment "d" {}', "validate")
    Path("y.tfcomponent.hcl").write_text('removed {\n  from   = component.b\n  source = "./gone"\n}\n')
    said = " ".join(planner("stacks", "plan").err.split())
    assert "Module b is not installed. Run planner stacks init, which installs all modules." in said


def test_what_nobody_has_published_yet_is_named_before_anything_is_made(run: Planner, tmp_path: Path) -> None:
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "x.tfcomponent.hcl").write_text('output "n" {\n  type  = string\n  value = "v"\n}\n')
    deploy = 'deployment "d" {}\npublish_output "n" { value = deployment.d.n }\n'
    (tmp_path / "up" / "x.tfdeploy.hcl").write_text(deploy)
    components = 'variable "n" { type = string }\n' + ONE.replace('"n" }', "var.n }")
    deploy = 'upstream_input "up" {\n  type   = "stack"\n  source = "./up"\n}\n'
    deploy += 'deployment "d" { inputs = { n = upstream_input.up.n } }\n'
    said = " ".join(run(deploy, "apply", "-auto-approve", components=components, code=1).err.split())
    assert "Values of component.c that are still unknown: name." in said
    assert "The deployment d has no known value for n" in said
    assert not os.path.exists("stack-states/d.c/terraform.tfstate")


@pytest.mark.parametrize("command", [("plan",), ("apply", "-auto-approve"), ("output",), ("graph",)])
def test_names_of_options_that_mean_nothing_are_told(command: tuple[str, ...], run: Planner) -> None:
    deploy = 'identity_token "token" { audience = ["a"] }\ndeployment "d" { inputs = {} }\n'
    deploy += 'upstream_input "u" {\n  type   = "stack"\n  source = "a/b/c"\n}\n'
    options = ("-identity-token=tokem=x", "-upstream=a/b/d=.")
    ran = run(deploy, *command, *options, code=1)
    said = " ".join(ran.err.split())
    assert '-identity-token=tokem=... matches nothing in this stack. Did you mean "token"?' in said
    assert "-upstream=a/b/d=... matches nothing in this stack." in said
    assert not os.path.exists("stack-states")


def test_upstreams_of_an_upstream_may_be_named(run: Planner, planner: Planner) -> None:
    for name, text in (("up", UPSTREAM % "a/b/far"), ("far", 'publish_output "p" { value = 1 }\n')):
        os.mkdir(name)
        Path(name, "x.tfcomponent.hcl").write_text('variable "v" {\n  type    = string\n  default = ""\n}\n')
        Path(name, "x.tfdeploy.hcl").write_text(text)
    options = ("-upstream=a/b/up=up", "-upstream=a/b/far=far")
    run(UPSTREAM % "a/b/up", "plan", *options)

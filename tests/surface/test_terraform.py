"""The tables of docs/pages/terraform.md: the example of each row is run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Ran
from provider.plugins import SOURCES, override
from provider.probes import calls, fill, thing

PAGE = Path(__file__).parents[2] / "docs/pages/terraform.md"
PROBE = f'terraform {{\n  required_providers {{\n    probe = {{ source = "{SOURCES["probe"]}" }}\n  }}\n}}\n'


class Place:
    """A directory with a configuration, and the world of the probe."""

    def __init__(self, folder: Path, world: Path, planner: Callable[..., Ran], env: pytest.MonkeyPatch) -> None:
        self.folder, self.world, self.planner, self.env = folder, world, planner, env

    def write(self, text: str, name: str = "main.tf") -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def run(self, *words: str, code: int = 0) -> str:
        """All that a command prints, on one line."""
        ran = self.planner(*words, "-no-color")
        assert ran.code == code, ran.out + ran.err
        return " ".join((ran.out + ran.err).split())

    def apply(self, *words: str) -> str:
        return self.run("apply", "-auto-approve", *words)

    def state(self, address: str) -> dict[str, Any]:
        """The values of an object in the state."""
        ran = self.planner("state", "show", "-json", address)
        assert ran.code == 0, ran.out + ran.err
        document = next(one for line in ran.out.splitlines() if "values" in (one := json.loads(line)))
        (resource,) = document["values"]["root_module"]["resources"]
        assert resource["address"] == address
        return dict(resource["values"])

    def output(self) -> dict[str, Any]:
        return {name: one["value"] for name, one in json.loads(self.run("output", "-json")).items()}

    def init(self) -> None:
        self.run("get")

    def called(self, name: str) -> int:
        return sum(one["call"] == name for one in calls(self.world))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> Place:
    monkeypatch.setenv("PROBE_LOG", str(tmp_path / "world" / "calls"))
    monkeypatch.delenv("PROBE_OFF", raising=False)
    world = override(monkeypatch, tmp_path, 6, ("probe",))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Place(folder, world, planner, monkeypatch)


# ---------------------------------------------------------------- language


def actions(it: Place) -> None:
    events = "before_create, after_create, before_update, after_update, before_destroy, after_destroy"
    trigger = f"action_trigger {{\n events = [{events}]\n actions = [action.probe_note.a]\n }}"
    it.write(
        PROBE + 'action "probe_note" "a" {\n  config {\n    text = caller.input\n  }\n}\n'
        f'resource "terraform_data" "r" {{\n  input = "x"\n  lifecycle {{\n {trigger}\n  }}\n}}\n'
    )
    assert "Actions: 2 invoked." in it.apply()
    assert "action.probe_note.a" in it.run("why", "invoke", "action.probe_note.a", "-destroy")
    assert "Actions: 2 invoked." in it.apply("-destroy")


def imports_in_modules(it: Place) -> None:
    it.write('module "m" {\n  source   = "./m"\n  for_each = { a = "1", b = "2" }\n  id       = each.value\n}\n')
    it.write(
        'variable "id" {}\nresource "terraform_data" "r" {}\nresource "terraform_data" "f" {\n'
        '  for_each = toset(["x"])\n}\nimport {\n  to = terraform_data.r\n  id = var.id\n}\n'
        "import {\n  for_each = terraform_data.f\n  to       = terraform_data.f[each.key]\n"
        '  id       = "${var.id}${each.key}"\n}\n'.replace(
            "for_each = terraform_data.f\n", 'for_each = toset(["x"])\n'
        ),
        "m/main.tf",
    )
    it.init()
    assert "4 to import, 0 to add" in it.run("plan", "-out=p")
    document = json.loads(it.run("show", "-json", "p"))
    ids = {one["address"]: one["change"]["importing"]["id"] for one in document["resource_changes"]}
    assert ids == {
        'module.m["a"].terraform_data.f["x"]': "1x",
        'module.m["a"].terraform_data.r': "1",
        'module.m["b"].terraform_data.f["x"]': "2x",
        'module.m["b"].terraform_data.r': "2",
    }
    why = it.run("why", 'module.m["a"].terraform_data.r')
    assert why.endswith("is imported by the import block (m/main.tf:7), and otherwise matches its declaration")
    it.write('import {\n  to = module.m["a"].terraform_data.r\n  id = "outer"\n}\n', "outer.tf")
    assert '(imported from "outer")' in it.run("plan")
    why = it.run("why", 'module.m["a"].terraform_data.r')
    assert "import block (outer.tf:2)" in why
    it.write('import {\n  to = terraform_data.r\n  id = "again"\n}\n', "m/again.tf")
    assert "Duplicate import configuration" in it.run("plan", code=1)
    it.write("import {\n  to = terraform_data.absent\n  id = terraform_data.later.id\n}\n", "m/again.tf")
    assert "Configuration for import target does not exist" in it.run("plan", code=1)


def import_by_identity(it: Place) -> None:
    fill(it.world, thing("a"))
    it.write(
        PROBE + 'resource "probe_thing" "r" {\n  name = "a"\n}\n'
        'import {\n  to       = probe_thing.r\n  identity = { name = "a" }\n}\n'
    )
    assert "1 to import, 0 to add, 0 to change" in it.run("plan")


STORE = """
variable "secret" {
  ephemeral = true
}
resource "terraform_data" "r" {
  store {
    input     = var.secret
    %s
  }
}
resource "terraform_data" "plain" {}
"""


def store(it: Place) -> None:
    def kept(*words: str) -> Any:
        it.apply(*words)
        values = it.state("terraform_data.r")
        return values["id"], values["store"]

    it.write(STORE % "")
    id, first = kept("-var=secret=one")
    assert (first["input"], first["output"], first["sensitive_output"]) == (None, "one", None)
    assert "No changes." in it.run("plan", "-var=secret=one")
    assert kept("-var=secret=two") == (id, {**first, "output": "two"})
    it.write(STORE % "version = 1")
    assert kept("-var=secret=three")[1]["output"] == "three"
    assert "No changes." in it.run("plan", "-var=secret=four")
    it.write(STORE % "version = 2\n    sensitive = true")
    hidden = kept("-var=secret=four")[1]
    assert (hidden["output"], hidden["sensitive_output"]) == (None, "four")
    assert "four" not in it.run("state", "show", "terraform_data.r")
    it.write(STORE % "replace = true")
    assert "must be replaced" in it.run("plan", "-var=secret=five")
    assert kept("-var=secret=five")[0] != id
    it.write(STORE % 'output = "x"')
    assert "is computed when the object is created" in it.run("validate", code=1)
    it.write('resource "terraform_data" "r" {}\nresource "terraform_data" "plain" {}\n')
    assert "1 changed" in it.apply()
    assert "store" not in it.state("terraform_data.r")


def output_types(it: Place) -> None:
    it.write(
        'output "n" {\n  type  = number\n  value = "12"\n}\n'
        'output "o" {\n  type  = object({ a = string, b = optional(number, 3) })\n  value = { a = 1 }\n}\n'
        'output "child" {\n  value = module.m.later + 1\n}\n'
        'module "m" {\n  source = "./m"\n}\n'
    )
    it.write(
        'resource "terraform_data" "x" {\n  input = "1"\n}\n'
        'output "later" {\n  type  = number\n  value = terraform_data.x.output\n}\n',
        "m/main.tf",
    )
    it.init()
    it.run("validate")
    assert "+ child = (known after apply)" in it.run("plan")
    it.apply()
    assert it.output() == {"n": 12, "o": {"a": "1", "b": 3}, "child": 2}
    assert json.loads(it.run("output", "-json"))["o"]["type"] == ["object", {"a": "string", "b": "number"}]
    it.write('output "n" {\n  type  = number\n  value = "twelve"\n}\n')
    for command in ("validate", "plan"):
        assert "The value of output.n does not match its type: a number is required" in it.run(command, code=1)
    secret = 'variable "s" {\n  default   = "hush"\n  sensitive = true\n}\noutput "n" {\n  type      = map(number)\n'
    it.write(secret + '  value     = { (var.s) = "x" }\n  sensitive = true\n}\n')
    ran = it.run("plan", code=1)
    assert "does not match its type: a number is required" in ran and "hush" not in ran
    it.write('output "n" {\n  type  = numbers\n  value = 1\n}\n')
    assert "Invalid type specification" in it.run("validate", code=1)
    it.write('output "n" {\n  value = 1\n}\n')
    it.write('output "n" {\n  type = string\n}\n', "x_override.tf")
    it.apply()
    assert it.output() == {"n": "1"}
    it.write('output "v" {\n  value = "1"\n}\n', "m/main.tf")
    it.write('module "m" {\n  source = "./m"\n}\nresource "terraform_data" "r" {\n  input = module.m.v\n}\n', "r.tf")
    it.apply()
    it.write('output "v" {\n  value = "1"\n  type  = number\n}\n', "m/main.tf")
    assert "because module.m.v (m/main.tf:2)" in it.run("plan", "-explain=line")


def deprecated(it: Place) -> None:
    it.write('module "m" {\n  source = "./m"\n  v      = 1\n}\noutput "o" {\n  value = module.m.o\n}\n')
    it.write(
        'variable "v" {\n  default    = 0\n  deprecated = "leave it out"\n}\n'
        'output "o" {\n  value      = var.v\n  deprecated = "use p"\n}\n',
        "m/main.tf",
    )
    it.init()
    text = it.run("plan")
    assert "leave it out" in text and "use p" in text


def const_sources(it: Place) -> None:
    it.write('variable "m" {\n  const   = true\n  default = "./m"\n}\nmodule "m" {\n  source = var.m\n}\n')
    it.write('output "o" {\n  value = 1\n}\n', "m/main.tf")
    it.init()
    it.run("validate")


def computed_requirements(it: Place) -> None:
    source = 'variable "host" {\n  const   = true\n  default = "example.com"\n}\nlocals {\n  v = ">= ${var.least}"\n}\n'
    source += 'variable "least" {\n  default = "1.0"\n}\nterraform {\n  required_providers {\n    x = {\n'
    it.write(source + '      source  = "${var.host}/a/x"\n      version = local.v\n    }\n  }\n}\n')
    assert "provider[example.com/a/x] >= 1.0" in it.run("providers")
    assert "provider[example.org/a/x] >= 2.0" in it.run("providers", "-var=host=example.org", "-var=least=2.0")
    assert "'no' is not a valid version" in it.run("providers", "-var=least=no", code=1)
    as_json = {"source": "${var.host}/a/x", "version": "~> 1.0"}
    it.write(json.dumps({"terraform": {"required_providers": {"x": as_json}}}), "more.tf.json")
    it.write('variable "host" {\n  const   = true\n  default = "example.com"\n}\n')
    assert "provider[example.com/a/x] ~> 1.0" in it.run("providers")
    it.write(json.dumps({"terraform": {"required_providers": {"x": {"source": "a/x"}}}}), "more.tf.json")
    assert "provider[registry.opentofu.org/a/x]" in it.run("providers")
    (it.folder / "more.tf.json").unlink()
    it.write(source + "      source = terraform_data.r.id\n    }\n  }\n}\n")
    assert "Dynamic value in static context" in it.run("validate", code=1)


def kept_objects(it: Place) -> None:
    it.write('resource "terraform_data" "r" {\n  lifecycle {\n    destroy = false\n  }\n}\n')
    it.apply()
    it.write("")
    assert "terraform_data.r will be removed from the" in it.run("plan")


def converted(it: Place) -> None:
    text = 'output "o" {\n  value = convert(["1", "1"], set(number))\n}\n'
    it.write(text)
    it.run("validate", code=1)
    for says in (
        'language {\n  compatible_with {\n    opentofu = ">= 1.13"\n  }\n}\n',
        'terraform {\n  required_version = ">= 1.15"\n}\n',
    ):
        it.write(text + says)
        it.apply()
        assert it.output() == {"o": [1]}
    it.write(text)
    for value in ("1.13", "terraform"):
        it.env.setenv("PLANNER_COMPATIBILITY", value)
        it.run("validate")


def assumed(it: Place) -> None:
    text = 'output "o" {\n  value = assumenotnull(terraform_data.r.id)\n}\nresource "terraform_data" "r" {}\n'
    it.write(text)
    assert "OpenTofu 1.13 has it" in it.run("validate", code=1)
    it.write(text + 'language {\n  compatible_with {\n    opentofu = ">= 1.13"\n  }\n}\n')
    it.apply()


def ephemeral(it: Place) -> None:
    it.write(
        PROBE + 'ephemeral "probe_lease" "l" {\n  name = "n"\n}\nresource "probe_thing" "r" {\n  name = "a"\n'
        "  secret_wo = ephemeral.probe_lease.l.value\n  secret_wo_version = 1\n}\n"
    )
    it.apply()
    assert it.called("OpenEphemeralResource") == 2
    assert '"secret_wo": null' in (it.folder / "terraform.tfstate").read_text()


def moved_between_types(it: Place) -> None:
    it.write(PROBE + 'resource "probe_thing" "r" {\n  name = "a"\n}\n')
    it.apply()
    it.write(
        PROBE
        + 'resource "probe_twin" "r" {\n  name = "a"\n}\nmoved {\n  from = probe_thing.r\n  to = probe_twin.r\n}\n'
    )
    assert "0 to add, 0 to change, 0 to destroy" in it.run("plan")


def provider_functions(it: Place) -> None:
    it.write('output "o" {\n  value = provider::terraform::encode_expr("a")\n}\n')
    builtin = (
        'terraform {\n  required_providers {\n    terraform = { source = "terraform.io/builtin/terraform" }\n  }\n}\n'
    )
    it.write(builtin, "v.tf")
    it.apply()
    assert it.output() == {"o": '"a"'}


def provider_for_each(it: Place) -> None:
    it.write(
        PROBE + 'provider "probe" {\n  alias    = "by"\n  for_each = toset(["x"])\n}\n'
        'resource "probe_plain" "r" {\n  for_each = toset(["x"])\n  provider = probe.by[each.key]\n}\n'
    )
    assert "1 to add" in it.run("plan")


def enabled(it: Place) -> None:
    it.write('resource "terraform_data" "r" {\n  lifecycle {\n    enabled = false\n  }\n}\n')
    assert "No changes." in it.run("plan")


def backend_variables(it: Place) -> None:
    it.write('variable "f" {\n  default = "x.tfstate"\n}\nterraform {\n  backend "local" {\n    path = var.f\n  }\n}\n')
    it.write('resource "terraform_data" "r" {}\n', "r.tf")
    it.run("init")
    it.apply()
    assert (it.folder / "x.tfstate").exists()


def encryption(it: Place) -> None:
    it.write(
        'terraform {\n  encryption {\n    key_provider "pbkdf2" "k" {\n      passphrase = "a long passphrase"\n    }\n'
        '    method "aes_gcm" "m" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = '
        'method.aes_gcm.m\n    }\n  }\n}\nresource "terraform_data" "r" {}\n'
    )
    it.apply()
    assert "encrypted_data" in (it.folder / "terraform.tfstate").read_text()


def tofu_files(it: Place) -> None:
    it.write('output "o" {\n  value = "tf"\n}\n', "a.tf")
    it.write('output "o" {\n  value = "tofu"\n}\n', "a.tofu")
    assert "Warning" not in it.apply()
    assert it.output() == {"o": "tofu"}
    it.env.setenv("PLANNER_COMPATIBILITY", "terraform")
    assert "Terraform reads this file instead of the .tofu file of the same name (a.tf)" in it.run("validate")


def no_state_stores(it: Place) -> None:
    it.write('terraform {\n  state_store "x_y" {\n  }\n}\n')
    assert "Unsupported block type" in it.run("validate", code=1)


# ---------------------------------------------------------------- commands


def invoke(it: Place) -> None:
    it.write(PROBE + 'action "probe_note" "a" {\n  config {\n    text = "x"\n  }\n}\n')
    assert "Actions: 1 to invoke" in it.run("plan", "-invoke=action.probe_note.a")
    assert "Actions: 1 invoked" in it.apply("-invoke=action.probe_note.a")


SEARCH = 'list "probe_thing" "x" {\n  provider = probe\n}\n'


def query(it: Place) -> None:
    fill(it.world, thing("a"))
    it.write(PROBE + 'resource "probe_thing" "r" {\n  name = "b"\n}\n')
    it.apply()
    it.write(SEARCH, "q.tfquery.hcl")
    for command in ("query", "discover"):
        assert "managed as probe_thing.r" in it.run(command)


def generated(it: Place) -> None:
    fill(it.world, thing("a"))
    it.write(PROBE + 'import {\n  to = probe_thing.r\n  id = "a"\n}\n')
    it.run("plan", "-generate-config-out=g.tf")
    assert re.search(r'note += "generated"', (it.folder / "g.tf").read_text())
    assert it.called("GenerateResourceConfig") == 1


def validate_query(it: Place) -> None:
    it.write(PROBE)
    it.write(SEARCH.replace("provider = probe", "limit = 1"), "q.tfquery.hcl")
    assert "Missing provider of a list block" in it.run("validate", "-query", code=1)


def minimal_refresh(it: Place) -> None:
    text = 'resource "probe_thing" "a" {\n  name = "a"\n  size = %s\n}\nresource "probe_thing" "b" {\n  name = "b"\n}\n'
    it.write(PROBE + text % 1)
    it.apply()
    fill(it.world, thing("a", size=5), thing("b", note="drift"))
    before = it.called("ReadResource")
    assert "2 objects were not read: the state matches the configuration." in it.run("plan", "-minimal-refresh")
    assert it.called("ReadResource") == before
    why = it.run("why", "-minimal-refresh", "probe_thing.b")
    assert "according to the state, it matches" in why and "-minimal-refresh reads only objects" in why
    it.write(PROBE + text % 2)
    shown = it.run("plan", "-minimal-refresh")
    assert "size = 5 -> 2" in shown and "probe_thing.b" not in shown
    assert it.called("ReadResource") == before + 1
    assert "0 added, 1 changed" in it.apply("-minimal-refresh")
    for words in (
        ["plan", "-refresh=false"],
        ["plan", "-refresh-only"],
        ["refresh"],
        ["batch", "plan", "-refresh-only"],
    ):
        assert "Conflicting options" in it.run(*words, "-minimal-refresh", code=1)
    it.write('import {\n  to = probe_thing.b\n  id = "b"\n}\n', "i.tf")
    assert "No changes." in it.run("plan", "-minimal-refresh") and it.called("ReadResource") == before + 2


def deferral(it: Place) -> None:
    it.write('resource "terraform_data" "a" {}\n')
    it.write('resource "terraform_data" "b" {\n  for_each = toset([terraform_data.a.id])\n}\n', "b.tf")
    it.run("plan", code=1)
    assert "Left for a later plan" in it.apply("-allow-deferral")


def exclude(it: Place) -> None:
    it.write('resource "terraform_data" "a" {}\nresource "terraform_data" "b" {}\n')
    assert "1 to add" in it.run("plan", "-exclude=terraform_data.b")


def state_show_json(it: Place) -> None:
    it.write('resource "terraform_data" "a" {}\n')
    it.apply()
    assert list(it.state("terraform_data.a")) == ["id", "input", "output", "triggers_replace"]


def workspaces_json(it: Place) -> None:
    assert '"workspaces":["default"]' in it.run("workspace", "list", "-json")


def version_json(it: Place) -> None:
    assert json.loads(it.run("version", "-json"))["format_version"] == "1.0"


def own_policies(it: Place) -> None:
    it.write('resource "terraform_data" "a" {}\n')
    it.write('deny(A, "no") :- change(A, "create", _, _, _, _).\n', "p.dl")
    assert "Error" in it.run("plan", "-policy=p.dl", code=1)
    assert "Unknown option -policies" in it.run("plan", "-policies=p", code=1)


def stacks(it: Place) -> None:
    it.write('resource "terraform_data" "a" {}\n', "m/main.tf")
    it.write('component "c" {\n  source = "./m"\n}\n', "s.tfcomponent.hcl")
    it.write('deployment "d" {\n  inputs = {}\n}\n', "s.tfdeploy.hcl")
    it.run("stacks", "init")
    assert "valid" in it.run("stacks", "validate")


def hosted(it: Place) -> None:
    it.write('terraform {\n  cloud {\n    organization = "o"\n    workspaces {\n      name = "w"\n    }\n  }\n}\n')
    assert "hostname" in it.run("init", code=1)


# ---------------------------------------------------------------- tests


MOCK = 'mock_provider "probe" {\n  mock_ephemeral "probe_lease" {\n    defaults = { value = "made up" }\n  }\n}\n'
OVERRIDE = 'override_ephemeral {\n  target = ephemeral.probe_lease.l\n  values = { value = "made up" }\n}\n'


def ephemeral_mocks(it: Place) -> None:
    condition = 'ephemeral.probe_lease.l.value == "made up"\n      error_message = "Real."\n'
    it.write(
        PROBE + 'ephemeral "probe_lease" "l" {\n  name = "n"\n}\nresource "probe_thing" "r" {\n  name = "a"\n'
        "  secret_wo = ephemeral.probe_lease.l.value\n  secret_wo_version = 1\n  lifecycle {\n    precondition {\n"
        f"      condition     = {condition}    }}\n  }}\n}}\n"
    )
    for n, mock in enumerate((MOCK, OVERRIDE)):
        it.write(mock + 'run "r" {}\n', f"{n}.tftest.hcl")
    assert "2 passed, 0 failed" in it.run("test")
    assert it.called("OpenEphemeralResource") == 0
    it.write(OVERRIDE.replace("ephemeral.probe_lease.l\n", "probe_thing.r\n") + 'run "r" {}\n', "1.tftest.hcl")
    assert "cannot be overridden with `override_ephemeral`" in it.run("test", code=1)


OWN_TEST = 'variables {\n  v = 1\n}\nrun "a" {\n  parallel  = true\n  state_key = "a"\n  skip_cleanup = false\n}\n'


def own_runs(it: Place) -> None:
    it.write('variable "v" {}\nresource "terraform_data" "a" {\n  input = var.v\n}\n')
    it.write(OWN_TEST, "a.plannertest.hcl")
    assert "1 passed, 0 failed" in it.run("test")


def own_mocks(it: Place) -> None:
    it.write(PROBE + 'resource "probe_thing" "a" {\n  name = "a"\n}\n')
    it.write('mock_resource "probe_thing" {\n  defaults = { id = "made up" }\n}\n', "mocks/a.tfmock.hcl")
    it.write(
        'mock_provider "probe" {\n  source          = "./mocks"\n  override_during = apply\n}\nrun "a" {\n  assert {\n'
        '    condition     = probe_thing.a.id == "made up"\n    error_message = "Real."\n  }\n}\n',
        "a.plannertest.hcl",
    )
    assert "1 passed, 0 failed" in it.run("test")


ROWS: dict[str, Callable[[Place], None]] = {
    "`action` blocks and `action_trigger`": actions,
    "`import` blocks in called modules": imports_in_modules,
    "`import` by identity": import_by_identity,
    "`terraform_data` with `store`": store,
    "`type` of outputs": output_types,
    "`deprecated` variables and outputs": deprecated,
    "`const` variables in module sources": const_sources,
    "variables and local values in `required_providers`": computed_requirements,
    "`lifecycle { destroy = false }`": kept_objects,
    "`convert`": converted,
    "`assumenotnull` and the other `assume...` functions": assumed,
    "ephemeral resources and write-only arguments": ephemeral,
    "`moved` between resource types": moved_between_types,
    "functions of providers": provider_functions,
    "`for_each` of provider configurations": provider_for_each,
    "`enabled` of resources and modules": enabled,
    "variables in `backend` blocks": backend_variables,
    "encryption of states and plans": encryption,
    "`.tofu` files": tofu_files,
    "state stores (`state_store`)": no_state_stores,
    "`plan -invoke`, `apply -invoke`": invoke,
    "`query` with `list` blocks": query,
    "configuration generated by the provider": generated,
    "`validate -query`": validate_query,
    "`plan -minimal-refresh`": minimal_refresh,
    "`-allow-deferral`": deferral,
    "`-exclude`": exclude,
    "`state show -json`": state_show_json,
    "`workspace list -json`": workspaces_json,
    "`version -json` with `format_version`": version_json,
    "`-policies`": own_policies,
    "stacks": stacks,
    "runs on a hosted service": hosted,
    "mocks of ephemeral resources": ephemeral_mocks,
    "`parallel`, `state_key` and `skip_cleanup`": own_runs,
    "`override_during` and `source` of mocks": own_mocks,
}


def rows() -> list[list[str]]:
    """The cells of the tables about features."""
    lines = PAGE.read_text().partition("## What planner does not have")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if row[0] and not set(row[0]) <= {"-", " "}]


def test_the_tables_are_complete() -> None:
    found = rows()
    assert [row[0] for row in found] == list(ROWS)
    assert all(len(row) == 4 and all(row) for row in found)


@pytest.mark.parametrize("row", ROWS)
def test_row(row: str, place: Place) -> None:
    ROWS[row](place)

"""`refactor extract-module` and `inline-module`: blocks get other modules, and the plan stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Ran

from editor.test_refactoring import files

Run = Callable[..., Ran]

MAIN = """# Networks of the shop.
variable "names" {
  type        = list(string)
  description = "regions"
  default     = ["eu", "us"] # kept
}
variable "password" {
  type      = string
  sensitive = true
  default   = "s3"
}
locals {
  # only the application needs this
  own    = "x-${var.names[0]}" # why
  shared = "s"
}
resource "terraform_data" "counted" {
  count = length(var.names)
  input = "${var.names[count.index]}-${count.index}"
}

# The application.
/* Its keys
   are names. */
resource "terraform_data" "app" {
  for_each = { web = "w", job = "j" }
  input = {
    value = each.value, own = local.own, shared = local.shared, path = path.module, password = var.password
    first = terraform_data.counted[0].id
    text  = <<-EOT
      ${terraform_data.base.id} of ${terraform_data.base.output.x}
      # no comment
    EOT
  }
  depends_on = [module.net]
  provisioner "local-exec" {
    command = "echo ${self.id} ${terraform_data.base.id}"
  }
  lifecycle {
    ignore_changes = [triggers_replace]
    precondition {
      condition     = length(var.names) > 1
      error_message = "two names"
    }
  }
}
resource "terraform_data" "base" { input = { x = 1 } }
module "net" {
  source = "./net"
  cidr   = local.shared
}
resource "terraform_data" "reads" {
  input = [for app in values(terraform_data.app) : app.id]
  depends_on = [terraform_data.app, module.net]
}
data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = "${path.module}/other.tfstate" }
  defaults = { a = terraform_data.base.output.x }
}
resource "terraform_data" "triggered" {
  input = data.terraform_remote_state.other.outputs.a
  lifecycle {
    replace_triggered_by = [terraform_data.base]
  }
}
output "o" {
  value     = "${terraform_data.app["job"].output.value} ${module.net.out} ${local.shared}"
  sensitive = true
}
"""
NET = """variable "cidr" {}
resource "terraform_data" "inner" { input = var.cidr }
output "out" { value = terraform_data.inner.id }
"""
OTHER = (
    '{"version": 4, "serial": 1, "lineage": "l", "outputs": {"a": {"value": "A", "type": "string"}}, "resources": []}'
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run) -> Path:
    (tmp_path / "main.tf").write_text(MAIN)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "main.tf").write_text(NET)
    (tmp_path / "other.tfstate").write_text(OTHER)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    return tmp_path


def is_unchanged(planner: Run) -> bool:
    plan = planner("plan").out
    return "0 to add, 0 to change, 0 to destroy" in plan or "No changes" in plan


EXTRACTED = {
    "one of many": (["terraform_data.app"], ["+  base_id", "+  to   = module.m.terraform_data.app"]),
    "with a module": (
        ["terraform_data.app", "module.net"],
        ['+  source = "../../net"', "+  to   = module.m.module.net"],
    ),
    "what others use": (["terraform_data.base", "terraform_data.triggered"], ["module.m.base_id}", "+  value = terra"]),
    "data": (
        ["data.terraform_remote_state.other"],
        ["${path.root}/other.tfstate", "+  input = module.m.other_outputs.a"],
    ),
    "counted": (
        ["terraform_data.counted", "terraform_data.reads"],
        ["module.m.counted[0].id", "depends_on = [var.app,"],
    ),
    "local values": (
        ["local.shared", "module.net"],
        ["+  cidr   = local.shared", "${module.m.out} ${module.m.shared}"],
    ),
    "everything": (
        ["terraform_data.app", "terraform_data.base", "module.net", "terraform_data.triggered"],
        ["+  description", "+/* Its keys"],
    ),
}


def test_extracted_modules_leave_the_plan_as_it_is_and_are_taken_back(shop: Path, planner: Run) -> None:
    before = files(shop)
    for name, (addresses, texts) in EXTRACTED.items():
        done = planner("refactor", "extract-module", *addresses, "-to=modules/m")
        assert done.code == 0, (name, done.err)
        for text in texts:
            assert text in done.out, (name, text, done.out)
        assert is_unchanged(planner), name
        assert planner("init").code == 0 and planner("fmt", "-check", "modules").code in (0, 3)
        assert planner("refactor", "undo").code == 0
        assert files(shop) == before, name
        assert not (shop / "modules").exists()


NOT_EXTRACTED = {
    "a trigger": (["terraform_data.base"], "named in replace_triggered_by of a remaining block"),
    "a trigger of its own": (["terraform_data.triggered"], "which allows only objects of its own module"),
    "a variable": (["var.names"], "cannot be in the new module"),
    "an output": (["output.o"], "cannot be in the new module"),
    "locals alone": (["local.shared"], "not only local values"),
    "nothing": (["terraform_data.none"], "is not declared"),
    "two modules": (["terraform_data.app", "module.net.terraform_data.inner"], "belong to different modules"),
}


def test_what_cannot_be_extracted_is_refused(shop: Path, planner: Run) -> None:
    before = files(shop)
    for name, (addresses, text) in NOT_EXTRACTED.items():
        done = planner("refactor", "extract-module", *addresses, "-to=modules/m")
        assert done.code == 1 and text in " ".join(done.err.split()), (name, done.err)
    for to, name, text in (
        ("net", "m", "has configuration files already"),
        ("main.tf", "m", "is not a directory"),
        ("/nowhere/m", "m", "outside of the repository"),
        (".terraform/m", "m", "whose content init replaces"),
        ("m", "1x", "is not a valid name"),
        ("m", "net", "is already declared"),
    ):
        done = planner("refactor", "extract-module", "terraform_data.app", f"-to={to}", f"-name={name}")
        assert done.code == 1 and text in " ".join(done.err.split()), (to, done.err)
    assert planner("refactor", "extract-module", "terraform_data.app").code == 1
    assert planner("refactor", "extract-module", "terraform_data.app", "-to=m", "-dry-run").code == 0
    assert files(shop) == before


def test_a_module_is_extracted_from_a_module_with_several_instances(shop: Path, planner: Run) -> None:
    (shop / "net" / "main.tf").write_text(NET.replace("= var.cidr", '= "${var.cidr} ${path.module}"'))
    (shop / "main.tf").write_text(
        'module "net" {\n  source   = "./net"\n  for_each = toset(["a", "b"])\n  cidr     = each.key\n}\n'
    )
    assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
    before = files(shop)
    done = planner("refactor", "extract-module", "module.net.terraform_data.inner", "-to=core")
    assert done.code == 0, done.err
    assert 'module.net["b"].module.core.terraform_data.inner' in done.out and "+  module_path = path.module" in done.out
    assert is_unchanged(planner)
    assert planner("refactor", "undo").code == 0 and files(shop) == before


def test_line_ends_and_texts_of_windows_stay(shop: Path, planner: Run) -> None:
    (shop / "main.tf").write_bytes(MAIN.replace("\n", "\r\n").encode())
    assert planner("apply", "-auto-approve").code == 0
    before = files(shop)
    done = planner("refactor", "extract-module", "terraform_data.app", "-to=m")
    assert done.code == 0, done.err
    for path in (shop / "main.tf", *(shop / "m").iterdir()):
        assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n"), path
    assert is_unchanged(planner)
    assert planner("refactor", "undo").code == 0 and files(shop) == before


INLINED = """# The network.
variable "cidr" {
  type = string
  validation {
    condition     = var.cidr != ""
    error_message = "empty"
  }
}
variable "number" {
  type    = string
  default = 8
}
variable "zones" { type = set(string) }
variable "secret" {
  default   = "x"
  sensitive = true
}
locals {
  own = "${var.cidr}-${var.number}" # kept
}
resource "terraform_data" "inner" { input = var.cidr }
# One for each zone.
resource "terraform_data" "zone" {
  for_each = var.zones
  input = [each.key, local.own, var.cidr, var.number, sensitive(var.secret),
    "${path.module}/x", terraform_data.inner.id]
}
module "below" { source = "./below" }
output "out" { value = terraform_data.inner.id }
output "zones" {
  description = "all"
  value       = [for one in terraform_data.zone : one.id]
}
output "below" { value = module.below.id }
"""
BELOW = 'resource "terraform_data" "inner" {}\noutput "id" { value = terraform_data.inner.id }\n'
CALL = """locals {
  own = "of the root"
}
resource "terraform_data" "inner" {}
module "net" {
  # where it is
  source = "./net"
  cidr   = %s
  zones  = ["a", "b"]
}
output "o" { value = [module.net.out, module.net.zones[0], local.own] }
output "all" { value = module.net }
resource "terraform_data" "after" {
  depends_on = [module.net]
}
"""


def test_an_inlined_module_leaves_the_plan_as_it_is_and_is_taken_back(shop: Path, planner: Run) -> None:
    (shop / "net" / "main.tf").write_text(INLINED.replace("sensitive(var.secret)", "nonsensitive(var.secret)"))
    (shop / "net" / "below").mkdir()
    (shop / "net" / "below" / "main.tf").write_text(BELOW)
    (shop / "net" / "README.md").write_text("It stays.")
    for cidr in ('"c"', 'join("-", [\n    local.own, "c"])', "terraform_data.inner.id"):
        (shop / "main.tf").write_text(CALL % cidr)
        assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
        before = files(shop)
        done = planner("refactor", "inline-module", "module.net")
        assert done.code == 0, (cidr, done.err)
        assert "+  to   = terraform_data.net_inner" in done.out and "+  # The network." in done.out
        assert '+  source = "./net/below"' in done.out.replace("{ source", "{\n+  source")
        assert is_unchanged(planner), cidr
        assert not (shop / "net" / "main.tf").exists() and (shop / "net" / "README.md").exists()
        assert planner("init").code == 0
        assert planner("refactor", "undo").code == 0 and files(shop) == before


COMMENTED_CALL = """# Networks.
module "net" { # called once
  source = "./net" # where

  // chosen by hand
  cidr = "c" # do not change
  /* of
     the root */
  name = terraform_data.root.id
  # nothing more
}
resource "terraform_data" "root" {}
output "o" { value = [module.net.out, module.net.long] }
output "all" {
  value = module.net
}
"""
COMMENTED = """# The module.

# The range.
variable "cidr" {
  # as in RFC 1918
  type = string
  # not this one
  default = <<-EOT
    # no comment
  EOT
  # in vain
  nullable = false
  validation { # gone
    condition     = var.cidr != ""
    error_message = "empty"
  }
}

# A name.
variable "name" {}
resource "terraform_data" "one" {
  # An object.
  input = { (var.cidr) = [
    "${var.cidr}-${var.name}"] } # kept
}
# The one.
output "out" { value = terraform_data.one.id }
# It is long.
output "long" { value = "x-${terraform_data.one.id}" } # very
"""
INLINED_COMMENTS = """# Networks.
# called once
# nothing more
# where

locals {
  # The range.
  # as in RFC 1918
  # in vain
  // chosen by hand
  # do not change
  cidr = "c"
  # It is long.
  # very
  long = "x-${terraform_data.one.id}"
  net = {
    out  = terraform_data.one.id
    long = local.long
  }
}

# The module.

resource "terraform_data" "one" {
  # An object.
  # A name.
  /* of
     the root */
  input = { (local.cidr) = [
    "${local.cidr}-${terraform_data.root.id}"] } # kept
}

moved {
  from = module.net.terraform_data.one
  to   = terraform_data.one
}
resource "terraform_data" "root" {}
# The one.
output "o" { value = [terraform_data.one.id, local.long] }
output "all" {
  value = local.net
}
"""


def test_comments_stay_beside_what_takes_their_place(shop: Path, planner: Run) -> None:
    (shop / "main.tf").write_text(COMMENTED_CALL)
    (shop / "net" / "main.tf").write_text(COMMENTED)
    assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
    assert planner("refactor", "inline-module", "module.net").code == 0
    assert (shop / "main.tf").read_text() == INLINED_COMMENTS


def test_what_was_extracted_is_inlined_again(shop: Path, planner: Run) -> None:
    for addresses in (["terraform_data.app", "module.net"], ["terraform_data.base", "terraform_data.triggered"]):
        assert planner("refactor", "extract-module", *addresses, "-to=m").code == 0
        done = planner("refactor", "inline-module", "module.m")
        assert done.code == 0, done.err
        assert is_unchanged(planner) and not (shop / "m").exists()
        assert planner("refactor", "undo").code == 0 and planner("refactor", "undo").code == 0


NOT_INLINED = {
    "count": ("count = 1\n", "", "has count"),
    "depends_on": ("depends_on = [terraform_data.base]\n", "", "has depends_on"),
    "a block": ("lifecycle {\nenabled = true\n}\n", "", "has a block lifecycle"),
    "a provider": ("", 'provider "terraform" {}\n', "has provider blocks"),
}


def test_what_cannot_be_inlined_is_refused(shop: Path, planner: Run) -> None:
    for name, (argument, block, text) in NOT_INLINED.items():
        (shop / "main.tf").write_text(MAIN.replace('  source = "./net"\n', f'  source = "./net"\n{argument}'))
        more = NET + block
        if block == "depends_on":
            more = NET.replace(
                "{ value = terraform_data.inner.id }", "{\nvalue = 1\ndepends_on = [terraform_data.inner]\n}"
            )
        (shop / "net" / "main.tf").write_text(more)
        before = files(shop)
        done = planner("refactor", "inline-module", "module.net")
        assert done.code == 1 and text in " ".join(done.err.split()), (name, done.err)
        assert files(shop) == before
    assert "is not a call of a module" in planner("refactor", "inline-module", "terraform_data.base").err


TYPED = """variable "shape" {
  type = object({
    name  = string
    tags  = optional(map(string), { a = "b" })
    inner = optional(object({ size = optional(number, 3), kind = optional(string) }), {})
  })
}
variable "peers" {
  type    = map(object({ name = optional(string, "none") }))
  default = { x = {} }
}
variable "topic" {
  type    = object({ name = string })
  default = null
}
variable "cidr" {
  type = string
}
resource "terraform_data" "inner" {
  input = [
    var.shape.name, var.shape.tags["a"], var.shape.inner.size, coalesce(var.shape.inner.kind, "k"),
    var.peers["x"].name, var.cidr
  ]
}
resource "terraform_data" "topic" {
  count = var.topic == null ? 0 : 1
  input = var.topic.name
}
output "out" {
  value      = terraform_data.inner.id
  depends_on = [terraform_data.topic]
}
"""


def test_types_with_optional_attributes_are_written_out(shop: Path, planner: Run) -> None:
    (shop / "net" / "main.tf").write_text(TYPED)
    for shape in ('{ name = "n" }', '{\n    name = "n" # kept\n    inner = null\n    tags = { a = "c" },\n  }'):
        (shop / "main.tf").write_text(MAIN.replace("  cidr   =", f"  shape  = {shape}\n  cidr   ="))
        assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
        before = files(shop)
        done = planner("refactor", "inline-module", "module.net")
        assert done.code == 0, done.err
        assert '= { x = { name = "none" } }\n' in done.out
        assert "output.out had depends_on" in done.out and '+variable "topic" {' in done.out
        assert is_unchanged(planner)
        assert planner("refactor", "undo").code == 0 and files(shop) == before
    shapes = 'locals {\n  shapes = { n = { name = "n", inner = { size = 4 } } }\n}\n'
    (shop / "main.tf").write_text(MAIN.replace("  cidr   =", '  shape  = local.shapes["n"]\n  cidr   =') + shapes)
    assert planner("apply", "-auto-approve").code == 0
    before = files(shop)
    done = planner("refactor", "inline-module", "module.net")
    assert done.code == 0, done.err
    assert "shape = merge({ inner = {" in done.out and 'local.shapes["n"], { inner = one([for value in' in done.out
    assert is_unchanged(planner)
    assert planner("refactor", "undo").code == 0 and files(shop) == before
    call = MAIN.replace("  cidr   =", '  shape  = merge(local.shapes["n"])\n  cidr   =')
    (shop / "main.tf").write_text(call + shapes)
    done = planner("refactor", "inline-module", "module.net")
    assert done.code == 1 and "its type adds attributes" in " ".join(done.err.split())


WHOLE = """variable "tags" { type = map(string) }
variable "names" {
  type    = list(string)
  default = ["a"]
}
variable "more" {
  type    = map(string)
  default = null
}
resource "terraform_data" "whole" { input = [var.tags, var.names, var.more] }
"""


def test_values_that_are_used_whole_keep_the_types_of_variables(shop: Path, planner: Run) -> None:
    (shop / "net" / "main.tf").write_text(WHOLE)
    call = 'module "net" {\n  source = "./net"\n  tags   = { owner = "me" }\n}\n'
    (shop / "main.tf").write_text(call)
    assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
    before = files(shop)
    done = planner("refactor", "inline-module", "module.net")
    assert done.code == 0, done.err
    text = (shop / "main.tf").read_text()
    assert 'tomap({ owner = "me" })' in text and 'tolist(["a"])' in text and "  type    = map(string)" in text
    assert "0 to add, 0 to change, 0 to destroy" in planner("plan").out
    assert planner("refactor", "undo").code == 0 and files(shop) == before


def test_the_files_of_a_module_that_is_called_elsewhere_stay(shop: Path, planner: Run) -> None:
    (shop / "main.tf").write_text(MAIN + 'module "twice" {\n  source = "./net"\n  cidr   = 1\n}\n')
    assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
    before = files(shop)
    done = planner("refactor", "inline-module", "module.net")
    assert done.code == 0, done.err
    assert "The files of net are kept, because module.twice calls it, too." in done.out
    after = files(shop)
    assert after["net/main.tf"] == before["net/main.tf"] and is_unchanged(planner)
    assert planner("refactor", "inline-module", "module.twice").code == 0 and is_unchanged(planner)
    assert not (shop / "net" / "main.tf").exists()
    for _ in range(2):
        undone = planner("refactor", "undo")
        assert undone.code == 0 and "modules.json" not in undone.out
    assert files(shop) == before


FAR = """provider "terraform" { alias = "far" }
module "net" {
  source    = "./net"
  providers = { terraform = terraform.far }
}
"""


def test_blocks_on_one_line_get_providers(shop: Path, planner: Run) -> None:
    (shop / "net" / "main.tf").write_text(
        'resource "terraform_data" "a" {}\nresource "terraform_data" "b" { input = { c = 1 } }\n'
    )
    (shop / "main.tf").write_text(FAR)
    assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
    done = planner("refactor", "inline-module", "module.net")
    assert done.code == 0, done.err
    text = (shop / "main.tf").read_text()
    assert '"a" {\n  provider = terraform.far\n}\n' in text
    assert '"b" {\n  provider = terraform.far\n  input    = { c = 1 }\n}\n' in text and is_unchanged(planner)

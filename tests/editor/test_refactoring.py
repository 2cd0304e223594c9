"""`refactor`: edits that leave the plan as it is, or are not written at all."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Ran

from planner.api.making import Making
from planner.cli.flags import parse
from planner.cli.options import STATE, VARIABLES, plan_calls
from planner.foundation.vocabulary.diagnostic import Failure
from planner.workflows.editor.navigation import DeclaredObject, rename_edits
from planner.workflows.editor.refactoring import move
from planner.workflows.editor.refactoring_record import write
from planner.workflows.editor.workspace import Workspace

Run = Callable[..., Ran]

MAIN = """# kept
variable "names" {
  default = ["eu", "us"] # kept, too
}
locals {
  apps = { web = "w", job = "j" }
}
resource "terraform_data" "counted" {
  count = length(var.names)
  input = "${var.names[count.index]}-${count.index}"
}
resource "terraform_data" "number" {
  count = 2
  input = "n${count.index}"
}
resource "terraform_data" "app" {
  for_each = local.apps
  input    = each.value
}
module "net" {
  source = "./net"
  cidr   = local.apps["web"]
}
resource "terraform_data" "reads" {
  input = [terraform_data.counted[0].id, terraform_data.counted[*].id, terraform_data.number[*].output,
  terraform_data.app["web"].id, module.net.out]
}
output "o" { value = terraform_data.number[1].output }
"""
NET = """variable "cidr" {}
resource "terraform_data" "inner" { input = var.cidr }
output "out" { value = terraform_data.inner.id }
"""


@pytest.fixture
def applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run) -> Path:
    (tmp_path / "main.tf").write_text(MAIN)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "main.tf").write_text(NET)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    return tmp_path


CASES = {
    "resource": (["mv", "terraform_data.reads", "reader"], "+  to   = terraform_data.reader"),
    "module": (["mv", "module.net", "module.vpc"], "+  to   = module.vpc"),
    "variable of a module": (["mv", "module.net.var.cidr", "block"], "+  block  = local.apps"),
    "resource of a module": (["mv", "module.net.terraform_data.inner", "core"], "+  to   = terraform_data.core"),
    "output of a module": (["mv", "module.net.output.out", "id"], "module.net.id]"),
    "variable": (["mv", "var.names", "regions"], "length(var.regions)"),
    "local value": (["mv", "local.apps", "services"], "+  for_each = local.services"),
    "key": (["rename-key", 'terraform_data.app["web"]', "blue green"], '+  to   = terraform_data.app["blue green"]'),
    "count of a list": (
        ["count-to-for-each", "terraform_data.counted"],
        '"${each.value}-${index(var.names, each.key)}"',
    ),
    "count": (["count-to-for-each", "terraform_data.number"], "toset([for i in range(2) : tostring(i)])"),
}


def test_each_leaves_the_plan_as_it_is_and_is_taken_back(applied: Path, planner: Run) -> None:
    for name, (words, text) in CASES.items():
        before = files(applied)
        done = planner("refactor", *words)
        assert done.code == 0, (name, done.err)
        assert text in done.out, name
        assert files(applied) != before
        plan = planner("plan").out
        assert "0 to add, 0 to change, 0 to destroy" in plan or "No changes" in plan, name
        after = files(applied)
        shown = planner("refactor", "undo", "-dry-run")
        assert "Would be undone: planner refactor" in shown.out and "+++ " in shown.out, name
        assert files(applied) == after, name
        assert planner("refactor", "undo").code == 0
        assert files(applied) == before, name
    assert "no refactoring to undo" in planner("refactor", "undo").err


REFUSED = {
    "a root output": (["mv", "output.o", "output.p"], "output.o is an output of the root module: its value is stored"),
    "an empty address": (["mv", "", "p"], "The address is empty: name an object"),
    "a name that is taken": (["mv", "terraform_data.app", "number"], "is already declared"),
    "no name": (["mv", "terraform_data.app", "1x"], "is not a valid name"),
    "another place": (
        ["mv", "terraform_data.app", "module.net.terraform_data.app"],
        "is not a name in the same module",
    ),
    "nothing": (["mv", "terraform_data.none", "x"], "is not declared in this directory."),
    "a wrong name": (["mv", "terraform_data.ap", "x"], 'in this directory. Did you mean "terraform_data.app"?'),
    "a wrong name in a module": (["mv", "module.net.var.cider", "x"], 'in net. Did you mean "module.net.var.cidr"?'),
    "no module": (["mv", "module.none.var.x", "y"], "There is no module"),
    "no key": (["rename-key", "terraform_data.app", "x"], "has no key"),
    "a key that is taken": (["rename-key", 'terraform_data.app["web"]', "job"], 'has an instance ["job"] already'),
    "a key that is not there": (
        ["rename-key", 'terraform_data.app["none"]', "x"],
        'has no key ["none"], or the key is computed',
    ),
    "no count": (["count-to-for-each", "terraform_data.app"], "has no count"),
    "no for_each": (["rename-key", 'terraform_data.number["x"]', "y"], "has no for_each"),
}


def test_what_is_refused_writes_nothing(applied: Path, planner: Run) -> None:
    before = files(applied)
    for name, (words, text) in REFUSED.items():
        done = planner("refactor", *words)
        assert done.code == 1 and text in " ".join(done.err.split()), (name, done.err)
    assert planner("refactor", "mv", "var.names", "regions", "-dry-run").code == 0
    assert files(applied) == before


def test_a_key_that_matters_to_values_is_not_renamed(applied: Path, planner: Run) -> None:
    (applied / "main.tf").write_text(MAIN.replace("= each.value", '= "${each.key}"'))
    assert planner("apply", "-auto-approve").code == 0
    done = planner("refactor", "rename-key", 'terraform_data.app["job"]', "task")
    text = 'terraform_data.app["job"] would be updated (now unchanged): input "task" instead of "job". Nothing'
    assert done.code == 1 and text in " ".join(done.err.split())
    (applied / "terraform.tfstate").unlink()
    done = planner("refactor", "rename-key", 'terraform_data.app["job"]', "task")
    text = 'terraform_data.app["job"] would get different values: input "task" instead of "job". Nothing was written.'
    assert done.code == 1 and text in " ".join(done.err.split())


SHARED = """locals {
  apps  = { web = { size = 1 }, job = { size = 2 } }
  small = { for name, app in local.apps : name => app if app.size < 2 }
}
resource "terraform_data" "app" {
  for_each = local.apps
  input    = each.value.size
}
resource "terraform_data" "small" {
  for_each = toset(keys(local.small))
}
resource "terraform_data" "listed" {
  for_each = toset([for name, app in local.apps : name])
  input    = terraform_data.app["web"].id
}
resource "terraform_data" "chained" { for_each = terraform_data.app }
resource "terraform_data" "apart" { for_each = { web = 1 } }
module "net" {
  source = "./net"
  cidr   = local.apps
}
module "nets" {
  source   = "./net"
  for_each = local.small
  cidr     = local.small
}
output "o" { value = [terraform_data.listed["web"].id, terraform_data.apart["web"].id] }
"""
SHARED_NET = """variable "cidr" {}
resource "terraform_data" "inner" { for_each = var.cidr }
output "out" { value = { for name, one in terraform_data.inner : name => one.id } }
"""


def test_a_key_is_renamed_in_all_objects_that_have_it_from_the_same_place(applied: Path, planner: Run) -> None:
    (applied / "main.tf").write_text(SHARED)
    (applied / "net" / "main.tf").write_text(SHARED_NET)
    assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
    before = files(applied)
    for state in ("with", "without"):
        for address in ('terraform_data.app["web"]', 'module.nets["web"]', 'module.net.terraform_data.inner["web"]'):
            done = planner("refactor", "rename-key", address, "site")
            assert done.code == 0, done.err
            if state == "with":
                assert done.out.count(" moves to ") == 6, done.out
                assert 'module.nets["site"].terraform_data.inner["site"]' in done.out
                assert "0 to add, 0 to change, 0 to destroy" in planner("plan").out
            text = (applied / "main.tf").read_text()
            assert 'terraform_data.listed["site"].id' in text and 'terraform_data.apart["web"].id' in text
            assert planner("refactor", "undo").code == 0 and files(applied) == before
        (applied / "terraform.tfstate").unlink(missing_ok=True)


def test_pending_changes_stay_as_they_are(applied: Path, planner: Run) -> None:
    (applied / "main.tf").write_text(MAIN.replace('"n${', '"m${'))
    (summary,) = (line for line in planner("plan").out.splitlines() if line.startswith("Plan:"))
    assert planner("refactor", "mv", "terraform_data.number", "amount").code == 0
    assert summary in planner("plan").out


def test_what_is_only_planned_is_renamed_like_what_is_there(applied: Path, planner: Run) -> None:
    more = 'resource "terraform_data" "new" {\n  count = 2\n}\n'
    (applied / "net" / "main.tf").write_text(NET + more)
    for words in (
        ["count-to-for-each", "module.net.terraform_data.new"],
        ["mv", "module.net.terraform_data.new", "made"],
    ):
        done = planner("refactor", *words)
        assert done.code == 0, done.err
    assert 'module.net.terraform_data.made["1"]' in planner("plan").out


def test_what_was_changed_since_is_not_taken_back(applied: Path, planner: Run) -> None:
    assert planner("refactor", "mv", "local.apps", "services").code == 0
    with open(applied / "main.tf", "a") as file:
        file.write("# more\n")
    done = planner("refactor", "undo")
    assert done.code == 1 and "was changed after the refactoring" in done.err
    (applied / ".terraform" / "refactorings.json").write_text('[{"command": 1}]')
    assert "is not a record" in planner("refactor", "undo").err


def test_mistakes_in_files_are_reported(applied: Path, planner: Run) -> None:
    for data, text in (
        (MAIN.encode() + b"# caf\xe9\n", "The file is not valid UTF-8"),
        (MAIN.replace("locals {", "locals [").encode(), "Expected an argument or block"),
    ):
        (applied / "main.tf").write_bytes(data)
        for address in ("terraform_data.reads", "module.net.terraform_data.inner", "terraform_data.none"):
            done = planner("refactor", "mv", address, "x")
            assert done.code == 1 and text in done.err, (address, done.err)
    (applied / "main.tf").write_text(MAIN)
    (applied / "other").mkdir()
    (applied / "other" / "main.tf").write_text('module "n" {\n  source = "../net"\n  cidr   = 1\n}}\n')
    assert planner("refactor", "mv", "module.net.var.cidr", "block").code == 0
    assert "  block   = 1\n}}\n" in (applied / "other" / "main.tf").read_text()


def test_calls_through_links_are_edited(applied: Path, planner: Run) -> None:
    (applied / "net").rename(applied / "shared")
    (applied / "net").symlink_to("shared")
    (applied / "other").mkdir()
    (applied / "other" / "main.tf").write_text('module "n" {\n  source = "../shared"\n  cidr   = 1\n}\n')
    assert planner("refactor", "mv", "module.net.var.cidr", "block").code == 0
    assert "block  = 1" in (applied / "other" / "main.tf").read_text()
    done = planner("refactor", "inline-module", "module.net")
    assert "The files of net are kept, because module.n in other calls it, too." in done.out
    assert (applied / "shared" / "main.tf").exists()


def test_line_ends_stay(applied: Path, planner: Run) -> None:
    (applied / "main.tf").write_bytes(MAIN.replace("\n", "\r\n").encode())
    assert planner("refactor", "mv", "terraform_data.reads", "reader").code == 0
    data = (applied / "main.tf").read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")


def test_a_file_by_two_names_is_planned_with_its_edits(applied: Path, planner: Run) -> None:
    (applied / "a.tf").write_text('variable "cidr" {\n  default = "c"\n}\n')
    (applied / "net" / "main.tf").write_text(NET.replace('variable "cidr" {}\n', ""))
    (applied / "net" / "a.tf").symlink_to("../a.tf")
    before = files(applied)
    done = planner("refactor", "mv", "var.cidr", "block")
    assert done.code == 1 and "no plan can be made" in done.err and 'named "cidr"' in done.err
    assert files(applied) == before


def test_files_that_the_plan_does_not_read_are_named(applied: Path, planner: Run) -> None:
    (applied / "other").mkdir()
    (applied / "other" / "main.tf").write_text('module "n" {\n  source = "../net"\n  cidr   = 1\n}\n')
    done = planner("refactor", "mv", "module.net.var.cidr", "block")
    assert "does not verify the edits in: other/main.tf\n" in done.out


def test_calls_in_json_are_edited_or_named(applied: Path, planner: Run) -> None:
    (applied / "net" / "main.tf").write_text(SHARED_NET)
    (applied / "main.tf").write_text('module "net" {\n  source = "./net"\n  cidr   = { web = 1 }\n}\n')
    assert planner("init").code == 0
    (applied / "other").mkdir()
    other = applied / "other" / "main.tf.json"
    other.write_text('{"module": {"n": {"source": "../net", "cidr": {"job": 1}}}}\n')
    done = planner("refactor", "mv", "module.net.var.cidr", "block")
    assert done.code == 0 and '"block": {"job": 1}' in other.read_text(), done.err
    key = 'module.net.terraform_data.inner["web"]'
    assert planner("refactor", "rename-key", key, "site").code == 0
    assert planner("refactor", "undo").code == 0
    other.write_text(other.read_text().replace("job", "web"))
    done = planner("refactor", "rename-key", key, "site")
    assert done.code == 1 and 'other/main.tf.json is written in JSON and mentions the key "web"' in " ".join(
        done.err.split()
    )


def test_blocks_in_json_are_not_edited(applied: Path, planner: Run) -> None:
    (applied / "more.tf.json").write_text('{"resource": {"terraform_data": {"j": {"count": 2}}}}\n')
    before = files(applied)
    for words in (["extract-module", "-to=j"], ["split-state", "-to=root"], ["count-to-for-each"], ["mv", "k"]):
        done = planner("refactor", words[0], "terraform_data.j", *words[1:])
        assert done.code == 1 and "JSON" in done.err, (words, done.err)
        assert "no plan" not in done.err and files(applied) == before


VALUES = """variables {
  apps = { web = 1 }
}
run "one" {
  variables {
    apps = { web = 2, job = 3 }
  }
  assert {
    condition     = terraform_data.app["web"].input == 2
    error_message = "two"
  }
}
"""


def test_values_of_tests_and_of_the_command_line_follow(applied: Path, planner: Run) -> None:
    text = 'variable "apps" { type = map(number) }\n'
    text += 'resource "terraform_data" "app" {\n  for_each = var.apps\n  input    = each.value\n}\n'
    (applied / "main.tf").write_text(text)
    (applied / "values.auto.tfvars").write_text("apps = { web = 1 }\n")
    test = applied / "a.tftest.hcl"
    test.write_text(VALUES)
    assert planner("apply", "-auto-approve").code == 0
    assert planner("refactor", "rename-key", 'terraform_data.app["web"]', "site").code == 0
    assert test.read_text() == VALUES.replace("web", "site") and planner("test").code == 0
    (applied / "values.auto.tfvars").unlink()
    done = planner("refactor", "mv", "var.apps", "services", "-var=apps={site=1}")
    assert done.code == 0, done.err
    assert "0 to add, 0 to change" in planner("plan", "-var=services={site=1}").out


def test_named_value_files_are_edited_wherever_they_are(applied: Path, planner: Run) -> None:
    text = 'variable "names" {}\nresource "terraform_data" "app" {\n  for_each = toset(var.names)\n}\n'
    (applied / "main.tf").write_text(text)
    (applied / "env").mkdir()
    values = applied / "env" / "a.tfvars"
    values.write_text('names = ["eu", "asia"]\n')
    assert planner("apply", "-auto-approve", "-var-file=env/a.tfvars").code == 0
    for words in (["rename-key", 'terraform_data.app["asia"]', "us"], ["mv", "var.names", "regions"]):
        done = planner("refactor", *words, "-var-file=env/a.tfvars")
        assert done.code == 0, done.err
    assert values.read_text() == 'regions = ["eu", "us"]\n'


def test_plans_that_differ_without_edits_are_called_so(applied: Path, planner: Run) -> None:
    random = 'resource "terraform_data" "random" {\n  input = file("/proc/sys/kernel/random/uuid")\n}\n'
    (applied / "main.tf").write_text(MAIN + random)
    done = planner("refactor", "mv", "terraform_data.reads", "reader")
    assert done.code == 1 and "without the edits also differ, in terraform_data.random." in " ".join(done.err.split())


ACTION = """action "local_command" "%s" {
}
resource "terraform_data" "x" {
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.local_command.%s, action.local_command.other]
    }
  }
}
"""


def test_references_to_actions_are_renamed(tmp_path: Path) -> None:
    text = ACTION % ("a", "a")
    path = tmp_path / "main.tf"
    path.write_text(text)
    edits = rename_edits(Workspace(), DeclaredObject(str(tmp_path), "action.local_command.a"), "b")
    for start, end, new in sorted(edits[str(path)], reverse=True):
        text = text[:start] + new + text[end:]
    assert text == ACTION % ("b", "b")


def test_data_sources_are_not_moved(applied: Path, planner: Run) -> None:
    (applied / "o.tfstate").write_text((applied / "terraform.tfstate").read_text())
    settings = '  backend = "local"\n  config  = { path = "./o.tfstate" }\n}\n'
    counted = 'data "terraform_remote_state" "c" {\n  count   = length(var.names)\n' + settings
    keyed = 'data "terraform_remote_state" "k" {\n  for_each = toset(["a"])\n' + settings
    (applied / "main.tf").write_text(MAIN + counted + keyed)
    for words in (["count-to-for-each", "c"], ["rename-key", 'k["a"]', "b"], ["mv", "c", "d"]):
        words[1] = f"data.terraform_remote_state.{words[1]}"
        done = planner("refactor", *words)
        assert done.code == 0, done.err
    assert "moved" not in (applied / "main.tf").read_text()


@pytest.mark.parametrize("data", [".terraform", "data"])
def test_installed_modules_are_not_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run, data: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TF_DATA_DIR", data)
    (tmp_path / "main.tf").write_text('module "net" {\n  source = "git::https://example.com/net"\n}\n')
    installed = tmp_path / data / "modules" / "net"
    installed.mkdir(parents=True)
    (installed / "main.tf").write_text('resource "terraform_data" "a" {\n  for_each = { b = 1 }\n}\n')
    record = {"Key": "net", "Source": "git::https://example.com/net", "Dir": f"{data}/modules/net"}
    (tmp_path / data / "modules" / "modules.json").write_text(json.dumps({"Modules": [record]}))
    before = files(tmp_path)
    done = planner("refactor", "rename-key", 'module.net.terraform_data.a["b"]', "c")
    assert done.code == 1 and "belongs to an installed module" in " ".join(done.err.split())
    assert files(tmp_path) == before


TESTS = """override_resource {
  target = terraform_data.%s
}
run "other" {
  module {
    source = "./net"
  }
  assert {
    condition     = terraform_data.app == null
    error_message = "of the other module"
  }
}
"""


def test_overrides_of_tests_are_renamed_but_not_runs_of_other_modules(applied: Path, planner: Run) -> None:
    (applied / "a.tftest.hcl").write_text(TESTS % "app")
    done = planner("refactor", "mv", "terraform_data.app", "service")
    assert (applied / "a.tftest.hcl").read_text() == TESTS % "service"
    assert "does not verify the edits in: a.tftest.hcl\n" in done.out


def test_a_comment_stays_behind_its_block(applied: Path, planner: Run) -> None:
    (applied / "main.tf").write_text(MAIN + 'resource "terraform_data" "line" {} # why\n')
    assert planner("refactor", "mv", "terraform_data.line", "row").code == 0
    assert 'resource "terraform_data" "row" {} # why\n\nmoved {' in (applied / "main.tf").read_text()


def test_counts_in_a_module_with_several_instances_become_keys(applied: Path, planner: Run) -> None:
    (applied / "net" / "main.tf").write_text(NET + 'resource "terraform_data" "n" { count = var.cidr }\n')
    calls = "".join(f'module "n{n}" {{\n  source = "./net"\n  count  = 2\n  cidr = {n}\n}}\n' for n in (1, 3))
    (applied / "main.tf").write_text(calls)
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    done = planner("refactor", "count-to-for-each", "module.n1.terraform_data.n")
    assert done.code == 0 and done.out.count("+  from") == 3, done.err


KEYS = """resource "terraform_data" "k" {
  for_each = { "${x}" = 1, b = 2 }
}
output "o" { value = [terraform_data.k [ "b" ].input, terraform_data.k[
  "b"].input] }
"""


def test_keys_are_read_as_the_language_writes_them(applied: Path, planner: Run) -> None:
    (applied / "main.tf").write_text(KEYS.replace("${", "$${"))
    assert planner("apply", "-auto-approve").code == 0
    for address, key in (('terraform_data.k["$${x}"]', "a"), ('terraform_data.k["\\u0062"]', "c")):
        done = planner("refactor", "rename-key", address, key)
        assert done.code == 0, done.err
    for address, key, text in (
        (r'terraform_data.k["\x"]', "c", "is not a valid key"),
        ('terraform_data.k["c"]', "c", "has that key already"),
    ):
        done = planner("refactor", "rename-key", address, key)
        assert done.code == 1 and text in " ".join(done.err.split())
    assert "has that name already" in planner("refactor", "mv", "terraform_data.k", "k").err


def test_a_write_that_fails_leaves_all_files_as_they_were(applied: Path, planner: Run) -> None:
    long = applied / f"{'z' * 250}.tf"  # there is no place for a longer name beside it
    long.write_text('output "p" { value = terraform_data.reads.id }\n')
    assert planner("apply", "-auto-approve").code == 0
    before = files(applied)
    done = planner("refactor", "mv", "terraform_data.reads", "reader")
    assert done.code == 1 and "All files have their former content" in " ".join(done.err.split())
    assert files(applied) == before
    assert "no refactoring to undo" in planner("refactor", "undo").err


def test_what_is_edited_meanwhile_is_not_written(applied: Path, planner: Run) -> None:
    options = plan_calls(Making, parse([], (*STATE, *VARIABLES))).options
    made = move(options, "terraform_data.reads", "reader")
    (applied / "net" / "main.tf").write_text(NET + "# of no concern\n")
    (applied / "main.tf").write_text(MAIN + "# more\n")
    before = files(applied)
    with pytest.raises(Failure) as caught:
        write(options, made, [])
    assert "changed meanwhile" in caught.value.diagnostics[0].detail and files(applied) == before


def test_a_file_that_is_read_only_stays(applied: Path, planner: Run) -> None:
    (applied / "net" / "main.tf").chmod(0o444)
    before = files(applied)
    done = planner("refactor", "mv", "module.net.var.cidr", "block")
    assert done.code == 1 and "net/main.tf is read-only" in done.err and files(applied) == before


def test_what_was_interrupted_is_taken_back(applied: Path, planner: Run) -> None:
    before = files(applied)
    assert planner("refactor", "mv", "module.net.var.cidr", "block").code == 0
    (applied / "main.tf").write_text(MAIN)  # as if only one of two files had been written
    assert planner("refactor", "undo").code == 0
    assert files(applied) == before


def test_a_changed_check_is_a_change(applied: Path, planner: Run) -> None:
    check = """check "keys" {
  assert {
    condition     = contains(keys(terraform_data.app), "job")
    error_message = "no job"
  }
}
"""
    (applied / "main.tf").write_text(MAIN + check)
    done = planner("refactor", "rename-key", 'terraform_data.app["job"]', "task")
    assert done.code == 1 and "checks of check.keys: pass without the edits, fail with them" in " ".join(
        done.err.split()
    )


@pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="locks are not listed here")
def test_two_at_once_are_both_recorded(applied: Path, planner: Run) -> None:
    assert planner("refactor", "mv", "terraform_data.reads", "terraform_data.reader").code == 0
    words = [sys.executable, "-m", "planner", "refactor", "mv", "terraform_data.number", "terraform_data.numbers"]
    record = applied / ".terraform" / "refactorings.json"
    folder = os.open(record.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)  # as another refactoring, which has not written its record yet
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as other:
        inode = f":{os.fstat(folder).st_ino} "
        while not any("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines()):
            assert other.poll() is None
            time.sleep(0.02)
        entries = json.loads(record.read_text())
        record.write_text(json.dumps([*entries, {**entries[0], "command": ["between"]}]))
        os.close(folder)
        assert other.wait(30) == 0
    assert [one["command"][0] for one in json.loads(record.read_text())] == ["mv", "between", "mv"]


def test_a_damaged_record_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".terraform").mkdir()
    file = '{"path": "a", "before": "!", "after": ""}'
    for record in ("{}", '[{"command": [1], "files": []}]', f'[{{"command": [], "files": [{file}]}}]'):
        (tmp_path / ".terraform" / "refactorings.json").write_text(record)
        assert "is not a record" in planner("refactor", "undo").err, record


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".tfstate" not in path.name and path.name != "refactorings.json"
    }


@pytest.mark.parametrize(("gap", "then"), [("  ", "a     = 1\n  other = 2"), (" ", "a = 1\n  other = 2")])
def test_files_in_the_standard_layout_stay_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run, gap: str, then: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(f'locals {{\n  long{gap}= 1\n  other = 2\n}}\noutput "o" {{ value = local.long }}\n')
    assert planner("refactor", "mv", "local.long", "a").code == 0
    assert f"locals {{\n  {then}\n}}" in Path("main.tf").read_text()

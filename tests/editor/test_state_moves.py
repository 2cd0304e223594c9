"""`refactor split-state` and `merge-state`: blocks and objects get another root module, and both plans stay empty."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Ran

from editor.test_refactoring import files
from planner.workflows.editor import refactoring_record
from planner.world.state.backends import local

Run = Callable[..., Ran]

MAIN = """variable "region" {
  default = "eu"
}
variable "size" {
  type = number # of each
}
locals {
  both = "b-${var.region}"
  own  = "o-${var.size}"
}
# The name server.
resource "terraform_data" "dns" {
  count = 2
  input = [local.both, local.own]
}
module "net" {
  source = "../net"
  cidr   = terraform_data.dns[0].id
}
resource "terraform_data" "app" {
  input = [local.both, var.region]
}
resource "terraform_data" "reads" {
  input = [terraform_data.app.id, "of ${terraform_data.app.output[0]}"]
}
resource "terraform_data" "middle" {
  input = terraform_data.reads[*].id
}
resource "terraform_data" "waits" {
  input      = terraform_data.middle.input
  depends_on = [terraform_data.middle]
}
check "dns" {
  assert {
    condition     = length(terraform_data.dns) == 2
    error_message = "two"
  }
}
output "dns" { value = terraform_data.dns[*].id }
output "app" { value = terraform_data.app.id }
"""
NET = """variable "cidr" {}
resource "terraform_data" "inner" { input = var.cidr }
"""
SPLIT = ("split-state", "terraform_data.dns", "module.net", "-to=../dns")


@pytest.fixture
def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Run) -> Path:
    for name, text in {"core/main.tf": MAIN, "core/terraform.tfvars": "size = 3\n", "net/main.tf": NET}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "core")
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    return tmp_path


def state(path: Path) -> Any:
    """The content of a state without its serial; None where there is none."""
    if not path.exists() or not path.read_bytes():
        return None
    return {key: value for key, value in json.loads(path.read_text()).items() if key != "serial"}


def ids(path: Path) -> set[str]:
    known = state(path)
    return {i["attributes"]["id"] for r in known["resources"] for i in r["instances"]} if known is not None else set()


def check_both(core: Path, planner: Run) -> None:
    """Both root modules have nothing to do."""
    for where in ("dns", "core"):
        os.chdir(core / where)
        assert planner("init").code == 0 and "No changes" in planner("plan").out, where


def test_blocks_move_with_their_objects_and_are_taken_back(core: Path, planner: Run) -> None:
    before, kept = files(core), state(core / "core" / "terraform.tfstate")
    done = planner("refactor", *SPLIT)
    assert done.code == 0, done.err
    assert "Run planner init in ../dns before the next plan." in done.out
    assert "terraform_data.dns[1] moves to the state of ../dns.\n" in done.out
    text = (core / "dns" / "main.tf").read_text()
    for part in (
        "# The name server.",
        "type = number # of each",
        '  both = "b-${var.region}"',
        'check "dns"',
        'output "dns"',
    ):
        assert part in text
    assert (core / "dns" / "dns.auto.tfvars").read_text() == "size = 3\n"
    assert "local.own" not in (core / "core" / "main.tf").read_text()
    assert len([*core.rglob("*.backup")]) == 1
    check_both(core, planner)
    assert len(ids(core / "dns" / "terraform.tfstate")) == 3 and len(ids(core / "core" / "terraform.tfstate")) == 4
    lineages = {state(core / one / "terraform.tfstate")["lineage"] for one in ("dns", "core")}
    assert len(lineages) == 2

    (core / "dns" / ".terraform" / "modules" / "modules.json").unlink()
    (core / "dns" / ".terraform.lock.hcl").unlink(missing_ok=True)
    assert planner("refactor", "undo").code == 0
    assert files(core) == before and state(core / "core" / "terraform.tfstate") == kept
    assert not (core / "dns" / "terraform.tfstate").exists() and not [*core.rglob("*.backup")]
    assert "No changes" in planner("plan").out


def test_init_is_mentioned_where_it_is_needed(core: Path, planner: Run) -> None:
    (core / "core" / "main.tf").write_text('resource "terraform_data" "app" {}\nresource "terraform_data" "b" {}\n')
    assert planner("apply", "-auto-approve").code == 0
    done = planner("refactor", "split-state", "terraform_data.app", "-to=../dns")
    assert done.code == 0 and "planner init" not in done.out, done.err
    os.chdir(core / "dns")
    assert "No changes" in planner("plan").out
    os.chdir(core / "core")
    done = planner("refactor", "merge-state", "../dns")
    assert done.code == 0 and "planner init" not in done.out, done.err
    assert "No changes" in planner("plan").out


def test_another_root_module_is_merged_again(core: Path, planner: Run) -> None:
    assert planner("refactor", *SPLIT).code == 0
    check_both(core, planner)
    before = files(core)
    kept = [state(core / one / "terraform.tfstate") for one in ("core", "dns")]
    done = planner("refactor", "merge-state", "../dns")
    assert done.code == 0, done.err
    assert not (core / "dns" / "main.tf").exists() and not ids(core / "dns" / "terraform.tfstate")
    assert (core / "core" / "dns.tf").read_text().count("variable") == 0
    assert planner("init").code == 0 and "No changes" in planner("plan").out
    (core / "core" / ".terraform" / "modules" / "modules.json").write_bytes(
        before["core/.terraform/modules/modules.json"]
    )
    assert planner("refactor", "undo").code == 0
    assert files(core) == before and [state(core / one / "terraform.tfstate") for one in ("core", "dns")] == kept
    check_both(core, planner)


LINKED = {
    "terraform_data.app": ("core", '"of ${data.terraform_remote_state.dns.outputs.app_output[0]}"', "app_id", "dns"),
    "terraform_data.middle terraform_data.waits": (
        "dns",
        "data.terraform_remote_state.core.outputs.reads[*]",
        "reads",
        "core",
    ),
}


@pytest.mark.parametrize("addresses", LINKED)
def test_values_of_the_other_root_module_are_read_from_its_state(core: Path, planner: Run, addresses: str) -> None:
    before, kept = files(core), state(core / "core" / "terraform.tfstate")
    done = planner("refactor", "split-state", *addresses.split(), "-to=../dns")
    assert done.code == 0, done.err
    reader, text, output, producer = LINKED[addresses]
    assert text in (core / reader / "main.tf").read_text()
    assert f'output "{output}"' in (core / producer / "main.tf").read_text()
    assert output in state(core / producer / "terraform.tfstate")["outputs"]
    check_both(core, planner)
    for name in (".terraform/modules/modules.json", ".terraform.lock.hcl"):
        (core / "dns" / name).unlink(missing_ok=True)
    assert planner("refactor", "undo").code == 0
    assert files(core) == before and state(core / "core" / "terraform.tfstate") == kept


LOCAL = """terraform {
  backend "local" {
    path = "states/core.tfstate"
  }
}
resource "terraform_data" "app" {}
resource "terraform_data" "reads" { input = terraform_data.app.id }
"""


@pytest.mark.parametrize("name", ["app", "reads"])
def test_the_state_of_a_local_backend_is_read_by_its_path(core: Path, planner: Run, name: str) -> None:
    for path in (core / "core").glob("terraform.tfstate*"):
        path.unlink()
    (core / "core" / "main.tf").write_text(LOCAL)
    assert planner("init").code == 0 and planner("apply", "-auto-approve").code == 0
    before = files(core)
    done = planner("refactor", "split-state", f"terraform_data.{name}", "-to=../dns")
    assert done.code == 0, done.err
    check_both(core, planner)
    text = (core / ("dns" if name == "reads" else "core") / "main.tf").read_text()
    assert f'path = "{"../core/states/core" if name == "reads" else "../dns/terraform"}.tfstate"' in text
    after = files(core)
    done = planner("refactor", "merge-state", "../dns")
    assert done.code == 0, done.err
    both = "".join(path.read_text() for path in (core / "core").glob("*.tf"))
    assert "input = terraform_data.app.id" in both and "terraform_remote_state" not in both
    assert "No changes" in planner("plan").out and not (core / "dns" / "main.tf").exists()
    assert planner("refactor", "undo").code == 0 and files(core) == after
    consumer = core / ("dns" if name == "reads" else "core") / "main.tf"
    consumer.write_text(consumer.read_text().replace(".outputs.app_id", ".outputs"))
    done = planner("refactor", "merge-state", "../dns")
    assert "but not to one of its outputs" in " ".join(done.err.split())
    consumer.write_text(text)
    assert planner("refactor", "undo").code == 0 and files(core) == before
    (core / "core" / "a.tftest.hcl").write_text(ASSERT)
    done = planner("refactor", "split-state", "terraform_data.app", "-to=../dns")
    assert "a.tftest.hcl refers to terraform_data.app in assert" in " ".join(done.err.split())
    assert "Remove the reference from the test first" in " ".join(done.err.split())


def test_outputs_with_secrets_are_sensitive(core: Path, planner: Run) -> None:
    text = LOCAL[LOCAL.index("resource") :].replace('"app" {}', '"app" { input = sensitive("s") }')
    (core / "core" / "main.tf").write_text(
        text.replace("terraform_data.app.id", "nonsensitive(terraform_data.app.input)")
    )
    assert planner("apply", "-auto-approve").code == 0
    done = planner("refactor", "split-state", "terraform_data.reads", "-to=../dns")
    assert done.code == 0, done.err
    assert "  value     = terraform_data.app.input\n  sensitive = true\n" in (core / "core" / "main.tf").read_text()
    check_both(core, planner)


def test_a_refusal_names_the_values(core: Path, planner: Run) -> None:
    (core / "core" / "main.tf").write_text('resource "terraform_data" "app" { input = abspath(path.root) }\n')
    assert planner("apply", "-auto-approve").code == 0
    done = planner("refactor", "split-state", "terraform_data.app", "-to=../dns")
    text = " ".join(done.err.split())
    assert done.code == 1 and "terraform_data.app would be updated (now unchanged): input" in text and "dns" in text


ASSERT = """run "plan" {
  assert {
    condition     = terraform_data.app.id != null
    error_message = "id"
  }
}
"""

REFUSED = {
    "both refer to each other": (["terraform_data.middle", "-to=../a"], "would read each other's states"),
    "it waits for what stays": (
        ["terraform_data.waits", "-to=../a"],
        "A reference to another root module is not possible in depends_on",
    ),
    "what stays waits for it": (
        ["terraform_data.app", "terraform_data.reads", "terraform_data.middle", "-to=../a"],
        "A reference to another root module is not possible in depends_on",
    ),
    "a variable": (["var.size", "-to=../a"], "cannot be moved alone"),
    "in a module": (["module.net.terraform_data.inner", "-to=../a"], "Only blocks of the root module"),
    "here": (["module.net", "-to=."], "the same directory"),
    "a called module": (["module.net", "-to=../net"], "is called as a module"),
    "outside": (["module.net", "-to=/nowhere/a"], "is outside of the repository"),
    "a file": (["module.net", "-to=main.tf"], "is not a directory"),
    "a link to nothing": (["module.net", "-to=../link"], "../link is not a directory"),
    "below a link to nothing": (["module.net", "-to=../link/a"], "../link is not a directory"),
    "a link to the outside": (["module.net", "-to=../out/a"], "../out/a is outside of the repository"),
    "another of the name": (["terraform_data.dns", "module.net", "-to=../taken"], "is declared in ../taken, too"),
    "another variable": (
        ["terraform_data.dns", "module.net", "-to=../other"],
        "var.size is defined differently in ../other",
    ),
}


def test_what_cannot_move_is_refused(core: Path, planner: Run) -> None:
    for name, text in {
        "taken": 'module "net" {\n  source = "../net"\n  cidr = 1\n}',
        "other": 'variable "size" {}',
    }.items():
        (core / name).mkdir()
        (core / name / "main.tf").write_text(text + "\n")
    (core / "link").symlink_to("nothing")
    (core / "out").symlink_to(core.parent)
    before, kept = files(core), (core / "core" / "terraform.tfstate").read_bytes()
    for name, (words, text) in REFUSED.items():
        done = planner("refactor", "split-state", *words)
        assert done.code == 1 and text in " ".join(done.err.split()), (name, done.err)
    assert planner("workspace", "new", "qa").code == 0 and planner("apply", "-auto-approve").code == 0
    assert planner("workspace", "select", "default").code == 0
    assert "The workspace qa of . has objects, too" in " ".join(planner("refactor", *SPLIT).err.split())
    assert planner("workspace", "delete", "-force", "qa").code == 0
    assert "changes the states of two directories" in " ".join(planner("refactor", *SPLIT, "-state=x").err.split())
    assert "main.tf is not a directory" in planner("refactor", "merge-state", "main.tf").err
    assert "has no configuration files" in " ".join(planner("refactor", "merge-state", "../none").err.split())
    assert planner("refactor", *SPLIT, "-dry-run").code == 0
    (core / "core" / ".terraform" / "environment").unlink()
    assert files(core) == before and (core / "core" / "terraform.tfstate").read_bytes() == kept
    assert not (core / "a").exists() and not (core / "dns").exists()


def test_a_locked_state_is_left_alone(core: Path, planner: Run) -> None:
    assert planner("refactor", *SPLIT).code == 0
    held = local.StateStore(str(core / "dns" / "terraform.tfstate"))
    assert not held.lock("test")
    kept = [(core / one / "terraform.tfstate").read_bytes() for one in ("core", "dns")]
    before = files(core)
    done = planner("refactor", "undo")
    held.unlock()
    assert done.code == 1 and "lock" in done.err
    assert files(core) == before and [(core / o / "terraform.tfstate").read_bytes() for o in ("core", "dns")] == kept
    assert planner("refactor", "undo").code == 0


def killed(number: int, run: Callable[[], Any]) -> bool:
    """Run in a process that ends without any clearing up when the file with this number is replaced; whether it did."""
    process = os.fork()
    if not process:
        count = 0

        def replace(*arguments: Any, **more: Any) -> None:
            nonlocal count
            count += 1
            if count == number:
                os._exit(9)
            original(*arguments, **more)

        original = refactoring_record.replace_file
        refactoring_record.replace_file = local.replace_file = replace
        try:
            run()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9


@pytest.mark.parametrize("words", [SPLIT, ("undo",)])
def test_no_object_is_lost_at_any_kill(core: Path, planner: Run, words: tuple[str, ...]) -> None:
    before, kept = files(core), state(core / "core" / "terraform.tfstate")
    everything, number = ids(core / "core" / "terraform.tfstate"), 1
    while True:
        if words == ("undo",):
            assert planner("refactor", *SPLIT).code == 0
        was_killed = killed(number, lambda: planner("refactor", *words))
        states = [core / one / "terraform.tfstate" for one in ("core", "dns")]
        assert ids(states[0]) | ids(states[1]) == everything, number
        if planner("refactor", "undo").code:  # nothing was recorded yet, or all was taken back
            assert number == 1 or not was_killed
        assert files(core) == before and state(states[0]) == kept and state(states[1]) is None, number
        if not was_killed:
            break
        number += 1
    assert number > 3


ENCRYPTION = """terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "correct horse battery staple"
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.k
    }
    state {
      method = method.aes_gcm.m
    }
  }
}
"""


def test_an_encrypted_state_is_not_split_into_a_plain_one(core: Path, planner: Run) -> None:
    (core / "core" / "terraform.tfstate").unlink()
    (core / "core" / "encryption.tf").write_text(ENCRYPTION)
    assert planner("apply", "-auto-approve").code == 0
    done = planner("refactor", *SPLIT)
    assert done.code == 1 and "is encrypted, and that of ../dns would not be" in " ".join(done.err.split())
    (core / "dns").mkdir()
    (core / "dns" / "encryption.tf").write_text(ENCRYPTION)
    done = planner("refactor", *SPLIT)
    assert done.code == 0, done.err
    assert b"terraform_data" not in (core / "dns" / "terraform.tfstate").read_bytes()
    check_both(core, planner)


def test_checked_variables_are_copied(core: Path, planner: Run) -> None:
    with (core / "core" / "main.tf").open("a") as file:
        file.write(CHECKED)
    assert planner("apply", "-auto-approve").code == 0
    done = planner("refactor", "split-state", "terraform_data.one", "-to=../dns")
    assert done.code == 0, done.err
    assert 'error_message = "six"' in (core / "dns" / "main.tf").read_text()
    check_both(core, planner)
    done = planner("refactor", "merge-state", "../dns")
    assert done.code == 0, done.err
    assert planner("init").code == 0 and "No changes" in planner("plan").out


CHECKED = """
variable "letters" {
  default = "sixsix"
  validation {
    condition     = length(var.letters) == 6
    error_message = "six"
  }
}
resource "terraform_data" "one" { input = var.letters }
resource "terraform_data" "two" { input = var.letters }
"""


def test_provider_configurations_of_called_modules_are_copied(core: Path, planner: Run) -> None:
    with (core / "core" / "main.tf").open("a") as file:
        file.write('provider "terraform" {} # of one\nmodule "one" {\n  source = "../net"\n  cidr = "c"\n}\n')
    assert planner("init").code == 0
    done = planner("refactor", "split-state", "module.one", "-to=../dns")
    assert done.code == 0, done.err
    assert 'provider "terraform" {} # of one\n' in (core / "dns" / "main.tf").read_text()


def test_only_requirements_of_called_modules_are_copied(core: Path, planner: Run) -> None:
    (core / "empty").mkdir()
    (core / "empty" / "main.tf").write_text('output "o" { value = 1 }\n')
    with (core / "core" / "main.tf").open("a") as file:
        file.write(REQUIRED + 'module "one" {\n  source = "../net"\n  cidr = "c"\n}\n')
        file.write('module "two" {\n  source = "../empty"\n}\n')
    assert planner("init").code == 0
    for name, is_needed in {"one": True, "two": False}.items():
        done = planner("refactor", "split-state", f"module.{name}", "-to=../dns", "-dry-run")
        assert done.code == 0 and ("+  required_providers" in done.out) == is_needed, (name, done.err)


REQUIRED = """terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}
"""

"""What OpenTofu 1.13 mends, and planner has had right from the beginning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

KEY = "correct horse battery staple"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_host_number_of_more_than_64_bits(here: Path, planner: Any) -> None:
    (here / "main.tf").write_text('output "a" { value = cidrhost("fd00::/8", 36893488147419103232 * 1000000) }\n')
    assert planner("plan").code == 0
    (here / "main.tf").write_text('output "a" { value = cidrhost("10.0.0.0/8", 36893488147419103232) }\n')
    ran = planner("plan")
    assert ran.code == 1 and "cidrhost" in ran.err and "Internal error" not in ran.err


def test_merge_of_one_null_object(here: Path, planner: Any) -> None:
    (here / "main.tf").write_text(
        'variable "o" {\n  type = object({ a = string })\n  default = null\n}\noutput "a" { value = merge(var.o) }\n'
    )
    assert planner("plan").code == 0


def test_a_plan_with_an_object_that_is_forgotten_and_made_again(here: Path, planner: Any) -> None:
    text = 'resource "terraform_data" "a" {\n  triggers_replace = 1\n  lifecycle {\n    destroy = false\n  }\n}\n'
    (here / "main.tf").write_text(text)
    assert planner("apply", "-auto-approve").code == 0
    (here / "main.tf").write_text(text.replace("= 1", "= 2"))
    assert planner("plan", "-out=p").code == 0
    (change,) = json.loads(planner("show", "-json", "p").out)["resource_changes"]
    assert change["change"]["actions"] == ["forget", "create"]
    assert planner("apply", "p").code == 0


def test_a_removed_block_with_a_wrong_address_and_a_provisioner(here: Path, planner: Any) -> None:
    (here / "main.tf").write_text(
        'removed {\n  from = terraform_data.a["x"]\n  lifecycle {\n    destroy = true\n  }\n'
        '  provisioner "local-exec" {\n    when    = destroy\n    command = "true"\n  }\n}\n'
    )
    ran = planner("validate")
    assert ran.code == 1 and "main.tf" in ran.err and "Internal error" not in ran.err


def test_a_workspace_that_there_is_can_be_selected(here: Path, planner: Any) -> None:
    assert planner("workspace", "new", "a").code == 0
    ran = planner("workspace", "new", "a")
    assert ran.code == 1 and "select" in ran.err


def test_init_without_a_backend_reads_no_encrypted_state(here: Path, planner: Any) -> None:
    encryption = (
        "terraform {\n  encryption {\n"
        f'    key_provider "pbkdf2" "k" {{\n      passphrase = "{KEY}"\n    }}\n'
        '    method "aes_gcm" "m" {\n      keys = key_provider.pbkdf2.k\n    }\n'
        "    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n"
    )
    (here / "main.tf").write_text(encryption + 'resource "terraform_data" "a" {}\n')
    assert planner("apply", "-auto-approve").code == 0
    (here / "main.tf").write_text('resource "terraform_data" "a" {}\n')  # the key is not known here
    assert planner("init", "-backend=false").code == 0


def test_replacing_an_address_warns_only_where_it_means_nothing(here: Path, planner: Any) -> None:
    (here / "main.tf").write_text('resource "terraform_data" "a" {\n  count = 1\n}\nresource "terraform_data" "b" {}\n')
    assert planner("apply", "-auto-approve").code == 0
    assert "Warning" not in planner("plan", "-replace=terraform_data.b").out
    assert "Warning" not in planner("plan", "-replace=terraform_data.a[0]").out
    assert "terraform_data.a[0]" in planner("plan", "-replace=terraform_data.a").out


def test_destroying_is_not_requested_twice(here: Path, planner: Any) -> None:
    ran = planner("destroy", "-destroy")
    assert ran.code == 1 and "-destroy" in ran.err

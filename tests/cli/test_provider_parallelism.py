"""-provider-parallelism: a bound for one provider, by any of its names; and plans with moves that are cut off."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conformance import forked


def run(directory: Path, *words: str) -> tuple[int, str]:
    done = forked.run(words, directory, {**os.environ, "NO_COLOR": "1"})
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.tf").write_text("""
        terraform {
          required_providers {
            own = { source = "terraform.io/builtin/terraform" }
          }
        }
        resource "terraform_data" "n" {
          count    = 5
          provider = own
          provisioner "local-exec" {
            command = "echo begin >> ledger; sleep 0.02; echo end >> ledger"
          }
          provisioner "local-exec" {
            when    = destroy
            command = "echo begin >> ledger; sleep 0.02; echo end >> ledger"
          }
        }
    """)
    return tmp_path


def test_no_more_than_the_bound_run_at_a_time(folder: Path) -> None:
    code, out = run(folder, "apply", "-auto-approve", "-provider-parallelism=own=1")
    assert code == 0, out
    assert (folder / "ledger").read_text().split() == ["begin", "end"] * 5
    code, out = run(folder, "plan", "-destroy", "-out=p")
    assert code == 0, out
    code, out = run(folder, "apply", "-provider-parallelism", "terraform=1", "p")
    assert code == 0, out
    assert (folder / "ledger").read_text().split() == ["begin", "end"] * 10


@pytest.mark.parametrize("name", ["own", "terraform", "terraform.io/builtin/terraform"])
@pytest.mark.parametrize("command", ["plan", "refresh"])
def test_a_provider_has_several_names(folder: Path, name: str, command: str) -> None:
    (folder / "main.tf").write_text((folder / "main.tf").read_text().replace("count    = 5", "count = 0"))
    assert run(folder, command, "-provider-parallelism", f"{name}=2")[0] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("terrafrom=1", "Did you mean terraform?"),
        ("aws=1", "Neither the configuration nor the state has a provider aws."),
        ("own=0", "must be at least 1"),
        ("own=-1", "must be at least 1"),
        ("own=x", "whole number"),
        ("own", "is not NAME=N"),
        ("=1", "is not NAME=N"),
    ],
)
def test_what_means_nothing_is_refused(folder: Path, text: str, said: str) -> None:
    code, out = run(folder, "plan", f"-provider-parallelism={text}")
    assert code == 1
    assert said in " ".join(out.split())
    assert not list(folder.glob(".*.lock.info"))


def test_a_move_that_was_cut_off_is_not_undone(tmp_path: Path) -> None:
    """The object that an interrupted apply has moved and changed stays one object."""
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {\n  input = 1\n}\n')
    assert run(tmp_path, "apply", "-auto-approve")[0] == 0
    (id,) = [r["instances"][0]["attributes"]["id"] for r in state(tmp_path)["resources"]]
    (tmp_path / "main.tf").write_text("""
        moved {
          from = terraform_data.a
          to   = terraform_data.b
        }
        resource "terraform_data" "b" {
          input = 2
        }
        resource "terraform_data" "c" {
          input = terraform_data.b.id
          provisioner "local-exec" {
            command = "test -e killed || { touch killed; kill -9 $PPID; }"
          }
        }
    """)
    assert run(tmp_path, "apply", "-auto-approve")[0] == -9
    code, out = run(tmp_path, "apply", "-auto-approve")
    assert code == 0, out
    assert "terraform_data.a" not in out
    found = {r["name"]: r["instances"][0]["attributes"]["id"] for r in state(tmp_path)["resources"]}
    assert (sorted(found), found["b"]) == (["b", "c"], id)


def test_a_destroy_that_goes_on_leaves_no_outputs(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("""
        resource "terraform_data" "n" {
          count = 2
          provisioner "local-exec" {
            when    = destroy
            command = "test ${count.index} = 0 || test -e ok"
          }
        }
        output "ids" {
          value = terraform_data.n[*].id
        }
    """)
    assert run(tmp_path, "apply", "-auto-approve")[0] == 0
    assert run(tmp_path, "destroy", "-auto-approve")[0] == 1
    (tmp_path / "ok").touch()
    assert run(tmp_path, "destroy", "-auto-approve")[0] == 0
    assert (state(tmp_path)["outputs"], state(tmp_path)["resources"]) == ({}, [])


def state(directory: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((directory / "terraform.tfstate").read_text())
    return found

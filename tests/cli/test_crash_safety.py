"""Applies that are cut off at known places, disks that take no more, and many applies at once: real processes."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PLANNER = [sys.executable, "-m", "planner"]


def start(directory: Path, *words: str, limit: int | None = None) -> subprocess.Popen[str]:
    """A command line in a process of its own; `limit`: no file may grow beyond so many bytes."""

    def prepare() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [*PLANNER, *words], cwd=directory, env={**os.environ, "NO_COLOR": "1"}, preexec_fn=prepare,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(directory: Path, *words: str, limit: int | None = None) -> tuple[int, str]:
    process = start(directory, *words, limit=limit)
    out, err = process.communicate()
    return process.returncode, out + err


def ids(directory: Path) -> dict[str, str]:
    state = json.loads((directory / "terraform.tfstate").read_text())
    return {
        f"{r['name']}{i.get('index_key', '')}": i["attributes"]["id"]
        for r in state["resources"]
        for i in r["instances"]
    }


def test_killed_while_a_provisioner_runs(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("""
        resource "terraform_data" "a" {
          input = 1
        }
        resource "terraform_data" "b" {
          input = terraform_data.a.id
          provisioner "local-exec" {
            command = "test -e killed || { touch killed; kill -9 $PPID; }"
          }
        }
    """)
    code, _ = run(tmp_path, "apply", "-auto-approve")
    assert code == -9
    assert not (tmp_path / "terraform.tfstate").exists() or not (tmp_path / "terraform.tfstate").read_text()
    code, text = run(tmp_path, "plan")
    assert code == 0
    assert "An interrupted operation was recovered" in text
    assert "with terraform_data.b," in text
    assert "The create of terraform_data.b was under way" in " ".join(text.split())
    assert "terraform_data.b is tainted, so it must be replaced" in text
    assert "1 to add, 0 to change, 1 to destroy" in text  # a is there and stays
    code, text = run(tmp_path, "apply", "-auto-approve")
    assert code == 0
    code, text = run(tmp_path, "plan")
    assert "No changes" in text
    assert "recovered" not in text
    assert not list(tmp_path.glob("*.journal"))


def test_killed_while_something_is_destroyed(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("""
        resource "terraform_data" "a" {}
        resource "terraform_data" "b" {
          input = terraform_data.a.id
          provisioner "local-exec" {
            when    = destroy
            command = "test -e killed || { touch killed; kill -9 $PPID; }"
          }
        }
    """)
    assert run(tmp_path, "apply", "-auto-approve")[0] == 0
    assert run(tmp_path, "destroy", "-auto-approve")[0] == -9
    code, text = run(tmp_path, "destroy", "-auto-approve")
    assert code == 0
    assert "The delete of terraform_data.b was under way" in " ".join(text.split())
    assert "Resources: 2 destroyed" in text


def test_commands_that_only_read_see_what_was_done(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("""
        resource "terraform_data" "a" {}
        resource "terraform_data" "b" {
          input = terraform_data.a.id
          provisioner "local-exec" {
            command = "kill -9 $PPID"
          }
        }
    """)
    run(tmp_path, "apply", "-auto-approve")
    code, text = run(tmp_path, "state", "list")
    assert code == 0
    assert "terraform_data.a\nterraform_data.b\n" in text
    assert list(tmp_path.glob("*.journal"))
    code, text = run(tmp_path, "state", "rm", "terraform_data.b")
    assert code == 0
    assert not list(tmp_path.glob("*.journal"))
    assert list(ids(tmp_path)) == ["a"]


@pytest.mark.parametrize("limit", [0, 150, 700, 1500, 3000, 6000])
def test_a_disk_that_takes_no_more(tmp_path: Path, limit: int) -> None:
    (tmp_path / "main.tf").write_text("""
        resource "terraform_data" "n" {
          count = 6
          provisioner "local-exec" {
            command = "echo ${count.index} ${self.id} >> ledger"
          }
        }
    """)
    (tmp_path / "ledger").touch()
    code, text = run(tmp_path, "apply", "-auto-approve", "-parallelism=2", limit=limit)
    assert "Traceback" not in text
    assert (code == 1) == ("Error: " in text)
    assert code == 1 or limit == 6000
    code, text = run(tmp_path, "apply", "-auto-approve")
    assert code == 0, text
    assert "No changes" in run(tmp_path, "plan")[1]
    lines = [line.split() for line in (tmp_path / "ledger").read_text().splitlines()]
    found = ids(tmp_path)
    assert {f"n{index}": id for index, id in lines} == found
    created_again = {index for index, count in Counter(index for index, _ in lines).items() if count > 1}
    assert all(f"terraform_data.n[{index}] is tainted" in text or "under way" in text for index in created_again)


# Kills itself before the N-th call of something that makes a change durable.
DRIVER = """
import os, signal, sys
left = int(sys.argv.pop(1))
def counted(function):
    def call(*arguments, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)
    return call
for name in ("fsync", "replace", "remove", "write", "truncate", "ftruncate"):
    setattr(os, name, counted(getattr(os, name)))
from planner.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("part", range(4))
def test_killed_before_every_step_to_the_disk(tmp_path: Path, part: int) -> None:
    """A first apply and one that changes things, killed before each call that makes something durable."""
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    configuration = """
        resource "terraform_data" "n" {
          count = 2
          triggers_replace = VERSION
          provisioner "local-exec" {
            command = "echo ${count.index} ${self.id} >> ledger"
          }
        }
    """
    for step in range(1 + part, 100, 4):
        folder = tmp_path / str(step)
        folder.mkdir()
        ended = 0
        for version in ("1", "2"):
            (folder / "main.tf").write_text(configuration.replace("VERSION", version))
            words = [sys.executable, str(driver), str(step), "apply", "-auto-approve", "-parallelism=1"]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode in (0, -9), done.stderr
            ended += done.returncode == 0
            code, text = run(folder, "apply", "-auto-approve")
            assert code == 0, text
            found = ids(folder)
            lines = [line.split() for line in (folder / "ledger").read_text().splitlines()]
            assert sorted(found) == ["n0", "n1"]
            assert {f"n{index}": id for index, id in lines} == found
            most = int(version) + ("under way" in text)
            assert max(Counter(index for index, _ in lines).values()) <= most + (version == "2" and ended == 0)
            assert not list(folder.glob("*.journal"))
        if ended == 2:
            return  # there are not so many steps
    raise AssertionError("the steps do not end")


def test_many_applies_at_once(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("""
        variable "n" {}
        resource "terraform_data" "x" {
          input = var.n
          provisioner "local-exec" {
            command = "echo begin >> ledger; sleep 0.05; echo end >> ledger"
          }
          lifecycle {
            replace_triggered_by = [terraform_data.n]
          }
        }
        resource "terraform_data" "n" {
          input = var.n
        }
    """)
    waiting = [start(tmp_path, "apply", "-auto-approve", f"-var=n={n}", "-lock-timeout=100s") for n in range(6)]
    impatient = [start(tmp_path, "apply", "-auto-approve", f"-var=n={n}") for n in range(6, 10)]
    results = [(process, *process.communicate()) for process in (*waiting, *impatient)]
    done = sum(process.returncode == 0 for process, _, _ in results)
    assert done >= 6
    for process, _, err in results:
        assert process.returncode == 0 or "Error acquiring the state lock" in err
    assert (tmp_path / "ledger").read_text().split() == ["begin", "end"] * done
    state = json.loads((tmp_path / "terraform.tfstate").read_text())
    assert state["serial"] == done

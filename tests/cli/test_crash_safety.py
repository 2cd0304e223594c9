"""Applies that are cut off at known places, disks that take no more, and many applies at once: real processes."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from thinned import thinned

PLANNER = [sys.executable, "-m", "planner"]
SOAK = Path(__file__).parents[1] / "soak"


# With a limit for files a compiled module would be cut off as well, and harm every later command.
ENVIRONMENT = {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def start(directory: Path, *words: str, limit: int | None = None) -> subprocess.Popen[str]:
    """A command line in a process of its own; `limit`: no file may grow beyond so many bytes."""

    def prepare() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [*PLANNER, *words], cwd=directory, env={**os.environ, **ENVIRONMENT}, preexec_fn=prepare,
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
    assert "The create of terraform_data.b began" in " ".join(text.split())
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
    assert "The delete of terraform_data.b began" in " ".join(text.split())
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


@pytest.mark.parametrize("limit", thinned([0, 150, 700, 1500, 3000, 6000], 3))
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
    assert all(f"terraform_data.n[{index}] is tainted" in text or "began at" in text for index in created_again)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_faults_of_the_disk(part: int) -> None:
    """Killed before a call that makes something durable, or that call fails: some of what the soak test does."""
    words = [sys.executable, str(SOAK / "disk_faults.py"), f"-part={part * 10}/40", "-how=kill,full,broken-once,short"]
    done = subprocess.run(
        [*words, "create", "replace-first", "move", "destroy", "apply-plan", "state-mv", "workspace"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_full_file_system(tmp_path: Path) -> None:
    """A real one, where mounting is allowed: what was done is in the journal, or printed; then there is room again."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed")
    try:
        for room in (0, 24, 60, 128):
            folder = disk / str(room)
            folder.mkdir()
            (folder / "main.tf").write_text("""
                resource "terraform_data" "n" {
                  count = 12
                  input = join("", [for i in range(100) : "${count.index} and more "])
                  provisioner "local-exec" {
                    command = "echo ${count.index} ${self.id} >> ../../ledger"
                  }
                }
            """)
            (tmp_path / "ledger").write_text("")
            filler = disk / "filler"
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 1024)
                except OSError:
                    pass
            os.truncate(filler, max(0, filler.stat().st_size - room * 1024))
            code, text = run(folder, "apply", "-auto-approve", "-parallelism=2")
            assert "Traceback" not in text
            assert "Internal error" not in text
            assert (code == 1) == ("Error: " in text), text
            assert code == 1 or room == 128
            filler.unlink()
            if "State could not be saved" in text:
                (folder / "errored.tfstate").write_text(text[text.index("\n{\n") : text.rindex("\n}\n") + 2])
            if "State could not be saved" in text or "State saved to a local file" in text:
                assert run(folder, "state", "push", "errored.tfstate")[0] == 0
            code, again = run(folder, "apply", "-auto-approve")
            assert code == 0, again
            lines = [line.split() for line in (tmp_path / "ledger").read_text().splitlines()]
            assert {f"n{index}": id for index, id in lines} == ids(folder)
            twice = {index for index, count in Counter(index for index, _ in lines).items() if count > 1}
            said = " ".join((text + again).split())
            assert all(f"terraform_data.n[{i}] is tainted" in said or "began at" in said for i in twice)
            shutil.rmtree(folder)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_many_applies_at_once(tmp_path: Path) -> None:
    from soak.concurrent_applies import concurrent_applies

    done, complaints = concurrent_applies(tmp_path, 6, 3)
    assert done >= 6
    assert complaints == []

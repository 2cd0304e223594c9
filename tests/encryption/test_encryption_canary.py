"""With encryption on, no secret is left in clear on the disk: neither in the working directory, nor in what planner
keeps for the user, nor among temporary files, whatever became of the command."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conformance import forked
from encryption.sealing import ENCRYPTION

CANARY = "CaNaRy-7f3a91-of-the-mine"
MAIN = """
variable "hidden" {
  type      = string
  sensitive = true
}
variable "open" {
  type = string
}
variable "hold" {
  default = 0
}
locals {
  text = "${var.open}-in-a-local"
}
resource "terraform_data" "a" {
  input = { hidden = var.hidden, open = local.text }
}
resource "terraform_data" "b" {
  input            = var.open
  triggers_replace = [terraform_data.a.id]
  provisioner "local-exec" {
    command = "HOLD=${var.hold} sh ./hold.sh"
  }
}
resource "terraform_data" "c" {
  count = 2
  input = "${var.open}-${count.index}"
}
output "open" {
  value = var.open
}
output "hidden" {
  value     = var.hidden
  sensitive = true
}
"""
HOLD = """
case $HOLD in
  1) touch held; sleep 60;;
  2) rm -f terraform.tfstate; mkdir terraform.tfstate terraform.tfstate/not-empty;;
esac
"""


def _forms() -> list[bytes]:
    """How the canary may stand in a file."""
    data = CANARY.encode()
    inside = [base64.b64encode(b"x" * pad + data)[4 if pad else 0 : -4] for pad in range(3)]
    escaped = "".join(f"\\u{byte:04x}" for byte in data).encode()
    return [data, data[:12], data.hex().encode(), escaped, data.decode().encode("utf-16-le"), *inside]


class Area:
    """A working directory with a home, a cache and temporary files of its own."""

    def __init__(self, path: Path, how: str) -> None:
        self.path, self.work = path, path / "work"
        folders = ("home", "cache", "state", "tmp", "work")
        for name in folders:
            (path / name).mkdir()
        self.sources = {"secret.auto.tfvars"}
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("TF_", "PLANNER_"))},
            "HOME": str(path / "home"),
            "XDG_CACHE_HOME": str(path / "cache"),
            "XDG_STATE_HOME": str(path / "state"),
            "TMPDIR": str(path / "tmp"),
            "NO_COLOR": "1",
        }
        self.write(self.work, how)

    def write(self, folder: Path, how: str) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "main.tf").write_text(MAIN)
        (folder / "hold.sh").write_text(HOLD)
        if how == "block":  # and the values in a file
            block = "\n".join(f"    {line}" for line in ENCRYPTION.split("\n"))
            (folder / "encryption.tf").write_text(f"terraform {{\n  encryption {{{block}\n  }}\n}}\n")
            (folder / "secret.auto.tfvars").write_text(f'hidden = "{CANARY}"\nopen   = "{CANARY}"\n')
        else:
            self.env.update(TF_ENCRYPTION=ENCRYPTION, TF_VAR_hidden=CANARY, TF_VAR_open=CANARY)

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "planner", *words], cwd=self.work, env={**self.env, **more}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def run(self, *words: str, code: int = 0) -> str:
        done = forked.run(words, self.work, self.env)
        out = done.stdout + done.stderr
        assert done.returncode == code, out
        self.look(" ".join(words))
        return out

    def look(self, when: str) -> None:
        """No file has the canary, and none is a plan in clear."""
        found = []
        for path in self.path.rglob("*"):
            if path.is_file() and path.name not in self.sources:
                data = path.read_bytes()
                if any(form in data for form in _forms()) or data.startswith(b"PK"):
                    found.append(str(path.relative_to(self.path)))
        assert found == [], f"after {when}"


@pytest.fixture(params=["block", pytest.param("variable", marks=pytest.mark.slow)])
def area(request: pytest.FixtureRequest, tmp_path: Path) -> Area:
    return Area(tmp_path, request.param)


def wait_for(there: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not there():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_the_canary_can_be_found(tmp_path: Path) -> None:
    """Without encryption it is all over the place."""
    area = Area(tmp_path, "variable")
    del area.env["TF_ENCRYPTION"]
    area.start("apply", "-auto-approve").communicate()
    with pytest.raises(AssertionError, match="after apply"):
        area.look("apply")


def test_commands_of_every_day(area: Area) -> None:
    area.run("init")
    area.run("plan", "-out=saved")
    assert CANARY in area.run("show", "saved")
    area.run("apply", "saved")
    area.run("state", "verify")
    area.run("plan", "-detailed-exitcode")
    area.run("refresh")
    area.run("state", "mv", "terraform_data.c[0]", "terraform_data.c[7]")
    area.run("state", "rm", "terraform_data.c[1]")
    area.run("import", "terraform_data.c[1]", "an-id")
    area.run("taint", "terraform_data.a")
    area.run("apply", "-auto-approve")
    assert CANARY in area.run("state", "pull")
    area.run("why")
    area.run("explore", "-out=/dev/null")
    area.run("workspace", "new", "other")
    area.run("apply", "-auto-approve")
    area.run("destroy", "-auto-approve")


@pytest.mark.slow
def test_an_apply_that_is_killed(area: Area) -> None:
    area.run("apply", "-auto-approve", "-target=terraform_data.c")
    process = area.start("apply", "-auto-approve", "-var=hold=1")
    wait_for((area.work / "held").exists)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    area.look("a killed apply")
    assert (area.work / "terraform.tfstate.journal").exists()
    verified = area.run("state", "verify")
    assert "under way" in verified
    told = area.run("apply", "-auto-approve")
    assert "An interrupted operation was recovered" in told
    pulled = json.loads(area.run("state", "pull"))
    assert len(pulled["resources"]) == 3 and CANARY in json.dumps(pulled)
    assert not (area.work / "terraform.tfstate.journal").exists()


@pytest.mark.slow
def test_an_apply_that_cannot_save(area: Area) -> None:
    """The state is rescued into a file, encrypted; pushed, it is in its place."""
    area.run("apply", "-auto-approve", "-target=terraform_data.c")
    area.run("apply", "-auto-approve", "-var=hold=2", code=1)
    rescued = area.work / "errored.tfstate"
    assert json.loads(rescued.read_bytes())["encryption_version"] == "v0"
    (area.work / "terraform.tfstate" / "not-empty").rmdir()
    (area.work / "terraform.tfstate").rmdir()
    (area.work / "terraform.tfstate.journal").unlink()
    area.run("state", "push", "-force", "errored.tfstate")
    assert len(json.loads(area.run("state", "pull"))["resources"]) == 3


@pytest.mark.slow
def test_a_fleet(area: Area) -> None:
    """Units that are encrypted, one of which takes an output of the other."""
    how = "block" if (area.work / "encryption.tf").exists() else "variable"
    for name in ("main.tf", "hold.sh", "encryption.tf", "secret.auto.tfvars"):
        (area.work / name).unlink(missing_ok=True)
    for name in ("one", "two"):
        area.write(area.work / name, how)
    (area.work / "two" / "more.tf").write_text('variable "from_one" {}\noutput "got" {\n  value = var.from_one\n}\n')
    (area.work / "planner.batch.hcl").write_text(
        'unit "one" {}\nunit "two" {\n  inputs = { from_one = unit.one.open }\n}\n'
    )
    area.run("batch", "plan")
    area.run("batch", "apply", "-auto-approve")
    area.run("batch", "plan")
    assert CANARY in area.run("-chdir=two", "output", "got")
    area.run("batch", "query", "unit_planned(U, A, P, V)")

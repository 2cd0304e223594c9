"""Bundles on a real Ray cluster."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from batch.fleets import batch, chain, write
from batch.test_bundles import in_bucket, unit
from batch.test_executors import ender
from state.backends.servers import SERVERS

ray = pytest.importorskip("ray", reason="the extra batch-ray is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

BODY = (
    'resource "terraform_data" "main" {\n  input = var.up\n}\noutput "id" {\n  value = terraform_data.main.output\n}\n'
)
FILE = 'unit "a" {}\nunit "b" {\n  inputs = { up = unit.a.id }\n}\n'


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port if not 10001 < port < 20000 else free_port()  # those are Ray's


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """HOST:PORT of the Ray Client server of a cluster with two processors."""
    port = free_port()
    words = [f"--port={free_port()}", f"--ray-client-server-port={port}", "--num-cpus=2", "--include-dashboard=false"]
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--disable-usage-stats", *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        said = ""
        while "Ray runtime started" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()  # it ends what it has started
        process.wait(30)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    server = SERVERS["http"]()
    files = {f"{name}/main.tf": unit(server.settings(), BODY) for name in "ab"}
    write(tmp_path / "fleet", {**files, "planner.batch.hcl": FILE})
    return tmp_path / "fleet"


def test_a_fleet_is_planned_saved_and_applied(cluster: str, fleet: Path) -> None:
    executor = f"-executor=ray://{cluster}"
    here = batch(fleet, "plan", "-json", "-executor=inline", "-no-cache").json
    ran = batch(fleet, "plan", "-json", executor, "-no-cache")
    assert ran.code == 0, ran.errors + ran.out
    there = ran.json
    for one, other in zip(here["units"], there["units"], strict=True):
        assert (one["outcome"], one["changes"]) == (other["outcome"], other["changes"])
    saved = str(fleet.parent / "saved")
    assert batch(fleet, "plan", executor, f"-out={saved}").code == 0
    assert batch(fleet, "apply", executor, saved).code == 0
    assert "Already applied from this plan" in batch(fleet, "apply", executor, saved).out
    assert batch(fleet, "plan", "-json", executor, "-no-cache").outcomes == {"a": "unchanged", "b": "unchanged"}


def test_a_worker_that_dies(cluster: str, fleet: Path) -> None:
    """Ray does not run it again by itself; we do."""
    first, second = in_bucket(BODY), in_bucket(BODY)
    flag = fleet.parent / "flag"
    executor = f"-executor=ray://{cluster}"
    for version in (1, 2):
        more = ender(version, f"echo x >> {flag}; test $(wc -l < {flag}) -gt 1 && exit 0;")
        write(fleet, {"a/main.tf": first, "b/main.tf": second + more})
        ran = batch(fleet, "apply", "-auto-approve", "-json", executor)
        assert ran.code == 0, ran.errors + ran.out
    assert (
        ran.unit("b")["attempts"] == 2 and ran.unit("b")["diagnostics"][0]["summary"] == "A process ended unexpectedly"
    )
    assert len(flag.read_text().split()) == 2


def test_an_interrupt_ends_what_is_in_work_in_order(cluster: str, fleet: Path) -> None:
    """What was being made is in the state, the rest is not begun; SIGTERM is ours, though Ray takes it, too."""
    flag = fleet.parent / "flag"
    slow = f'  provisioner "local-exec" {{\n    command = "touch {flag}; sleep 2"\n  }}\n'
    text = f'resource "terraform_data" "slow" {{\n{slow}}}\n'
    text += 'resource "terraform_data" "after" {\n  input = terraform_data.slow.id\n}\n'
    write(fleet, {"a/more.tf": text})
    process = subprocess.Popen(
        [sys.executable, "-m", "planner", "batch", "apply", "-auto-approve", "-json", f"-executor=ray://{cluster}"],
        cwd=fleet, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not flag.exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    document = json.loads(said)
    assert process.returncode == 1
    assert {one["unit"]: one["outcome"] for one in document["units"]} == {"a": "stopped", "b": "skipped"}
    left = {one["address"]: one["action"] for one in batch(fleet, "plan", "-json", "a").unit("a")["changes"]}
    assert left["terraform_data.after"] == "create" and left.get("terraform_data.slow") != "create"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1", "", "nowhere.invalid:10001", "127.0.0.1:99999999"])
def test_no_cluster(tmp_path: Path, address: str) -> None:
    chain(tmp_path, "a")
    ran = batch(tmp_path, "plan", f"-executor=ray://{address}")
    assert ran.code == 1 and "Cannot reach the Ray cluster" in ran.errors

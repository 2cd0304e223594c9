"""Deployments that run elsewhere, also where the files of the fleet are not, and their plans in files."""

from __future__ import annotations

import json
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
from batch.fleets import batch, write
from batch.stack_fleets import NET, SHOP, linked
from state.backends.servers import SERVERS

from planner.foundation.vocabulary.diagnostic import Failure
from planner.workflows.batch.bundles import host
from planner.workflows.batch.deployment_plans import differences
from planner.world.state.encryption_seal import PLAIN

WORKER = f"command:{sys.executable} -m planner batch work"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network and a shop that reads it, whose states are in a service."""
    server = SERVERS["gcs"]()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "fleet"
    write(root, {**NET, **SHOP})
    for name in ("net", "shop"):
        settings = {**server.settings(), "prefix": f"{tmp_path.name}/{name}"}
        lines = "".join(f"  {key} = {json.dumps(value)}\n" for key, value in settings.items())
        write(root, {f"{name}/planner.stack.hcl": f'backend "gcs" {{\n{lines}}}\n'})
    (tmp_path / "there").mkdir()
    monkeypatch.setenv(host.FOLDER, str(tmp_path / "there"))
    return root


@pytest.mark.slow  # fleets do the same with the same code
def test_deployments_are_planned_and_applied_elsewhere(fleet: Path, tmp_path: Path) -> None:
    here = batch(fleet, "plan", "-json", "-no-cache")
    assert here.outcomes["shop/live"] == "incomplete", here.out
    there = batch(fleet, "plan", "-json", "-no-cache", f"-executor={WORKER}")
    assert there.outcomes == here.outcomes, there.out
    applied = batch(fleet, "apply", "-auto-approve", "-json", f"-executor={WORKER}")
    assert set(applied.outcomes.values()) == {"applied"}, applied.out
    assert set(batch(fleet, "plan", "-json", "-no-cache").outcomes.values()) == {"unchanged"}
    again = batch(fleet, "plan", "-json", "-no-cache", f"-executor={WORKER}")
    assert set(again.outcomes.values()) == {"unchanged"}, again.out
    assert not list((tmp_path / "there").iterdir())


@pytest.mark.slow
def test_what_is_approved_here_is_applied_there(fleet: Path) -> None:
    ran = batch(fleet, "apply", f"-executor={WORKER}", answers="yes\n" * 3)
    assert ran.code == 0 and "4 applied" in ran.out, ran.errors


def test_local_states_do_not_travel(tmp_path: Path) -> None:
    write(tmp_path, NET)
    ran = batch(tmp_path, "plan", f"-executor={WORKER}")
    assert ran.code == 1 and "is a file on the machine that sent the bundle" in " ".join(ran.errors.split())


@pytest.mark.slow
def test_on_a_cluster_that_shares_the_files(tmp_path: Path, cluster: str) -> None:
    linked(tmp_path)
    ran = batch(tmp_path, "apply", "-auto-approve", "-json", f"-executor=dask://{cluster}")
    assert ran.outcomes == dict.fromkeys(("net/eu", "net/us", "shop/live", "shop/test", "root"), "applied"), ran.out
    assert set(batch(tmp_path, "plan", "-json").outcomes.values()) == {"unchanged"}


@pytest.mark.slow
def test_plans_in_files_are_checked(tmp_path: Path) -> None:
    """What is compared with is what was saved, or nothing is done."""
    write(tmp_path, NET)
    assert batch(tmp_path, "plan", "-out=saved", "net/us").code == 0
    (path,) = (tmp_path / "saved/plans").iterdir()
    data = path.read_bytes()
    for damaged in (b"", b"PK", data[:-200], data.replace(b'"us"', b'"eu"', 1)):
        path.write_bytes(damaged)
        ran = batch(tmp_path, "apply", "-auto-approve", "saved")
        assert ran.code == 1 and "is not the saved file" in " ".join(ran.errors.split())
    plan = SimpleNamespace(deployment="us", steps=())
    for damaged in (b"", b"PK", data[:-200], b"{}", archive({}), archive({"deployment.json": b"[]"}), DEEP, UNKNOWN):
        path.write_bytes(damaged)
        with pytest.raises(Failure) as caught:
            differences(str(path), plan, PLAIN)  # type: ignore[arg-type]
        assert caught.value.diagnostics[0].code == "plan_file.read"
    path.write_bytes(data)
    assert differences(str(path), plan, PLAIN) == ()  # type: ignore[arg-type]


def archive(members: dict[str, bytes]) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return out.getvalue()


HEAD = '{"format_version": "1.0", "deployment": "us", "mode": "normal", "steps": '
DEEP = archive({"deployment.json": b"[" * 100_000})
UNKNOWN = archive({"deployment.json": (HEAD + '[{"component": "c", "what": "plan", "member": "../x"}]}').encode()})

"""`remote` and `cloud`: how workspaces are mapped, who may ask, plans that run on the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from state.backends.servers import Server, tfe
from state.backends.test_shared_states import OURS, Place, alternating, peer

from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import DEFAULT_WORKSPACE, open_backend
from planner.world.state.lock import new_lock_info
from planner.world.state.remote.client import LockHeld
from planner.world.state.remote.tfe import TfeBackend, TfeClient

STATE = b'{"version":4,"serial":%d,"lineage":"l","outputs":{"o":{"value":"v","type":"string","sensitive":true}}}\n'
HOST = {"hostname": "tfe.test", "organization": "org"}


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in tfe()[2].items():
        monkeypatch.setenv(name, value)
    for name in ("TF_WORKSPACE", "TF_CLOUD_ORGANIZATION", "TF_CLOUD_HOSTNAME", "TF_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)


def opened(kind: str, **settings: Any) -> TfeBackend:
    backend, problems = open_backend(kind, {**HOST, **settings})
    assert isinstance(backend, TfeBackend) and not problems
    return backend


def named(name: str) -> TfeClient:
    return opened("remote", workspaces={"name": name}).client(DEFAULT_WORKSPACE)


def workspace(client: TfeClient) -> dict[str, Any]:
    found = client._workspace(again=True)
    assert found is not None
    attributes: dict[str, Any] = found["attributes"]
    return attributes


def test_names_with_a_prefix() -> None:
    backend = opened("remote", workspaces={"prefix": "pre-"})
    assert backend.workspaces() == []
    for name in ("b", "a", "pre-c"):
        backend.create_workspace(name)
    named("other-pre-").ensure()
    assert backend.workspaces() == ["a", "b", "c"]
    assert backend.client("a").get() is None  # none is written
    backend.delete_workspace("b")
    assert backend.workspaces() == ["a", "c"]
    with pytest.raises(ServiceError, match=r"^default workspace not supported\nYou can create a new workspace with"):
        backend.client(DEFAULT_WORKSPACE).get()


def test_one_name() -> None:
    backend = opened("cloud", workspaces={"name": "single"})
    assert backend.workspaces() == ["single"]
    with pytest.raises(ServiceError, match=r"^workspaces not supported$"):
        backend.create_workspace("other")
    assert backend.client(DEFAULT_WORKSPACE).place == backend.client("single").place == "tfe.test/org/single"


def test_tags_and_a_project() -> None:
    backend = opened("cloud", workspaces={"tags": ["x", "y"], "project": "p"})
    for name in ("tagged-b", "tagged-a", "tagged-c"):
        backend.create_workspace(name)
    assert workspace(backend.client("tagged-a"))["tag-names"] == ["x", "y"]
    opened("cloud", workspaces={"tags": ["x"]}).create_workspace("tagged-d")
    assert backend.workspaces() == ["tagged-a", "tagged-b", "tagged-c"]
    assert "tagged-d" in opened("cloud", workspaces={"tags": ["x"]}).workspaces()
    backend.delete_workspace("tagged-c")
    assert backend.workspaces() == ["tagged-a", "tagged-b"]


@pytest.mark.parametrize("name", ["uploads", "uploads-old"])
def test_what_is_told_of_a_state(name: str) -> None:
    client = named(name)
    version = client.put(STATE % 1, "")
    kept = client.get()
    assert kept is not None and kept.data == STATE % 1 and kept.version == version
    assert client.put(STATE % 2, version) != version


def test_an_encrypted_state_tells_no_outputs() -> None:
    from planner.world.state.remote.tfe import _serial_lineage_outputs

    assert _serial_lineage_outputs(STATE % 7) == (7, "l", b'{"o":{"sensitive":true,"value":"v","type":"string"}}')
    assert _serial_lineage_outputs(b'{"serial":3,"lineage":"l","outputs":{"o":{}},"encrypted_data":"x"}') == (
        3,
        "l",
        b"{}",
    )
    assert _serial_lineage_outputs(b"no") == (0, "", b"{}")


def test_locks() -> None:
    one, other = named("locks"), named("locks")
    mine = one.lock(new_lock_info("OperationTypeApply", ""))
    assert mine.id == "org/locks" and workspace(one)["locked-reason"].startswith("Locked by OpenTofu {")
    with pytest.raises(LockHeld) as held:
        other.lock(new_lock_info("OperationTypePlan", ""))
    assert held.value.text == 'workspace already locked (lock ID: "org/locks")'
    assert held.value.info == mine
    with pytest.raises(ServiceError, match=r'^lock ID "x" does not match existing lock ID "org/locks"$'):
        other.force_unlock("x")
    other.force_unlock("org/locks")
    theirs = other.lock(new_lock_info("OperationTypePlan", ""))
    assert not one.has_lock(mine.id) and other.has_lock(theirs.id)
    other.unlock(theirs.id)
    with pytest.raises(ServiceError, match=r"^workspace already unlocked$"):
        other.force_unlock("org/locks")


def test_a_state_that_could_not_be_uploaded_keeps_the_lock() -> None:
    client = named("failing")
    client.put(STATE % 5, "")
    lock = client.lock(new_lock_info("OperationTypeApply", ""))
    kept = client.get()
    assert kept is not None
    with pytest.raises(ServiceError, match="error uploading state: conflict"):
        client.put(STATE % 4, kept.version)
    with pytest.raises(ServiceError, match="the workspace remains locked"):
        client.unlock(lock.id)
    assert workspace(client)["locked"]


@pytest.mark.parametrize(
    ("kind", "settings", "summary", "detail"),
    [
        ("remote", {"organization": ""}, "Invalid organization value", 'The "organization" attribute value must'),
        ("remote", {"workspaces": None}, "Invalid workspaces configuration", 'Either workspace "name" or "prefix" is'),
        ("remote", {"workspaces": {"name": "a", "prefix": "b"}}, "Invalid workspaces configuration", "Only one of"),
        ("remote", {"hostname": None}, "Hostname is required for the remote backend", "OpenTofu does not provide"),
        ("cloud", {"organization": None}, "Invalid or missing required argument", '"organization" must be set in the'),
        ("cloud", {"workspaces": None}, "Invalid workspaces configuration", "Missing workspace mapping strategy."),
        ("cloud", {"workspaces": {"name": "a", "tags": ["b"]}}, "Invalid workspaces configuration", "Only one of"),
        ("cloud", {"hostname": None}, "Hostname is required for the cloud backend", "OpenTofu does not provide"),
    ],
)
def test_settings(kind: str, settings: dict[str, Any], summary: str, detail: str) -> None:
    backend, problems = open_backend(kind, {**HOST, "workspaces": {"name": "w"}, **settings})
    assert backend is None and problems[0].summary == summary and problems[0].detail.startswith(detail)


def test_variables_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ORGANIZATION", "org"), ("HOSTNAME", "tfe.test"), ("PROJECT", "q")):
        monkeypatch.setenv(f"TF_CLOUD_{name}", value)
    monkeypatch.setenv("TF_WORKSPACE", "selected")
    backend, problems = open_backend("cloud", {})
    assert isinstance(backend, TfeBackend) and not problems and backend.workspaces() == ["selected"]
    _, problems = open_backend("cloud", {"workspaces": {"name": "other"}})
    assert 'environment variable "TF_WORKSPACE" is not consistent' in problems[0].detail


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"organization": "nobody"}, 'Failed to read organization "nobody" at host tfe.test\norganization "nobody" at'),
        ({"token": "wrong"}, 'Failed to read organization "org" at host tfe.test\nunauthorized'),
        ({"hostname": "a b"}, 'The given hostname "a b" is not valid'),
        ({"hostname": "localhost:1"}, "failed to request discovery document: Get"),
    ],
)
def test_hosts_that_refuse(settings: dict[str, str], text: str) -> None:
    with pytest.raises(ServiceError) as problem:
        opened("remote", workspaces={"name": "w"}, **settings).client(DEFAULT_WORKSPACE).get()
    assert problem.value.text.startswith(text)


def test_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = tfe()[0]
    (tmp_path / "rc").write_text(f'host "tfe.test" {{\n  services = {{\n    "tfe.v2" = "{url}"\n  }}\n}}\n', "utf-8")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(tmp_path / "rc"))
    backend = opened("cloud", workspaces={"name": "w"})
    (problem,) = backend.prepare("w")
    assert problem.summary == "Required token could not be found"
    assert "planner login tfe.test" in problem.detail
    monkeypatch.setenv("TF_TOKEN_tfe_test", "secret")
    assert not opened("cloud", workspaces={"name": "w"}).prepare("w")
    with pytest.raises(ServiceError, match=r"^host tfe.test does not provide a tfe service$"):
        opened("remote", workspaces={"name": "w"}).client(DEFAULT_WORKSPACE).get()


def placed(folder: Path, kind: str, name: str, **workspaces: Any) -> Place:
    _, process, environment = tfe()
    place = Place(folder, Server(kind, lambda _: {}, process, environment))
    place.backend({**HOST, "workspaces": workspaces or {"name": name}})
    place.write("1")
    return place


@pytest.mark.slow
def test_plans_that_run_there(tmp_path: Path) -> None:
    place = placed(tmp_path / "w", "remote", "runs-there")
    place.good(OURS, "init", "-input=false")
    assert "Planning of run-" in place.good(OURS, "plan")
    assert "Apply complete!" in place.good(OURS, "apply", "-auto-approve")
    assert "run-" in place.good(OURS, "refresh")
    place.good(OURS, "state", "pull")  # its state can be read all the same
    place.environment["TF_FORCE_LOCAL_BACKEND"] = "1"
    place.good(OURS, "apply", "-auto-approve")


@pytest.mark.slow
def test_a_local_state_becomes_that_of_a_workspace(tmp_path: Path) -> None:
    place = placed(tmp_path / "w", "cloud", "migrated")
    (place.folder / "backend.tf").rename(place.folder / "backend.txt")
    place.good(OURS, "init")
    place.good(OURS, "apply", "-auto-approve")
    (place.folder / "backend.txt").rename(place.folder / "backend.tf")
    place.good(OURS, "init", "-force-copy")
    assert (place.folder / ".terraform/environment").read_text() == "migrated"
    place.good(OURS, "plan", "-detailed-exitcode")


@pytest.mark.slow
def test_workspaces_by_tags(tmp_path: Path) -> None:
    place = placed(tmp_path / "w", "cloud", "", tags=["t1"])
    code, text = place.run(OURS, "init", "-input=false")
    assert code == 1 and "No existing workspaces." in text
    place.good(OURS, "workspace", "new", "t1-one")
    place.good(OURS, "init", "-input=false")
    place.good(OURS, "apply", "-auto-approve")
    place.good(OURS, "workspace", "new", "t1-two")
    assert place.good(OURS, "workspace", "list").split() == ["t1-one", "*", "t1-two"]


@pytest.mark.slow
def test_a_state_that_others_read(tmp_path: Path) -> None:
    place = placed(tmp_path / "w", "remote", "shared")
    place.good(OURS, "init", "-input=false")
    place.good(OURS, "apply", "-auto-approve")
    reader = placed(tmp_path / "r", "remote", "reader")
    (reader.folder / "main.tf").write_text(
        'data "terraform_remote_state" "s" {\n  backend = "remote"\n  config = {\n    hostname = "tfe.test"\n'
        '    organization = "org"\n    workspaces = { name = "shared" }\n  }\n}\n'
        'output "read" { value = data.terraform_remote_state.s.outputs.o }\n',
        "utf-8",
    )
    reader.good(OURS, "init", "-input=false")
    assert 'read = "1"' in reader.good(OURS, "apply", "-auto-approve")


@pytest.mark.slow
def test_cloud_in_turn_with_itself(tmp_path: Path) -> None:
    alternating(placed(tmp_path / "w", "cloud", "turns"), OURS, OURS, times=2)


@pytest.mark.slow
@pytest.mark.parametrize("begins", [True, False])
def test_cloud_in_turn_with_the_peer(begins: bool, tmp_path: Path) -> None:
    place = placed(tmp_path / "w", "cloud", f"peer{begins}")
    alternating(place, *([peer(), OURS] if begins else [OURS, peer()]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "workspaces"), [("remote", {"prefix": "both-"}), ("cloud", {"tags": ["both"], "project": "both"})]
)
def test_workspaces_are_those_of_the_peer(kind: str, workspaces: dict[str, Any], tmp_path: Path) -> None:
    place = placed(tmp_path / "w", kind, "", **workspaces)
    tofu = peer()
    place.run(OURS, "init", "-input=false")  # says that there is no workspace
    place.good(OURS, "workspace", "new", "ours")
    place.good(tofu, "init", "-input=false")
    place.good(tofu, "workspace", "new", "theirs")
    place.good(tofu, "apply", "-auto-approve")
    assert place.good(OURS, "workspace", "list").split() == ["ours", "*", "theirs"]
    place.good(OURS, "plan", "-detailed-exitcode")
    place.good(OURS, "workspace", "select", "ours")
    place.good(OURS, "apply", "-auto-approve")
    place.good(tofu, "plan", "-detailed-exitcode")
    place.good(OURS, "workspace", "delete", "-force", "theirs")
    assert place.good(tofu, "workspace", "list").split() == ["*", "ours"]


@pytest.mark.parametrize(
    ("kind", "name", "run", "expected"),
    [
        ("cloud", "silent", "", (None, 0.0)),
        ("cloud", "some-every-60", "", (60.0, 0.0)),
        ("cloud", "often-every-5", "", (20.0, 0.0)),
        ("cloud", "rare-every-99999", "", (3600.0, 0.0)),
        ("cloud", "odd-every-soon", "", (None, 0.0)),
        ("remote", "any", "", (20.0, 0.0)),
        ("remote", "run", "run-1", (None, None)),
    ],
)
def test_how_often_snapshots_are_written(
    monkeypatch: pytest.MonkeyPatch, kind: str, name: str, run: str, expected: tuple[float | None, float | None]
) -> None:
    monkeypatch.setenv("TFE_RUN_ID", run)
    client = opened(kind, workspaces={"name": name}).client(DEFAULT_WORKSPACE)
    client.put(STATE % 1, "")
    assert client.snapshot_interval(20.0, False) == expected[0]
    assert client.snapshot_interval(20.0, True) == expected[1]


def test_runs_of_another_version(tmp_path: Path, planner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert named("old-here").version_conflict() == ""  # nothing runs on the server
    named("old-runs-there").ensure()
    assert "use OpenTofu 1.5.0" in named("old-runs-there").version_conflict()
    named("new-runs-there").ensure()
    assert named("new-runs-there").version_conflict() == ""
    monkeypatch.chdir(tmp_path)
    settings = 'hostname = "tfe.test"\n  organization = "org"\n  workspaces {\n    name = "old-runs-there"\n  }'
    (tmp_path / "main.tf").write_text(f'terraform {{\n  backend "remote" {{\n  {settings}\n  }}\n}}\n')
    assert planner("init", "-input=false").code == 0
    (tmp_path / "s.tfstate").write_text(
        '{"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "x", "outputs": {}, "resources": []}'
    )
    refused = planner("state", "push", "-force", "s.tfstate")
    assert refused.code == 1 and "To continue nevertheless, use -ignore-remote-version" in " ".join(refused.err.split())
    pushed = planner("state", "push", "-force", "-ignore-remote-version", "s.tfstate")
    assert pushed.code == 0 and "Warning: Incompatible version" in pushed.out + pushed.err

"""Local storage: serials, lineage, backups, crash safety, workspaces."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from planner.world.state.backend import open_backend
from planner.world.state.backends.local import LocalBackend, StateStore
from planner.world.state.file import read_state
from planner.world.state.model import InstanceState, ObjectState, ResourceState, State
from planner.world.state.workspace import current_workspace, select_workspace, valid_workspace_name

PROVIDER = 'provider["terraform.io/builtin/terraform"]'


def one(id: str) -> State:
    instance = InstanceState(None, ObjectState({"id": id}))
    return State({"t.n": ResourceState("", "managed", "t", "n", PROVIDER, {None: instance})})


def stored(path: Path) -> State:
    state, diagnostics = read_state(path.read_bytes())
    assert diagnostics == []
    assert state is not None
    return state


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "terraform.tfstate"


def test_serial_grows_with_changes_only(path: Path) -> None:
    store = StateStore(str(path))
    assert store.read() == (None, [])
    first, _ = store.write(one("a"))
    assert first.serial == 1
    assert len(first.lineage) == 36
    again, _ = store.write(one("a"))
    assert (again.serial, again.lineage) == (1, first.lineage)
    third, _ = store.write(one("b"))
    assert (third.serial, third.lineage) == (2, first.lineage)
    assert stored(path).serial == 2


def test_backup_is_what_was_there_before(path: Path) -> None:
    StateStore(str(path)).write(one("a"))
    backup = path.with_name("terraform.tfstate.backup")
    assert not backup.exists()
    store = StateStore(str(path))
    store.write(one("a"))
    assert not backup.exists()
    store.write(one("b"))
    store.write(one("c"))
    assert stored(backup).resources["t.n"].instances[None].current.attributes == {"id": "a"}  # type: ignore[union-attr]


def test_no_backup_when_switched_off(path: Path) -> None:
    backend = LocalBackend(str(path))
    backend.store().write(one("a"))
    backend.store(backup="-").write(one("b"))
    assert [p.name for p in path.parent.iterdir()] == ["terraform.tfstate"]


def test_other_output_file(path: Path, tmp_path: Path) -> None:
    backend = LocalBackend(str(path))
    before, _ = backend.store().write(one("a"))
    out = tmp_path / "deep" / "out.tfstate"
    store = backend.store(state_out=str(out))
    after, diagnostics = store.write(one("b"))
    assert diagnostics == []
    assert (after.serial, after.lineage) == (2, before.lineage)
    assert stored(path).serial == 1
    assert stored(out).serial == 2
    assert store.read()[0].serial == 2  # type: ignore[union-attr]


def test_damaged_file_is_never_overwritten(path: Path) -> None:
    path.write_bytes(b'{"version": 4, "resour')
    _, diagnostics = StateStore(str(path)).write(one("a"))
    assert [d.code for d in diagnostics] == ["state.unsupported_format"]
    assert path.read_bytes() == b'{"version": 4, "resour'


def test_mode_and_symlink_survive(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "real.tfstate"
    path.symlink_to(real)
    StateStore(str(path)).write(one("a"))
    real.chmod(0o640)
    StateStore(str(path)).write(one("b"))
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert stored(real).serial == 2


def test_a_failed_write_leaves_the_old_state(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = StateStore(str(path))
    store.write(one("a"))
    old = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    _, diagnostics = store.write(one("b"))
    assert [d.code for d in diagnostics] == ["state.file"]
    assert "No space left on device" in diagnostics[0].detail
    assert path.read_bytes() == old
    assert not list(path.parent.glob("*.tmp"))


def test_unreadable_path_is_a_diagnostic(tmp_path: Path) -> None:
    state, diagnostics = StateStore(str(tmp_path)).read()
    assert state is None
    assert [d.code for d in diagnostics] == ["state.file"]


def test_workspaces(tmp_path: Path) -> None:
    backend = LocalBackend(str(tmp_path / "x.tfstate"), str(tmp_path / "spaces"))
    assert backend.workspaces() == ["default"]
    for name in ("b", "a"):
        backend.create_workspace(name)
    assert backend.workspaces() == ["default", "a", "b"]
    assert backend.state_path("a") == str(tmp_path / "spaces" / "a" / "terraform.tfstate")
    assert backend.state_path() == str(tmp_path / "x.tfstate")
    backend.store("a").write(one("a"))
    backend.delete_workspace("a")
    assert backend.workspaces() == ["default", "b"]


def test_selected_workspace(tmp_path: Path) -> None:
    assert current_workspace(str(tmp_path), {}) == ("default", False, [])
    assert select_workspace(str(tmp_path), {}, "blue") == []
    assert (tmp_path / ".terraform" / "environment").read_text() == "blue"
    assert current_workspace(str(tmp_path), {})[:2] == ("blue", False)
    assert current_workspace(str(tmp_path), {"TF_WORKSPACE": "red"})[:2] == ("red", True)
    assert current_workspace(str(tmp_path), {"TF_DATA_DIR": "other"})[:2] == ("default", False)
    assert [d.code for d in current_workspace(str(tmp_path), {"TF_WORKSPACE": "a/b"})[2]] == ["state.workspace_name"]


def test_workspace_names() -> None:
    assert all(map(valid_workspace_name, ["a", "a-b_c.d~e", "x@y:z", "1"]))
    assert not any(map(valid_workspace_name, ["", "a b", "a/b", "é", "a?b", "a%b"]))


def test_backends() -> None:
    backend, diagnostics = open_backend("local", {"path": "p", "workspace_dir": None})
    assert (backend, diagnostics) == (LocalBackend("p"), [])
    for type, settings, code in [
        ("nimbus", {}, "state.unsupported_backend"),
        ("local", {"path": ""}, "state.backend_setting"),
        ("local", {"path": [3]}, "state.backend_setting"),
        ("local", {"colour": "red"}, "state.backend_setting"),
    ]:
        backend, diagnostics = open_backend(type, settings)
        assert backend is None
        assert [d.code for d in diagnostics] == [code]

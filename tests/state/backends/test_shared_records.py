"""The record of an apply is where the state is, so that another machine explains its plans with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from state.backends.servers import SERVERS, block, kinds
from state.backends.test_shared_states import OURS, SHARED, Place

from planner.foundation.support.digests import sha256_of
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import APPLIED, DEFAULT_WORKSPACE, DOCUMENTS, open_backend
from planner.world.state.backends.inmem import InMemory
from planner.world.state.remote.documents import PART, delete_documents, put_document, read_document

BESIDE = sorted(set(SHARED) - {"http", "remote"})
MAIN = """
variable "image" { default = "v1" }
locals { tag = "app:${var.image}" }
resource "terraform_data" "a" { input = local.tag }
resource "terraform_data" "b" { input = "one" }
"""


def machine(folder: Path, kind: str, settings: dict[str, Any]) -> Place:
    """A machine: a working directory and a home of its own."""
    place = Place(folder, SERVERS[kind]())
    home = folder.with_name(f"{folder.name}-home")
    home.mkdir()
    place.environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    place.backend(settings)
    (place.folder / "main.tf").write_text(MAIN, "utf-8")
    place.good(OURS, "init", "-input=false")
    return place


def roots(place: Place, *options: str) -> dict[str, list[str]]:
    """The causes of the planned changes."""
    out = place.good(OURS, "plan", "-json", "-explain=full", *options)
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    changes = {line["change"]["resource"]["addr"]: line["change"] for line in lines if line["type"] == "planned_change"}
    assert all(change["because_is_certain"] for change in changes.values())
    return {
        name: [f"{root['what']} {root.get('before', '')} -> {root.get('value', '')}" for root in change["root_causes"]]
        for name, change in changes.items()
    }


@pytest.mark.parametrize("kind", kinds(*BESIDE))
def test_another_machine_knows_what_was_applied(kind: str, tmp_path: Path) -> None:
    settings = SERVERS[kind]().settings()
    one, two = (machine(tmp_path / name, kind, settings) for name in ("one", "two"))
    one.good(OURS, "apply", "-auto-approve")
    (two.folder / "main.tf").write_text(MAIN.replace('"v1"', '"v2"').replace('"one"', '"two"'), "utf-8")
    because = roots(two)
    assert because["terraform_data.a"] == ['var.image "v1" -> "v2"']
    assert len(because["terraform_data.b"]) == 1
    two.good(OURS, "apply", "-auto-approve", "-target=terraform_data.b")
    assert roots(one, "-target=terraform_data.a") == {}
    (one.folder / "main.tf").write_text(MAIN.replace('"v1"', '"v3"').replace('"one"', '"two"'), "utf-8")
    assert roots(one) == {"terraform_data.a": ['var.image "v1" -> "v3"']}


@pytest.mark.parametrize("kind", kinds(*BESIDE))
def test_it_goes_with_the_workspace(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SERVERS[kind]().environment.items():
        monkeypatch.setenv(name, value)
    settings = SERVERS[kind]().settings()
    place = machine(tmp_path / "one", kind, settings)
    backend, problems = open_backend(kind, settings)
    assert backend is not None and not problems
    if not backend.has_workspaces:
        pytest.skip("there are no workspaces")
    place.good(OURS, "workspace", "new", "w")
    place.good(OURS, "apply", "-auto-approve")
    names = place.good(OURS, "workspace", "list")
    assert re.findall(r"\w+", names) == ["default", "w"]
    assert backend.store("w").beside(APPLIED) is not None
    assert backend.store(DEFAULT_WORKSPACE).beside(APPLIED) is None
    place.good(OURS, "workspace", "select", "default")
    place.good(OURS, "workspace", "delete", "-force", "w")
    backend, _ = open_backend(kind, settings)
    assert backend is not None and all(backend.store("w").beside(name) is None for name in DOCUMENTS)


@pytest.mark.parametrize("kind", kinds(*BESIDE))
def test_it_is_migrated_with_the_state(kind: str, tmp_path: Path) -> None:
    settings = SERVERS[kind]().settings()
    place = machine(tmp_path / "one", kind, settings)
    (place.folder / "backend.tf").write_text(block("local", {}), "utf-8")
    place.good(OURS, "init", "-reconfigure")
    place.good(OURS, "apply", "-auto-approve")
    assert (place.folder / ".terraform.tfstate.applied.json").stat().st_mode & 0o777 == 0o600
    place.backend(settings)
    place.good(OURS, "init", "-migrate-state", "-force-copy")
    two = machine(tmp_path / "two", kind, settings)
    (two.folder / "main.tf").write_text(MAIN.replace('"v1"', '"v2"'), "utf-8")
    assert roots(two) == {"terraform_data.a": ['var.image "v1" -> "v2"']}


@pytest.mark.parametrize("kind", kinds("http", "remote"))
def test_services_that_keep_nothing_else(kind: str, tmp_path: Path) -> None:
    """There the record is in the working directory, and elsewhere that is noted once."""
    settings = SERVERS[kind]().settings()
    one, two = (machine(tmp_path / name, kind, settings) for name in ("one", "two"))
    one.good(OURS, "apply", "-auto-approve")
    for place in (one, two):
        (place.folder / "main.tf").write_text(MAIN.replace('"v1"', '"v2"'), "utf-8")
    assert roots(one) == {"terraform_data.a": ['var.image "v1" -> "v2"']}
    assert "Note" not in one.good(OURS, "why")
    assert two.good(OURS, "why").count(" stores only the state, so the record ") == 1


def test_a_state_that_moved_leaves_no_documents(tmp_path: Path) -> None:
    place = Place(tmp_path / "one", SERVERS["inmem"]())
    (place.folder / "main.tf").write_text(MAIN, "utf-8")
    place.good(OURS, "init")
    place.good(OURS, "apply", "-auto-approve")
    (place.folder / "backend.tf").write_text(block("local", {"path": "elsewhere.tfstate"}), "utf-8")
    place.good(OURS, "init", "-migrate-state", "-force-copy")
    assert not (place.folder / ".terraform.tfstate.applied.json").exists()
    assert (place.folder / ".elsewhere.tfstate.applied.json").exists()


def test_documents_in_parts() -> None:
    client = InMemory({}).client("w")
    assert read_document(client, "applied") is None
    for size in (0, 1, PART - 100, PART, 3 * PART, PART):
        data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        put_document(client, "applied", data)
        assert read_document(client, "applied") == data
    put_document(client, "applied", bytes(3 * PART))
    client.put_beside("planner.applied.2", b"torn")
    assert read_document(client, "applied") is None
    delete_documents(client)
    assert all(client.get_beside(f"planner.applied{end}") is None for end in ("", ".1", ".2", ".3"))


LONGER = f"5 {sha256_of(b'123456789')}\n123456789".encode()


@pytest.mark.parametrize(
    "document",
    [b"", b"\n", b"9\n", b"-1 a\n", b"99999999999999999999 a\nx", b"9" * 5000 + b" a\nx", b"\xff 1\n", b"1", LONGER],
)
def test_damaged_documents(document: bytes) -> None:
    client = InMemory({}).client("w")
    client.put_beside("planner.applied", document)
    assert read_document(client, "applied") is None


def test_a_record_that_cannot_be_written_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = InMemory({})
    store = backend.store("w")

    def refuse(*_: object) -> None:
        raise ServiceError("AccessDenied")

    monkeypatch.setattr(store.client, "put_beside", refuse)
    monkeypatch.setattr(store.client, "get_beside", refuse)
    (problem,) = store.put_beside(APPLIED, b"{}")
    assert problem.severity == "warning" and "AccessDenied. The state itself is complete." in problem.detail
    assert store.beside(APPLIED) is None
    monkeypatch.undo()
    store = InMemory({}).store("w2")
    monkeypatch.setattr(store.client, "get_beside", refuse)  # as S3 answers where listing is not permitted
    assert store.put_beside(APPLIED, b"{}") == []
    assert store.erase() == []

"""What every backend has to do, against a real server of each."""

from __future__ import annotations

from typing import Any

import pytest
from state.backends.servers import SERVERS, Server

from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import DEFAULT_WORKSPACE, open_backend, schema_of
from planner.world.state.lock import LockInfo, new_lock_info
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, RemoteStateClient, VersionConflict
from planner.world.state.settings import settings_hash

LARGEST = {"kubernetes": 500_000}
"""bytes of random text that a service takes, where that is little"""
KNOWS_NO_LOCKS = frozenset(("http",))
"""where nobody can be asked whether a lock is held"""
SESSIONS = frozenset(("pg",))
"""where a lock is a connection's, and says nothing of its holder"""


@pytest.fixture(params=sorted(SERVERS))
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Server:
    found = SERVERS[request.param]()
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    return found


def opened(server: Server, settings: dict[str, Any]) -> RemoteBackend:
    backend, problems = open_backend(server.type, settings)
    assert isinstance(backend, RemoteBackend) and not problems
    return backend


@pytest.fixture
def two(server: Server) -> tuple[RemoteStateClient, RemoteStateClient]:
    """The same state, as two programs have it."""
    settings = server.settings()
    return opened(server, settings).client(DEFAULT_WORKSPACE), opened(server, settings).client(DEFAULT_WORKSPACE)


def test_bytes(server: Server, two: tuple[RemoteStateClient, RemoteStateClient]) -> None:
    one, other = two
    if server.type == "inmem":
        one.delete()
    assert one.get() is None or one.get() == other.get()  # some begin with an empty state
    kept = one.get()
    version = one.put('{"a": "ä\N{SNOWMAN}<&>"}\n'.encode(), kept.version if kept is not None else "")
    kept = other.get()
    assert kept is not None and kept.data.decode() == '{"a": "ä\N{SNOWMAN}<&>"}\n' and kept.version == version
    newer = other.put(b'{"b": 1}\n', kept.version)
    with pytest.raises(VersionConflict):
        one.put(b'{"c": 1}\n', version)
    assert other.get() == one.get()
    assert one.put(b'{"c": 2}\n', newer) and one.put(b'{"c": 3}\n', None)
    large = b'"' + b"0123456789abcdef" * (LARGEST.get(server.type, 2_000_000) // 16) + b'"\n'
    one.put(large, None)
    kept = other.get()
    assert kept is not None and kept.data == large
    one.delete()
    assert other.get() is None


def test_locks(server: Server, two: tuple[RemoteStateClient, RemoteStateClient]) -> None:
    one, other = two
    assert one.locks
    mine = one.lock(new_lock_info("OperationTypeApply", one.lock_path))
    with pytest.raises(LockHeld) as held:
        other.lock(new_lock_info("OperationTypePlan", other.lock_path))
    assert held.value.may_wait and held.value.info is not None
    if server.type not in SESSIONS:
        assert held.value.info.operation == "OperationTypeApply" and held.value.info.created == mine.created
    assert one.has_lock(mine.id)
    if server.type not in KNOWS_NO_LOCKS:
        assert not other.has_lock(mine.id) or server.type not in SESSIONS
        assert other.holder() is not None
    one.unlock(mine.id)
    theirs = other.lock(new_lock_info("OperationTypePlan", other.lock_path))
    other.unlock(theirs.id)


def test_a_lock_that_is_taken_away(server: Server, two: tuple[RemoteStateClient, RemoteStateClient]) -> None:
    if server.type == "pg":
        pytest.skip("a lock of PostgreSQL cannot be taken away")
    one, other = two
    mine = one.lock(new_lock_info("OperationTypeApply", one.lock_path))
    with pytest.raises(ServiceError):
        other.force_unlock("12345678-1234-1234-1234-123456789012")
    other.force_unlock(mine.id)
    if server.type not in KNOWS_NO_LOCKS:
        assert not one.has_lock(mine.id)


def test_documents_beside(two: tuple[RemoteStateClient, RemoteStateClient]) -> None:
    one, other = two
    if not one.has_place_beside:
        pytest.skip("there is no place for documents")
    assert one.get_beside("a.b") is None
    one.delete_beside("a.b")
    one.put_beside("a.b", bytes(range(256)) * 1024)
    one.put_beside("a.c", b"c")
    one.put_beside("a.c", b"d")
    assert other.get_beside("a.b") == bytes(range(256)) * 1024 and other.get_beside("a.c") == b"d"
    one.delete_beside("a.b")
    assert other.get_beside("a.b") is None and other.get_beside("a.c") == b"d"
    other.delete_beside("a.c")


def test_workspaces(server: Server) -> None:
    settings = server.settings()
    one, other = opened(server, settings), opened(server, settings)
    if not one.has_workspaces:
        with pytest.raises(ServiceError, match="workspaces not supported"):
            one.create_workspace("w")
        return
    assert one.workspaces() == [DEFAULT_WORKSPACE]
    for name in ("zwei", "eins"):
        one.create_workspace(name)
    client = one.client("eins")
    if client.has_place_beside:
        client.put_beside("planner.taken", b"[]")
        one.client(DEFAULT_WORKSPACE).put_beside("planner.taken", b"[]")
    assert other.workspaces() == [DEFAULT_WORKSPACE, "eins", "zwei"]
    other.client("zwei").put(b'{"version": 4}\n', None)
    kept = one.client("zwei").get()
    assert kept is not None and kept.data == b'{"version": 4}\n'
    one.delete_workspace("zwei")
    assert other.workspaces() == [DEFAULT_WORKSPACE, "eins"]
    one.delete_workspace("eins")
    assert not client.has_place_beside or other.client("eins").get_beside("planner.taken") is None


def test_the_number_of_a_block(server: Server) -> None:
    """It depends on every setting, and on nothing else."""
    schema, settings = schema_of(server.type), server.settings()
    assert schema is not None
    whole = settings_hash(server.type, schema, settings)
    assert whole == settings_hash(server.type, schema, {**dict.fromkeys(schema.attributes), **settings})
    for name in settings:
        assert whole != settings_hash(server.type, schema, {**settings, name: None}), name


def test_lock_infos() -> None:
    info = LockInfo("i", "o", "<&>", "w", "1", "2026-11-22T07:32:08.1Z", "p")
    assert info.to_json() == (
        b'{"ID":"i","Operation":"o","Info":"\\u003c\\u0026\\u003e","Who":"w","Version":"1",'
        b'"Created":"2026-11-22T07:32:08.1Z","Path":"p"}'
    )
    for _ in range(200):
        created = new_lock_info("o", "p").created
        assert not created.endswith(("0Z", ".Z")) or "." not in created

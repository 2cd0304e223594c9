"""Consul: keys, parts of large states, compressed ones, sessions that end."""

from __future__ import annotations

import gzip
import json
import re
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from state.backends.servers import SERVERS, answer
from state.backends.test_mishaps import chain, names, placed
from state.backends.test_shared_states import OURS, Place, peer

from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import DEFAULT_WORKSPACE, open_backend
from planner.world.state.backends.consul import ConsulBackend, ConsulClient
from planner.world.state.lock import new_lock_info
from planner.world.state.remote.client import LockHeld, VersionConflict

LARGE = b'"' + b"0123456789abcdef" * 100_000 + b'"\n'


def opened(**more: Any) -> tuple[ConsulBackend, dict[str, Any]]:
    settings = {**SERVERS["consul"]().settings(), **more}
    backend, problems = open_backend("consul", settings)
    assert isinstance(backend, ConsulBackend) and not problems
    return backend, settings


def client(**more: Any) -> tuple[ConsulClient, dict[str, Any]]:
    backend, settings = opened(**more)
    return backend.client(DEFAULT_WORKSPACE), settings


def keys(settings: dict[str, Any], below: str = "") -> list[str]:
    try:
        found = json.loads(answer(f"http://{settings['address']}/v1/kv/{settings['path']}?keys"))
    except OSError:
        return []
    return [key for key in (key.removeprefix(settings["path"]) for key in found) if key.startswith(below)]


def value(settings: dict[str, Any], name: str = "") -> bytes:
    return answer(f"http://{settings['address']}/v1/kv/{settings['path']}{name}?raw")


def test_a_large_state_is_in_parts() -> None:
    one, settings = client()
    one.put(LARGE, "")
    link = json.loads(value(settings))
    digest = link["current-hash"]
    assert list(link) == ["chunks", "current-hash"]
    assert link["chunks"] == [f"{settings['path']}/tfstate.{digest}/{n}" for n in range(4)]
    parts = [value(settings, f"/tfstate.{digest}/{n}") for n in range(4)]
    assert [len(part) for part in parts] == [524288] * 3 + [1600003 - 3 * 524288] and b"".join(parts) == LARGE
    one.put(LARGE, None)  # the parts are those of before
    assert one.get() is not None
    one.put(LARGE.replace(b"0", b"1"), None)
    assert len(keys(settings)) == 5 and digest not in str(keys(settings))
    one.put(b"{}\n", None)
    assert keys(settings) == [""]
    one.put(LARGE, None)
    one.delete()
    assert keys(settings) == []


def test_parts_that_nobody_needs_are_removed() -> None:
    one, settings = client()
    one.put(b"{}\n", "")
    with pytest.raises(VersionConflict):
        one.put(LARGE, "")
    assert keys(settings) == [""]


def test_a_part_that_is_missing() -> None:
    one, settings = client()
    one.put(LARGE, "")
    name = next(key for key in keys(settings) if key.endswith("/2"))
    answer(f"http://{settings['address']}/v1/kv/{settings['path']}{name}", b"other", "PUT")
    with pytest.raises(ServiceError, match="The remote state does not match the expected hash"):
        one.get()
    answer(f"http://{settings['address']}/v1/kv/{settings['path']}{name}", method="DELETE")
    with pytest.raises(ServiceError, match=f'Key "{settings["path"]}{name}" could not be found'):
        one.get()


@pytest.mark.parametrize("data", [b'{"version": 4}\n', bytes(range(256)).hex().encode() * 3000])
def test_compressed(data: bytes) -> None:
    one, settings = client(gzip=True)
    one.put(data, "")
    assert gzip.decompress(value(settings)) == data
    settings.pop("gzip")
    backend, _ = open_backend("consul", settings)
    assert isinstance(backend, ConsulBackend)
    kept = backend.client(DEFAULT_WORKSPACE).get()  # whatever the setting says
    assert kept is not None and kept.data == data


def test_what_is_no_gzip() -> None:
    one, _ = client()
    for bad in (b"\x1fabc", gzip.compress(b"{}")[:-4]):
        one.put(bad, None)
        with pytest.raises(ServiceError, match=r"is not gzip|is cut off"):
            one.get()


def test_a_lock_as_others_see_it() -> None:
    one, settings = client()
    lock = one.lock(new_lock_info("OperationTypeApply", one.lock_path))
    assert keys(settings, "/.") == ["/.lock", "/.lockinfo"]
    assert value(settings, "/.lock") == b"" and value(settings, "/.lockinfo") == lock.to_json()
    (kept,) = json.loads(answer(f"http://{settings['address']}/v1/kv/{settings['path']}/.lock"))
    assert kept["Session"] == lock.id and kept["Flags"] == 3304740253564472344
    assert lock.info == f"consul session: {lock.id}" and lock.path == settings["path"]
    (session,) = json.loads(answer(f"http://{settings['address']}/v1/session/info/{lock.id}"))
    assert (session["TTL"], session["LockDelay"], session["Behavior"]) == ("15s", 5_000_000_000, "release")
    one.unlock(lock.id)
    assert keys(settings, "/.") == []
    assert json.loads(answer(f"http://{settings['address']}/v1/session/info/{lock.id}")) == []
    again = one.lock(new_lock_info("OperationTypeApply", one.lock_path))  # at once
    one.unlock(again.id)


def test_force_unlock_compares() -> None:
    one, settings = client()
    lock = one.lock(new_lock_info("OperationTypeApply", one.lock_path))
    with pytest.raises(ServiceError, match=r'^lock id "x" does not match existing lock$'):
        one.force_unlock("x")
    assert one.has_lock(lock.id)
    one.force_unlock(lock.id)
    assert keys(settings, "/.") == []
    one.force_unlock("x")  # nobody holds it
    with pytest.raises(LockHeld) as held:  # Consul's lock-delay
        one.lock(new_lock_info("OperationTypeApply", one.lock_path))
    assert held.value.may_wait and held.value.info is None
    assert "allow anyone to take the lock" in held.value.text and "lock delay" in held.value.text


def test_a_session_that_ends_is_replaced() -> None:
    one, settings = client()
    one.put(b"{}\n", "")
    lock = one.lock(new_lock_info("OperationTypeApply", one.lock_path))
    answer(f"http://{settings['address']}/v1/session/destroy/{lock.id}", b"", "PUT")
    with pytest.raises(ServiceError) as problem:
        one.has_lock(lock.id)
    assert problem.value.may_pass
    for _ in range(100):
        try:
            assert one.has_lock(lock.id)
            break
        except ServiceError:
            time.sleep(0.2)
    info = json.loads(value(settings, "/.lockinfo"))
    assert info["ID"] != lock.id and info["Operation"] == "OperationTypeApply"
    one.unlock(lock.id)
    assert keys(settings, "/.") == []


def test_a_session_that_ends_while_others_write() -> None:
    one, settings = client()
    one.put(b"{}\n", "")
    lock = one.lock(new_lock_info("OperationTypeApply", one.lock_path))
    answer(f"http://{settings['address']}/v1/session/destroy/{lock.id}", b"", "PUT")
    answer(f"http://{settings['address']}/v1/kv/{settings['path']}", b"{}", "PUT")
    assert not one.has_lock(lock.id)


def test_an_apply_whose_session_ends_goes_on(tmp_path: Path) -> None:
    place = placed("consul", tmp_path)
    process = chain(place, 4)
    _, text = place.run(OURS, "plan")
    found = re.search(r"^\s*ID:\s+(\S+)", text, re.M)
    assert found is not None, text
    address = place.server.new("x")["address"]
    answer(f"http://{address}/v1/session/destroy/{found[1]}", b"", "PUT")
    assert process.wait(60) == 0, (place.folder / "log").read_text()
    assert names(place) == ["a", "b"]
    place.good(OURS, "plan", "-detailed-exitcode")  # the lock was given back


def test_documents_are_no_workspaces() -> None:
    backend, settings = opened()
    backend.create_workspace("w")
    backend.client("w").put_beside("planner.journal", b"{}")
    backend.client("w").put(LARGE, None)
    assert backend.workspaces() == ["default", "w"]
    found = json.loads(answer(f"http://{settings['address']}/v1/kv/{settings['path']}-env:w/planner.journal"))
    assert b64decode(found[0]["Value"]) == b"{}"
    backend.delete_workspace("w")
    assert backend.workspaces() == ["default"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"gzip": True}])
def test_parts_and_the_peer(more: dict[str, Any], tmp_path: Path) -> None:
    """Either reads and replaces the parts that the other wrote."""
    place = Place(tmp_path / "work", SERVERS["consul"]())
    settings = {**place.server.settings(), **more}
    place.backend(settings)
    place.good(OURS, "init", "-input=false")
    for number, (writer, reader) in enumerate([(OURS, peer()), (peer(), OURS), (OURS, peer())]):
        numbers = "flatten([for a in range(200) : [for b in range(200) : a * 200 + b]])"
        text = f'join("", [for n in {numbers} : md5("{number} ${{n}}")])'
        (place.folder / "main.tf").write_text(f'resource "terraform_data" "a" {{\n  input = {text}\n}}\n', "utf-8")
        place.good(writer, "apply", "-auto-approve")
        place.good(reader, "plan", "-detailed-exitcode")
        assert len({key.split("/")[1] for key in keys(settings, "/tfstate.")}) == 1


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, '"path": required field is not set'),
        ({"path": "/x"}, "Invalid key. Key must not begin with a '/': /x"),
        ({"path": "x", "address": "ftp://x"}, "Unknown protocol scheme: ftp"),
        ({"path": "x", "address": "unix:///x"}, "sockets of the file system are not supported"),
        ({"path": "x", "cert_file": "c"}, "both client cert and client key must be provided"),
    ],
)
def test_settings(settings: dict[str, Any], text: str) -> None:
    backend, problems = open_backend("consul", settings)
    assert backend is None and text in problems[0].summary


def test_a_token_file_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSUL_HTTP_TOKEN_FILE", "/nowhere/token")
    _, problems = open_backend("consul", {"path": "x"})
    assert problems[0].summary == "Error loading token file /nowhere/token : No such file or directory"


def test_nobody_answers() -> None:
    backend, _ = open_backend("consul", {"path": "tf/x", "address": "127.0.0.1:1"})
    assert isinstance(backend, ConsulBackend)
    with pytest.raises(ServiceError, match=r"^Get .*/v1/kv/tf/x.*: dial tcp 127.0.0.1:1: connect: connection refused$"):
        backend.client(DEFAULT_WORKSPACE).get()

"""Servers of states that err or mean harm, over the backend `http`: what it says, and what it tells them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from planner.foundation.clients.http import display_url
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import module_of
from planner.world.state.encryption_seal import PLAIN
from planner.world.state.remote.client import RemoteStateClient
from planner.world.state.remote.copy import HEAD, PART, forget, read_copy
from planner.world.state.settings import SettingsReading

STATE = b'{"version": 4, "serial": 1, "lineage": "l"}'
RAW = {
    "short": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + STATE,
    "early": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\n" + STATE,
    "continues": b"HTTP/1.1 100 Continue\r\n\r\n" * 100 + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "garbage": b"\x00\x1b[31m no HTTP\r\n\r\n",
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, str, dict[str, str]]]

    def log_message(self, format: str, *args: object) -> None:
        pass

    def anything(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = self.path.partition("?")[0].strip("/")
        self.server.seen.append((self.command, name, dict(self.headers)))  # type: ignore[attr-defined]
        port = self.server.server_address[1]
        if name in RAW:
            self.wfile.write(RAW[name])
            self.close_connection = True
            return
        status, _, to = name.partition("/")
        to = {"elsewhere": f"http://localhost:{port}/here", "file": "file:///etc/passwd", "": ""}.get(to, f"/{to}")
        self.send_response(int(status) if status.isdigit() else 200)
        if status.isdigit():
            self.send_header("Location", to)
        body = b"" if status.isdigit() or self.command != "GET" else STATE
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self.anything
        raise AttributeError(name)


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def client(server: Any, path: str, user: str = "", **settings: Any) -> RemoteStateClient:
    server.seen = []
    address = f"http://{user}127.0.0.1:{server.server_address[1]}/{path}"
    backend = module_of("http").open(SettingsReading({"address": address, "retry_max": 0, **settings}), PLAIN)
    return backend.client("default")  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("short", "unexpected EOF"),
        ("continues", "the server keeps answering 100"),
        ("garbage", "no HTTP"),
        ("302/file", 'unsupported protocol scheme "file"'),
        ("307/307/302/file", 'unsupported protocol scheme "file"'),
        ("/".join(["302"] * 20), "stopped after 10 redirects"),
    ],
)
def test_answers_that_are_none(server: Any, path: str, text: str) -> None:
    with pytest.raises(ServiceError, match=text) as caught:
        client(server, path, "me:SECRET@").get()
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("path", ["here", "early", "301/here", "302/here", "303/307/here", "308/elsewhere"])
def test_answers(server: Any, path: str) -> None:
    kept = client(server, path, "me:secret@").get()
    assert kept is not None and kept.data == STATE


@pytest.mark.parametrize("host", ["a..b", "x" * 70, "b c"])
def test_hosts_that_are_none(host: str) -> None:
    backend = module_of("http").open(SettingsReading({"address": f"http://{host}/", "retry_max": 0}), PLAIN)
    with pytest.raises(ServiceError):
        backend.client("default").get()


def test_addresses_in_any_letters(server: Any) -> None:
    client(server, "sté te?a=%20 é").get()
    assert [name for _, name, _ in server.seen] == ["st%C3%A9%20te"]


def test_who_asks_is_told_to_the_server_that_was_named_alone(server: Any) -> None:
    client(server, "307/here", "me:secret@", headers={"X-Token": "t"}).get()
    assert [(h.get("Authorization"), h.get("X-Token")) for _, _, h in server.seen] == [("Basic bWU6c2VjcmV0", "t")] * 2
    for user, more in (("me:secret@", {}), ("", {"username": "me", "password": "secret"})):
        client(server, "307/elsewhere", user, headers={"X-Token": "t"}, **more).get()
        (_, _, first), (_, _, second) = server.seen
        assert first["Authorization"] == "Basic bWU6c2VjcmV0" and first["X-Token"] == "t"
        assert "Authorization" not in second and "X-Token" not in second


def test_a_redirected_write_is_none_unless_its_body_is_sent_on(server: Any) -> None:
    client(server, "307/here").put(STATE, None)
    assert [name for command, name, _ in server.seen if command == "POST"] == ["307/here", "here"]
    with pytest.raises(ServiceError, match="which would lose the sent data"):
        client(server, "302/here").put(STATE, None)
    assert [name for _, name, _ in server.seen] == ["302/here"]


def test_a_lock_needs_no_address_to_unlock(server: Any) -> None:
    port = server.server_address[1]
    locking = client(server, "here", lock_address=f"http://127.0.0.1:{port}/lock")
    assert locking.locks
    with pytest.raises(ServiceError, match="unlock_address is not configured"):
        locking.force_unlock("x")


def test_no_password_in_what_is_said_after_retries(server: Any) -> None:
    with pytest.raises(ServiceError, match="giving up after 2") as caught:
        client(server, "503", "me:SECRET@", retry_max=1, retry_wait_min=0).get()
    assert "SECRET" not in str(caught.value)


def test_what_gives_access_is_not_shown() -> None:
    url = "https://me:SECRET@h/p?sig=SECRET&X-Amz-Signature=SECRET&list-type=2&access_token=SECRET&ID=1"
    assert display_url(url) == "https://***@h/p?sig=***&X-Amz-Signature=***&list-type=2&access_token=***&ID=1"


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("http", "address", "http://me:SECRET@h/p?token=SECRET"),
        ("pg", "conn_str", "postgres://me:SECRET@h:1,i:2/d?password=SECRET"),
        ("pg", "conn_str", "postgres://me:half/SECRET@h/d"),
        ("pg", "conn_str", "host=h password = 'a SECRET' dbname=d"),
        ("pg", "conn_str", "postgres://me:SECRET@[::1/d"),
    ],
)
def test_identities_of_addresses(kind: str, name: str, text: str) -> None:
    found = module_of(kind).identity({name: text}, "default", ".")
    assert "SECRET" not in found
    assert found != module_of(kind).identity({name: text.replace("d", "e").replace("p?", "q?")}, "default", ".")


@pytest.mark.parametrize(
    "text",
    [
        "postgres//me:SECRET@h/d",
        "host=127.0.0.1 password=half SECRET",
        "postgres://me:SE%zzSECRET@h/d",
        "postgres://me:p@SECRET@127.0.0.1:1/d",
        "postgres://me:SECRET@[::1/d",
        "postgres://me:half SECRET@127.0.0.1:1/d",
    ],
)
def test_no_password_in_what_is_said_of_a_connection(text: str) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    backend = module_of("pg").open(SettingsReading({"conn_str": text}), PLAIN)
    with pytest.raises(ServiceError) as caught:
        backend.client("default")
    assert str(caught.value) and "SECRET" not in str(caught.value)


def test_the_serial_of_a_state_can_be_followed() -> None:
    from planner.world.state.file import read_state

    for serial, is_good in ((2**62, True), (2**63 - 1, False), (2**64, False)):
        state, problems = read_state(json.dumps({"version": 4, "serial": serial, "lineage": "l"}).encode(), "x")
        assert (state is not None and not problems) is is_good


@pytest.mark.parametrize(
    "head", [b"[]", b'{"journal": "../x"}', b'{"journal": ""}', b"[" * 100_000, b'{"journal": "' + b"a" * 65 + b'"}']
)
def test_what_names_no_journal_is_an_error_that_says_what_to_do(head: bytes) -> None:
    client = module_of("inmem").MemoryClient("default")
    client.put_beside(HEAD, head)
    try:
        with pytest.raises(ServiceError, match="remove the document"):
            read_copy(client)
    finally:
        client.delete_beside(HEAD)


def test_parts_of_journals_have_a_size() -> None:
    client = module_of("inmem").MemoryClient("default")
    client.put_beside(HEAD, b'{"journal": "a"}')
    for size, is_good in ((PART, True), (PART + 1, False)):
        client.put_beside(f"{HEAD}.a.0", bytes(size))
        try:
            assert read_copy(client) is not None and is_good
        except ServiceError:
            assert not is_good
    forget(client, "a")

"""Servers that begin an answer and do not end it: waiting is bounded as a whole, and an interrupt ends it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from state.backends.servers import SERVERS

from planner.foundation.clients.http import NONE, Http
from planner.foundation.support.signals import STOP, reading
from planner.foundation.vocabulary.diagnostic import InstallError, ServiceError
from planner.world.install.web import Web
from planner.world.state.backends import pg

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n"


class Slow:
    """A server of HTTP. To /drip/head and /drip/body it sends byte by byte, to /half half of an answer and no more."""

    def __init__(self) -> None:
        self.waits, self.gone = threading.Event(), threading.Event()
        self.asked: list[str] = []
        self.is_quick = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                one = self._listener.accept()[0]
                threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one: socket.socket) -> None:
        with suppress(OSError), one:
            data = one.recv(65536).decode()
            method, path, _ = data.split(" ", 2)
            self.asked.append(method)
            if self.is_quick or (path == "/half" and method != "GET"):
                status = b"404 Not Found" if method == "GET" else b"200 OK"
                one.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            one.sendall(HEAD if path == "/drip/head" else HEAD + b"\r\n{")
            self.waits.set()
            while not self.gone.wait(0.01):
                if path != "/half":
                    one.sendall(b"x")

    def close(self) -> None:
        self.gone.set()
        self._listener.close()


@pytest.fixture
def slow() -> Iterator[Slow]:
    server = Slow()
    yield server
    server.close()


@pytest.mark.parametrize("path", ["drip/head", "drip/body", "half"])
def test_an_answer_has_to_come_as_a_whole(slow: Slow, path: str, tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="did not answer in time"):
        Http(timeout=0.1, retries=NONE).ask("GET", f"{slow.url}/{path}")
    web = Web(retries=0, timeout=0.1)
    with pytest.raises(InstallError, match="no answer in time"):
        web.get(f"{slow.url}/{path}")
    with pytest.raises(InstallError, match="no answer in time"):
        web.download(f"{slow.url}/{path}", str(tmp_path / "file"))


def test_an_interrupt_ends_what_only_reads(slow: Slow) -> None:
    said: list[str] = []

    def ask() -> None:
        with reading():
            try:
                Http().ask("GET", f"{slow.url}/half")
            except ServiceError as problem:
                said.append(problem.text)

    asking = threading.Thread(target=ask)
    asking.start()
    slow.waits.wait()
    STOP.request()
    try:
        asking.join()
        ask()  # nothing is asked any more
    finally:
        STOP.withdraw()
    assert len(said) == 2 and all("interrupted" in text for text in said) and slow.asked == ["GET"]


@pytest.mark.parametrize("words", [("plan",), ("apply", "-auto-approve"), ("refresh",)], ids=" ".join)
def test_one_interrupt_ends_a_command_that_reads_a_state(slow: Slow, words: tuple[str, ...], tmp_path: Path) -> None:
    settings = "\n".join(f'{name} = "{slow.url}/half"' for name in ("address", "lock_address", "unlock_address"))
    (tmp_path / "main.tf").write_text(f'terraform {{\n  backend "http" {{\n{settings}\n  }}\n}}\n')
    program = [sys.executable, "-m", "planner"]
    slow.is_quick = True
    assert subprocess.run([*program, "init"], cwd=tmp_path, check=False, capture_output=True).returncode == 0
    slow.asked.clear()
    slow.is_quick = False
    pipe = subprocess.PIPE
    running = subprocess.Popen([*program, *words], cwd=tmp_path, stdout=pipe, stderr=pipe, text=True, env=os.environ)
    slow.waits.wait()
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate()
    assert running.returncode == 1 and "nterrupt" in out + err
    assert slow.asked == ["LOCK", "GET", "UNLOCK"]


@pytest.mark.parametrize("by", ["time", "interrupt"])
def test_a_database_that_does_not_answer(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = SERVERS["pg"]()
    session = pg.PgConnection(pg.StateTable(server.settings()["conn_str"], "s", "t", "i", False, False, False))
    with reading():
        assert session.rows("SELECT 1") == [(1,)]
        if by == "time":
            monkeypatch.setattr(pg, "LONGEST", 0.1)
        else:
            threading.Timer(0.1, STOP.request).start()
        try:
            with pytest.raises(ServiceError):
                session.run("SELECT pg_sleep(600)")
        finally:
            STOP.withdraw()
    assert session.rows("SELECT 1") == [(1,)]


def test_a_database_that_never_greets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pg, "CONNECTING", 2)  # the shortest that there is
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgres://127.0.0.1:{silent.getsockname()[1]}/x?sslmode=disable"
        session = pg.PgConnection(pg.StateTable(address, "s", "t", "i", False, False, False))
        with pytest.raises(ServiceError, match="timeout"):
            session.rows("SELECT 1")


def test_a_large_body_is_sent_in_pieces_each_of_which_has_the_time_of_a_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    pieces, got = list[int](), list[bytes]()
    sendall = socket.socket.sendall
    body = bytes(2_000_000) + b"the end"

    def counted(self: socket.socket, data: bytes) -> None:
        pieces.append(len(data))
        sendall(self, data)

    def serve() -> None:
        one, data = listener.accept()[0], bytearray()
        while not data.endswith(b"the end"):
            data += one.recv(1 << 16)
        got.append(bytes(data))
        one.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    monkeypatch.setattr(socket.socket, "sendall", counted)
    server = threading.Thread(target=serve, daemon=True)
    server.start()
    answer = Http(retries=NONE).ask("PUT", f"http://127.0.0.1:{listener.getsockname()[1]}/", {}, body)
    server.join()
    head, _, sent = got[0].partition(b"\r\n\r\n")
    assert answer.status == 200 and sent == body
    assert b"Content-Length: 2000007" in head and b"chunked" not in head
    assert max(pieces) <= 1 << 16

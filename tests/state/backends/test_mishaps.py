"""Servers that go away, locks that are taken away, states that others write, answers that get lost."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from state.backends import servers
from state.backends.servers import SERVERS, block, kinds, paused, postgres, resumed
from state.backends.test_shared_states import OURS, Place

CHAIN = """
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "touch begun; sleep %s" }
}
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "echo b >> made" }
}
"""


def chain(place: Place, seconds: float) -> subprocess.Popen[bytes]:
    """An apply of a and then b, in the middle of a."""
    (place.folder / "main.tf").write_text(CHAIN % seconds, "utf-8")
    place.good(OURS, "init", "-input=false")
    return place.held(OURS)


def placed(kind: str, folder: Path) -> Place:
    place = Place(folder / "work", SERVERS[kind]())
    place.backend(place.server.settings())
    return place


def names(place: Place) -> list[str]:
    return [r["name"] for r in json.loads(place.good(OURS, "state", "pull"))["resources"]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds("azurerm", "consul", "cos", "gcs", "kubernetes", "oss", "s3", quick=("s3",)))
def test_a_lock_that_is_taken_away_stops_what_comes_next(kind: str, tmp_path: Path) -> None:
    place = placed(kind, tmp_path)
    process = chain(place, 5)
    _, text = place.run(OURS, "plan")
    found = re.search(r"^\s*ID:\s+(\S+)", text, re.M)
    assert found is not None, text
    place.good(OURS, "force-unlock", "-force", found[1])
    assert process.wait(60) == 1
    log = (place.folder / "log").read_text()
    assert "The state lock was lost" in log and "no longer exists" in log.replace("\n", " ")
    assert not (place.folder / "made").exists()  # b was not begun
    text = place.good(OURS, "plan", "-lock-timeout=30s")
    assert "An interrupted operation was recovered" in text and "1 to add" in text
    place.good(OURS, "apply", "-auto-approve")
    assert names(place) == ["a", "b"]
    assert (place.folder / "made").read_text() == "b\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds("consul", "cos", "gcs", "oss", "pg", "s3", quick=("pg",)))
def test_a_newer_state_is_not_replaced(kind: str, tmp_path: Path) -> None:
    place = placed(kind, tmp_path)
    process = chain(place, 2)
    other = tmp_path / "other.tfstate"
    other.write_text('{"version": 4, "serial": 7, "lineage": "other", "outputs": {}, "resources": []}', "utf-8")
    place.good(OURS, "state", "push", "-lock=false", "-force", str(other))
    assert process.wait(60) == 1
    log = (place.folder / "log").read_text()
    assert "Failed to save state" in log and "another process has written" in log.replace("\n", " ")
    assert json.loads((place.folder / "errored.tfstate").read_text())["resources"]
    code, text = place.run(OURS, "plan")
    assert code == 0 and "Objects of an interrupted operation are missing" in text
    assert "changed    terraform_data.a" in place.good(OURS, "state", "journal")
    place.good(OURS, "state", "journal", "-discard")
    assert "2 to add" in place.good(OURS, "plan")
    assert list((place.folder / ".terraform/planner").glob("*.journal.discarded"))
    place.good(OURS, "state", "push", "-force", "errored.tfstate")
    assert names(place) == ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds("consul", "http", "kubernetes", "s3", quick=("http",)))
def test_a_server_that_hangs_for_a_while(kind: str, tmp_path: Path) -> None:
    place = placed(kind, tmp_path)
    process = chain(place, 2)
    server = place.server.process
    assert server is not None
    paused(server)
    try:
        time.sleep(4)
    finally:
        resumed(server)
    assert process.wait(90) == 0, (place.folder / "log").read_text()
    assert names(place) == ["a", "b"]


@pytest.mark.slow
def test_a_database_that_starts_again(tmp_path: Path) -> None:
    """The session goes with it, and with that the lock: it is taken again, because nobody has written meanwhile."""
    import shutil
    import tempfile

    folder, port = tempfile.mkdtemp(prefix="pg-"), servers.free_port()
    try:
        process = postgres(folder, port)
        url = f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable"
        place = Place(tmp_path / "work", servers.Server("pg", lambda name: {"conn_str": url}))
        place.backend(place.server.settings())
        apply = chain(place, 5)
        process.kill()
        process.wait()
        time.sleep(1)
        (Path(folder) / "data" / "postmaster.pid").unlink(missing_ok=True)
        again = postgres(folder, port)
        assert apply.wait(90) == 0, (place.folder / "log").read_text()
        assert names(place) == ["a", "b"]
        servers.stop(again)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Lossy:
    """Passes on what comes, and loses the answers to the first requests that begin with one of some texts."""

    def __init__(self, port: int, *lost: bytes) -> None:
        self.to, self.lost = port, list(lost)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """One request after the other, each in full; a client sends no other before the answer."""
        with client, socket.create_connection(("127.0.0.1", self.to)) as server:
            server.settimeout(0.5)
            matched: list[bytes] = []
            while data := client.recv(1 << 20):
                server.sendall(data)
                matched = matched or [text for text in self.lost if data.startswith(text)]
                try:
                    answer = server.recv(1 << 20)
                except TimeoutError:
                    continue  # the body comes by itself
                if matched:
                    self.lost.remove(matched[0])
                    return
                while answer:
                    client.sendall(answer)
                    try:
                        answer = server.recv(1 << 20)
                    except TimeoutError:
                        break


@pytest.mark.slow
def test_answers_that_get_lost(tmp_path: Path) -> None:
    """A lock that was taken and a state that was written count, although nobody heard of it."""
    server = SERVERS["http"]()
    settings = server.settings()
    parts = urlsplit(settings["address"])
    assert parts.port is not None
    lossy = Lossy(parts.port, b"LOCK", b"POST", b"UNLOCK")
    url = f"http://127.0.0.1:{lossy.port}{parts.path}"
    place = Place(tmp_path / "work", server)
    place.backend(
        {"address": url, "lock_address": url, "unlock_address": url, "retry_wait_min": 0, "retry_wait_max": 0}
    )
    place.write("1")
    place.good(OURS, "init", "-input=false")
    place.good(OURS, "apply", "-auto-approve")
    assert not lossy.lost
    (place.folder / "backend.tf").write_text(block("http", settings), "utf-8")
    place.good(OURS, "init", "-reconfigure")
    assert json.loads(place.good(OURS, "state", "pull"))["serial"] == 1
    place.good(OURS, "plan", "-detailed-exitcode")

"""Keys that services encrypt objects with: what is sent for which object, as a server sees it."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from planner.foundation.clients.azure_blobs import Container
from planner.foundation.clients.http import Http
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import open_backend
from planner.world.state.backends.azurerm import AzureClient
from planner.world.state.lock import new_lock_info
from planner.world.state.remote.backend import RemoteBackend

KEY = base64.b64encode(bytes(range(32))).decode()
DIGEST = "Yw3NKWbEM2aRElRIu7JbT/QSpJxzLbLIq8G4WBvXEN0="
seen: list[tuple[str, dict[str, str]]] = []


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass

    def reply(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        seen.append((f"{self.command} {self.path}", {k.lower(): v for k, v in self.headers.items()}))
        self.send_response(200)
        body = b'{"generation": "7"}'
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = reply  # noqa: N815


@pytest.fixture
def url() -> Iterator[str]:
    seen.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_customer_keys_of_google(url: str) -> None:
    """For the state and what stands beside it, never for the lock, which others have to read."""
    settings = {"bucket": "b", "access_token": "t", "storage_custom_endpoint": f"{url}/storage/v1/"}
    backend, _ = open_backend("gcs", {**settings, "encryption_key": KEY})
    assert isinstance(backend, RemoteBackend)
    client = backend.client("default")
    client.put(b"{}", "6")
    client.get()
    client.put_beside("planner.journal", b"{}")
    assert client.lock(new_lock_info("o", client.lock_path)).id == "7"
    *secret, (lock, plain) = seen
    assert "ifGenerationMatch=6" in secret[0][0] and "ifGenerationMatch=0" in lock
    for _, headers in secret:
        assert headers["x-goog-encryption-algorithm"] == "AES256" and headers["authorization"] == "Bearer t"
        assert headers["x-goog-encryption-key"] == KEY and headers["x-goog-encryption-key-sha256"] == DIGEST
    assert not any(name.startswith("x-goog-encryption") for name in plain)


def test_managed_keys_of_google(url: str) -> None:
    settings = {"bucket": "b", "access_token": "t", "storage_custom_endpoint": f"{url}/storage/v1/"}
    backend, _ = open_backend("gcs", {**settings, "kms_encryption_key": "projects/p"})
    assert isinstance(backend, RemoteBackend)
    client = backend.client("w")
    client.put(b"{}", None)
    client.lock(new_lock_info("o", client.lock_path))
    assert "kmsKeyName=projects%2Fp" in seen[0][0] and "kmsKeyName" not in seen[1][0]


def test_keys_of_azure(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Scopes are not said where only properties are asked for."""
    asked: list[tuple[str, dict[str, str]]] = []

    class Recording(Http):
        def ask(self, method, to, headers=None, body=b"", **more):  # type: ignore[no-untyped-def]
            asked.append((method, dict(headers or {})))
            return super().ask("GET", f"{url}/x", {}, b"")

    for secret in ({"x-ms-encryption-key": KEY}, {"x-ms-encryption-scope": "s"}):
        asked.clear()
        container = Container("acc", "core.windows.net", "cont", Recording(), b"key", secret=secret)
        client = AzureClient(container, "k", "k.planner/default/", False)
        client.put(b"{}", None)
        client.get()
        client.put_beside("planner.journal", b"{}")
        (name,) = secret
        assert [(method, name in headers) for method, headers in asked] == [
            ("HEAD", name == "x-ms-encryption-key"),
            ("PUT", True),
            ("GET", True),
            ("PUT", True),
        ]


def test_signatures_are_no_part_of_errors() -> None:
    """Those of an address (SAS), where nobody answers."""
    http = Http(proxies={"https": "http://127.0.0.1:1"}, pause=lambda seconds: None)
    container = Container("acc", "core.windows.net", "cont", http, sas="?sv=1&sig=hidden")
    with pytest.raises(ServiceError) as problem:
        container.ask("GET", "k")
    assert "acc.blob.core.windows.net" in problem.value.text and "hidden" not in problem.value.text

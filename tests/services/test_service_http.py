"""The HTTP client of services, against real servers: what it tries again, whom it believes, through whom it goes."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from planner.foundation.clients import http
from planner.foundation.clients.http import NONE, Http, Retries, Tls, proxies_of
from planner.foundation.vocabulary.diagnostic import ServiceError


class Server(ThreadingHTTPServer):
    """Answers with what is next in `plan`: statuses, or "drop" for a connection that ends without an answer."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan: list[Any] = []
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass

    @property
    def url(self) -> str:
        scheme = "https" if isinstance(self.socket, ssl.SSLSocket) else "http"
        return f"{scheme}://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        now = self.server.plan.pop(0) if self.server.plan else 200
        if now == "drop":
            self.close_connection = True
            return
        status, headers = now if isinstance(now, tuple) else (now, {})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_GET = do_PUT = do_POST = do_LOCK = answer  # noqa: N815


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


def client(**more: Any) -> tuple[Http, list[float]]:
    pauses: list[float] = []
    return Http(**{"proxies": {}, "pause": pauses.append, **more}), pauses


def test_what_may_pass_is_tried_again(server: Server) -> None:
    ask, pauses = client(retries=Retries(3, 1, 30))
    server.plan = [500, "drop", (503, {"Retry-After": "7"}), 200]
    answer = ask.ask("PUT", f"{server.url}/a?b=c", {"X-A": "b"}, b"body")
    assert (answer.status, answer.body, len(server.seen)) == (200, b"ok", 4)
    assert pauses == [1.0, 7.0]  # a kept connection that ends is no failure: the request goes out on a new one
    assert {(m, p, h["X-A"], b) for m, p, h, b in server.seen} == {("PUT", "/a?b=c", "b", b"body")}
    server.plan = [501]
    assert ask.ask("GET", server.url).status == 501 and len(server.seen) == 5
    server.plan = [500] * 4
    assert ask.ask("GET", server.url).status == 500 and len(server.seen) == 9


def test_the_usual_headers_are_replaced_in_any_case(server: Server) -> None:
    ask, _ = client()
    ask.ask("GET", server.url, {"user-agent": "mine"})
    ((_, _, headers, _),) = server.seen
    assert [value for name, value in headers.items() if name.lower() == "user-agent"] == ["mine"]


def test_headers_are_worked_out_for_each_attempt(server: Server) -> None:
    numbers = iter(range(9))
    ask, _ = client(retries=Retries(2))
    server.plan = [500, 200]
    ask.ask("GET", server.url, sign=lambda m, u, h, b: {**h, "X-N": str(next(numbers))})
    assert [h["X-N"] for _, _, h, _ in server.seen] == ["0", "1"]


def test_a_connection_that_was_kept_too_long(server: Server) -> None:
    ask, _ = client(retries=NONE)
    assert ask.ask("GET", server.url).status == 200
    server.plan = ["drop", 200]  # the first one is the end of what was kept
    assert ask.ask("GET", server.url).status == 200 and len(server.seen) == 3
    ask.close()


def test_nobody_there() -> None:
    ask, pauses = client(retries=Retries(2, 1))
    with pytest.raises(ServiceError) as problem:
        ask.ask("GET", "http://user:secret@127.0.0.1:1/x")
    said = "giving up after 3 attempt(s): dial tcp 127.0.0.1:1: connect: connection refused"
    assert problem.value.text == f'Get "http://***@127.0.0.1:1/x": {said}'
    assert problem.value.may_pass and pauses == [1.0, 2.0]
    with pytest.raises(ServiceError, match="no such host"):
        ask.ask("GET", "http://nobody.invalid/")
    ask, pauses = client(retries=Retries(2, 1, refused=False))
    for url in ("http://nobody.invalid/", "http://127.0.0.1:1/"):
        with pytest.raises(ServiceError, match=r"no such host|refused"):
            ask.ask("GET", url)
    assert not pauses
    for url in ("ftp://x", "http://", "http://x:y/", "x"):
        with pytest.raises(ServiceError):
            ask.ask("GET", url)


def test_answers_that_are_too_large(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST_ANSWER", 1)
    with pytest.raises(ServiceError, match="is larger than"):
        client(retries=NONE)[0].ask("GET", server.url)


@pytest.mark.parametrize(
    ("host", "excepted"),
    [
        ("localhost", True),
        ("127.0.0.5", True),
        ("::1", True),
        ("a.corp", True),
        ("x.a.corp", True),
        ("acorp", False),
        ("b.inner", True),
        ("10.1.2.3", True),
        ("11.1.2.3", False),
        ("w.example", False),
    ],
)
def test_who_needs_no_proxy(host: str, excepted: bool) -> None:
    assert http._is_excepted(host, "a.corp, *.inner,10.0.0.0/8") is excepted
    assert http._is_excepted(host, "*")


def test_through_a_proxy(server: Server) -> None:
    proxies = proxies_of({"http_proxy": server.url.replace("//", "//u:p@"), "NO_PROXY": "direct.example"})
    ask, _ = client(proxies=proxies, retries=NONE)
    ask.ask("GET", "http://far.example/x?y")
    _, path, headers, _ = server.seen[0]
    assert path == "http://far.example/x?y" and headers["Proxy-Authorization"] == http.basic("u", "p")
    with pytest.raises(ServiceError):
        ask.ask("GET", "http://direct.example:1/", timeout=1)
    assert len(server.seen) == 1


def authority(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "c.pem", folder / "k.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


def test_whom_it_believes(tmp_path: Path) -> None:
    certificate, key = authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    server = Server(context)
    mine = {"certificate": certificate.read_text(), "key": key.read_text()}
    for authorities in (str(certificate), certificate.read_text()):
        ask, _ = client(tls=Tls(authorities=authorities, **mine), retries=NONE)
        assert ask.ask("GET", server.url).status == 200
    ask, _ = client(tls=Tls(verify=False, certificate=str(certificate), key=str(key)), retries=NONE)
    assert ask.ask("GET", server.url).status == 200
    ask, pauses = client(tls=Tls(**mine), retries=Retries(3))
    with pytest.raises(ServiceError, match="failed to verify certificate"):
        ask.ask("GET", server.url)
    assert not pauses  # that will not pass
    with pytest.raises(ServiceError, match="certificates cannot be used"):
        client(tls=Tls(authorities=str(tmp_path / "none")))[0].ask("GET", server.url)
    with pytest.raises(ServiceError):
        client(tls=Tls(authorities=str(certificate)), retries=NONE)[0].ask("GET", server.url)
    server.shutdown()
    server.server_close()

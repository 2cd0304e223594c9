"""The ways of asking Azure, against a double of its login, of a pipeline, of a machine and of the management."""

from __future__ import annotations

import json
import threading
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from planner.foundation.clients.azure import AzureTokens
from planner.foundation.clients.azure_blobs import access_key, signature
from planner.foundation.clients.azure_settings import account_of, cloud_of
from planner.foundation.clients.http import Http
from planner.foundation.vocabulary.diagnostic import ServiceError

ACCOUNT = {"tenant_id": "tenant", "client_id": "client"}
SCOPE = "https://storage.azure.com/.default"
asked: list[tuple[str, dict[str, str]]] = []


class Handler(BaseHTTPRequestHandler):
    """Answers with a token that says what was asked for; what was posted is kept."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def reply(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        said = {k: v[0] for k, v in {**parse_qs(parts.query), **parse_qs(body)}.items()}
        asked.append((parts.path, {**{k.lower(): v for k, v in self.headers.items()}, **said}))
        found: dict[str, Any] = {
            "/tenant/oauth2/v2.0/token": {"access_token": "of login", "expires_in": 3600},
            "/machine": {"access_token": "of machine", "expires_on": "99999999999"},
            "/github": {"value": "of github"},
            "/pipeline": {"oidcToken": "of pipeline"},
        }.get(parts.path, {"keys": [{"value": "a2V5"}]} if parts.path.endswith("/listKeys") else None)
        data = json.dumps(found).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = reply  # noqa: N815


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", url)
    yield url
    server.shutdown()


def token(**settings: Any) -> str:
    return AzureTokens(account_of({**ACCOUNT, "use_cli": False, **settings}, {}), SCOPE, Http())()


def test_secret(double: str, tmp_path: Any) -> None:
    (tmp_path / "secret").write_text("s")
    assert token(client_secret_file_path=str(tmp_path / "secret")) == "of login"
    _, said = asked[-1]
    assert said["client_secret"] == "s" and said["scope"] == SCOPE and said["client_id"] == "client"
    with pytest.raises(ServiceError, match="do not match"):
        token(client_secret="t", client_secret_file_path=str(tmp_path / "secret"))


def test_certificate(double: str) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

    key, name = rsa.generate_private_key(65537, 2048), x509.Name([])
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    now = datetime.now(UTC)
    built = built.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    bundle = pkcs12.serialize_key_and_certificates(
        None, key, built.sign(key, SHA256()), None, BestAvailableEncryption(b"p")
    )
    text = b64encode(bundle).decode()
    assert token(client_certificate=text, client_certificate_password="p") == "of login"
    _, said = asked[-1]
    head, body, proof = said["client_assertion"].split(".")
    key.public_key().verify(urlsafe_b64decode(proof + "=="), f"{head}.{body}".encode(), PKCS1v15(), SHA256())
    claims = json.loads(urlsafe_b64decode(body + "=="))
    assert claims["iss"] == claims["sub"] == "client" and claims["aud"] == f"{double}/tenant/oauth2/v2.0/token"
    with pytest.raises(ServiceError, match="The Client Certificate is invalid"):
        token(client_certificate=text, client_certificate_password="q")


def test_tokens_of_somebody_else(double: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert token(use_oidc=True, oidc_token="given") == "of login"
    assert asked[-1][1]["client_assertion"] == "given"
    assert token(use_oidc=True, oidc_request_url=f"{double}/github", oidc_request_token="r") == "of login"
    assert asked[-1][1]["client_assertion"] == "of github"
    assert asked[-2][1]["audience"] == "api://AzureADTokenExchange" and asked[-2][1]["authorization"] == "Bearer r"
    monkeypatch.setenv("SYSTEM_OIDCREQUESTURI", f"{double}/pipeline")
    assert token(use_oidc=True, ado_service_connection_id="c", oidc_request_token="r") == "of login"
    assert asked[-1][1]["client_assertion"] == "of pipeline" and asked[-2][1]["serviceConnectionId"] == "c"


def test_workloads(double: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "token").write_text("of AKS")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AZURE_CLIENT_ID", "workload")
    assert token(use_aks_workload_identity=True) == "of login"
    assert asked[-1][1]["client_assertion"] == "of AKS" and asked[-1][1]["client_id"] == "workload"


def test_machines(double: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert token(use_msi=True, msi_endpoint=f"{double}/machine") == "of machine"
    assert asked[-1][1]["metadata"] == "true" and asked[-1][1]["resource"] == "https://storage.azure.com"
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{double}/machine")
    monkeypatch.setenv("IDENTITY_HEADER", "h")
    assert token(use_msi=True) == "of machine" and asked[-1][1]["x-identity-header"] == "h"


def test_keys_of_accounts(double: str) -> None:
    assert access_key("acc", "group", "sub", double, lambda: "t", Http()) == "a2V5"
    path, said = asked[-1]
    assert path == "/subscriptions/sub/resourceGroups/group/providers/Microsoft.Storage/storageAccounts/acc/listKeys"
    assert said["authorization"] == "Bearer t"


def test_clouds() -> None:
    assert cloud_of("dod", "", Http()).storage == "core.usgovcloudapi.net"
    with pytest.raises(ServiceError, match="unknown environment identifier: x"):
        cloud_of("x", "", Http())


def test_signatures() -> None:
    """As Azurite has accepted one like it."""
    headers = {"x-ms-version": "2021-12-02", "x-ms-date": "Mon, 23 Nov 2026 02:00:00 GMT", "If-Match": "e"}
    url = "https://acc.blob.core.windows.net/cont/a%2Fb?restype=x&Comp=y"
    assert (
        signature("PUT", url, headers, 3, "acc", b"key") == "SharedKey acc:rh18ZJewpx3HdtqXIR9Rs6RxtWrAnmPchboZTB52LYs="
    )
    assert signature("PUT", url, headers, 0, "acc", b"key") != signature("PUT", url, headers, 3, "acc", b"key")

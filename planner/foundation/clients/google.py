"""Obtains tokens for Google services: a configured token, a token for the credentials of a service account or user, a
token for the account of the machine, or a token for an account that is impersonated. google-auth (extra `gcs`) handles
other kinds of credentials."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

from planner.foundation.clients.http import NONE, Http, HttpResponse, Tokens, base64url
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

KINDS = frozenset(
    (
        "service_account",
        "authorized_user",
        "external_account",
        "external_account_authorized_user",
        "impersonated_service_account",
        "gdch_service_account",
    )
)
"""values of `type` in credential files"""
_MACHINE = "/computeMetadata/v1/instance/service-accounts/default/token"


@frozen(repr=False)
class GoogleAccount:
    """Settings for credentials. `credentials` is JSON or the path of a JSON file. `impersonate`: the account to
    impersonate. `delegates`: the chain of accounts between the credentials' account and this account; each impersonates
    the next."""

    access_token: str = ""
    credentials: str = ""
    impersonate: str = ""
    delegates: tuple[str, ...] = ()


class GoogleTokens(Tokens):
    def __init__(self, account: GoogleAccount, scopes: Sequence[str], http: Http) -> None:
        self._account, self._scopes, self._http = account, tuple(scopes), http
        super().__init__()

    def _fresh(self) -> tuple[str, float]:
        account = self._account
        if not account.impersonate:
            return self._own(self._scopes)
        token, _ = self._own(("https://www.googleapis.com/auth/cloud-platform",))
        url = (
            "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
            f"{account.impersonate}:generateAccessToken"
        )
        body = {"scope": list(self._scopes), "lifetime": "3600s"}
        if account.delegates:
            body["delegates"] = [f"projects/-/serviceAccounts/{name}" for name in account.delegates]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        answer = self._http.ask("POST", url, headers, json.dumps(body).encode())
        if answer.status >= 300:
            raise ServiceError(f"impersonate: status code {answer.status}: {answer.text[:1000]}")
        return str(answer.json().get("accessToken", "")), time.time() + 3600

    def _own(self, scopes: Sequence[str]) -> tuple[str, float]:
        account = self._account
        if account.access_token:
            return account.access_token, float("inf")
        text = account.credentials
        if text:
            return self._by_kind(parse_json(contents_of(text)), scopes)
        named = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "")
        if named and not os.path.exists(named):
            raise ServiceError(f"open {named}: no such file or directory")
        path = named or os.path.expanduser("~/.config/gcloud/application_default_credentials.json")
        if os.path.exists(path):
            return self._by_kind(parse_json(contents_of(path)), scopes)
        return self._of_machine()

    def _by_kind(self, known: dict[str, Any], scopes: Sequence[str]) -> tuple[str, float]:
        kind = known.get("type")
        if kind == "service_account":
            grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
            return self._exchange_token(known, {"grant_type": grant, "assertion": _assertion(known, scopes)})
        if kind == "authorized_user":
            wanted = ("client_id", "client_secret", "refresh_token")
            fields = {name: str(known.get(name, "")) for name in wanted}
            return self._exchange_token(known, {"grant_type": "refresh_token", **fields})
        return _with_library(known, scopes)

    def _exchange_token(self, known: dict[str, Any], fields: dict[str, str]) -> tuple[str, float]:
        url = str(known.get("token_uri") or "https://oauth2.googleapis.com/token")
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self._http.ask("POST", url, headers, urlencode(fields).encode())
        if answer.status >= 300:
            raise ServiceError(f"oauth2: cannot fetch token: {answer.status}\nResponse: {answer.text[:1000]}")
        return _token_in(answer.json())

    def _of_machine(self) -> tuple[str, float]:
        host = os.environ.get("GCE_METADATA_HOST") or "169.254.169.254"
        try:
            answer = self._http.ask(
                "GET", f"http://{host}{_MACHINE}", {"Metadata-Flavor": "Google"}, retries=NONE, timeout=3.0
            )
        except ServiceError:
            answer = None
        if answer is None or answer.status >= 300:
            raise ServiceError(
                "could not find default credentials. See https://cloud.google.com/docs/authentication/"
                "external/set-up-adc for more information"
            )
        return _token_in(answer.json())


def _token_in(answer: Any) -> tuple[str, float]:
    token = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(token, str):
        raise ServiceError("the response has no access token")
    seconds = answer.get("expires_in")
    return token, time.time() + (float(seconds) if isinstance(seconds, int | float) else 3600.0)


def check(account: GoogleAccount) -> None:
    """Raises ServiceError if the configured credentials are not a JSON object. They are not checked if an access token
    is configured."""
    if account.credentials and not account.access_token:
        parse_json(contents_of(account.credentials))


def contents_of(text: str, what: str = "credentials") -> str:
    """The content of the file at the path `text`; if there is no such file, `text` itself. Raises ServiceError."""
    path = os.path.expanduser(text)
    if "\n" not in text and len(text) < 4096 and os.path.exists(path):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read(1 << 20)
        except OSError as problem:
            why = (problem.strerror or str(problem)).lower()
            raise ServiceError(f"Error loading {what}: read {path}: {why}") from None
        except UnicodeDecodeError as bad:
            raise ServiceError(f"Error loading {what}: {path}: {bad}") from None
    return text


def parse_json(text: str) -> dict[str, Any]:
    """Parse credentials in JSON. Raises ServiceError if they are not a JSON object."""
    try:
        known = json.loads(text)
    except (ValueError, RecursionError):
        known = None
    if not isinstance(known, dict):
        raise ServiceError("the string provided in credentials is neither valid json nor a valid file path")
    return known


def error_text(answer: HttpResponse) -> str:
    """The message of a failed request, as in Google's library for Go."""
    try:
        document = json.loads(answer.body)
        result = document["error"]
        message, items = str(result.get("message") or ""), list(result.get("errors") or ())
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        message, items = "", []
    if not message and not items:
        return f"googleapi: got HTTP response code {answer.status} with body: {answer.text[:2000].rstrip()}"
    text = f"googleapi: Error {answer.status}: {message}"
    several = [(str(i.get("reason", "")), str(i.get("message", ""))) for i in items if isinstance(i, dict)]
    if not several:
        return text.strip()
    if len(several) == 1 and several[0][1] == message:
        return f"{text}, {several[0][0]}"
    return text + "\nMore details:\n" + "".join(f"Reason: {why}, Message: {what}\n" for why, what in several)


def _assertion(known: dict[str, Any], scopes: Sequence[str]) -> str:
    """A JWT that proves possession of a service account's key (RFC 7523). Raises ServiceError."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    now = int(time.time())
    audience = known.get("token_uri") or "https://oauth2.googleapis.com/token"
    head = {"alg": "RS256", "typ": "JWT", "kid": known.get("private_key_id", "")}
    claims = {"iss": known.get("client_email", ""), "aud": audience, "iat": now, "exp": now + 3600}
    text = f"{_part(head)}.{_part({**claims, 'scope': ' '.join(scopes)})}"
    try:
        key = load_pem_private_key(str(known.get("private_key", "")).encode(), None)
    except (ValueError, TypeError) as bad:
        raise ServiceError(f"private key should be a PEM or plain PKCS1 or PKCS8; parse error: {bad}") from None
    if not isinstance(key, RSAPrivateKey):
        raise ServiceError("private key is invalid")
    return f"{text}.{base64url(key.sign(text.encode(), PKCS1v15(), SHA256()))}"


def _part(document: dict[str, Any]) -> str:
    return base64url(json.dumps(document, separators=(",", ":")).encode())


def _with_library(known: dict[str, Any], scopes: Sequence[str]) -> tuple[str, float]:
    """A token from google-auth, and when it expires (seconds since 1970). google-auth is a library that supports
    further types of credentials, such as those of other identity providers. Raises ServiceError."""
    try:
        library, transport = import_module("google.auth"), import_module("google.auth.transport.requests")
    except ImportError:
        detail = f"credentials of type {known.get('type')!r} need the package google-auth: install planner-iac[gcs]"
        raise ServiceError(detail) from None
    try:
        credentials, _ = library.load_credentials_from_dict(known, scopes=list(scopes))
        credentials.refresh(transport.Request())
    except Exception as problem:  # the library may raise any exception
        raise ServiceError(f"google-auth: {problem}") from None
    expiry = getattr(credentials, "expiry", None)
    return str(credentials.token), expiry.timestamp() if expiry is not None else time.time() + 3000

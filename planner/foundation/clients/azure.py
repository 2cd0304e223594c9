"""Obtains tokens for Azure services with a certificate, a secret, a federated token, a managed identity of the machine,
or the `az` program."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from typing import Any
from urllib.parse import quote, urlencode

from planner.foundation.clients.azure_settings import (
    CLOUDS,
    AzureAccount,
    certificate_of,
    client_id,
    method_of,
    value_or_file,
)
from planner.foundation.clients.http import NONE, Http, Tokens, base64url
from planner.foundation.vocabulary.diagnostic import ServiceError

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_AUDIENCES = {
    "https://login.chinacloudapi.cn": "api://AzureADTokenExchangeChina",
    "https://login.microsoftonline.us": "api://AzureADTokenExchangeUSGov",
}


class AzureTokens(Tokens):
    """Tokens for a scope such as `https://vault.azure.net/.default`, renewed before they expire. `login` is the URL of
    the login service; by default, the `environment` setting selects it. AZURE_AUTHORITY_HOST overrides both. Raises
    ServiceError."""

    def __init__(self, account: AzureAccount, scope: str, http: Http, login: str = "") -> None:
        self._account, self._scope, self._http = account, scope, http
        cloud = CLOUDS.get(account.text("environment"))
        self._host = login or (cloud.login if cloud is not None else "")
        super().__init__()

    def _fresh(self) -> tuple[str, float]:
        account = self._account
        method, reasons = method_of(account)
        if method == "certificate":
            return self._login("certificate")
        if method == "secret":
            secret = value_or_file(account, "client_secret", "client_secret_file_path", "client secret")
            return self._login("", client_secret=secret)
        if method == "pipelines":
            return self._login(self._of_pipeline())
        if method == "oidc":
            return self._login(self._federated_token())
        if method == "machine":
            return self._managed_identity_token()
        if method == "workload":
            path = os.environ.get("AZURE_FEDERATED_TOKEN_FILE", "")
            return self._login(value_or_file(AzureAccount({"path": path}), "token", "path", "token"))
        if method == "program":
            return _of_program(self._scope.removesuffix("/.default"), account)
        raise ServiceError("\n".join(f"{summary}: {detail}" for summary, detail in reasons))

    def _login(self, assertion: str, **fields: str) -> tuple[str, float]:
        """Log in as the client. Returns a token, and when it expires (seconds since 1970). `assertion`: a federated
        token, "certificate" to sign one with the client's certificate, or "" if `fields` prove the client's identity.
        Raises ServiceError."""
        account = self._account
        is_workload = method_of(account)[0] == "workload"
        client = os.environ.get("AZURE_CLIENT_ID", "") if is_workload else ""
        tenant = os.environ.get("AZURE_TENANT_ID", "") if is_workload else ""
        client, tenant = client or client_id(account), tenant or account.text("tenant_id")
        host = os.environ.get("AZURE_AUTHORITY_HOST") or self._host
        if not tenant or not host:
            raise ServiceError("tenant_id and a known environment are needed to log in")
        url = f"{host.rstrip('/')}/{quote(tenant, safe='')}/oauth2/v2.0/token"
        if assertion:
            proof = _of_certificate(account, client, url) if assertion == "certificate" else assertion
            fields = {"client_assertion_type": _ASSERTION, "client_assertion": proof}
        body = {"grant_type": "client_credentials", "client_id": client, "scope": self._scope, **fields}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self._http.ask("POST", url, headers, urlencode(body).encode())
        if answer.status >= 300:
            raise ServiceError(f"authentication failed: POST {url}: status code {answer.status}: {answer.text[:1000]}")
        return _token_in(answer.json())

    def _federated_token(self) -> str:
        account = self._account
        token = value_or_file(account, "oidc_token", "oidc_token_file_path", "token", is_needed=False)
        if token:
            return token
        url = account.text("oidc_request_url")
        if "audience=" not in url:
            audience = _AUDIENCES.get(self._host, "api://AzureADTokenExchange")
            url += f"{'&' if '?' in url else '?'}audience={quote(audience, safe='')}"
        answer = self._http.ask(
            "GET",
            url,
            {
                "Authorization": f"Bearer {account.text('oidc_request_token')}",
                "Accept": "application/json; api-version=2.0",
                "Content-Type": "application/json",
            },
        )
        if answer.status >= 300:
            raise ServiceError(f"non-2xx response: status code {answer.status}, body: {answer.text[:1000]}")
        return _member(answer.json(), "value")

    def _of_pipeline(self) -> str:
        account, url = self._account, os.environ.get("SYSTEM_OIDCREQUESTURI", "")
        connection = quote(account.text("ado_service_connection_id"), safe="")
        answer = self._http.ask(
            "POST",
            f"{url}{'&' if '?' in url else '?'}api-version=7.1&serviceConnectionId={connection}",
            {
                "Authorization": f"Bearer {account.text('oidc_request_token')}",
                "Content-Type": "application/json",
                "X-TFS-FedAuthRedirect": "Suppress",
            },
        )
        if answer.status >= 300:
            raise ServiceError(f"Azure DevOps: status code {answer.status}: {answer.text[:1000]}")
        return _member(answer.json(), "oidcToken")

    def _managed_identity_token(self) -> tuple[str, float]:
        endpoint, secret = os.environ.get("IDENTITY_ENDPOINT", ""), os.environ.get("IDENTITY_HEADER", "")
        headers, version = {"Metadata": "true"}, "2018-02-01"
        if endpoint and secret:
            headers, version = {"X-IDENTITY-HEADER": secret}, "2019-08-01"
        else:
            endpoint = self._account.text("msi_endpoint") or "http://169.254.169.254/metadata/identity/oauth2/token"
        query = {"api-version": version, "resource": self._scope.removesuffix("/.default")}
        if self._account.text("client_id"):
            query["client_id"] = self._account.text("client_id")
        answer = self._http.ask("GET", f"{endpoint}?{urlencode(query)}", headers, retries=NONE, timeout=10.0)
        if answer.status >= 300:
            raise ServiceError(f"managed identity: status code {answer.status}: {answer.text[:1000]}")
        return _token_in(answer.json())


def _of_certificate(account: AzureAccount, client: str, audience: str) -> str:
    """A JWT that proves possession of the certificate's key (RFC 7523). Raises ServiceError."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA1, SHA256

    key, certificate = certificate_of(account)
    now = int(time.time())
    head = {"alg": "RS256", "typ": "JWT", "x5t": base64url(certificate.fingerprint(SHA1()))}
    claims = {
        "aud": audience,
        "iss": client,
        "sub": client,
        "jti": str(uuid.uuid4()),
        "nbf": now - 60,
        "exp": now + 600,
    }
    text = ".".join(base64url(json.dumps(part, separators=(",", ":")).encode()) for part in (head, claims))
    return f"{text}.{base64url(key.sign(text.encode(), PKCS1v15(), SHA256()))}"


def _member(answer: Any, name: str) -> str:
    result = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(result, str):
        raise ServiceError(f"the answer has no {name}")
    return result


def _token_in(answer: Any) -> tuple[str, float]:
    token = _member(answer, "access_token")
    try:
        if answer.get("expires_on") and not answer.get("expires_in"):
            return token, float(answer["expires_on"])
        seconds = float(answer.get("expires_in") or 3600)
    except (TypeError, ValueError):
        seconds = 3600.0
    return token, time.time() + seconds


def run_az(*words: str) -> Any:
    """The parsed JSON that `az` prints. Raises ServiceError."""
    try:
        run = subprocess.run(["az", *words, "-o", "json"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ServiceError(f"Azure CLI: {getattr(problem, 'strerror', None) or problem}") from None
    if run.returncode:
        raise ServiceError(f"Azure CLI: {run.stderr.decode('utf-8', 'replace').strip()[:1000]}")
    try:
        return json.loads(run.stdout)
    except (ValueError, RecursionError):
        raise ServiceError("Azure CLI: its answer is not valid JSON") from None


def _of_program(resource: str, account: AzureAccount) -> tuple[str, float]:
    words = ["account", "get-access-token", "--resource", resource]
    if account.text("subscription_id"):
        words += ["--subscription", account.text("subscription_id")]
    elif account.text("tenant_id"):
        words += ["--tenant", account.text("tenant_id")]
    document = run_az(*words)
    try:
        return str(document["accessToken"]), float(document.get("expires_on") or time.time() + 3000)
    except (ValueError, KeyError, TypeError):
        raise ServiceError("Azure CLI: its answer has no token") from None

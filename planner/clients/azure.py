"""Who asks services of Azure: tokens for a secret, a token of somebody else's, an identity of the machine, or of the
command line program `az`. Certificates, and what else there is, go to azure-identity (extra `azurerm`)."""

from __future__ import annotations

import json
import os
import subprocess
import time
from base64 import b64decode
from collections.abc import Mapping
from importlib import import_module
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from attrs import frozen

from planner.clients.http import NONE, Http
from planner.clients.problem import ServiceError

EARLY = 300.0
"""Seconds before a token expires at which a new one is asked for."""
_LOGINS = {
    "public": "https://login.microsoftonline.com",
    "usgovernment": "https://login.microsoftonline.us",
    "china": "https://login.chinacloudapi.cn",
}
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_VARIABLES = {
    "client_id": ("ARM_CLIENT_ID",),
    "client_id_file_path": ("ARM_CLIENT_ID_FILE_PATH",),
    "client_secret": ("ARM_CLIENT_SECRET",),
    "client_secret_file_path": ("ARM_CLIENT_SECRET_FILE_PATH",),
    "client_certificate": ("ARM_CLIENT_CERTIFICATE",),
    "client_certificate_password": ("ARM_CLIENT_CERTIFICATE_PASSWORD",),
    "client_certificate_path": ("ARM_CLIENT_CERTIFICATE_PATH",),
    "oidc_token": ("ARM_OIDC_TOKEN",),
    "oidc_token_file_path": ("ARM_OIDC_TOKEN_FILE_PATH",),
    "oidc_request_url": ("ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL"),
    "oidc_request_token": ("ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
    "tenant_id": ("ARM_TENANT_ID",),
    "environment": ("ARM_ENVIRONMENT",),
    "metadata_host": ("ARM_METADATA_HOST",),
    "subscription_id": ("ARM_SUBSCRIPTION_ID",),
    "msi_endpoint": ("ARM_MSI_ENDPOINT", "MSI_ENDPOINT"),
}
_FLAGS = {
    "use_oidc": "ARM_USE_OIDC",
    "use_msi": "ARM_USE_MSI",
    "use_aks_workload_identity": "ARM_USE_AKS_WORKLOAD_IDENTITY",
    "use_cli": "ARM_USE_CLI",
}


@frozen(repr=False)
class AzureAccount:
    """What settings and the environment say about who asks, by the names of the settings."""

    said: Mapping[str, Any]

    def text(self, name: str) -> str:
        found = self.said.get(name)
        return found if isinstance(found, str) else ""

    def flag(self, name: str, otherwise: bool = False) -> bool:
        found = self.said.get(name)
        return found if isinstance(found, bool) else otherwise

    def secret(self, name: str, file: str) -> str:
        """A text, or what is in the file that another setting names. Raises ServiceError."""
        if self.text(name) or not self.text(file):
            return self.text(name)
        try:
            with open(self.text(file), encoding="utf-8") as opened:
                return opened.read(1 << 20).strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise ServiceError(f"{file}: {problem}") from None


def account_of(settings: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> AzureAccount:
    """The settings with what the environment says for those that are not given."""
    said = {name: value for name, value in settings.items() if value not in (None, "")}
    for name, variables in _VARIABLES.items():
        found = next((value for v in variables if (value := environment.get(v))), None)
        if name not in said and found:
            said[name] = found
    for name, variable in _FLAGS.items():
        if name not in said and environment.get(variable):
            said[name] = environment[variable].lower() in ("1", "t", "true")
    return AzureAccount(said)


class AzureTokens:
    """Tokens for a scope such as `https://vault.azure.net/.default`, new ones before they expire. Raises
    ServiceError."""

    def __init__(self, account: AzureAccount, scope: str, http: Http) -> None:
        self._account, self._scope, self._http = account, scope, http
        self._token, self._expires = "", 0.0
        self._lock = Lock()

    def __call__(self) -> str:
        with self._lock:
            if not self._token or time.time() > self._expires - EARLY:
                self._token, self._expires = self._fresh()
            return self._token

    def _fresh(self) -> tuple[str, float]:
        account = self._account
        secret = account.secret("client_secret", "client_secret_file_path")
        if secret:
            return self._login({"client_secret": secret})
        if account.text("client_certificate") or account.text("client_certificate_path"):
            return self._with_library()
        if account.flag("use_oidc"):
            return self._login({"client_assertion_type": _ASSERTION, "client_assertion": self._foreign()})
        if account.flag("use_aks_workload_identity"):
            token = AzureAccount({"file": os.environ.get("AZURE_FEDERATED_TOKEN_FILE", "")}).secret("token", "file")
            return self._login({"client_assertion_type": _ASSERTION, "client_assertion": token})
        if account.flag("use_msi"):
            return self._of_machine()
        if account.flag("use_cli", True):
            return _of_program(self._scope.removesuffix("/.default"), account.text("tenant_id"))
        raise ServiceError("no valid authentication method for Azure was found")

    def _login(self, fields: dict[str, str]) -> tuple[str, float]:
        account = self._account
        client = account.secret("client_id", "client_id_file_path") or os.environ.get("AZURE_CLIENT_ID", "")
        tenant = account.text("tenant_id") or os.environ.get("AZURE_TENANT_ID", "")
        host = os.environ.get("AZURE_AUTHORITY_HOST") or _LOGINS.get(account.text("environment") or "public", "")
        if not client or not tenant or not host:
            raise ServiceError("client_id, tenant_id and a known environment are needed to log in")
        url = f"{host.rstrip('/')}/{quote(tenant, safe='')}/oauth2/v2.0/token"
        body = {"grant_type": "client_credentials", "client_id": client, "scope": self._scope, **fields}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self._http.ask("POST", url, headers, urlencode(body).encode())
        if answer.status >= 300:
            raise ServiceError(f"authentication failed: POST {url}: status code {answer.status}: {answer.text[:1000]}")
        return _token_in(answer.json())

    def _foreign(self) -> str:
        """The token of somebody else's that is exchanged."""
        account = self._account
        token = account.secret("oidc_token", "oidc_token_file_path")
        url = account.text("oidc_request_url")
        if token or not url:
            return token
        url += f"{'&' if '?' in url else '?'}audience={quote('api://AzureADTokenExchange', safe='')}"
        headers = {"Authorization": f"Bearer {account.text('oidc_request_token')}", "Accept": "application/json"}
        answer = self._http.ask("GET", url, headers)
        found = answer.json() if answer.status < 300 else None
        if not isinstance(found, dict) or not isinstance(found.get("value"), str):
            raise ServiceError(f"no token from oidc_request_url: status code {answer.status}")
        return str(found["value"])

    def _of_machine(self) -> tuple[str, float]:
        account = self._account
        endpoint = account.text("msi_endpoint") or "http://169.254.169.254/metadata/identity/oauth2/token"
        query = {"api-version": "2018-02-01", "resource": self._scope.removesuffix("/.default")}
        client = account.secret("client_id", "client_id_file_path")
        if client:
            query["client_id"] = client
        answer = self._http.ask(
            "GET", f"{endpoint}?{urlencode(query)}", {"Metadata": "true"}, retries=NONE, timeout=10.0
        )
        if answer.status >= 300:
            raise ServiceError(f"managed identity: status code {answer.status}: {answer.text[:1000]}")
        return _token_in(answer.json())

    def _with_library(self) -> tuple[str, float]:
        account = self._account
        try:
            identity: Any = import_module("azure.identity")
        except ImportError:
            detail = "certificates for Azure need the package azure-identity: install planner[azurerm]"
            raise ServiceError(detail) from None
        text, path = account.text("client_certificate"), account.text("client_certificate_path")
        try:
            given = {"certificate_data": b64decode(text)} if text else {"certificate_path": path}
            credential = identity.CertificateCredential(
                account.text("tenant_id"),
                account.secret("client_id", "client_id_file_path"),
                password=account.text("client_certificate_password") or None,
                **given,
            )
            token = credential.get_token(self._scope)
        except Exception as problem:  # whatever the library raises
            raise ServiceError(f"azure-identity: {problem}") from None
        return str(token.token), float(token.expires_on)


def _token_in(answer: Any) -> tuple[str, float]:
    token = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(token, str):
        raise ServiceError("the answer has no access token")
    try:
        seconds = float(answer.get("expires_in") or 3600)
    except (TypeError, ValueError):
        seconds = 3600.0
    return token, time.time() + seconds


def _of_program(resource: str, tenant: str) -> tuple[str, float]:
    command = ["az", "account", "get-access-token", "--output", "json", "--resource", resource]
    command += ["--tenant", tenant] if tenant else []
    try:
        run = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ServiceError(f"Azure CLI: {getattr(problem, 'strerror', None) or problem}") from None
    if run.returncode:
        raise ServiceError(f"Azure CLI: {run.stderr.decode('utf-8', 'replace').strip()[:1000]}")
    try:
        said = json.loads(run.stdout)
        return str(said["accessToken"]), float(said.get("expires_on") or time.time() + 3000)
    except (ValueError, KeyError, TypeError):
        raise ServiceError("Azure CLI: its answer has no token") from None

"""A client for a Kubernetes API server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from threading import Lock
from typing import Any

from planner.foundation.clients.http import Http, HttpResponse, Retries, Tls, basic
from planner.foundation.clients.kube_config import Access, Plugin
from planner.foundation.support.disk import read_text
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import evolve

_PLUGIN_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_PLUGIN_TIMEOUT = 120.0  # seconds
_TOKEN_AGE = 60.0  # seconds after which a token file is read again


class KubernetesApi:
    """A client for a Kubernetes API server. May be used by several threads. Raises ServiceError for contradictory
    settings."""

    def __init__(self, access: Access) -> None:
        if access.insecure and access.authorities:
            raise ServiceError("specifying a root certificates file with the insecure flag is not allowed")
        if access.token and (access.user or access.password):
            raise ServiceError("username/password or bearer token may be set, but not both")
        self.access = access
        host = access.host or "localhost"
        has_tls = access.authorities or access.certificate or access.insecure
        self.url = (host if "://" in host else f"{'https' if has_tls else 'http'}://{host}").rstrip("/")
        self._lock = Lock()
        self._given: _Given | None = None
        self._token, self._read = "", 0.0
        self._http = self._client_with(access.certificate, access.key)

    def _client_with(self, certificate: str, key: str) -> Http:
        access = self.access
        tls = Tls(access.authorities, certificate, key, not access.insecure, access.server_name)
        rules = Retries(3, 0.25, 2.0, refused=False)
        if access.proxy:
            return Http(retries=rules, tls=tls, proxies={"https": access.proxy, "http": access.proxy, "no": ""})
        return Http(retries=rules, tls=tls)

    def ask(self, method: str, path: str, body: Any = None) -> HttpResponse:
        """Send a request. Raises ServiceError if there are no credentials or no response, or for a status other than
        2xx, 404 and 409. The code of the error is the reason that the server reports."""
        headers = {"Accept": "application/json", **self.access.acting_as}
        sent = b""
        if body is not None:
            headers["Content-Type"] = "application/json"
            sent = json.dumps(body, separators=(",", ":")).encode()
        answer = self._http.ask(method, f"{self.url}{path}", {**headers, **self._credentials()}, sent)
        if answer.status == 401 and self.access.plugin is not None:
            self._given = None
            answer = self._http.ask(method, f"{self.url}{path}", {**headers, **self._credentials()}, sent)
        if answer.status in (404, 409) or 200 <= answer.status < 300:
            return answer
        raise problem_of(answer)

    def _credentials(self) -> dict[str, str]:
        access = self.access
        if access.user or access.password:
            return {"Authorization": basic(access.user, access.password)}
        token = access.token or self._from_file() or self._from_plugin()
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _from_file(self) -> str:
        path = self.access.token_file
        if not path:
            return ""
        with self._lock:
            if not self._token or time.monotonic() - self._read > _TOKEN_AGE:
                try:
                    self._token, self._read = read_text(path).strip(), time.monotonic()
                except (OSError, ValueError) as problem:
                    reason = getattr(problem, "strerror", None) or problem
                    raise ServiceError(f"failed to read token file {path}: {reason}") from None
            return self._token

    def _from_plugin(self) -> str:
        plugin = self.access.plugin
        if plugin is None:
            return ""
        with self._lock:
            if self._given is None or self._given.is_over:
                self._given = _Given(_plugin_output(plugin))
                if self._given.certificate:
                    self._http = self._client_with(self._given.certificate, self._given.key)
            return self._given.token


class _Given:
    """Credentials returned by a plugin."""

    def __init__(self, status: Mapping[str, Any]) -> None:
        self.token = str(status.get("token") or "")
        self.certificate = str(status.get("clientCertificateData") or "")
        self.key = str(status.get("clientKeyData") or "")
        if not (self.token or self.certificate or self.key):
            raise ServiceError("getting credentials: exec plugin didn't return a token or cert/key pair")
        if bool(self.certificate) != bool(self.key):
            raise ServiceError("getting credentials: exec plugin returned only certificate or key, not both")
        try:
            until = status.get("expirationTimestamp")
            self._until = datetime.fromisoformat(str(until)).timestamp() if until else 0.0
        except ValueError:
            raise ServiceError(f"getting credentials: {until} is not a valid time") from None

    @property
    def is_over(self) -> bool:
        return bool(self._until) and time.time() >= self._until


def _plugin_output(plugin: Plugin) -> Mapping[str, Any]:
    """Run a plugin. Returns the member `status`, which contains credentials, of the object that it prints. Raises
    ServiceError."""
    if plugin.version not in _PLUGIN_VERSIONS:
        raise ServiceError(f'exec plugin: invalid apiVersion "{plugin.version}"')
    request: dict[str, Any] = {"kind": "ExecCredential", "apiVersion": plugin.version, "spec": {"interactive": False}}
    if plugin.cluster is not None:
        request["spec"]["cluster"] = dict(plugin.cluster)
    environment = {**os.environ, **plugin.variables, "KUBERNETES_EXEC_INFO": json.dumps(request)}
    try:
        done = subprocess.run(
            [plugin.command, *plugin.arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=sys.__stderr__,
            timeout=_PLUGIN_TIMEOUT,
            check=False,
        )
    except FileNotFoundError:
        hint = f"\n\n{plugin.hint}" if plugin.hint else ""
        raise ServiceError(f"getting credentials: exec: executable {plugin.command} not found{hint}") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ServiceError(f"getting credentials: exec: {reason}") from None
    if done.returncode:
        failed = f"executable {plugin.command} failed with exit code {done.returncode}"
        raise ServiceError(f"getting credentials: exec: {failed}")
    try:
        document = json.loads(done.stdout)
    except (ValueError, RecursionError) as bad:
        raise ServiceError(f"getting credentials: decoding stdout: {bad}") from None
    if not isinstance(document, dict) or not isinstance(document.get("status"), dict):
        raise ServiceError("getting credentials: exec plugin didn't return a status field")
    if document.get("apiVersion") != plugin.version:
        text = f"exec plugin is configured to use API version {plugin.version}, plugin returned version"
        raise ServiceError(f"getting credentials: {text} {document.get('apiVersion')}")
    status: dict[str, Any] = document["status"]
    return status


def problem_of(answer: HttpResponse) -> ServiceError:
    text, reason = "", ""
    try:
        document = json.loads(answer.body)
        text, reason = str(document.get("message") or ""), str(document.get("reason") or "")
    except (ValueError, AttributeError, RecursionError):
        text = " ".join(answer.text.split())[:500]
    if answer.status == 401 and not text:
        text = "Unauthorized"
    text = text or f"the server returned {answer.status}"
    return ServiceError(text, code=reason, may_pass=answer.status == 429 or answer.status >= 500)


def with_static(access: Access, **given: Any) -> Access:
    """A copy of `access` in which the non-empty settings of the backend block (`given`) override the settings from
    files."""
    return evolve(access, **{name: value for name, value in given.items() if value})

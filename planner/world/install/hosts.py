"""Hosts and their services: where a host's registries are (`/.well-known/terraform.json`), and credentials for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from planner.foundation.clients.cli_config import CliConfig
from planner.foundation.clients.host_tokens import HostTokens
from planner.foundation.clients.problem import ServiceError
from planner.foundation.support.problem import InstallError
from planner.world.install.web import Web, host_of, resolve, status_text

PROVIDERS, MODULES = "providers.v1", "modules.v1"
_DISCOVERY = "/.well-known/terraform.json"
_LARGEST = 1 << 20


class Hosts:
    """Asks each host once."""

    def __init__(self, config: CliConfig, web: Web, environ: Mapping[str, str]) -> None:
        self.config, self.web = config, web
        self._services: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._tokens = HostTokens(config, environ)

    def service(self, host: str, name: str) -> str:
        """The base URL of a service, ending in a slash. Raises InstallError; not_found: the host has no such thing."""
        base, services = self._discover(host)
        named = services.get(name)
        if not isinstance(named, str):
            kind = name.partition(".")[0]
            others = any(key.startswith(f"{kind}.v") for key in services)
            more = " in a version that this program knows" if others else ""
            raise InstallError(f"the host {host} has no registry of {kind}{more}", "no_service")
        url = resolve(base, named)
        if urlsplit(url).scheme not in ("http", "https"):
            raise InstallError(f"the host {host} names {named} as its registry, which is not a URL with http or https")
        return url if url.endswith("/") else f"{url}/"

    def _discover(self, host: str) -> tuple[str, Mapping[str, Any]]:
        if host in self.config.hosts:
            return f"https://{host}{_DISCOVERY}", self.config.hosts[host]
        if host not in self._services:
            answer = self.web.get(
                f"https://{host}{_DISCOVERY}", {"Accept": "application/json", **self.credentials(host)}
            )
            if answer.status == 404:
                services: Any = {}
            elif answer.status != 200:
                raise InstallError(f"{host} answered {status_text(answer.status)} when asked for its services")
            elif answer.media_type != "application/json" or len(answer.body) > _LARGEST:
                raise InstallError(f"{host_of(answer.url)} has no JSON document about its services at {answer.url}")
            else:
                services = answer.json()
            if not isinstance(services, dict):
                raise InstallError(f"the document about the services of {host} is not a JSON object")
            self._services[host] = (answer.url, services)
        return self._services[host]

    def credentials(self, host: str) -> dict[str, str]:
        """The headers that tell a host who asks."""
        try:
            token = self._tokens.token(host)
        except ServiceError as problem:
            raise InstallError(problem.text) from None
        return {"Authorization": f"Bearer {token}"} if token else {}

    def credentials_for(self, url: str) -> dict[str, str]:
        return self.credentials(host_of(url).lower())

"""A client for Terraform Enterprise and compatible servers: services of a host, organizations, workspaces and state
versions. Requests and responses are JSON:API."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from planner.foundation.clients.cli_config import CliConfig, load_cli_config
from planner.foundation.clients.host_tokens import HostTokens
from planner.foundation.clients.http import Http, HttpResponse, Retries
from planner.foundation.vocabulary.diagnostic import Failure, ServiceError
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION

DISCOVERY = "/.well-known/terraform.json"
_HOST = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(:[0-9]{1,5})?", re.ASCII)
_LARGEST = 1 << 20  # the maximum size of a discovery document, in bytes
_MAX_REDIRECTS = 5
_MAX_PAGES = 1000


def host_name(text: str) -> str:
    """Normalize a host name: lower case, without the default port. Raises ServiceError."""
    host = text.strip().lower().removesuffix(":443")
    if not _HOST.fullmatch(host):
        raise ServiceError(f'The given hostname "{text}" is not valid')
    return host


def settings() -> CliConfig:
    """The settings of the command line tool. Raises ServiceError."""
    try:
        return load_cli_config(os.environ)
    except Failure as failure:
        raise ServiceError("; ".join(one.detail or one.summary for one in failure.diagnostics)) from None


class Host:
    """The services that a host declares; its discovery document is requested on first use."""

    def __init__(self, name: str, config: CliConfig, http: Http | None = None) -> None:
        self.name = host_name(name)
        self.tokens = HostTokens(config, os.environ)
        self._config, self._http = config, http or Http(retries=Retries(2, 0.5, 5.0, refused=False))
        self._services: tuple[str, Mapping[str, Any]] | None = None

    def services(self) -> tuple[str, Mapping[str, Any]]:
        """The base of relative URLs, and {name of a service: its URL or settings}. Raises ServiceError."""
        if self._services is None:
            given = self._config.hosts.get(self.name)
            url = f"https://{self.name}{DISCOVERY}"
            self._services = (url, given) if given is not None else self._request(url)
        return self._services

    def _request(self, url: str) -> tuple[str, Mapping[str, Any]]:
        token = self.tokens.token(self.name)
        headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            answer, url = _follow_redirects(self._http, url, headers, urlsplit(url).netloc)
        except ServiceError as problem:
            raise ServiceError(f"failed to request discovery document: {problem.text}", may_pass=True) from None
        if answer.status == 404:
            return url, {}
        if answer.status != 200:
            raise ServiceError(f"failed to request discovery document: {answer.status}", may_pass=answer.status >= 500)
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" or len(answer.body) > _LARGEST:
            raise ServiceError(f'discovery URL returned an unsupported Content-Type "{kind}"')
        services = answer.json()
        if not isinstance(services, dict):
            raise ServiceError("failed to decode discovery document as a JSON object")
        return url, services

    def service(self, *names: str) -> str:
        """The URL of the first of these services that the host declares, with a slash at the end. Raises
        ServiceError."""
        base, services = self.services()
        for name in names:
            if isinstance(services.get(name), str):
                url = urljoin(base, str(services[name]))
                if urlsplit(url).scheme not in ("http", "https"):
                    raise ServiceError(
                        f"the host {self.name} names {url} as its {name}, which is not an http or https URL"
                    )
                return url if url.endswith("/") else f"{url}/"
        raise ServiceError(f"host {self.name} does not provide a {names[0].partition('.')[0]} service")


def _follow_redirects(http: Http, url: str, headers: Mapping[str, str], known: str) -> tuple[HttpResponse, str]:
    """Follow redirects of a GET request. Returns the last response and its URL. The Authorization header is sent only
    to the host `known`. Raises ServiceError."""
    for _ in range(_MAX_REDIRECTS + 1):
        parts = urlsplit(url)
        mine = parts.netloc == known
        sent = {name: value for name, value in headers.items() if mine or name != "Authorization"}
        answer = http.ask("GET", url, sent)
        if answer.status not in (301, 302, 303, 307, 308) or not answer.headers.get("location"):
            return answer, url
        target = urljoin(url, answer.headers["location"])
        if parts.scheme == "https" and urlsplit(target).scheme != "https":
            raise ServiceError(f"{parts.hostname} redirects from https to {urlsplit(target).scheme}")
        url = target
    raise ServiceError(f"{urlsplit(url).hostname} redirects too many times")


class Tfe:
    """A client for one API of a host. May be used by several threads."""

    def __init__(self, url: str, token: str, http: Http | None = None) -> None:
        self.url, self._token = url, token
        self._http = http or Http(timeout=60.0, retries=Retries(4, 0.5, 10.0, refused=False))

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        on_headers: Callable[[Mapping[str, str]], None] | None = None,
        /,
        **query: str,
    ) -> Any:
        """Send a request. Returns the parsed response, None for status 404. `on_headers` is called with the headers of
        the response. Raises ServiceError, with the status as its code."""
        headers = self._headers("application/vnd.api+json")
        if body is not None:
            headers["Content-Type"] = "application/vnd.api+json"
        url = urljoin(self.url, path) + (f"?{urlencode(sorted(query.items()))}" if query else "")
        answer = self._http.ask(method, url, headers, json.dumps(body).encode() if body is not None else b"")
        if on_headers is not None:
            on_headers(answer.headers)
        if answer.status == 404:
            return None
        if not 200 <= answer.status < 300:
            raise problem_of(answer)
        return answer.json() if answer.body else {}

    def _headers(self, accepted: str) -> dict[str, str]:
        names = {"Accept": accepted, "X-Terraform-Version": COMPATIBLE_VERSION, "TF-Source": "planner"}
        return {**names, "Authorization": f"Bearer {self._token}"}

    def all(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        """The items on all pages of a list. Raises ServiceError."""
        for number in range(1, _MAX_PAGES):
            result = self.ask("GET", path, None, **query, **{"page[number]": str(number), "page[size]": "100"})
            if result is None:
                raise ServiceError("resource not found")
            yield from (item for item in result.get("data") or () if isinstance(item, dict))
            pages = (result.get("meta") or {}).get("pagination") or {}
            if int(pages.get("current-page") or 1) >= int(pages.get("total-pages") or 1):
                return

    def download(self, url: str) -> bytes:
        """The content at a URL that the API returned. The token is sent to the host of this URL, but not to other hosts
        after redirects. It is sent only by https, unless the API itself uses http. Raises ServiceError."""
        whole = urljoin(self.url, url)
        is_safe = urlsplit(whole).scheme == "https" or urlsplit(self.url).scheme == "http"
        known = urlsplit(whole).netloc if is_safe else ""
        answer, _ = _follow_redirects(self._http, whole, self._headers("application/json"), known)
        if answer.status != 200:
            raise problem_of(answer)
        return answer.body

    def upload(self, url: str, data: bytes) -> None:
        """Upload to a URL that the API returned and that contains credentials. Raises ServiceError."""
        answer = self._http.ask("PUT", urljoin(self.url, url), {"Content-Type": "application/octet-stream"}, data)
        if not 200 <= answer.status < 300:
            raise problem_of(answer)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


def path_of(*parts: str) -> str:
    return "/".join(quote(part, safe="") for part in parts)


def problem_of(answer: HttpResponse) -> ServiceError:
    texts = []
    try:
        for one in json.loads(answer.body)["errors"]:
            texts.append("\n\n".join(str(one[name]) for name in ("title", "detail") if one.get(name)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    text = "\n".join(filter(None, texts)) or f"the server returned {answer.status}"
    text = {401: "unauthorized", 404: "resource not found"}.get(answer.status, text)
    may_pass = answer.status == 429 or answer.status >= 500
    return ServiceError(text, code=str(answer.status), may_pass=may_pass)

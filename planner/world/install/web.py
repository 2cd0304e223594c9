"""HTTP for registries, mirrors and archives, with retries, increasing pauses, timeouts and resumed downloads. Only
https and http URLs are fetched, also after redirects. Credentials are not sent after a redirect to another host or from
https to http. Messages never show a user name and password in a URL. Proxies come from the usual variables
(HTTPS_PROXY, NO_PROXY), certificates from SSL_CERT_FILE, SSL_CERT_DIR or the system."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import string
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Mapping
from email.message import Message
from typing import IO, Any
from urllib.parse import quote, unquote, urljoin, urlsplit

from planner.foundation.clients.cli_config import CliConfig
from planner.foundation.clients.host_tokens import HostTokens
from planner.foundation.clients.http import BoundedResponse, is_unknown_host, use_system_certificates, user_agent
from planner.foundation.support.trace import note
from planner.foundation.vocabulary.diagnostic import InstallError, ServiceError
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION
from planner.language.config.sources import without_secrets

LONGEST_PAUSE = 30.0  # longest pause before a retry, in seconds
LARGEST_DOCUMENT = 64 << 20  # maximum size of a response in memory, in bytes
LARGEST_FILE = 16 << 30  # maximum size of a download, in bytes
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_MAX_REDIRECTS = 10
_USER_AGENT = f"OpenTofu/{COMPATIBLE_VERSION} (+planner)"

Progress = Callable[[int, int], None]  # Parameters: received bytes, total bytes (0: unknown).


@frozen
class WebResponse:
    """A response of a server. `url` is the final URL after redirects."""

    status: int
    headers: Message
    url: str
    body: bytes

    @property
    def media_type(self) -> str:
        return (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """The parsed body. Raises InstallError."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as bad:
            raise InstallError(f"the response of {host_of(self.url)} is not valid JSON ({bad})") from None


@frozen
class Web:
    """A client for registries, mirrors and archives. `retries`: the number of retries after temporary failures.
    `timeout`: seconds for connecting and waiting for the response; long responses may take longer
    (planner.foundation.clients.http)."""

    retries: int = 1
    timeout: float = 10.0
    pause: Callable[[float], None] = field(default=time.sleep, repr=False)

    def get(self, url: str, headers: Mapping[str, str] | None = None, posted: bytes | None = None) -> WebResponse:
        """The response to a GET, or to a POST of `posted`, with any status. Raises InstallError if there is no
        response, or if it is too large."""

        def once() -> WebResponse:
            with self._open(url, headers or {}, posted) as response:
                body = response.read(LARGEST_DOCUMENT + 1)
                if len(body) > LARGEST_DOCUMENT:
                    raise InstallError(f"the response of {host_of(url)} is larger than {LARGEST_DOCUMENT >> 20} MiB")
                return WebResponse(_status(response), response.headers, response.geturl(), body)

        return self._patiently(url, once)

    def document(self, url: str) -> bytes:
        """The body of a response with status 200. Raises InstallError."""
        answer = self.get(url)
        if answer.status != 200:
            raise InstallError(
                f"{host_of(answer.url)} answered {status_text(answer.status)} for {display_url(answer.url)}"
            )
        return answer.body

    def download(
        self, url: str, target: str, headers: Mapping[str, str] | None = None, progress: Progress | None = None
    ) -> WebResponse:
        """Write the body to a file, and resume after an interruption if the server supports that. The result has no
        body. Raises InstallError, also for any status except 200."""
        part = _Download(self, url, target, dict(headers or {}), progress)
        answer = self._patiently(url, part.fetch)
        if answer.status != 200:
            raise InstallError(f"{host_of(url)} answered {status_text(answer.status)} for {display_url(url)}")
        return answer

    def _patiently(self, url: str, once: Callable[[], WebResponse]) -> WebResponse:
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            try:
                answer = once()
            except (OSError, http.client.HTTPException) as problem:
                if last or _is_final(problem):
                    raise InstallError(f"{host_of(url)}: {_reason(problem)}") from None
            else:
                if last or not _may_pass(answer.status):
                    return answer
            self.pause(min(2.0**attempt, LONGEST_PAUSE))
        raise AssertionError

    def _open(self, url: str, headers: Mapping[str, str], posted: bytes | None = None) -> Any:
        try:
            return self._follow(url, headers, posted)
        except ValueError as bad:
            raise InstallError(
                f"{display_url(url)} is not a valid URL, or redirects to an invalid one ({without_secrets(str(bad))})"
            ) from None

    def _follow(self, url: str, headers: Mapping[str, str], posted: bytes | None) -> Any:
        """The response after redirects; a redirect in response to a POST is returned. Raises ValueError for an invalid
        URL, and InstallError for a scheme other than http and https, or for too many redirects."""
        sent = {"User-Agent": user_agent(_USER_AGENT), "X-Terraform-Version": COMPATIBLE_VERSION}
        sent |= headers
        for _ in range(_MAX_REDIRECTS + 1):
            plain, user = _split_user(url)
            response = self._ask(plain, {**sent, **user}, posted)
            target = response.headers.get("Location") if _status(response) in _REDIRECTS else None
            if not target or posted is not None:  # posted data, which may be a token, is never sent to another server
                return response
            response.close()
            url = urljoin(plain, quote(target, safe=string.punctuation, encoding="iso-8859-1"))
            if urlsplit(url).scheme not in ("http", "https"):
                raise InstallError(
                    f"{host_of(plain)} redirects to {display_url(url)}, which is not an http or https URL"
                )
            if host_of(url) != host_of(plain) or (plain.startswith("https:") and url.startswith("http:")):
                sent.pop("Authorization", None)
            else:
                sent |= user
        raise InstallError(f"{host_of(url)} redirects too many times")

    def _ask(self, url: str, headers: dict[str, str], posted: bytes | None) -> Any:
        if urlsplit(url).scheme not in ("http", "https"):
            raise InstallError(f"{display_url(url)} is not an http or https URL")
        note("DEBUG", "request", url=display_url(url).partition("?")[0])
        try:
            return _opener().open(urllib.request.Request(url, posted, headers), timeout=self.timeout)
        except urllib.error.HTTPError as answer:
            return answer


class _Download:
    """A file that is downloaded, possibly in several parts."""

    def __init__(self, web: Web, url: str, target: str, headers: dict[str, str], progress: Progress | None) -> None:
        self.web, self.url, self.target, self.headers, self.progress = web, url, target, headers, progress
        self.validator = ""
        self.total = 0

    def fetch(self) -> WebResponse:
        begin = os.path.getsize(self.target) if self.validator and os.path.exists(self.target) else 0
        headers = dict(self.headers)
        if begin:
            headers |= {"Range": f"bytes={begin}-", "If-Range": self.validator}
        with self.web._open(self.url, headers) as response:
            status = _status(response)
            if status == 206 and begin and _first_byte(response.headers) == begin:
                mode = "ab"
            elif status == 200:
                mode, begin = "wb", 0
            elif status in (206, 416):
                self.validator = ""
                raise ConnectionError("the server returned a different range than requested")
            elif _may_pass(status):
                return WebResponse(status, response.headers, response.geturl(), b"")
            else:
                raise InstallError(f"{host_of(self.url)} answered {status_text(status)} for {display_url(self.url)}")
            self._receive(response, mode, begin)
            return WebResponse(200, response.headers, response.geturl(), b"")

    def _receive(self, response: Any, mode: str, begin: int) -> None:
        tag = response.headers.get("ETag") or ""
        ranges = (response.headers.get("Accept-Ranges") or "").lower() == "bytes" or mode == "ab"
        self.validator = tag if ranges and tag and not tag.startswith("W/") else ""
        length = response.headers.get("Content-Length") or ""
        expected = begin + int(length) if length.isascii() and length.isdigit() else 0
        with open(self.target, mode) as file:
            done = self._copy(response, file, begin, expected)
        if expected and done != expected:
            raise ConnectionError(f"the connection was closed after {done} of {expected} bytes")

    def _copy(self, response: Any, file: IO[bytes], done: int, expected: int) -> int:
        while block := response.read(1 << 18):
            file.write(block)
            done += len(block)
            if done > LARGEST_FILE:
                raise InstallError(f"{host_of(self.url)} sends more than {LARGEST_FILE >> 30} GiB")
            if self.progress is not None:
                self.progress(done, expected)
        return done


class _PlainConnection(http.client.HTTPConnection):
    response_class = BoundedResponse


class _EncryptedConnection(http.client.HTTPSConnection):
    response_class = BoundedResponse


class _Plain(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_PlainConnection, request)


class _Encrypted(urllib.request.HTTPSHandler):
    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._certificates = context

    def https_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_EncryptedConnection, request, context=self._certificates)


_openers: dict[tuple[str, str], Any] = {}


def _opener() -> Any:
    key = (os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", ""))
    if key not in _openers:
        context = ssl.create_default_context()  # depends on SSL_CERT_FILE and SSL_CERT_DIR
        use_system_certificates(context)
        opener = urllib.request.OpenerDirector()  # does not support ftp, file and data URLs
        for handler in (
            urllib.request.ProxyHandler(),
            _Plain(),
            _Encrypted(context),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPErrorProcessor(),
            urllib.request.UnknownHandler(),
        ):
            opener.add_handler(handler)
        _openers[key] = opener
    return _openers[key]


def resolve(base: str, url: str) -> str:
    """The absolute form of a URL that occurs in a response from `base`. Raises InstallError."""
    try:
        joined = urljoin(base, url)
        urlsplit(joined)  # urljoin accepts some strings that are not URLs
    except ValueError as bad:
        raise InstallError(f"{host_of(base)} names {display_url(url)}, which is not a valid URL ({bad})") from None
    return joined


def host_of(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return without_secrets(url)


def display_url(url: str) -> str:
    """The URL without user name and password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return without_secrets(url)
    return without_secrets(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"}


def with_user_of(url: str, other: str) -> str:
    """`other`, with the user name and password of `url` if both have the same host."""
    user, at, host = urlsplit(url).netloc.rpartition("@")
    parts = urlsplit(other)
    return parts._replace(netloc=f"{user}{at}{host}").geturl() if at and parts.netloc == host else other


def _split_user(url: str) -> tuple[str, dict[str, str]]:
    """The URL without user name and password, and an Authorization header with both ({} if the URL has none). Raises
    ValueError."""
    parts = urlsplit(url)
    given, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    user, _, password = given.partition(":")
    return parts._replace(netloc=host).geturl(), basic(unquote(user), unquote(password))


def status_text(status: int) -> str:
    return f"{status} {http.client.responses.get(status, '')}".rstrip()


def _status(response: Any) -> int:
    return int(getattr(response, "status", None) or response.code)


def _first_byte(headers: Message) -> int:
    text = (headers.get("Content-Range") or "").removeprefix("bytes ").partition("-")[0]
    return int(text) if text.isascii() and text.isdigit() else -1


def _may_pass(status: int) -> bool:
    return status == 429 or (status >= 500 and status != 501)


def _is_final(problem: Exception) -> bool:
    reason = getattr(problem, "reason", problem)
    is_rejected = isinstance(reason, ssl.SSLCertVerificationError) or is_unknown_host(reason)
    return is_rejected or isinstance(problem, PermissionError | IsADirectoryError)


def _reason(problem: Exception) -> str:
    reason = getattr(problem, "reason", problem)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted ({reason.verify_message})"
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    if isinstance(reason, OSError) and reason.strerror:
        return f"{reason.strerror or reason}{f' ({reason.filename})' if reason.filename else ''}"
    if isinstance(reason, http.client.IncompleteRead):
        return "the connection was closed early"
    return without_secrets(str(reason)) or type(reason).__name__


# Services of hosts (`/.well-known/terraform.json`), and credentials for them.


PROVIDERS, MODULES = "providers.v1", "modules.v1"
_DISCOVERY = "/.well-known/terraform.json"
_LARGEST = 1 << 20  # the maximum size of a discovery document, in bytes


class Hosts:
    """Service discovery, and the credentials for hosts. Each host is requested only once."""

    def __init__(self, config: CliConfig, web: Web, environ: Mapping[str, str]) -> None:
        self.config, self.web, self.environ = config, web, environ
        self._services: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._tokens = HostTokens(config, environ)

    def service(self, host: str, name: str) -> str:
        """The base URL of a service, with a slash at the end. Raises InstallError, of kind no_service if the host has
        no such service."""
        base, services = self._discover(host)
        named = services.get(name)
        if not isinstance(named, str):
            kind = name.partition(".")[0]
            others = any(key.startswith(f"{kind}.v") for key in services)
            more = " in a supported version" if others else ""
            raise InstallError(f"the host {host} has no registry of {kind}{more}", "no_service")
        url = resolve(base, named)
        if urlsplit(url).scheme not in ("http", "https"):
            raise InstallError(f"the host {host} names {named} as its registry, which is not an http or https URL")
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
                raise InstallError(f"{host} returned {status_text(answer.status)} when its services were requested")
            elif answer.media_type != "application/json" or len(answer.body) > _LARGEST:
                raise InstallError(
                    f"{host_of(answer.url)} returned no JSON document about its services at {answer.url}"
                )
            else:
                services = answer.json()
            if not isinstance(services, dict):
                raise InstallError(f"the document about the services of {host} is not a JSON object")
            self._services[host] = (answer.url, services)
        return self._services[host]

    def credentials(self, host: str) -> dict[str, str]:
        """The Authorization header for a host; empty if there are no credentials. Raises InstallError."""
        try:
            token = self._tokens.token(host)
        except ServiceError as problem:
            raise InstallError(problem.text) from None
        return {"Authorization": f"Bearer {token}"} if token else {}

    def credentials_for(self, url: str) -> dict[str, str]:
        return self.credentials(host_of(url).lower())


# Members of JSON documents from servers, which may have values of any type.


def object_in(body: Any, name: str, where: str) -> Mapping[str, Any]:
    """An object that is a member of a JSON object; {} if the member is missing. Raises InstallError for other
    values."""
    return _part(body, name, where, dict, "object")  # type: ignore[no-any-return]


def list_in(body: Any, name: str, where: str) -> list[Any]:
    """A list that is a member of a JSON object; [] if the member is missing. Raises InstallError for other values."""
    return _part(body, name, where, list, "list")  # type: ignore[no-any-return]


def texts_in(body: Any, name: str, where: str) -> tuple[str, ...]:
    """The strings in a list that is a member of a JSON object; other elements are ignored. Raises InstallError."""
    return tuple(item for item in list_in(body, name, where) if isinstance(item, str))


def _part(body: Any, name: str, where: str, kind: type, called: str) -> Any:
    part = body.get(name) if isinstance(body, dict) else None
    if part is None:
        return kind()
    if not isinstance(part, kind):
        raise InstallError(f"the response of {where} has no {called} {name}")
    return part

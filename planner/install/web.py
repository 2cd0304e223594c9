"""HTTP as registries, mirrors and archives need it: certificates as the ecosystem finds them, retries with growing
pauses, timeouts, downloads that go on where they broke off.

Only https and http URLs are fetched; a redirect to another host does not get the credentials. Proxies come from the
usual variables (HTTPS_PROXY, NO_PROXY), certificates from SSL_CERT_FILE, SSL_CERT_DIR or the system.
"""

from __future__ import annotations

import http.client
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

from attrs import field, frozen

from planner.install.problem import InstallError
from planner.vocabulary.version import COMPATIBLE_VERSION

LONGEST_PAUSE = 30.0
"""seconds"""
LARGEST_DOCUMENT = 64 << 20
"""bytes that an answer may have which is kept in memory"""
_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""where systems keep them that the ssl module may not know of"""

Progress = Callable[[int, int], None]
"""Told how many bytes have come and how many there will be (0 when that is unknown)."""


@frozen
class Answer:
    """A response whose body is in memory. `url` is where redirects led."""

    status: int
    headers: Message
    url: str
    body: bytes

    @property
    def media_type(self) -> str:
        return (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """The body as JSON. Raises InstallError."""
        import json

        try:
            return json.loads(self.body)
        except ValueError as bad:
            raise InstallError(f"the answer of {host_of(self.url)} is no valid JSON ({bad})") from None


@frozen
class Web:
    """Makes requests. `retries` is how often a request is tried again that failed for a reason that may pass;
    `timeout` is in seconds and holds for connecting and for each wait for data."""

    retries: int = 1
    timeout: float = 10.0
    pause: Callable[[float], None] = field(default=time.sleep, repr=False)

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to a GET, whatever its status. Raises InstallError when there is none."""

        def once() -> Answer:
            with self._open(url, headers or {}) as response:
                body = response.read(LARGEST_DOCUMENT + 1)
                if len(body) > LARGEST_DOCUMENT:
                    raise InstallError(f"the answer of {host_of(url)} is larger than {LARGEST_DOCUMENT >> 20} MiB")
                return Answer(_status(response), response.headers, response.geturl(), body)

        return self._patiently(url, once)

    def document(self, url: str) -> bytes:
        """The body of an answer with status 200. Raises InstallError."""
        answer = self.get(url)
        if answer.status != 200:
            raise InstallError(f"{host_of(answer.url)} answered {status_text(answer.status)} for {shown(answer.url)}")
        return answer.body

    def download(
        self, url: str, target: str, headers: Mapping[str, str] | None = None, progress: Progress | None = None
    ) -> Answer:
        """Write the body to a file; after an interruption it is continued where the server allows. The answer has no
        body. Raises InstallError, also for any status but 200."""
        part = _Part(self, url, target, dict(headers or {}), progress)
        answer = self._patiently(url, part.fetch)
        if answer.status != 200:
            raise InstallError(f"{host_of(url)} answered {status_text(answer.status)} for {shown(url)}")
        return answer

    def _patiently(self, url: str, once: Callable[[], Answer]) -> Answer:
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

    def _open(self, url: str, headers: Mapping[str, str]) -> Any:
        if urlsplit(url).scheme not in ("http", "https"):
            raise InstallError(f"{shown(url)} is no URL with http or https")
        default = {"User-Agent": f"OpenTofu/{COMPATIBLE_VERSION} (+planner)", "X-Terraform-Version": COMPATIBLE_VERSION}
        try:
            request = urllib.request.Request(url, headers={**default, **headers})
            return _opener().open(request, timeout=self.timeout)
        except urllib.error.HTTPError as answer:
            return answer
        except ValueError as bad:
            raise InstallError(f"{shown(url)} is no valid URL ({bad})") from None


class _Part:
    """A file that arrives, perhaps in several parts."""

    def __init__(self, web: Web, url: str, target: str, headers: dict[str, str], progress: Progress | None) -> None:
        self.web, self.url, self.target, self.headers, self.progress = web, url, target, headers, progress
        self.validator = ""
        self.total = 0

    def fetch(self) -> Answer:
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
                raise ConnectionError("the server answered with another part than was asked for")
            elif _may_pass(status):
                return Answer(status, response.headers, response.geturl(), b"")
            else:
                raise InstallError(f"{host_of(self.url)} answered {status_text(status)} for {shown(self.url)}")
            self._receive(response, mode, begin)
            return Answer(200, response.headers, response.geturl(), b"")

    def _receive(self, response: Any, mode: str, begin: int) -> None:
        tag = response.headers.get("ETag") or ""
        ranges = (response.headers.get("Accept-Ranges") or "").lower() == "bytes" or mode == "ab"
        self.validator = tag if ranges and tag and not tag.startswith("W/") else ""
        length = response.headers.get("Content-Length") or ""
        expected = begin + int(length) if length.isascii() and length.isdigit() else 0
        with open(self.target, mode) as file:
            done = self._copy(response, file, begin, expected)
        if expected and done != expected:
            raise ConnectionError(f"the connection broke off after {done} of {expected} bytes")

    def _copy(self, response: Any, file: IO[bytes], done: int, expected: int) -> int:
        while block := response.read(1 << 18):
            file.write(block)
            done += len(block)
            if self.progress is not None:
                self.progress(done, expected)
        return done


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Credentials stay with the host that they are for."""

    max_redirections = 10

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made is not None and urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            made.remove_header("Authorization")
        return made


_openers: dict[tuple[str, str], Any] = {}


def _opener() -> Any:
    key = (os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", ""))
    if key not in _openers:
        context = ssl.create_default_context()  # honours both variables
        if not any(key) and not context.cert_store_stats()["x509_ca"]:
            for path in filter(os.path.isfile, _CERTIFICATES):
                context.load_verify_locations(path)
                break
        _openers[key] = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _Redirects())
    return _openers[key]


def resolve(base: str, url: str) -> str:
    """A URL that an answer from `base` names."""
    return urljoin(base, url)


def host_of(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or url


def shown(url: str) -> str:
    """A URL without user name and password in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


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
    return isinstance(reason, ssl.SSLCertVerificationError) or isinstance(problem, PermissionError | IsADirectoryError)


def _reason(problem: Exception) -> str:
    reason = getattr(problem, "reason", problem)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted ({reason.verify_message})"
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    if isinstance(reason, OSError) and reason.strerror:
        return f"{reason.strerror}{f' ({reason.filename})' if reason.filename else ''}"
    if isinstance(reason, http.client.IncompleteRead):
        return "the connection broke off"
    return str(reason) or type(reason).__name__

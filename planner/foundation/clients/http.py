"""A small HTTP client with persistent connections, retries with increasing pauses, proxies and certificates.

A response with an error status is also returned. ServiceError is raised only if there is no response."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import socket
import ssl
import tempfile
import time
from abc import ABC, abstractmethod
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from ipaddress import ip_address, ip_network
from threading import Lock
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from planner.foundation.support.disk import on_disk
from planner.foundation.support.signals import current_stop, is_reading
from planner.foundation.support.trace import note, span
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import define, field, frozen

# A time limit for the whole response; the timeouts of Python's sockets limit only each read.


SLOWEST = 4096  # bytes per second; a response that is at least this fast may take longer than the timeout


class BoundedResponse(http.client.HTTPResponse):
    """A response with a time limit: the timeout of the connection, plus one second for every SLOWEST bytes read. After
    this time, reading raises TimeoutError."""

    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        timeout = sock.gettimeout()
        if timeout is not None:
            self.fp.close()
            self.fp = io.BufferedReader(_Bounded(sock, timeout))


class _Bounded(io.RawIOBase):
    def __init__(self, sock: socket.socket, timeout: float) -> None:
        self._socket, self._raw = sock, sock.makefile("rb", buffering=0)
        self._end = time.monotonic() + timeout

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the response takes too long")
        self._socket.settimeout(left)
        count = self._raw.readinto(buffer)
        self._end += (count or 0) / SLOWEST
        return count

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


_PIECE = 1 << 16  # the number of bytes that are sent in one piece
LARGEST_ANSWER = 1 << 30  # bytes
LONGEST_SLOWDOWN = 10.0  # the longest pause between two requests to a service that throttles, in seconds
_KEPT = "".join(map(chr, range(0x21, 0x7F)))  # characters that need no escape in an address
_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""paths of system certificates that the ssl module may not know"""


@frozen
class HttpResponse:
    """A response of any status. Names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes
    reason: str = ""  # the reason phrase of the status line

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as bad:
            raise ServiceError(f"the answer is not valid JSON ({bad})") from None


@frozen
class Tls:
    """Certificates of the server and the client. `authorities` (PEM, or a file) is used in addition to the system's
    certificates that the ssl module finds. `certificate` and `key` are PEM texts or files. `verify`: whether the
    server's certificate is checked. `server_name`: the name that the certificate must have, by default the host in the
    URL."""

    authorities: str = ""
    certificate: str = ""
    key: str = ""
    verify: bool = True
    server_name: str = ""


@frozen
class Retries:
    """Rules for the repetition of failed requests. `most`: the number of retries of a request. The pauses between them,
    in seconds, start with `first` and double up to `longest`. `statuses` returns whether an HTTP status causes a retry.
    `refused`: whether refused connections and unknown host names cause a retry. With `adaptive`, requests to a service
    that throttles are sent more slowly until it accepts them again."""

    most: int = 3
    first: float = 0.5
    longest: float = 20.0
    statuses: Callable[[int], bool] = lambda status: status == 429 or (status >= 500 and status != 501)
    refused: bool = True
    adaptive: bool = False


NONE = Retries(0)
Sign = Callable[[str, str, dict[str, str], bytes], Mapping[str, str]]
"""Returns the headers of a signed request; called before each attempt. Parameters: method, URL, headers, body."""


@define
class Http:
    """An HTTP client. May be used by several threads. `timeout`, in seconds, applies to the connection and to the
    response, which may take longer if it is large. `proxies`: values of HTTPS_PROXY, HTTP_PROXY and NO_PROXY, by
    default from the environment."""

    timeout: float = 30.0
    retries: Retries = Retries()
    tls: Tls = Tls()
    proxies: Mapping[str, str] = field(factory=lambda: proxies_of(os.environ))
    pause: Callable[[float], None] = field(default=time.sleep, repr=False)
    _idle: dict[tuple[str, str, int], list[http.client.HTTPConnection]] = field(factory=dict, init=False, repr=False)
    _lock: Lock = field(factory=Lock, init=False, repr=False)
    _context: ssl.SSLContext | None = field(default=None, init=False, repr=False)
    _slower: float = field(default=0.0, init=False, repr=False)

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        sign: Sign | None = None,
        retries: Retries | None = None,
        timeout: float | None = None,
    ) -> HttpResponse:
        """The first response that needs no retry, otherwise the response to the last attempt. Raises ServiceError if
        the last attempt gets no response, after an error for which a retry is useless, or if a stop request interrupts
        a read."""
        rules = self.retries if retries is None else retries
        given = dict(headers or {})
        for attempt in range(rules.most + 1):
            last = attempt == rules.most
            sent = dict(sign(method, url, dict(given), body)) if sign is not None else given
            wait = 0.0
            if self._slower:
                self.pause(self._slower)
            try:
                # The query may contain a signature, so it is not logged.
                with span(f"request {method}", url=display_url(url).partition("?")[0]):
                    answer = self._once(method, url, sent, body, self.timeout if timeout is None else timeout)
                    note("DEBUG", f"response {answer.status}")
            except (OSError, http.client.HTTPException, ValueError) as problem:
                if is_reading() and current_stop().requested:
                    raise ServiceError(f'{_title(method)} "{display_url(url)}": interrupted') from None
                if last or (_is_refused(problem) and not rules.refused) or _is_final(problem):
                    tries = f" giving up after {attempt + 1} attempt(s):" if attempt else ""
                    text = f'{_title(method)} "{display_url(url)}":{tries} {reason_of(problem, url)}'
                    raise ServiceError(text, may_pass=not _is_final(problem)) from None
            else:
                if rules.adaptive:
                    self._adapt(answer.status)
                if last or not rules.statuses(answer.status):
                    return answer
                wait = _retry_after(answer)
            pause = max(wait, min(rules.first * 2.0**attempt, rules.longest))
            if is_reading():
                current_stop().wait(pause)
            else:
                self.pause(pause)
        raise AssertionError

    def _adapt(self, status: int) -> None:
        """Increase the pause before each request if the service throttles, otherwise decrease it."""
        if status in (429, 503):
            self._slower = min(max(2 * self._slower, 0.1), LONGEST_SLOWDOWN)
        else:
            self._slower = self._slower * 0.7 if self._slower > 0.05 else 0.0

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    # ------------------------------------------------------------ one attempt

    def _once(self, method: str, url: str, headers: dict[str, str], body: bytes, timeout: float) -> HttpResponse:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServiceError(f"{display_url(url)} is not an http or https URL")
        proxy = self._proxy(parts.scheme, parts.hostname)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise ServiceError(f"{display_url(url)} has no valid port") from None
        key = (parts.scheme, parts.hostname, port)
        target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_KEPT)
        given = {name.lower() for name in headers}
        usual = {"User-Agent": user_agent(), **_proxy_authorization(parts)}
        sent = {name: value for name, value in usual.items() if name.lower() not in given} | dict(headers)
        if proxy and parts.scheme == "http":
            target = quote(url, safe=_KEPT)
            sent = {**sent, **_proxy_authorization(urlsplit(proxy), "Proxy-Authorization")}
        while True:
            if is_reading() and current_stop().requested:
                raise ServiceError(f"the request to {parts.hostname} was not sent: interrupted")
            connection, is_fresh = self._connection(key, proxy, timeout)
            try:
                with _ended_by_stop(connection):
                    connection.request(method, target, _as_stream(body), _complete(sent, method, body))
                    response = connection.getresponse()
                    data = response.read(LARGEST_ANSWER + 1)
                if response.length and len(data) <= LARGEST_ANSWER:
                    raise http.client.IncompleteRead(data, response.length)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                connection.close()
                if is_fresh:
                    raise
                continue  # the server closed the idle connection: use a new one
            except BaseException:
                connection.close()
                raise
            break
        if len(data) > LARGEST_ANSWER:
            connection.close()
            raise ServiceError(f"the response of {parts.hostname} is larger than {LARGEST_ANSWER >> 20} MiB")
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.setdefault(key, []).append(connection)
        return HttpResponse(response.status, {k.lower(): v for k, v in response.getheaders()}, data, response.reason)

    def _connection(
        self, key: tuple[str, str, int], proxy: str, timeout: float
    ) -> tuple[http.client.HTTPConnection, bool]:
        """An idle connection if there is one, otherwise a new connection; and whether the connection is new."""
        with self._lock:
            kept = self._idle.get(key)
            if kept:
                connection = kept.pop()
                if connection.sock is not None:
                    connection.sock.settimeout(timeout)
                return connection, False
        scheme, host, port = key
        if not proxy:
            return self._direct(scheme, host, port, timeout), True
        parts = urlsplit(proxy)
        through = self._direct(parts.scheme, parts.hostname or "", parts.port or _default_port(parts.scheme), timeout)
        if scheme == "https":
            through = self._tls_connection(parts.hostname or "", parts.port or 80, timeout)
            through.set_tunnel(host, port, _proxy_authorization(urlsplit(proxy), "Proxy-Authorization"))
        return through, True

    def _direct(self, scheme: str, host: str, port: int, timeout: float) -> http.client.HTTPConnection:
        if scheme == "https":
            return self._tls_connection(host, port, timeout)
        connection = http.client.HTTPConnection(host, port, timeout=timeout)
        connection.response_class = _Final
        return connection

    def _tls_connection(self, host: str, port: int, timeout: float) -> http.client.HTTPSConnection:
        connection = (
            _Named(self.tls.server_name, host, port, timeout=timeout, context=self.context())
            if self.tls.server_name
            else http.client.HTTPSConnection(host, port, timeout=timeout, context=self.context())
        )
        connection.response_class = _Final
        return connection

    def context(self) -> ssl.SSLContext:
        """The TLS settings of all connections. Raises ServiceError for invalid certificates."""
        with self._lock:
            if self._context is None:
                self._context = tls_context(self.tls)
            return self._context

    def _proxy(self, scheme: str, host: str) -> str:
        proxy = self.proxies.get(scheme, "")
        if not proxy or _is_excepted(host, self.proxies.get("no", "")):
            return ""
        return proxy if "://" in proxy else f"http://{proxy}"


@contextmanager
def _ended_by_stop(connection: http.client.HTTPConnection) -> Iterator[None]:
    """A context in which a stop request shuts down the connection, if the thread may be interrupted (see
    `signals.reading`)."""
    if not is_reading():
        yield
        return

    def end() -> None:
        sock = connection.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    current_stop().listen(end)
    try:
        yield
    finally:
        current_stop().forget(end)


class _Final(BoundedResponse):
    """Skips up to `_most` interim responses (1xx)."""

    _most = 20

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(self._most):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 100 <= status < 200 or status == 101:
                return version, status, reason
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException(f"the server keeps answering {status}")


class _Named(http.client.HTTPSConnection):
    """A connection to a server whose certificate must be valid for `server_name`, not for the host in the URL."""

    def __init__(self, name: str, host: str, port: int, *, timeout: float, context: ssl.SSLContext) -> None:
        super().__init__(host, port, timeout=timeout, context=context)
        self._name, self._tls = name, context

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._name)


def tls_context(tls: Tls) -> ssl.SSLContext:
    """An SSL context with these certificates. Raises ServiceError."""
    context = ssl.create_default_context()
    try:
        if tls.authorities:
            is_text = "-----BEGIN" in tls.authorities
            context.load_verify_locations(
                cadata=tls.authorities if is_text else None, cafile=None if is_text else on_disk(tls.authorities)
            )
        else:
            use_system_certificates(context)
        if tls.certificate:
            # the ssl module accepts certificates only in files
            with tempfile.TemporaryDirectory(prefix="planner-") as folder:
                context.load_cert_chain(_as_file(folder, "c", tls.certificate), _as_file(folder, "k", tls.key) or None)
    except (OSError, ssl.SSLError) as problem:
        raise ServiceError(f"certificates cannot be used: {problem}") from None
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def use_system_certificates(context: ssl.SSLContext) -> None:
    """If the ssl module finds no certificates of the system, load them from another usual path. Does nothing if
    SSL_CERT_FILE or SSL_CERT_DIR is set. Raises OSError."""
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or context.cert_store_stats()["x509_ca"]:
        return
    for path in filter(os.path.isfile, _CERTIFICATES):
        context.load_verify_locations(path)
        break


def _as_file(folder: str, name: str, text: str) -> str:
    if not text or "-----BEGIN" not in text:
        return text and on_disk(text)
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def proxies_of(environment: Mapping[str, str]) -> dict[str, str]:
    """{"https": URL, "http": URL, "no": comma-separated hosts that are contacted directly}; "" for a missing value."""

    def value_of(name: str) -> str:
        return environment.get(name.lower()) or environment.get(name.upper()) or ""

    return {"https": value_of("https_proxy"), "http": value_of("http_proxy"), "no": value_of("no_proxy")}


def _is_excepted(host: str, names: str) -> bool:
    """Whether a host is contacted without a proxy: this machine, and hosts in the value of no_proxy (`names`)."""
    host = host.lower().strip("[]")
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for name in (n.strip().lower() for n in names.split(",")):
        if name == "*":
            return True
        name = name.partition(":")[0] if name.count(":") == 1 else name
        if not name:
            continue
        if address is not None and "/" in name:
            try:
                if address in ip_network(name, strict=False):
                    return True
            except ValueError:
                pass
        bare = name.removeprefix("*").removeprefix(".")
        if host == bare or host.endswith(f".{bare}"):
            return True
    return False


def _proxy_authorization(parts: SplitResult, header: str = "Authorization") -> dict[str, str]:
    if not parts.username:
        return {}
    return {header: basic(unquote(parts.username), unquote(parts.password or ""))}


def basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii")


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _as_stream(body: bytes) -> bytes | BytesIO | None:
    """The body in the form in which it is sent: None if it is empty, a stream if it is large. A stream is sent in
    several pieces, and the timeout applies to each piece."""
    return BytesIO(body) if len(body) > _PIECE else body or None


def _complete(headers: dict[str, str], method: str, body: bytes) -> dict[str, str]:
    is_without = not body and method not in ("GET", "HEAD", "DELETE", "OPTIONS")
    if (is_without or len(body) > _PIECE) and "Content-Length" not in headers:
        return {**headers, "Content-Length": str(len(body))}
    return headers


def _retry_after(answer: HttpResponse) -> float:
    """The pause in seconds, at most 60, that a response of status 429 or 503 requests with the header Retry-After;
    otherwise 0."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), 60.0) if answer.status in (429, 503) and text.isascii() and text.isdigit() else 0.0


def _is_refused(problem: Exception) -> bool:
    return is_unknown_host(problem) or isinstance(problem, ConnectionRefusedError)


def is_unknown_host(problem: object) -> bool:
    """Whether an error means that a host name does not exist; False for temporary failures of the resolver."""
    return isinstance(problem, socket.gaierror) and problem.errno != socket.EAI_AGAIN


def _is_final(problem: BaseException) -> bool:
    return isinstance(problem, ssl.SSLCertVerificationError | ServiceError | ValueError | http.client.InvalidURL)


def user_agent(base: str = "planner") -> str:
    """The value of the User-Agent header: `base` and the content of TF_APPEND_USER_AGENT."""
    return " ".join((base, *os.environ.get("TF_APPEND_USER_AGENT", "").split()))


def _title(method: str) -> str:
    return method[:1] + method[1:].lower()


_SECRET = re.compile(r"(?i)(?<=[?&])([^=&]*(?:token|secret|passw|signature|credential|api[-_]?key)[^=&]*|sig)=[^&]*")
"""matches query parameters that grant access, with their values"""


def display_url(url: str) -> str:
    """The URL with `***` in place of the user, the password, and the values of query parameters that grant access."""
    parts = urlsplit(url)
    if parts.query:
        url = _SECRET.sub(r"\1=***", url)
    if "@" not in parts.netloc:
        return url
    return urlsplit(url)._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}").geturl()


def reason_of(problem: BaseException, url: str) -> str:
    """A description of why there is no response, in the words of OpenTofu."""
    parts = urlsplit(url)
    where = parts.hostname or ""
    if isinstance(problem, ServiceError):
        return problem.text
    if isinstance(problem, ConnectionRefusedError):
        port = parts.port or _default_port(parts.scheme)
        return f"dial tcp {where}:{port}: connect: connection refused"
    if isinstance(problem, socket.gaierror):
        return f"dial tcp: lookup {where}: no such host"
    if isinstance(problem, TimeoutError):
        return "the server did not answer in time"
    if isinstance(problem, http.client.RemoteDisconnected | ConnectionResetError):
        return "EOF"
    if isinstance(problem, http.client.IncompleteRead):
        return "unexpected EOF"
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {problem.verify_message}"
    return str(getattr(problem, "strerror", None) or problem) or type(problem).__name__


EARLY = 300.0  # Credentials are renewed this many seconds before they expire.


class Tokens(ABC):
    """A token that is reused until shortly before it expires. May be used by several threads."""

    def __init__(self) -> None:
        self._token, self._expires = "", 0.0
        self._lock = Lock()

    def __call__(self) -> str:
        """The token. Raises ServiceError."""
        with self._lock:
            if not self._token or time.time() > self._expires - EARLY:
                self._token, self._expires = self._fresh()
            return self._token

    @abstractmethod
    def _fresh(self) -> tuple[str, float]:
        """A new token, and when it expires (seconds since 1970). Raises ServiceError."""


def base64url(data: bytes) -> str:
    """URL-safe Base64 without padding."""
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")

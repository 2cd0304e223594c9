"""Getting a token from a host's login service: an authorization code that a browser brings to this machine, exchanged
for a token (OAuth 2.0, RFC 6749, with a proof key, RFC 7636)."""

from __future__ import annotations

import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from planner.foundation.clients.http import Http
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

_PAGE = (
    b"<html><head><title>Login</title></head><body><p>The login server has sent an authentication code. You can close "
    b"this tab and go back to the terminal.</p></body></html>"
)
_LARGEST_TARGET = 1 << 14


@frozen
class LoginService:
    """The login service of a host. `ports`: the first and the last port for its redirects."""

    client: str
    authorization: str
    token: str
    ports: tuple[int, int] = (1024, 65535)
    scopes: tuple[str, ...] = ()
    grants: tuple[str, ...] = ("authz_code",)


def login_service(said: Mapping[str, Any], base: str) -> LoginService:
    """A login service as a host describes it. Raises ServiceError."""

    def missing(name: str) -> ServiceError:
        return ServiceError(f'service login.v1 definition is missing required property "{name}"')

    for name in ("client", "authz", "token"):
        if not isinstance(said.get(name), str):
            raise missing(name)
    urls = [urljoin(base, str(said[name])) for name in ("authz", "token")]
    for url in urls:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ServiceError(f"failed to parse URL: unsupported scheme {urlsplit(url).scheme}")
    ports = said.get("ports", [1024, 65535])
    if not isinstance(ports, list) or len(ports) != 2:
        raise ServiceError('invalid "ports" definition for service login.v1: must be a two-element array')
    whole = [int(port) for port in ports if isinstance(port, int | float) and int(port) == port]
    if len(whole) != 2 or not all(1024 <= port <= 65535 for port in whole):
        detail = "both ports must be whole numbers between 1024 and 65535"
        raise ServiceError(f'invalid "ports" definition for service login.v1: {detail}')
    if whole[0] > whole[1]:
        detail = "minimum port cannot be greater than maximum port"
        raise ServiceError(f'invalid "ports" definition for service login.v1: {detail}')
    lists = {}
    for name, otherwise in (("scopes", []), ("grant_types", ["authz_code"])):
        entry = said.get(name, otherwise)
        if not isinstance(entry, list) or not all(isinstance(one, str) for one in entry):
            raise ServiceError(f'invalid "{name}" for service login.v1: must be an array of strings')
        lists[name] = tuple(entry)
    return LoginService(
        str(said["client"]), urls[0], urls[1], (whole[0], whole[1]), lists["scopes"], lists["grant_types"]
    )


def token_by_code(service: LoginService, opened: Callable[[str], None]) -> str:
    """A token, obtained after the user has logged in at the URL that is passed to `opened`. Raises ServiceError."""
    state, key = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    challenge = urlsafe_b64encode(sha256(key.encode()).digest()).decode("ascii").rstrip("=")
    server = _listening(service.ports, state)
    with server:
        back = f"http://localhost:{server.server_port}/login"
        asked = {
            "response_type": "code",
            "client_id": service.client,
            "redirect_uri": back,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        if service.scopes:
            asked["scope"] = " ".join(service.scopes)
        mark = "&" if "?" in service.authorization else "?"
        opened(f"{service.authorization}{mark}{urlencode(asked)}")
        while not server.code:
            server.handle_request()
    form = {
        "grant_type": "authorization_code",
        "code": server.code,
        "redirect_uri": back,
        "client_id": service.client,
        "code_verifier": key,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    answer = Http().ask("POST", service.token, headers, urlencode(form).encode())
    if not 200 <= answer.status < 300:
        said = " ".join(answer.text.split())[:500]
        raise ServiceError(f"cannot fetch token: {answer.status}: {said}")
    result = answer.json()
    token = result.get("access_token") if isinstance(result, dict) else None
    if not isinstance(token, str) or not token:
        raise ServiceError("server response missing access_token")
    return token


class _Callback(HTTPServer):
    """Waits for the code, a second at a time."""

    timeout = 1.0
    state = code = ""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors caused by unrelated requests."""


class _Handler(BaseHTTPRequestHandler):
    server: _Callback
    timeout = 5.0

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query) if len(self.path) < _LARGEST_TARGET else {}
        state, code = asked.get("state", [""])[0], asked.get("code", [""])[0]
        is_ours = secrets.compare_digest(state.encode(), self.server.state.encode()) and bool(code)
        if is_ours:
            self.server.code = code
        self.send_response(200 if is_ours else 400)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if is_ours:
            self.wfile.write(_PAGE)


def _listening(ports: tuple[int, int], state: str) -> _Callback:
    first, last = ports
    tried: set[int] = set()
    began = time.monotonic()
    while len(tried) <= last - first and time.monotonic() - began < 10:
        port = first + secrets.randbelow(last - first + 1)
        if port in tried:
            continue
        tried.add(port)
        try:
            server = _Callback(("127.0.0.1", port), _Handler)
        except OSError:
            continue
        server.state = state
        return server
    raise ServiceError(
        "The login process uses OAuth, which requires starting a temporary HTTP server on localhost. However, no TCP "
        f"port numbers between {first} and {last} are available to create such a server"
    )


def as_object(said: Any) -> Mapping[str, Any] | None:
    """The object that a service is described by: of JSON, or of the user's settings; None when it is not one."""
    if isinstance(said, list) and all(isinstance(item, tuple) and len(item) == 2 for item in said):
        return {key[0]: value for key, value in said}
    return said if isinstance(said, dict) else None


def shown_host(url: str) -> str:
    """The host of a URL, without its port."""
    return urlsplit(url).hostname or ""

"""`login` and `logout`: obtain, store and remove the token for a host, which all commands use."""

from __future__ import annotations

import os
import secrets
import sys
import time
import webbrowser
from collections.abc import Callable, Mapping
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from planner.foundation.clients.http import Http, Retries, base64url
from planner.foundation.clients.tfe import Host, Tfe, host_name, settings
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, ServiceError, error, warning
from planner.foundation.vocabulary.records import frozen

# OAuth 2.0 (RFC 6749) with a proof key (RFC 7636): the browser delivers an authorization code to this machine, and
# planner exchanges the code for a token.

_PAGE = (
    b"<html><head><title>Login</title></head><body><p>The login server has sent an authentication code. You can close "
    b"this tab and go back to the terminal.</p></body></html>"
)
_LARGEST_TARGET = 1 << 14  # the maximum length of the path of a request, in characters


@frozen
class LoginService:
    """The login service of a host. `ports`: the first and the last port to which it may redirect."""

    client: str
    authorization: str
    token: str
    ports: tuple[int, int] = (1024, 65535)
    scopes: tuple[str, ...] = ()
    grants: tuple[str, ...] = ("authz_code",)


def login_service(document: Mapping[str, Any], base: str) -> LoginService:
    """Parse the description of a login service in the discovery document of a host. `base`: the base of relative URLs.
    Raises ServiceError."""

    def missing(name: str) -> ServiceError:
        return ServiceError(f'service login.v1 definition is missing required property "{name}"')

    for name in ("client", "authz", "token"):
        if not isinstance(document.get(name), str):
            raise missing(name)
    urls = [urljoin(base, str(document[name])) for name in ("authz", "token")]
    for url in urls:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ServiceError(f"failed to parse URL: unsupported scheme {urlsplit(url).scheme}")
    ports = document.get("ports", [1024, 65535])
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
        entry = document.get(name, otherwise)
        if not isinstance(entry, list) or not all(isinstance(one, str) for one in entry):
            raise ServiceError(f'invalid "{name}" for service login.v1: must be an array of strings')
        lists[name] = tuple(entry)
    return LoginService(
        str(document["client"]), urls[0], urls[1], (whole[0], whole[1]), lists["scopes"], lists["grant_types"]
    )


def token_by_code(service: LoginService, opened: Callable[[str], None]) -> str:
    """Pass a URL to `opened`, wait until the user has logged in there, and return the token. Raises ServiceError."""
    state, key = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    challenge = base64url(sha256(key.encode()).digest())
    server = _listening(service.ports, state)
    with server:
        back = f"http://localhost:{server.server_port}/login"
        query = {
            "response_type": "code",
            "client_id": service.client,
            "redirect_uri": back,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        if service.scopes:
            query["scope"] = " ".join(service.scopes)
        mark = "&" if "?" in service.authorization else "?"
        opened(f"{service.authorization}{mark}{urlencode(query)}")
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
        text = " ".join(answer.text.split())[:500]
        raise ServiceError(f"cannot fetch token: {answer.status}: {text}")
    result = answer.json()
    token = result.get("access_token") if isinstance(result, dict) else None
    if not isinstance(token, str) or not token:
        raise ServiceError("server response missing access_token")
    return token


class _Callback(HTTPServer):
    """A local server that receives the authorization code when the browser is redirected to it. It waits in steps of
    one second."""

    timeout = 1.0
    state = code = ""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of requests, because any program on this machine can send requests to the port."""


class _Handler(BaseHTTPRequestHandler):
    server: _Callback
    timeout = 5.0

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query) if len(self.path) < _LARGEST_TARGET else {}
        state, code = query.get("state", [""])[0], query.get("code", [""])[0]
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


def as_object(document: Any) -> Mapping[str, Any] | None:
    """The description of a service, parsed from JSON or from the user's settings; None if it is not an object."""
    if isinstance(document, list) and all(isinstance(item, tuple) and len(item) == 2 for item in document):
        return {key[0]: value for key, value in document}
    return document if isinstance(document, dict) else None


def shown_host(url: str) -> str:
    return urlsplit(url).hostname or ""


_SEVERAL_SERVICES = ("tfe.v2", "tfe.v2.1", "tfe.v2.2")


class Ask(Protocol):
    """Prompts the user. Raises Failure if prompts are not possible."""

    def __call__(self, question: str, remark: str, hidden: bool = False) -> str: ...


Say = Callable[[str], None]


def login(name: str, ask: Ask, say: Say) -> list[Diagnostic]:
    """Obtain a token for a host, and store it with the credentials helper or in the user's file. Returns diagnostics,
    with an error if no token was stored."""
    problems: list[Diagnostic] = []
    try:
        host = _host(name)
        try:
            base, services = host.services()
        except ServiceError as problem:
            return [_wrong(f"Service discovery failed for {host.name}", f"{problem.text}.")]
        service, problems = _login_service(host, base, services.get("login.v1"))
        address = "" if service is not None else _api(host)
        if host.tokens.where(host.name) == "elsewhere":
            raise Failure(_elsewhere(host.name, "login"))
        token = _by_code(host, service, ask, say) if service is not None else _by_hand(host, address, ask, say)
        try:
            host.tokens.keep(host.name, token)
        except ServiceError as problem:
            text = f"The given host returned an API token, but planner failed to save it: {problem.text}."
            return [*problems, _wrong("Failed to save API token", text)]
    except Failure as failure:
        return [*problems, *failure.diagnostics]
    except ServiceError as problem:
        return [*problems, _wrong("Failed to use credentials", f"{problem.text}.")]
    say(
        "\nSuccess! planner has obtained and saved an API token.\n\nThe new API token will be used for any future "
        f"planner command that must make\nauthenticated requests to {host.name}."
    )
    return problems


def logout(name: str, say: Say) -> list[Diagnostic]:
    """Remove the stored token of a host, if there is one. The host is not notified. Returns errors. A token in the
    settings or the environment is also reported as an error, because this function cannot remove it."""
    try:
        host = _host(name)
        where = host.tokens.where(host.name)
        if where == "":
            say(f"No credentials for {host.name} are stored.")
            return []
        if where == "elsewhere":
            return [_elsewhere(host.name, "logout")]
        if where == "helper":
            place = f'the configured\n"{host.tokens.helper}" credentials helper.'
        else:
            place = f"the following file:\n    {host.tokens.path}"
        say(f"Removing the stored credentials for {host.name} from {place}\n")
        host.tokens.forget(host.name)
    except Failure as failure:
        return list(failure.diagnostics)
    except ServiceError as problem:
        return [_wrong("Failed to remove API token", f"Unable to remove stored API token: {problem.text}.")]
    say(f"Success! planner has removed the stored API token for {host.name}.")
    return []


def _host(name: str) -> Host:
    try:
        host_name(name)
    except ServiceError as problem:
        raise Failure(_wrong("Invalid hostname", f"{problem.text}.")) from None
    return Host(name, settings())


def _login_service(host: Host, base: str, document: object) -> tuple[LoginService | None, list[Diagnostic]]:
    """The login service of a host, and warnings. None if the host has no login service, or if its description is
    invalid (with a warning). Raises Failure if the service offers no type of login that planner supports."""
    if document is None:
        return None, []
    summary = "Host does not support planner login"
    result = as_object(document)
    try:
        if result is None:
            text = "service login.v1 must be declared with an object value in the service discovery document"
            raise ServiceError(text)
        service = login_service(result, base)
    except ServiceError as problem:
        detail = f'The given hostname "{host.name}" cannot support "planner login": {problem.text}.'
        return None, [warning("login.service", summary, detail)]
    if "authz_code" not in service.grants:
        detail = f'The given hostname "{host.name}" does not allow any OAuth grant types that planner supports.'
        raise Failure(_wrong(summary, detail))
    return service, []


def _api(host: Host) -> str:
    """The URL of the API whose tokens can be copied from a web page. Raises Failure."""
    try:
        return host.service(*_SEVERAL_SERVICES)
    except ServiceError:
        detail = f'The given hostname "{host.name}" does not support creating authorization tokens.'
        raise Failure(_wrong("Host does not support planner tokens API", detail)) from None


def _elsewhere(host: str, command: str) -> Diagnostic:
    doing = {"login": "log in", "logout": "log out"}[command]
    first = {"login": "To log in, first revoke", "logout": "To log out, revoke"}[command]
    return _wrong(
        f"Credentials for {host} are manually configured",
        f'The "planner {command}" command cannot {doing} because credentials for this host are configured in a CLI '
        f"configuration file or an environment variable.\n\n{first} the existing credentials and remove them "
        "from there.",
    )


def _consent(host: Host, mechanism: str, ask: Ask, say: Say) -> None:
    """Prompt the user for consent. Raises Failure if the user does not confirm."""
    say(f"planner will request an API token for {host.name} using {mechanism}.\n")
    if mechanism == "OAuth":
        say(
            "This will work only if you are able to use a web browser on this computer to\ncomplete a login process. "
            "If not, you must obtain an API token by another\nmeans and configure it in the CLI configuration "
            "manually.\n"
        )
    place = f"plain text in\nthe following file for use by subsequent commands:\n    {host.tokens.path}"
    if host.tokens.helper:
        place = f'the configured\n"{host.tokens.helper}" credentials helper for use by subsequent commands.'
    say(f"If login is successful, planner will store the token in {place}")
    if ask("Do you want to proceed?", "Only 'yes' will be accepted to confirm.").lower() != "yes":
        raise Failure(_wrong("Login cancelled", "Login process cancelled because it was not confirmed."))


def _by_code(host: Host, service: LoginService, ask: Ask, say: Say) -> str:
    _consent(host, "OAuth", ask, say)

    def open_page(url: str) -> None:
        _open_page(f"the login page for {host.name}", url, say)
        say("planner will now wait for the host to signal that login was successful.")

    try:
        return token_by_code(service, open_page)
    except ServiceError as problem:
        detail = f"The remote server did not assign an auth token: {problem.text}."
        raise Failure(_wrong("Failed to obtain auth token", detail)) from None


def _by_hand(host: Host, address: str, ask: Ask, say: Say) -> str:
    """A token that the user copies from a web page. Raises Failure."""
    _consent(host, "your browser", ask, say)
    url = f"https://{shown_host(address)}/app/settings/tokens?source=terraform-login"
    _open_page(f"the tokens page for {host.name}", url, say)
    token = ask(
        f"Token for {host.name}:", "Generate a token using your browser, and copy-paste it into this prompt.", True
    ).strip()
    if not token:
        raise Failure(_wrong("Token is invalid", "No token was entered."))
    try:
        result = Tfe(address, token, Http(retries=Retries(2, 0.5, 5.0, refused=False))).ask("GET", "account/details")
        user = (result or {}).get("data", {}).get("attributes", {}).get("username")
    except ServiceError as problem:
        summary = "Token is invalid" if problem.code == "401" else "Failed to retrieve user account details"
        raise Failure(_wrong(summary, f"{problem.text}.")) from None
    if result is None:
        raise Failure(_wrong("Failed to retrieve user account details", "resource not found."))
    say(f"\nRetrieved token for user {user}\n")
    return token


def _open_page(what: str, url: str, say: Say) -> None:
    """Open a page in a graphical browser, if there is one; otherwise print its URL."""
    has_screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if has_screen and _browser_shows(url):
        say(f"Your browser should show {what}. If it does not, open the following URL to proceed:\n    {url}\n")
    else:
        say(f"Open the following URL to access {what}:\n    {url}\n")


def _browser_shows(url: str) -> bool:
    try:
        return webbrowser.open(url)
    except (OSError, webbrowser.Error):
        return False


def _wrong(summary: str, detail: str) -> Diagnostic:
    return error("login.failed", summary, detail)

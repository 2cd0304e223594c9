"""`login` and `logout`: the token for a host, obtained from the host and kept for all commands."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Callable
from typing import Protocol

from planner.foundation.clients.http import Http, Retries
from planner.foundation.clients.oauth import LoginService, as_object, login_service, shown_host, token_by_code
from planner.foundation.clients.tfe import Host, Tfe, host_name, settings
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, ServiceError, error, warning

_SEVERAL_SERVICES = ("tfe.v2", "tfe.v2.1", "tfe.v2.2")


class Ask(Protocol):
    """Prompts the user. Raises Failure when that is not possible."""

    def __call__(self, question: str, remark: str, hidden: bool = False) -> str: ...


Say = Callable[[str], None]


def login(name: str, ask: Ask, say: Say) -> list[Diagnostic]:
    """Get a token for a host and keep it with the credentials helper or in the user's file."""
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
            said = f"The given host returned an API token, but planner failed to save it: {problem.text}."
            return [*problems, _wrong("Failed to save API token", said)]
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
    """Remove the token of a host from where `login` keeps it. The host knows nothing of that."""
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


def _login_service(host: Host, base: str, said: object) -> tuple[LoginService | None, list[Diagnostic]]:
    """The host's login service; None when it has none, with a warning when it has one that cannot be used."""
    if said is None:
        return None, []
    summary = "Host does not support planner login"
    result = as_object(said)
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
    """The URL of the API whose tokens can be copied from a page. Raises Failure."""
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
        f"configuration file or a variable of the environment.\n\n{first} the existing credentials and remove them "
        "from there.",
    )


def _consent(host: Host, mechanism: str, ask: Ask, say: Say) -> None:
    """Raises Failure without it."""
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

    def opened(url: str) -> None:
        _show(f"the login page for {host.name}", url, say)
        say("planner will now wait for the host to signal that login was successful.")

    try:
        return token_by_code(service, opened)
    except ServiceError as problem:
        detail = f"The remote server did not assign an auth token: {problem.text}."
        raise Failure(_wrong("Failed to obtain auth token", detail)) from None


def _by_hand(host: Host, address: str, ask: Ask, say: Say) -> str:
    """A token that the user copies from a page."""
    _consent(host, "your browser", ask, say)
    url = f"https://{shown_host(address)}/app/settings/tokens?source=terraform-login"
    _show(f"the tokens page for {host.name}", url, say)
    token = ask(
        f"Token for {host.name}:", "Generate a token using your browser, and copy-paste it into this prompt.", True
    ).strip()
    if not token:
        raise Failure(_wrong("Token is invalid", "No token was given."))
    try:
        result = Tfe(address, token, Http(retries=Retries(2, 0.5, 5.0, refused=False))).ask("GET", "account/details")
        said = (result or {}).get("data", {}).get("attributes", {}).get("username")
    except ServiceError as problem:
        summary = "Token is invalid" if problem.code == "401" else "Failed to retrieve user account details"
        raise Failure(_wrong(summary, f"{problem.text}.")) from None
    if result is None:
        raise Failure(_wrong("Failed to retrieve user account details", "resource not found."))
    say(f"\nRetrieved token for user {said}\n")
    return token


def _show(what: str, url: str, say: Say) -> None:
    """Open a page in a browser, where there is one on a screen."""
    has_screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if has_screen and _browser_shows(url):
        say(f"A browser shows {what}. If it does not, open the following URL to proceed:\n    {url}\n")
    else:
        say(f"Open the following URL to access {what}:\n    {url}\n")


def _browser_shows(url: str) -> bool:
    try:
        return webbrowser.open(url)
    except (OSError, webbrowser.Error):
        return False


def _wrong(summary: str, detail: str) -> Diagnostic:
    return error("login.failed", summary, detail)

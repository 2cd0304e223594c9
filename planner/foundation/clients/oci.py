"""Addresses of repositories in OCI registries, and credentials for them.

Credentials come from the user's settings, from files of Docker, Podman and similar programs, and from Docker's
credential helpers. The most specific credentials are used; among equally specific ones, the first."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.foundation.clients.settings_syntax import SettingsError
from planner.foundation.support.assets import home
from planner.foundation.support.disk import read_text
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.provider_address import DEFAULT_HOST
from planner.foundation.vocabulary.records import field, frozen

_DOMAIN = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?"
_PATH = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*"
_SYMBOLS = ("hostname", "namespace", "type")
_HELPER_TIMEOUT = 60.0  # seconds
_GROUPS = (("username", "password"), ("access_token", "refresh_token"), ("docker_credentials_helper",))


@frozen
class OciLogin:
    """Credentials for a repository. Either user and password, or the tokens; the other fields are empty."""

    user: str = ""
    password: str = field(default="", repr=False)
    access_token: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)


@frozen
class OciSettings:
    """The user's settings for OCI registries. `blocks`: (prefix of repository addresses, arguments of the block).
    `helper`: the credential helper for other addresses. `files`: Docker-style files (None: the default files)."""

    blocks: tuple[tuple[str, Mapping[str, str]], ...] = field(default=(), repr=False)
    helper: str = ""
    files: tuple[str, ...] | None = None


def repository_address(text: str, prefix: bool = False) -> tuple[str, str]:
    """Split the address of a repository into domain and name. `prefix`: whether the name may be missing. Raises
    ValueError."""
    match = re.fullmatch(rf"({_DOMAIN})(?:/({_PATH}))?", text)
    if match is None or not (match[2] or prefix):
        raise ValueError(f"{text!r} is not the address of a repository in an OCI registry")
    return match[1], match[2] or ""


def check_template(template: str, include: tuple[str, ...] | None = None) -> None:
    """Raises SettingsError if the template of a mirror produces invalid addresses, or could produce one address for
    several providers that match `include` (None: not checked)."""
    names = re.findall(r"\$\{\s*(\w*)\s*\}", template)
    if "%{" in template or template.count("${") != len(names) or not set(names) <= set(_SYMBOLS):
        raise SettingsError(
            "a repository_template may contain ${hostname}, ${namespace} and ${type}, but no other expressions"
        )
    patterns = [[DEFAULT_HOST, *pattern.split("/")][-3:] for pattern in include or ()]
    for at, name in enumerate(_SYMBOLS if include is not None else ()):
        if name not in names and len({pattern[at] for pattern in patterns} - {"*"}) != 1:
            raise SettingsError(
                f"the repository_template needs ${{{name}}}, because include does not select exactly one {name}"
            )
    try:
        repository_address(expand_template(template, "example.com/a/b"))
    except ValueError:
        raise SettingsError(f"the repository_template {template!r} must have the form REGISTRY/REPOSITORY") from None


def expand_template(template: str, provider: str) -> str:
    """Expand a template such as `example.com/mirror/${namespace}/${type}` for a provider."""
    given = dict(zip(_SYMBOLS, provider.split("/"), strict=True))
    return re.sub(r"\$\{\s*(\w+)\s*\}", lambda m: given[m[1]], template)


def credentials_block(label: str, given: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    """The prefix and the arguments of an oci_credentials block. Raises SettingsError."""
    where = f"the block oci_credentials {label!r}"
    try:
        _, path = repository_address(label, prefix=True)
    except ValueError as bad:
        raise SettingsError(f"{where}: {bad}") from None
    groups = [group for group in _GROUPS if any(name in given for name in group)]
    if len(groups) != 1 or any(not isinstance(given.get(name), str) for name in groups[0]):
        one_of = "username and password, access_token and refresh_token, or docker_credentials_helper"
        raise SettingsError(f"{where} must have exactly one of these: {one_of}")
    arguments = {name: given[name] for name in groups[0]}
    if "docker_credentials_helper" in arguments:
        _check_helper(arguments["docker_credentials_helper"], where)
        if path:
            raise SettingsError(f"{where}: a credential helper serves a whole registry, so remove the path")
    return label, arguments


def default_credentials(given: Mapping[str, Any], base: Path) -> tuple[str, tuple[str, ...] | None]:
    """The helper ("" for none) and the files (None: the default files) of an oci_default_credentials block. Raises
    SettingsError."""
    where = "the block oci_default_credentials"
    discover = given.get("discover_ambient_credentials", True)
    files, helper = given.get("docker_style_config_files"), given.get("docker_credentials_helper", "")
    if not isinstance(discover, bool):
        raise SettingsError(f"{where}: discover_ambient_credentials must be true or false")
    if files is not None and (not isinstance(files, list) or not all(isinstance(f, str) for f in files)):
        raise SettingsError(f"{where}: docker_style_config_files must be a list of strings")
    if files is not None and not discover:
        raise SettingsError(f"{where}: docker_style_config_files needs discover_ambient_credentials = true")
    if "docker_credentials_helper" in given:
        _check_helper(helper, where)
    if files is not None:
        return helper, tuple(str((base / f).absolute()) for f in files)
    return helper, None if discover else ()


def _check_helper(name: Any, where: str) -> None:
    if not isinstance(name, str) or not name or "/" in name:
        raise SettingsError(f"{where}: {name!r} cannot be the name of a credential helper")


def login_for(settings: OciSettings, domain: str, name: str, environ: Mapping[str, str]) -> OciLogin:
    """The credentials for a repository; without matching credentials, all fields are empty. Raises ServiceError."""
    best, chosen = 0, None
    for specificity, get in _candidates(settings, domain, name, environ):
        if specificity > best:
            best, chosen = specificity, get
    return chosen() if chosen is not None else OciLogin()


_Candidates = Iterator[tuple[int, Callable[[], OciLogin]]]


def _candidates(settings: OciSettings, domain: str, name: str, environ: Mapping[str, str]) -> _Candidates:
    """(specificity, function that returns the credentials) of all credentials that match a repository. The specificity
    is 1 for all registries, 2 for one registry, and 1 more for each element of a path. Raises ServiceError."""

    def from_helper(program: str) -> Callable[[], OciLogin]:
        return lambda: _from_helper(program, f"https://{domain}", environ)

    for label, given in settings.blocks:
        helper = given.get("docker_credentials_helper")
        fixed = OciLogin(*(given.get(key, "") for key in (*_GROUPS[0], *_GROUPS[1])))
        yield _specificity(label, domain, name), from_helper(helper) if helper else lambda fixed=fixed: fixed  # type: ignore[misc]
    if settings.helper:
        yield 1, from_helper(settings.helper)
    usual = settings.files is None
    for path in _usual_files(environ) if settings.files is None else settings.files:
        content = _read(Path(path), usual)
        for label, one in _object(content, "auths").items():
            login = _decode_login(one)
            if login is not None:
                yield _specificity(label, domain, name), lambda login=login: login  # type: ignore[misc]
        helper = _object(content, "credHelpers").get(domain)
        if isinstance(helper, str) and helper:
            yield 2, from_helper(helper)
        helper = content.get("credsStore")
        if isinstance(helper, str) and helper:
            yield 1, from_helper(helper)


def _specificity(label: str, domain: str, name: str) -> int:
    """The specificity of credentials with this label for a repository; 0 if the label does not match."""
    wanted, _, path = label.partition("/")
    if wanted != domain:
        return 0
    parts = path.split("/") if path else []
    return 2 + len(parts) if name.split("/")[: len(parts)] == parts else 0


def _usual_files(environ: Mapping[str, str]) -> list[str]:
    own = home(environ)
    places = []
    if sys.platform == "darwin":
        places.append(own / ".config/containers/auth.json")
    elif environ.get("XDG_RUNTIME_DIR"):
        places.append(Path(environ["XDG_RUNTIME_DIR"], "containers/auth.json"))
    places.append(Path(environ.get("XDG_CONFIG_HOME") or own / ".config", "containers/auth.json"))
    return [str(p) for p in dict.fromkeys((*places, own / ".docker/config.json", own / ".dockercfg"))]


def _read(path: Path, usual: bool) -> dict[str, Any]:
    """The JSON object in a file with credentials in Docker's format. An unreadable default file counts as empty,
    because other programs write it. Raises ServiceError."""
    try:
        content = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as problem:
        if usual:
            return {}
        reason = getattr(problem, "strerror", None) or problem
        raise ServiceError(f"the file with credentials {path} cannot be read: {reason}") from None
    return content if isinstance(content, dict) else {}


def _object(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = content.get(name)
    return part if isinstance(part, dict) else {}


def _decode_login(entry: Any) -> OciLogin | None:
    """The credentials in an entry below `auths`; None if it has none, for example because a helper stores them."""
    text = entry.get("auth") if isinstance(entry, dict) else None
    try:
        user, colon, password = b64decode(text, validate=True).decode().partition(":") if text else ("", "", "")
    except (ValueError, TypeError):
        return None
    return OciLogin(user, password) if colon else None


def _from_helper(name: str, url: str, environ: Mapping[str, str]) -> OciLogin:
    program = f"docker-credential-{name}"
    try:
        done = subprocess.run(
            [program, "get"],
            input=url.encode(),
            capture_output=True,
            timeout=_HELPER_TIMEOUT,
            check=False,
            env=dict(environ),
        )
    except FileNotFoundError:
        raise ServiceError(f"the credential helper {program} was not found on the PATH") from None
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ServiceError(f"the credential helper {program} cannot be used: {problem}") from None
    if done.returncode:
        output = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        if "credentials not found" in output:
            return OciLogin()
        raise ServiceError(f"the credential helper {program} failed: {output or f'exit code {done.returncode}'}")
    try:
        answer = json.loads(done.stdout)
        user, secret = str(answer.get("Username") or ""), str(answer.get("Secret") or "")
    except (ValueError, AttributeError, RecursionError):
        raise ServiceError(f"the response of the credential helper {program} is not a JSON object") from None
    return OciLogin(refresh_token=secret) if user == "<token>" else OciLogin(user, secret)

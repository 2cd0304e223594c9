"""Validates and normalizes `source` arguments of providers and modules.

Provider addresses are `host/namespace/type`, where namespace and type consist of letters, digits and single dashes.
Module sources are local paths, registry addresses (`[host/]namespace/name/system[//subdir]`), or other addresses, which
are passed to the downloader in the normalized form that modules.json records."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from planner.foundation.vocabulary.records import frozen

DEFAULT_HOST = "registry.opentofu.org"
BUILTIN = "terraform.io/builtin/terraform"

_NAME = r"[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?"


class SourceError(ValueError):
    """A source is invalid. The message is a sentence with the reason."""


# ---------------------------------------------------------------- providers


@lru_cache(maxsize=1024)
def provider_part(text: str) -> str:
    """Normalize a namespace or type to lower case. It consists of letters, digits, and single dashes between them.
    Raises SourceError."""
    if not text:
        raise SourceError("A namespace or type of providers must have at least one character.")
    if text.startswith("-") or text.endswith("-"):
        raise SourceError("A namespace or type of providers must not begin or end with a dash.")
    if "--" in text:
        raise SourceError("A namespace or type of providers must not have two dashes in a row.")
    normal = text.lower()
    if "_" in normal or "." in normal or not all(c == "-" or c.isalnum() for c in normal):
        raise SourceError("A namespace or type of providers may contain only letters, digits and dashes.")
    return normal


def default_provider(name: str) -> str:
    return BUILTIN if name == "terraform" else f"{DEFAULT_HOST}/hashicorp/{name}"


def is_default_provider(address: str) -> bool:
    return address.startswith(f"{DEFAULT_HOST}/hashicorp/")


def provider_display(address: str) -> str:
    """The address without the default host."""
    return address.removeprefix(f"{DEFAULT_HOST}/")


@lru_cache(maxsize=1024)
def parse_provider_source(text: str) -> str:
    """Expand `type`, `namespace/type` or `host/namespace/type` to a full address. Raises SourceError."""
    parts = text.split("/")
    if len(parts) > 3 or not all(parts):
        raise SourceError("A provider source has the form [hostname/][namespace/]name.")
    type_ = provider_part(parts[-1])
    if len(parts) == 1:
        return f"{DEFAULT_HOST}/hashicorp/{type_}"
    namespace = "-" if parts[-2] == "-" else provider_part(parts[-2])
    host = _host(parts[0]) if len(parts) == 3 else DEFAULT_HOST
    if namespace == "-" and host != DEFAULT_HOST:
        raise SourceError(f'The namespace "-" exists only on {DEFAULT_HOST}.')
    for prefix in ("terraform-", "opentofu-"):
        if type_.startswith(prefix):
            hint = type_.removeprefix(f"{prefix}provider-").removeprefix(prefix)
            raise SourceError(f"A provider type must not begin with {prefix}; perhaps you mean {namespace}/{hint}.")
    return f"{host}/{namespace}/{type_}"


def _host(text: str) -> str:
    host, colon, port = text.partition(":")
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    sound = all(
        label and not label.startswith("-") and not label.endswith("-") and all(c == "-" or c.isalnum() for c in label)
        for label in labels
    )
    if not sound or "--" in host or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        raise SourceError(f"{text} is not a valid host name.")
    return f"{host}:{int(port)}" if colon and int(port) != 443 else host


# ---------------------------------------------------------------- modules


@frozen
class ModuleSource:
    """The source of a module. `kind` is local, registry or remote; `text` is normalized as in modules.json."""

    kind: str
    text: str


def parse_module_source(text: str, registry_only: bool = False) -> ModuleSource:
    """Classify and normalize a module source. `registry_only`: whether the call has the argument `version`, so that the
    source must be a registry address. Raises SourceError."""
    local = text.startswith(("./", "../", ".\\", "..\\"))
    if registry_only:
        if local:
            raise SourceError(
                f"{text} is a local directory, and only modules of a registry have versions: remove the argument "
                "version."
            )
        return ModuleSource("registry", _registry(text))
    if local:
        clean = posixpath.normpath(text.replace("\\", "/"))
        return ModuleSource("local", clean if clean.startswith("../") else f"./{clean}")
    try:
        return ModuleSource("registry", _registry(text))
    except SourceError:
        return ModuleSource("remote", _remote(text))


def split_subdirectory(text: str) -> tuple[str, str]:
    """The source without its subdirectory, and the subdirectory, which follows a double slash ("" for none)."""
    query = text.find("?")
    stop = len(text) if query < 0 else query
    scheme = text.find("://", 0, stop)
    at = text.find("//", scheme + 3 if scheme >= 0 else 0, stop)
    if at < 0:
        return text, ""
    sub = text[at + 2 : stop]
    return text[:at] + text[stop:], posixpath.normpath(sub) if sub else ""


def _detect_service(package: str, question: str, query: str) -> str:
    """A URL with its protocol, if the address belongs to Bitbucket, S3 or Google Cloud Storage, otherwise "". Raises
    SourceError."""
    host, _, path = package.partition("/")
    if host == "bitbucket.org":  # all Bitbucket repositories use git
        if path.count("/") < 1:
            raise SourceError("A Bitbucket source has the form bitbucket.org/owner/repository.")
        return f"git::https://{host}/{path.removesuffix('.git')}.git{question}{query}"
    if host.endswith(".googleapis.com"):
        if path.count("/") < 3:
            raise SourceError(
                "A source in Google Cloud Storage has the form www.googleapis.com/storage/v1/BUCKET/PATH."
            )
        return f"gcs::https://www.googleapis.com/{path}{question}{query}"
    if host.endswith(".amazonaws.com"):
        labels = host.removesuffix(".amazonaws.com").split(".")
        if len(labels) == 3 and labels[1] == "s3":
            return f"s3::https://s3.{labels[2]}.amazonaws.com/{labels[0]}/{path}{question}{query}"
        if len(labels) > 2:
            raise SourceError(f"{host} is not a valid host of S3.")
        bucket = f"{labels[0]}/" if len(labels) == 2 else ""
        return f"s3::https://{labels[-1]}.amazonaws.com/{bucket}{path}{question}{query}"
    return ""


_USER = re.compile(r"(https?://)[^/?#\s'\"]*@", re.IGNORECASE)
_PASSWORD = re.compile(r"(://[^/?#\s'\":@]*):[^/?#\s'\"]*@")
_SSH_KEY = re.compile(r"([?&](?:sshkey|aws_access_key_secret|aws_access_token)=)[^&#\s'\"]*")


def without_secrets(text: str) -> str:
    """The text without the passwords, tokens and keys that source addresses in it contain."""
    return _SSH_KEY.sub(r"\1...", _PASSWORD.sub(r"\1@", _USER.sub(r"\1", text)))


def _registry(text: str) -> str:
    package, sub = split_subdirectory(text)
    if sub.partition("/")[0] == "..":
        raise SourceError(f"The sub-directory {sub} is outside the module package.")
    parts = package.split("/")
    if len(parts) not in (3, 4):
        raise SourceError("The address of a registry module has three or four parts separated by slashes.")
    host = DEFAULT_HOST
    if len(parts) == 4:
        host = _host(parts[0])
        if "." not in host:
            raise SourceError("The host name of a module registry must contain a dot.")
        parts = parts[1:]
    if host in ("github.com", "bitbucket.org"):
        raise SourceError(f"{host} is not a module registry.")
    if not (re.fullmatch(_NAME, parts[0]) and re.fullmatch(_NAME, parts[1])):
        raise SourceError("A namespace or module name has 1 to 64 letters, digits, dashes and underscores.")
    if not re.fullmatch("[0-9a-z]{1,64}", parts[2]):
        raise SourceError("The target system has 1 to 64 lower-case letters and digits.")
    address = "/".join((host, *parts))
    return f"{address}//{sub}" if sub else address


def _remote(text: str) -> str:
    package, sub = split_subdirectory(text)
    if sub.partition("/")[0] == "..":
        raise SourceError(f"The sub-directory {sub} is outside the module package.")
    normal, more = split_subdirectory(_detect(package))
    if more:
        sub = posixpath.normpath(posixpath.join(more, sub)) if sub else more
    if not sub:
        return normal
    base, question, query = normal.partition("?")
    return f"{base}//{sub}{question}{query}"


def _detect(text: str) -> str:
    """Expand a shorthand to a URL with its protocol (the detect phase of go-getter). Raises SourceError."""
    forced = re.match(r"([A-Za-z0-9]+)::(.+)", text, re.DOTALL)
    protocol, rest = (forced[1], forced[2]) if forced else ("", text)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", rest) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:[^@]*$", rest):
        return text
    if rest.startswith("github.com/"):
        package, question, query = rest.partition("?")
        parts = package.split("/")
        if len(parts) < 3:
            raise SourceError("A GitHub source has the form github.com/owner/repository.")
        repository = "/".join(parts[:3])
        repository += "" if repository.endswith(".git") else ".git"
        inner = "//" + "/".join(parts[3:]) if len(parts) > 3 else ""
        return f"{protocol or 'git'}::https://{repository}{inner}{question}{query}"
    bucket = _detect_service(*rest.partition("?"))
    if bucket:
        return bucket
    ssh = re.fullmatch(r"(?:([^@]+)@)?([^:]+):/?(.+)", rest)
    if ssh and ssh[1] == "git":
        return f"{protocol or 'git'}::ssh://git@{ssh[2]}/{ssh[3]}"
    if rest.startswith("/"):
        url = f"file://{rest}"
        return f"{protocol}::{url}" if protocol else url
    raise SourceError(
        f"{without_secrets(text)} is not a known kind of source. For a directory of the calling module, write "
        f'"./{without_secrets(text)}".'
    )

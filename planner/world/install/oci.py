"""OCI registries as sources of module packages and as mirrors of providers. The tags of a mirror are versions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from planner.foundation.clients.oci import OciSettings, expand_template, login_for, repository_address
from planner.foundation.vocabulary.diagnostic import InstallError, ServiceError
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.version_constraints import Version
from planner.world.install.package import InstallablePackage, file_name, no_platform
from planner.world.install.web import (
    Web,
    WebResponse,
    basic,
    display_url,
    list_in,
    object_in,
    resolve,
    status_text,
    texts_in,
)
from planner.world.provider.selections import readable

_IMAGE = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_MODULE = "application/vnd.opentofu.modulepkg"
_PROVIDER = "application/vnd.opentofu.provider"
_TARGET = "application/vnd.opentofu.provider-target"
_ZIP = "archive/zip"
_LARGEST_MANIFEST = 4 << 20  # bytes
_MAX_PAGES = 1000
_DIGEST = r"(sha256|sha512):([0-9a-f]{64}|[0-9a-f]{128})"


@frozen(eq=False)
class Repository:
    """A repository of a registry. Credentials are looked up when the registry requires them."""

    domain: str
    name: str
    web: Web
    settings: OciSettings
    environ: Mapping[str, str] = field(repr=False)
    _headers: dict[str, str] = field(factory=dict, repr=False)

    def __str__(self) -> str:
        return f"{self.domain}/{self.name}"

    def tags(self) -> list[str]:
        """The tags of the repository. Raises InstallError, of kind not_found if the repository does not exist."""
        tags: list[str] = []
        url = self._url("tags/list")
        for _ in range(_MAX_PAGES):
            answer = self._get(url)
            if answer.status == 404:
                raise InstallError(f"there is no repository {self}", "not_found")
            tags += texts_in(self._accept(answer).json(), "tags", self.domain)
            more = re.match(r'\s*<([^>]*)>\s*;\s*rel="?next"?', answer.headers.get("Link") or "")
            if not more:
                return tags
            url = resolve(answer.url, more[1])
            if urlsplit(url).netloc != urlsplit(answer.url).netloc:
                break
        raise InstallError(f"the list of tags of {self} does not end, or leads to another server")

    def manifest(self, reference: str, media_type: str, artifact_type: str) -> dict[str, Any]:
        """The manifest with the tag or digest `reference`. Raises InstallError, also if the manifest does not have the
        required types."""
        answer = self._get(self._url(f"manifests/{quote(reference)}"), {"Accept": f"{_IMAGE}, {_INDEX}"})
        if answer.status == 404:
            raise InstallError(f"{self} has no {reference}")
        if len(self._accept(answer).body) > _LARGEST_MANIFEST:
            raise InstallError(f"the manifest {reference} of {self} is larger than {_LARGEST_MANIFEST >> 20} MiB")
        if ":" in reference:
            kind, _, value = reference.partition(":")
            if hashlib.new(kind, answer.body).hexdigest() != value:
                raise InstallError(f"the manifest does not have the digest {reference}")
        content = answer.json()
        got = content.get("mediaType") or answer.media_type if isinstance(content, dict) else ""
        if got != media_type or answer.media_type != media_type:
            raise InstallError(f"{reference} of {self} has the type {got or '(none)'}, not {media_type}")
        if content.get("artifactType") != artifact_type:
            named = content.get("artifactType") or "no type"
            raise InstallError(f"{reference} of {self} has the artifact type {named}, not {artifact_type}")
        return content  # type: ignore[no-any-return]

    def archive(self, manifest: Mapping[str, Any]) -> str:
        """The digest of the only archive layer of a manifest. Raises InstallError."""
        archives = [layer for layer in list_in(manifest, "layers", str(self)) if _member(layer, "mediaType") == _ZIP]
        if len(archives) != 1:
            raise InstallError(
                f"{self} has {len(archives) or 'no'} layers of the type {_ZIP} in its manifest, not exactly one"
            )
        digest = _member(archives[0], "digest")
        if not isinstance(digest, str) or not re.fullmatch(_DIGEST, digest):
            raise InstallError(f"{self} reports {digest!r} as the digest of its archive, which is not a valid digest")
        return digest

    def blob(self, digest: str) -> tuple[str, dict[str, str]]:
        """The URL and the headers for requesting the content with a digest. `manifest` must be called first, because it
        authenticates."""
        return self._url(f"blobs/{digest}"), dict(self._headers)

    def download(self, digest: str, target: Path, progress: Callable[[int, int], None]) -> None:
        """Write content to a file and verify its digest. Raises InstallError."""
        url, headers = self.blob(digest)
        self.web.download(url, str(target), headers, progress)
        with target.open("rb") as content:
            if hashlib.file_digest(content, digest.partition(":")[0]).hexdigest() != digest.partition(":")[2]:
                raise InstallError(f"the archive from {self} does not have the digest {digest}")

    # ------------------------------------------------------------ requests

    def _url(self, path: str) -> str:
        host = "registry-1.docker.io" if self.domain == "docker.io" else self.domain
        return f"https://{host}/v2/{self.name}/{path}"

    def _get(self, url: str, headers: Mapping[str, str] | None = None) -> WebResponse:
        answer = self.web.get(url, {**(headers or {}), **self._headers})
        if answer.status == 401 and self._authenticate(answer.headers.get_all("WWW-Authenticate") or []):
            answer = self.web.get(url, {**(headers or {}), **self._headers})
        return answer

    def _accept(self, answer: WebResponse) -> WebResponse:
        if answer.status in (401, 403):
            verb = "does not accept the credentials for" if self._headers else "needs credentials for"
            raise InstallError(f"the registry {self.domain} {verb} {self.name}")
        if answer.status != 200:
            raise InstallError(f"the registry {self.domain} returned {status_text(answer.status)}")
        return answer

    def _authenticate(self, challenges: list[str]) -> bool:
        """Create the authorization header that the registry requires. Returns False if there are no credentials for it.
        Raises InstallError."""
        try:
            login = login_for(self.settings, self.domain, self.name, self.environ)
        except ServiceError as problem:
            raise InstallError(problem.text) from None
        for challenge in challenges:
            scheme, _, rest = challenge.strip().partition(" ")
            if scheme.lower() == "basic" and login.user:
                self._headers.update(basic(login.user, login.password))
                return True
            if scheme.lower() == "bearer":
                wanted = {k.lower(): v for k, v in re.findall(r'(\w+)="([^"]*)"', rest)}
                token = login.access_token or self._token(wanted, login.user, login.password, login.refresh_token)
                self._headers["Authorization"] = f"Bearer {token}"
                return True
        return False

    def _token(self, wanted: Mapping[str, str], user: str, password: str, refresh_token: str) -> str:
        realm, scope = wanted.get("realm", ""), wanted.get("scope") or f"repository:{self.name}:pull"
        if urlsplit(realm).scheme != "https":
            raise InstallError(f"the registry {self.domain} issues tokens at {display_url(realm)!r}, not an https: URL")
        words = {"service": wanted.get("service", ""), "scope": scope}
        if refresh_token:
            form = {"grant_type": "refresh_token", "client_id": "planner", "refresh_token": refresh_token, **words}
            answer = self.web.get(
                realm, {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(form).encode()
            )
        else:
            query = ("&" if urlsplit(realm).query else "?") + urlencode(words)
            answer = self.web.get(realm + query, basic(user, password) if user else {})
        if answer.status != 200:
            verb = "does not accept the credentials" if answer.status in (400, 401, 403) else "does not issue a token"
            raise InstallError(f"the registry {self.domain} {verb} for {self.name} ({status_text(answer.status)})")
        body = answer.json()
        token = _member(body, "token") or _member(body, "access_token")
        if not isinstance(token, str):
            raise InstallError(f"the registry {self.domain} returned no token")
        return token


def module_package(url: str, web: Web, settings: OciSettings, environ: Mapping[str, str]) -> tuple[Repository, str]:
    """The repository in `oci://REGISTRY/REPOSITORY[?tag=TAG|digest=DIGEST]`, and the digest of the package's archive.
    Raises InstallError."""
    bare, _, query = url.partition("?")
    given = parse_qsl(query, keep_blank_values=True)
    arguments = dict(given)
    if "archive" in arguments:
        raise InstallError("the argument archive is not allowed here: the manifest contains the kind of archive")
    if more := sorted(set(arguments) - {"tag", "digest"}):
        raise InstallError(f"an address of an OCI registry cannot have the argument {more[0]!r}, only tag or digest")
    if len(given) > 1:
        raise InstallError("an address of an OCI registry can have either a tag or a digest, not several")
    tag, digest = arguments.get("tag", "latest"), arguments.get("digest")
    if digest is not None and not re.fullmatch(_DIGEST, digest):
        raise InstallError(f"{digest!r} is not a digest, such as sha256:0123... with 64 digits")
    if not re.fullmatch(r"\w[\w.-]{0,127}", tag, re.ASCII):
        raise InstallError(f"{tag!r} is not a valid tag")
    if not bare.startswith("oci://"):
        raise InstallError(f"{display_url(url)} must begin with oci://")
    repository = _repository(bare.removeprefix("oci://"), web, settings, environ)
    return repository, repository.archive(repository.manifest(digest or tag, _IMAGE, _MODULE))


class OciMirror:
    """A mirror of providers. A template defines the address of each provider's repository."""

    def __init__(self, template: str, web: Web, settings: OciSettings, environ: Mapping[str, str]) -> None:
        self.template, self.web, self.settings, self.environ = template, web, settings, environ
        self._repositories: dict[str, Repository] = {}

    def __str__(self) -> str:
        return f"the OCI mirror {self.template}"

    def versions(self, address: str) -> tuple[list[Version], list[str]]:
        return readable(tag.replace("_", "+") for tag in self._repository(address).tags()), []

    def package(self, address: str, version: Version, platform: str) -> InstallablePackage:
        repository = self._repository(address)
        index = repository.manifest(str(version).replace("+", "_"), _INDEX, _PROVIDER)
        system, _, machine = platform.partition("_")
        targets = [m for m in list_in(index, "manifests", str(repository)) if _member(m, "artifactType") == _TARGET]
        if not targets:
            raise InstallError(f"{version} of {repository} has no manifest of the artifact type {_TARGET}")
        fitting = []
        for target in targets:
            wanted = object_in(target, "platform", str(repository))
            if (wanted.get("os"), wanted.get("architecture")) == (system, machine) and not wanted.get("os.version"):
                fitting.append(str(_member(target, "digest")))
        if not fitting:
            raise no_platform(address, version, platform)
        if len(fitting) > 1:
            raise InstallError(f"{version} of {repository} has {len(fitting)} manifests for {platform}")
        if not re.fullmatch(_DIGEST, fitting[0]):
            raise InstallError(f"the manifest of {version} of {repository} for {platform} has a malformed digest")
        digest = repository.archive(repository.manifest(fitting[0], _IMAGE, _TARGET))
        if not digest.startswith("sha256:"):
            raise InstallError(f"{repository} does not contain the SHA-256 of its archive")
        url, headers = repository.blob(digest)
        name, hashes = file_name(address, version, platform), (f"zh:{digest.removeprefix('sha256:')}",)
        return InstallablePackage(address, version, platform, url, name, hashes=hashes, headers=headers)

    def _repository(self, address: str) -> Repository:
        if address not in self._repositories:
            named = expand_template(self.template, address)
            self._repositories[address] = _repository(named, self.web, self.settings, self.environ)
        return self._repositories[address]


def _repository(address: str, web: Web, settings: OciSettings, environ: Mapping[str, str]) -> Repository:
    try:
        domain, name = repository_address(address)
    except ValueError as bad:
        raise InstallError(str(bad)) from None
    return Repository(domain, name, web, settings, environ)


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None

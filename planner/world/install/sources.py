"""Sources of provider packages: registries, mirrors of all kinds, and combinations of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from planner.foundation.clients.cli_config import InstallMethod
from planner.foundation.vocabulary.diagnostic import InstallError
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.version_constraints import Version
from planner.world.install.package import InstallablePackage, RegistryClaims, file_name, no_platform
from planner.world.install.web import (
    PROVIDERS,
    Hosts,
    Web,
    WebResponse,
    list_in,
    object_in,
    resolve,
    status_text,
    texts_in,
)
from planner.world.provider.locate import packages_in
from planner.world.provider.selections import readable


class PackageSource(Protocol):
    """A source of packages. The methods raise InstallError. The `kind` of this error shows whether only the provider or
    package is missing, or the source cannot be used at all."""

    def versions(self, address: str) -> tuple[list[Version], list[str]]:
        """All versions of a provider, and warnings of the source."""

    def package(self, address: str, version: Version, platform: str) -> InstallablePackage:
        """The package of a version for a platform, with its location and the checksums to verify."""


class MirrorDirectory:
    """Packages below a directory, in HOST/NAMESPACE/TYPE, as archives or unpacked."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    def versions(self, address: str) -> tuple[list[Version], list[str]]:
        if not self.path.is_dir():
            raise InstallError(f"{self.path} is not a readable directory")
        by_text = {str(v): v for v in self._all_versions(address)}
        return sorted(by_text.values()), []

    def _all_versions(self, address: str) -> list[Version]:
        """The versions for any platform, so that errors can mention versions that exist only for other platforms."""
        folder = self.path.joinpath(*address.split("/"))
        prefix = f"terraform-provider-{address.rpartition('/')[2]}_"
        texts = []
        for entry in folder.iterdir() if folder.is_dir() else ():
            name = entry.name.lower()
            if entry.is_dir():
                texts += [entry.name] if any("_" in inner.name for inner in entry.iterdir() if inner.is_dir()) else []
            elif name.startswith(prefix) and name.endswith(".zip") and name.count("_", len(prefix)) >= 2:
                texts.append(name[len(prefix) :].partition("_")[0])
        return readable(texts)

    def package(self, address: str, version: Version, platform: str) -> InstallablePackage:
        for candidate in packages_in(self.path, address, platform):
            if candidate.version == version:
                return InstallablePackage(
                    address, version, platform, str(candidate.path.absolute()), file_name(address, version, platform)
                )
        raise no_platform(address, version, platform)


class NetworkMirror:
    """The provider network mirror protocol: `index.json` and `VERSION.json` of each provider below an https URL."""

    def __init__(self, url: str, web: Web, hosts: Hosts, retries: int | None = None, trusted: bool = False) -> None:
        self.url, self.web, self.hosts = url, web, hosts
        self.retries, self.trusted = retries, trusted

    def __str__(self) -> str:
        return f"the mirror {self.url}"

    def versions(self, address: str) -> tuple[list[Version], list[str]]:
        answer = self._get(address, "index.json")
        if answer.status == 404:
            raise InstallError(f"{self.url} does not have {address}", "not_found")
        listed = object_in(self._accept(answer).json(), "versions", self.url)
        return readable(listed), []

    def package(self, address: str, version: Version, platform: str) -> InstallablePackage:
        answer = self._get(address, f"{version}.json")
        if answer.status == 404:
            raise InstallError(f"{self.url} lists version {version} of {address}, but returns no details of it")
        archives = object_in(self._accept(answer).json(), "archives", self.url)
        one = archives.get(platform)
        if not isinstance(one, dict) or not isinstance(one.get("url"), str):
            raise no_platform(address, version, platform)
        reported = archives.values() if self.trusted else [one]
        hashes = [h for a in reported for h in texts_in(a, "hashes", self.url)]
        url = resolve(answer.url, one["url"])
        return InstallablePackage(
            address,
            version,
            platform,
            url,
            urlsplit(url).path.rpartition("/")[2],
            hashes=tuple(hashes),
            trusted=self.trusted,
            retries=self.retries,
        )

    def _get(self, address: str, name: str) -> WebResponse:
        url = resolve(self.url, f"{address}/{quote(name)}")
        return self.web.get(url, self.hosts.credentials_for(self.url))

    def _accept(self, answer: WebResponse) -> WebResponse:
        if answer.status in (401, 403):
            raise InstallError(f"{self.url} requires credentials or does not accept those that were sent")
        if answer.status != 200:
            raise InstallError(f"{self.url} answered {status_text(answer.status)}")
        if answer.media_type != "application/json":
            raise InstallError(f"{answer.url} has the type {answer.media_type or '(none)'}, not application/json")
        return answer


class Registry:
    """The provider registry protocol, at the host in the provider's address."""

    def __init__(self, web: Web, hosts: Hosts, retries: int | None = None) -> None:
        self.web, self.hosts, self.retries = web, hosts, retries
        self._known: dict[str, dict[str, tuple[str, ...]]] = {}
        self._remarks: dict[str, list[str]] = {}

    def __str__(self) -> str:
        return "the provider's registry"

    def versions(self, address: str) -> tuple[list[Version], list[str]]:
        if address not in self._known:
            self._ask_versions(address)
        return readable(self._known[address]), self._remarks[address]

    def _ask_versions(self, address: str) -> None:
        answer = self._get(address, "versions")
        if answer.status == 404:
            raise InstallError(
                f"the registry {address.partition('/')[0]} has no provider {address}", "unknown_provider"
            )
        body, where = self._accept(address, answer).json(), _registry_of(address)
        protocols = {}
        for item in list_in(body, "versions", where):
            if isinstance(item, dict) and isinstance(item.get("version"), str):
                protocols[item["version"]] = texts_in(item, "protocols", where)
        self._remarks[address] = [str(r) for r in list_in(body, "warnings", where)]
        self._known[address] = protocols

    def package(self, address: str, version: Version, platform: str) -> InstallablePackage:
        system, _, machine = platform.partition("_")
        answer = self._get(address, f"{version}/download/{system}/{machine}")
        if answer.status == 404:
            raise no_platform(address, version, platform)
        body = self._accept(address, answer).json()
        if not isinstance(body, dict):
            raise InstallError(f"the registry's response about {address} is not a JSON object")
        self._check_protocols(address, version, body)
        if (body.get("os"), body.get("arch")) != (system, machine):
            raise InstallError(
                f"the registry returned a package for {body.get('os')}_{body.get('arch')}, not {platform}"
            )
        sha256 = str(body.get("shasum") or "").lower()
        if len(sha256) != 64 or any(c not in "0123456789abcdef" for c in sha256):
            raise InstallError(f"the registry reports {sha256 or 'nothing'} as the SHA-256 of the package")
        url, sums, signature = (
            _url(answer.url, body.get(name), name) for name in ("download_url", "shasums_url", "shasums_signature_url")
        )
        where = _registry_of(address)
        keys = list_in(object_in(body, "signing_keys", where), "gpg_public_keys", where)
        claims = RegistryClaims(
            sha256,
            str(body.get("filename") or ""),
            self.web.document(sums),
            self.web.document(signature),
            tuple(str(key.get("ascii_armor") or "") for key in keys if isinstance(key, dict)),
            _packages(object_in(body, "packages", where), where),
        )
        return InstallablePackage(address, version, platform, url, claims.file_name, claims, retries=self.retries)

    def _check_protocols(self, address: str, version: Version, body: dict[str, Any]) -> None:
        spoken = texts_in(body, "protocols", _registry_of(address))
        if not spoken or _speaks(spoken):
            return
        usable = [v for v in self.versions(address)[0] if _speaks(self._known[address].get(str(v), ()))]
        detail = f"{address} {version} supports the plugin protocols {', '.join(spoken)}; this program supports 5 and 6"
        if usable:
            detail += f". The newest usable version is {usable[-1]}: select it with a version constraint"
        raise InstallError(detail, "protocol")

    def _get(self, address: str, path: str) -> WebResponse:
        host, _, rest = address.partition("/")
        return self.web.get(
            resolve(self.hosts.service(host, PROVIDERS), f"{rest}/{path}"), self.hosts.credentials(host)
        )

    def _accept(self, address: str, answer: WebResponse) -> WebResponse:
        host = address.partition("/")[0]
        if answer.status in (401, 403):
            raise InstallError(
                f"the registry {host} "
                + ("does not accept these credentials" if self.hosts.credentials(host) else "needs credentials")
            )
        if answer.status != 200:
            raise InstallError(f"the registry {host} returned {status_text(answer.status)}")
        return answer


class CombinedSources:
    """Several sources, each for certain providers. A provider has the versions that any of its sources has."""

    def __init__(self, sources: Iterable[tuple[PackageSource, InstallMethod]]) -> None:
        self.sources = tuple(sources)

    def versions(self, address: str) -> tuple[list[Version], list[str]]:
        by_text: dict[str, Version] = {}
        remarks: list[str] = []
        unknown = None
        asked = [(source, method) for source, method in self.sources if method.serves(address)]
        for source, _ in asked:
            try:
                versions, more = source.versions(address)
            except InstallError as problem:
                if problem.kind not in ("not_found", "unknown_provider"):
                    raise
                unknown = problem if problem.kind == "unknown_provider" else unknown
                continue
            by_text |= {str(v): v for v in versions}
            remarks += more
        if not by_text:
            if unknown is not None:
                raise unknown
            where = (
                ", ".join(str(source) for source, _ in asked)
                or "nowhere, because the CLI configuration names no source for this provider"
            )
            raise InstallError(f"{address} was not found (looked at: {where})", "not_found")
        return sorted(by_text.values()), remarks

    def package(self, address: str, version: Version, platform: str) -> InstallablePackage:
        for source, method in self.sources:
            if not method.serves(address):
                continue
            try:
                return source.package(address, version, platform)
            except InstallError as problem:
                if problem.kind not in ("not_found", "unknown_provider", "no_platform"):
                    raise
        raise no_platform(address, version, platform)


def all_of(methods: Iterable[InstallMethod], web: Web, hosts: Hosts) -> CombinedSources:
    """The combination of the sources that the CLI configuration describes, in its order."""
    sources: list[tuple[PackageSource, InstallMethod]] = []
    for method in methods:
        if method.kind == "filesystem_mirror":
            sources.append((MirrorDirectory(method.location), method))
        elif method.kind == "network_mirror":
            url = method.location if method.location.endswith("/") else f"{method.location}/"
            sources.append((NetworkMirror(url, web, hosts, method.retries, method.trusted), method))
        elif method.kind == "direct":
            sources.append((Registry(web, hosts, method.retries), method))
        else:
            from planner.world.install.oci import OciMirror

            sources.append((OciMirror(method.location, web, hosts.config.oci, hosts.environ), method))
    return CombinedSources(sources)


def default_sources(directories: Iterable[str], web: Web, hosts: Hosts) -> CombinedSources:
    """The default sources: the default mirror directories, and the registry for providers that are not in these
    directories."""
    present = [d for d in directories if Path(d).is_dir()]
    methods = [InstallMethod("filesystem_mirror", d) for d in present]
    local = tuple(sorted({address for d in present for address in _addresses(Path(d))}))
    return all_of([*methods, InstallMethod("direct", exclude=local)], web, hosts)


def with_retries(web: Web, retries: int | None, otherwise: int) -> Web:
    return evolve(web, retries=otherwise if retries is None else retries)


def _addresses(base: Path) -> list[str]:
    addresses = []
    for folder in base.glob("*/*/*"):
        if folder.is_dir() and any(folder.iterdir()):
            addresses.append("/".join(folder.relative_to(base).parts).lower())
    return addresses


def _url(base: str, text: Any, name: str) -> str:
    url = resolve(base, text) if isinstance(text, str) and text else ""
    if urlsplit(url).scheme not in ("http", "https"):
        raise InstallError(f"the registry's {name} is {text!r}, which is not an http or https URL")
    return url


def _packages(given: Mapping[str, Any], where: str) -> dict[str, tuple[int, tuple[str, ...]]]:
    packages = {}
    for platform, one in given.items():
        if isinstance(one, dict) and isinstance(one.get("package_size"), int):
            packages[platform] = (one["package_size"], texts_in(one, "hashes", where))
    return packages


def _registry_of(address: str) -> str:
    return f"the registry {address.partition('/')[0]}"


def _speaks(protocols: Iterable[str]) -> bool:
    return any(p.partition(".")[0] in ("5", "6") for p in protocols)

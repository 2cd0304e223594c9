"""Installs the modules at the sources in module calls: from registries and from sources that
planner.world.install.getters supports."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping
from pathlib import Path

from planner.foundation.support.archive import unpack
from planner.foundation.support.put_files import beside, copy_directory, remove
from planner.foundation.vocabulary.diagnostic import InstallError
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.version_constraints import Version, parse_constraints
from planner.language.config.directory import ModuleRecord, module_key
from planner.language.config.model import ModuleCall, ModulePath
from planner.language.config.reading import Problems
from planner.language.config.sources import SourceError, parse_module_source, split_subdirectory, without_secrets
from planner.world.install.getters import Fetcher, below
from planner.world.install.web import MODULES, Hosts, Web, list_in, resolve, status_text
from planner.world.provider.package_hashes import module_hash
from planner.world.provider.selections import VersionSet


@frozen
class _Origin:
    """The source of a module's files, and the subdirectory in it. The source is an address for Fetcher or, if `direct`,
    the URL of an archive with request headers."""

    address: str
    sub: str = ""
    direct: bool = False
    headers: dict[str, str] = field(factory=dict)


@frozen(eq=False)
class ModuleInstaller:
    """Installs modules below the data directory of a root module, each package once. The caller must have locked the
    directory of modules. `known`: recorded checksums of registry packages by (source, version). `installed`: checksums
    of the packages fetched so far."""

    root: Path
    data_directory: str
    web: Web
    hosts: Hosts
    fetcher: Fetcher
    say: Callable[[str], None]
    known: Mapping[tuple[str, str], str] = field(factory=dict)
    installed: dict[tuple[str, str], str] = field(factory=dict)
    _versions: dict[str, list[Version]] = field(factory=dict)
    _fetched: dict[str, Path] = field(factory=dict)

    def install(self, path: ModulePath, call: ModuleCall, problems: Problems) -> ModuleRecord | None:
        """Fetch the module of a call, replacing an installed one. Returns None after an error, which is added to
        `problems`."""
        where = call.shown_span
        try:
            if call.source_kind == "registry":
                return self._from_registry(path, call, problems)
            if call.version:
                detail = (
                    f"Module {call.name} does not come from a registry, so it has no versions: remove the argument "
                    "version."
                )
                problems.error("remote_version", "Invalid version constraint", detail, call.span)
                return None
            package, sub = split_subdirectory(call.source)
            self.say(f"- Downloading {without_secrets(package)} for {module_key(path)}...")
            return self._place(path, call, _Origin(package, sub))
        except InstallError as problem:
            title = {
                "unknown_module": "Module not found",
                "no_version": "Unresolvable module version constraint",
                "registry": "Error accessing remote module registry",
                "no_service": "Error accessing remote module registry",
                "subdirectory": "Module subdirectory not found",
                "module_checksum": "Module package has changed",
            }.get(problem.kind, "Failed to download module")
            detail = f"Module {call.name} cannot be installed from {without_secrets(call.source)}: {problem}."
            problems.error(f"install_{problem.kind or 'module'}", title, detail, where)
        except OSError as problem:
            detail = f"Module {call.name}: {problem.filename or self.root}: {problem.strerror or problem}."
            problems.error("install_module", "Failed to download module", detail, where)
        return None

    def _place(self, path: ModulePath, call: ModuleCall, origin: _Origin, version: str | None = None) -> ModuleRecord:
        """Install the package of a call in the directory of the call, below the data directory. Raises InstallError and
        OSError."""
        key = module_key(path)
        relative = posixpath.join(self.data_directory, "modules", key)
        place = self.root / relative
        with beside(place) as work:
            fresh = work / "module"
            known = self._fetched.get(origin.address)
            if known is not None:
                copy_directory(known, fresh)
            elif origin.direct:
                archive = work / "archive"
                self.web.download(origin.address, str(archive), origin.headers)
                unpack(archive, fresh, _archive_type(archive))
            else:
                self.fetcher.fetch(origin.address, fresh)
            if version is not None:
                self._compare(split_subdirectory(call.source)[0], version, fresh)
            inner = below(fresh, origin.sub) if origin.sub else fresh
            if not inner.is_dir():
                raise InstallError(f"the package has no directory {origin.sub}", "subdirectory")
            sub = inner.relative_to(fresh).as_posix()
            remove(place)
            os.replace(fresh, place)
            self._fetched[origin.address] = place
        return ModuleRecord(key, call.source, posixpath.normpath(posixpath.join(relative, sub)), version)

    def _compare(self, source: str, version: str, folder: Path) -> None:
        """Record the checksum of the files of a registry module's version. Raises InstallError if the lock file has a
        different checksum."""
        checksum = self.installed[source, version] = module_hash(folder)
        wanted = self.known.get((source, version), checksum)
        if checksum != wanted:
            raise InstallError(
                f"the files of version {version} have changed: their checksum is {checksum}, but the lock file has "
                f"{wanted}. If the change is intended, remove that line from the lock file",
                "module_checksum",
            )

    # ------------------------------------------------------------ registries

    def _from_registry(self, path: ModulePath, call: ModuleCall, problems: Problems) -> ModuleRecord:
        package, sub = split_subdirectory(call.source)
        host, _, rest = package.partition("/")
        if package not in self._versions:
            self._versions[package] = self._ask_versions(host, rest)
        version = _newest(self._versions[package], call.version or "")
        self.say(f"- Downloading {package} {version} for {module_key(path)}...")
        return self._place(path, call, self._origin(host, rest, str(version), sub), str(version))

    def _ask_versions(self, host: str, rest: str) -> list[Version]:
        base = self.hosts.service(host, MODULES)
        answer = self.web.get(resolve(base, f"{rest}/versions"), self.hosts.credentials(host))
        if answer.status == 404:
            raise InstallError(f"the registry {host} has no module {rest}", "unknown_module")
        if answer.status != 200:
            raise InstallError(f"the registry {host} returned {status_text(answer.status)}", "registry")
        body = answer.json()
        modules = body.get("modules") if isinstance(body, dict) else None
        if not isinstance(modules, list) or not modules or not isinstance(modules[0], dict):
            raise InstallError(f"the response of the registry {host} lists no modules", "registry")
        versions = []
        for item in list_in(modules[0], "versions", f"the registry {host}"):
            try:
                versions.append(Version(str(item.get("version"))))
            except (ValueError, AttributeError):
                continue
        if not versions:
            raise InstallError(f"the registry {host} has no versions of the module", "no_version")
        return versions

    def _origin(self, host: str, rest: str, version: str, sub: str) -> _Origin:
        url = resolve(self.hosts.service(host, MODULES), f"{rest}/{version}/download")
        credentials = self.hosts.credentials(host)
        answer = self.web.get(url, credentials)
        if answer.status not in (200, 204):
            raise InstallError(
                f"the registry {host} returned {status_text(answer.status)} to the request for the location of the "
                "module",
                "registry",
            )
        body = answer.json() if answer.status == 200 and answer.body.strip() else {}
        body = body if isinstance(body, dict) else {}
        location = body.get("location") or ""
        if isinstance(body.get("use_registry_credentials"), bool) and isinstance(location, str):
            target = resolve(url, location)
            if not target.startswith(("https://", "http://")):
                named = without_secrets(location)
                raise InstallError(f"the registry names {named} as the location of the module", "registry")
            return _Origin(target, sub, True, credentials if body["use_registry_credentials"] else {})
        location = location or answer.headers.get("X-Terraform-Get") or ""
        if not isinstance(location, str) or not location:
            raise InstallError(f"the registry {host} did not return the location of version {version}", "registry")
        if location.startswith(("/", "./", "../")):
            location = resolve(url, location)
        try:
            source = parse_module_source(location)
        except SourceError as bad:
            named = without_secrets(location)
            raise InstallError(f"the registry names {named} as the location of the module: {bad}", "registry") from None
        if source.kind != "remote":
            named = without_secrets(location)
            raise InstallError(f"the registry names {named}, which is not a download address", "registry")
        inner, more = split_subdirectory(source.text)
        return _Origin(inner, posixpath.normpath(posixpath.join(more, sub)) if more and sub else more or sub)


def _newest(versions: list[Version], constraint: str) -> Version:
    """The newest version that the constraint allows. Prereleases are allowed only if the constraint names them exactly.
    Raises InstallError."""
    wanted, exact = (
        parse_constraints(constraint) if constraint else None,
        VersionSet((constraint,) if constraint else ()),
    )
    candidates = [v for v in versions if not v.prerelease or exact.allows(v)]
    fitting = [v for v in candidates if wanted is None or wanted.allows(v)]
    if not fitting:
        newest = f"; the newest is {max(candidates)}" if candidates else ""
        raise InstallError(f'no version of the module matches "{constraint}"{newest}', "no_version")
    return max(fitting)


def _archive_type(archive: Path) -> str:
    with archive.open("rb") as file:
        head = file.read(6)
    kinds = {b"PK": "zip", b"\x1f\x8b": "tar.gz", b"BZ": "tar.bz2", b"\xfd7": "tar.xz"}
    return kinds.get(head[:2], "tar")

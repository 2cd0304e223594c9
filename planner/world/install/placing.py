"""Installs provider packages into directories HOST/NAMESPACE/TYPE/VERSION/OS_ARCH: a package is fetched, verified and
unpacked, and then moved there. Also copies packages into a mirror directory, which can be used as a filesystem mirror
or published as a network mirror."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from planner.foundation.support.archive import unpack
from planner.foundation.support.put_files import beside, copy_directory, locked, remove
from planner.foundation.vocabulary.diagnostic import InstallError
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.version_constraints import Version
from planner.world.install.package import InstallablePackage, PackageProof, authenticate, file_name
from planner.world.install.sources import PackageSource, with_retries
from planner.world.install.web import Web
from planner.world.provider.lock_file import Locks
from planner.world.provider.package_hashes import EMPTY, computable_hashes, content_hash, matching
from planner.world.provider.selections import VersionSet

Progress = Callable[[str, int, int], None]
"""Parameters: name of the download, received bytes, total bytes (0: unknown)."""


@frozen
class Placer:
    """Installs packages below the directory `base`. `waiting`: called if another process installs the same package and
    this takes long. `stop`: returns whether to stop waiting for that process."""

    base: Path
    web: Web
    environ: Mapping[str, str] = field(repr=False)
    platform: str
    retries: int = 2
    progress: Progress | None = None
    waiting: Callable[[], object] = bool
    stop: Callable[[], object] = bool

    def folder(self, address: str, version: Version) -> Path:
        return self.base.joinpath(*address.split("/"), str(version), self.platform)

    def has(self, address: str, version: Version, hashes: tuple[str, ...]) -> bool:
        """Whether the package is installed and has one of these checksums."""
        folder = self.folder(address, version)
        try:
            return folder.is_dir() and bool(matching(folder, hashes))
        except InstallError:
            return False

    def place(self, package: InstallablePackage, allowed: tuple[str, ...], unchecked: bool = False) -> PackageProof:
        """Install a package, unless it is installed already. `allowed`: the package must have one of these checksums;
        if empty, any checksum is accepted. `unchecked`: accept an installed package even if no checksum is known.
        Raises InstallError."""
        folder = self.folder(package.address, package.version)
        with locked(folder.with_name(f"{folder.name}.lock"), self.waiting, self.stop):
            if folder.is_dir():
                if unchecked and not allowed and program(folder, package.address):
                    return PackageProof()
                if hashes := matching(folder, allowed):
                    return PackageProof(verified=frozenset(hashes))
            if package.is_remote:
                return self._from_web(package, folder, allowed)
            source = Path(package.location)
            proof = authenticate(package, source, self.environ)
            if source.is_dir():
                link(source, folder, package.address, allowed)
            else:
                with beside(folder) as work:
                    _from_archive(package, source, folder, work, allowed)
            return proof

    def _from_web(self, package: InstallablePackage, folder: Path, allowed: tuple[str, ...]) -> PackageProof:
        with beside(folder) as work:
            archive = work / "package.zip"
            self.download(package, archive)
            proof = authenticate(package, archive, self.environ)
            _from_archive(package, archive, folder, work, allowed)
            return proof

    def download(self, package: InstallablePackage, target: Path) -> None:
        """Download the archive of a package to `target`. Raises InstallError."""
        name = f"{package.address} {package.version}"

        def report(done: int, total: int) -> None:
            if self.stop():
                raise InstallError("interrupted")
            if self.progress is not None:
                self.progress(name, done, total)

        web = with_retries(self.web, package.retries, self.retries)
        web.download(package.location, str(target), package.headers, report)


def link(source: Path, folder: Path, address: str, allowed: tuple[str, ...] = ()) -> None:
    """Make an unpacked package available at another path, by a link if possible. `allowed`: the checksums in the lock
    file; without an h1: checksum among them, any package is accepted. Raises InstallError."""
    if source.resolve() == folder.absolute().parent.resolve() / folder.name:
        raise InstallError(f"{source} is the target directory itself")
    wanted = tuple(h for h in allowed if h.startswith("h1:"))
    if wanted and not matching(source, wanted):
        raise InstallError(
            f"the package in {source} has none of the checksums in the lock file; perhaps the lock file only has "
            "checksums for other platforms"
        )
    if not program(source, address):
        raise InstallError(f"{source} does not contain the program terraform-provider-{address.rpartition('/')[2]}")
    with beside(folder) as work:
        fresh = work / "package"
        try:
            os.symlink(source.absolute(), fresh, target_is_directory=True)
        except OSError:
            copy_directory(source, fresh)
        if not (folder.is_symlink() and fresh.is_symlink()):
            remove(folder)
        os.replace(fresh, folder)  # atomic, because other processes may use an existing link


def program(folder: Path, address: str) -> str:
    """The file name of a package's program; "" if there is none."""
    name = f"terraform-provider-{address.rpartition('/')[2]}"
    for entry in sorted(os.scandir(folder), key=lambda e: e.name) if folder.is_dir() else ():
        if entry.is_file() and (entry.name == name or entry.name.startswith((f"{name}_", f"{name}."))):
            return entry.name
    return ""


def _from_archive(
    package: InstallablePackage, archive: Path, folder: Path, work: Path, allowed: tuple[str, ...]
) -> None:
    if allowed and not matching(archive, computable_hashes(allowed)):
        raise InstallError(
            "the package has none of the checksums in the lock file: it differs from the package that was selected "
            "before, or "
            "the lock file has no checksum for this platform (to add it, run `planner providers lock`)"
        )
    fresh = work / "package"
    unpack(archive, fresh, "zip", links=False)
    if not program(fresh, package.address):
        raise InstallError(
            f"the package does not contain the program terraform-provider-{package.address.rpartition('/')[2]}"
        )
    if folder.is_dir() and not folder.is_symlink():
        there = content_hash(folder)
        if there == content_hash(archive):
            return
        if there != EMPTY:
            raise InstallError(f"{folder} differs from the package; remove it if you do not need its changes")
    remove(folder)
    os.replace(fresh, folder)


@frozen(eq=False)
class Mirroring:
    """Copies packages into `target` and records their known checksums."""

    target: Path
    source: PackageSource
    placer: Placer
    say: Callable[[str], None]
    known: dict[str, frozenset[str]] = field(factory=dict)  # known checksums by path of the archive

    def copy(self, address: str, wanted: VersionSet, locks: Locks, platforms: tuple[str, ...]) -> None:
        """Copy one provider for all platforms: the version in the lock file or, without a lock file, the newest allowed
        one. Raises InstallError, also if the lock file lacks the provider or selects a version that is not allowed."""
        version = self._version(address, wanted, locks)
        for platform in platforms:
            self.say(f"- Mirroring {address} {version} for {platform}...")
            package = self.source.package(address, version, platform)
            place = self.target.joinpath(*address.split("/"), file_name(address, version, platform))
            with beside(place) as work:
                archive = work / "package.zip"
                self.placer.download(package, archive)
                proof = authenticate(evolve(package, platform=platform), archive, self.placer.environ)
                archive.chmod(0o644)
                os.replace(archive, place)
            self.known[str(place)] = proof.own
            self.say(f"  - package is authenticated: {proof.summary}")

    def _version(self, address: str, wanted: VersionSet, locks: Locks) -> Version:
        if locks:
            lock = locks.get(address)
            if lock is None:
                raise InstallError("the lock file does not select a version of the provider; run init")
            if not wanted.allows(lock.version):
                raise InstallError(
                    f'the lock file selects {lock.version}, but "{wanted}" is required; run init -upgrade'
                )
            return lock.version
        version = wanted.newest(self.source.versions(address)[0])
        if version is None:
            raise InstallError(f'no version matches the constraints "{wanted}"')
        return version

    def write_indexes(self) -> None:
        """Write `index.json` and `VERSION.json` of every provider. Raises InstallError."""
        for folder in sorted(p for p in self.target.glob("*/*/*") if p.is_dir()):
            archives: dict[str, dict[str, object]] = {}
            prefix = f"terraform-provider-{folder.name}_"
            for archive in sorted(folder.glob(f"{prefix}*.zip")):
                version, _, platform = archive.name[len(prefix) : -4].partition("_")
                if platform.count("_") != 1:
                    continue
                hashes = self.known.get(str(archive)) or {content_hash(archive)}
                one = {"hashes": sorted(hashes), "url": archive.name}
                archives.setdefault(version, {})[platform] = one
            if archives:
                _write_json(folder / "index.json", {"versions": {version: {} for version in archives}})
            for version, packages in archives.items():
                _write_json(folder / f"{version}.json", {"archives": packages})


def _write_json(path: Path, content: object) -> None:
    with beside(path) as work:
        fresh = work / path.name
        fresh.write_text(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False), encoding="utf-8")
        os.replace(fresh, path)

"""A mirror of packages: a directory that serves as filesystem mirror and, if published unchanged, as network mirror."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from planner.foundation.support.put_files import beside
from planner.foundation.vocabulary.diagnostic import InstallError
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.version_constraints import Version
from planner.world.install.package import authenticate, file_name
from planner.world.install.placing import Placer
from planner.world.install.sources import PackageSource
from planner.world.provider.lock_file import Locks
from planner.world.provider.package_hashes import content_hash
from planner.world.provider.selections import VersionSet


@frozen(eq=False)
class Mirroring:
    """Copies packages into `target` and records their known checksums."""

    target: Path
    source: PackageSource
    placer: Placer
    say: Callable[[str], None]
    known: dict[str, frozenset[str]] = field(factory=dict)
    """by path of the archive"""

    def copy(self, address: str, wanted: VersionSet, locks: Locks, platforms: tuple[str, ...]) -> None:
        """One provider for all platforms: the version that the lock file selects, otherwise the newest allowed one.
        Raises InstallError."""
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
                raise InstallError("the lock file has no selection for it; run init")
            if not wanted.allows(lock.version):
                raise InstallError(
                    f'the lock file selects {lock.version}, but required is "{wanted}"; run init -upgrade'
                )
            return lock.version
        version = wanted.newest(self.source.versions(address)[0])
        if version is None:
            raise InstallError(f'no version matches the constraints "{wanted}"')
        return version

    def write_indexes(self) -> None:
        """Write `index.json` and `VERSION.json` for every provider with archives. Raises InstallError."""
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
                _write(folder / "index.json", {"versions": {version: {} for version in archives}})
            for version, packages in archives.items():
                _write(folder / f"{version}.json", {"archives": packages})


def _write(path: Path, content: object) -> None:
    """Write JSON in the layout of OpenTofu."""
    with beside(path) as work:
        fresh = work / path.name
        fresh.write_text(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False), encoding="utf-8")
        os.replace(fresh, path)

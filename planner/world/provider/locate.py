"""Locates the program of a provider on this machine.

Overrides for development come first. If the lock file selects a version, it must be in `.terraform/providers` with one
of the recorded checksums. Other providers are searched for in the same directory, in the configured mirror directories
(by default those of `default_directories`), and in the cache of downloaded packages. Packages are directories
HOST/NAMESPACE/TYPE/VERSION/OS_ARCH; in mirrors, also files
HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip.

Nothing is downloaded; `init` installs packages where this module searches."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from planner.foundation.clients.cli_config import CliConfig, Mirror, load_cli_config
from planner.foundation.support.assets import home
from planner.foundation.support.store import folder_path
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, InstallError, error
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.version_constraints import Version, parse_constraints
from planner.world.provider.lock_file import Lock, read_locks
from planner.world.provider.package_hashes import CHECKSUMS, content_hash

NOT_INSTALLED = "provider.not_installed"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "i386": "386", "i686": "386", "armv6l": "arm", "armv7l": "arm"}


@frozen
class Located:
    """The program of a provider. `version` is None for a development override."""

    binary: str
    version: Version | None = None


@frozen
class Package:
    """A provider package in a directory or, if `packed`, in an archive."""

    path: Path
    version: Version = field(eq=str)
    packed: bool = False


@frozen(eq=False)
class Locator:
    """Locates providers for the configuration in a directory. `constraints`: the version constraints of all modules by
    provider."""

    directory: str
    environ: Mapping[str, str]
    constraints: Mapping[str, tuple[str, ...]] = field(factory=dict)
    data_directory: str = ".terraform"

    def locate(self, address: str) -> Located:
        """The program of a provider. Raises Failure if there is no program."""
        config = load_cli_config(self.environ)
        override = config.overrides.get(address)
        if override is not None:
            return Located(self._program(address, Path(override)))
        lock = self._locks().get(address)
        if lock is not None:
            return self._selected_program(lock)
        seen: list[Version] = []
        for mirrors in self._places(config):
            packages = [p for m in mirrors if m.serves(address) for p in packages_in(Path(m.path), address)]
            seen += [p.version for p in packages]
            chosen = self._newest(address, packages)
            if chosen is not None:
                folder = unpacked_directory(chosen.path, address) if chosen.packed else chosen.path
                return Located(self._program(address, folder), chosen.version)
        raise Failure(self._missing(address, seen))

    def _locks(self) -> Mapping[str, Lock]:
        return read_locks(self.directory)[0]

    def _selected_program(self, lock: Lock) -> Located:
        """The program of the package that the lock file selects. Raises Failure if the package is not installed, or if
        its checksum is not in the lock file."""
        base = Path(self.directory, self.data_directory, "providers")
        folder = base.joinpath(*lock.address.split("/"), str(lock.version), own_platform())
        cure = "Run `planner init`, which installs the selected version."
        if not folder.is_dir():
            detail = f"Version {lock.version} of {lock.address}, which the lock file selects, is not installed. {cure}"
            raise Failure(error(NOT_INSTALLED, "Provider not installed", detail))
        if lock.hashes and content_hash_of(folder) not in lock.hashes:
            detail = f"{folder} has none of the checksums in the lock file: it is not the selected package. {cure}"
            raise Failure(error("provider.wrong_checksum", "Provider package has changed", detail))
        return Located(self._program(lock.address, folder), lock.version)

    def _places(self, config: CliConfig) -> Iterator[tuple[Mirror, ...]]:
        """The directories to search, in order. Directories in one tuple are searched together for the newest
        version."""
        yield (Mirror(os.path.join(self.directory, self.data_directory, "providers")),)
        yield config.mirrors if config.mirrors is not None else tuple(self._usual_mirrors())
        if config.cache:
            yield (Mirror(config.cache),)

    def _usual_mirrors(self) -> Iterator[Mirror]:
        return map(Mirror, default_directories(self.directory, self.environ))

    def _newest(self, address: str, packages: Iterable[Package]) -> Package | None:
        wanted = [parse_constraints(text) for text in self.constraints.get(address, ())]
        chosen = None
        for package in packages:
            if package.version.prerelease and not wanted:
                continue
            allowed = all(constraints.allows(package.version) for constraints in wanted)
            if allowed and (chosen is None or package.version > chosen.version):
                chosen = package
        return chosen

    def _program(self, address: str, folder: Path) -> str:
        if folder.is_file():
            return str(folder.absolute())
        name = f"terraform-provider-{address.rpartition('/')[2]}"
        try:
            names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
        except OSError as problem:
            raise Failure(_unusable(address, f"{folder}: {problem.strerror or problem}")) from None
        for candidate in names:
            if candidate == name or candidate.startswith((f"{name}_", f"{name}.")):
                program = (folder / candidate).absolute()
                if not os.access(program, os.X_OK):
                    raise Failure(_unusable(address, f"{program} is not executable"))
                return str(program)
        raise Failure(_unusable(address, f"{folder} has no file {name}"))

    def _missing(self, address: str, seen: list[Version]) -> Diagnostic:
        if seen:
            versions = ", ".join(map(str, sorted(set(seen))))
            wanted = ", ".join(self.constraints.get(address, ())) or "any release"
            detail = f"This machine only has the versions {versions} of {address}, but {wanted} is required."
        else:
            detail = (
                f"{address} is not installed on this machine. Run `planner init`, which installs the providers that a "
                "configuration needs."
            )
        return error("provider.not_found", "Provider not found", detail)


def default_directories(directory: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The default mirror directories; they need not exist."""
    yield os.path.join(directory, "terraform.d", "plugins")
    own = home(environ)
    yield str(own / ".terraform.d" / "plugins")
    data = environ.get("XDG_DATA_HOME")
    if data:
        yield os.path.join(data, "opentofu", "plugins")
    yield os.path.join(data or str(own / ".local" / "share"), "terraform", "plugins")
    for folder in (environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":"):
        yield os.path.join(folder, "terraform", "plugins")


def content_hash_of(folder: Path) -> str:
    """The h1: checksum of an unpacked package. Raises Failure."""
    try:
        return content_hash(folder)
    except InstallError as problem:
        detail = f"{folder}: {problem}."
        raise Failure(error("provider.unusable_package", "Provider package cannot be used", detail)) from None


def packages_in(base: Path, address: str, platform: str = "") -> list[Package]:
    """The packages of a provider in a directory, by default for this platform; none if it cannot be read."""
    folder = base.joinpath(*address.split("/"))
    packages = []
    ours, name = platform or own_platform(), address.rpartition("/")[2]
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    for entry in entries:
        text, packed = entry.name, False
        if text.lower().startswith(f"terraform-provider-{name}_") and text.lower().endswith(f"_{ours}.zip"):
            text, packed = text[len(f"terraform-provider-{name}_") : -len(f"_{ours}.zip")], True
        elif not (entry / ours).is_dir():
            continue
        try:
            packages.append(Package(entry if packed else entry / ours, Version(text), packed))
        except ValueError:
            continue
    return packages


def unpacked_directory(archive: Path, address: str) -> Path:
    """The directory in the user's cache into which an archive is unpacked. A directory from an earlier run is used only
    if its content still has the recorded checksum. Raises Failure."""
    from planner.foundation.support.archive import unpack
    from planner.foundation.support.put_files import remove

    cache = folder_path("providers")
    if cache is None:
        reason = "the cache directory is not writable, or other users can write to it"
        raise Failure(_unusable(address, f"{archive} cannot be unpacked: {reason}"))
    fresh = None
    try:
        status = archive.stat()
        identity = repr((str(archive.resolve()), status.st_size, status.st_mtime_ns, status.st_ino))
        name = CHECKSUMS.name(identity)
        folder = Path(cache, name)
        known = CHECKSUMS.load(CHECKSUMS.name("unpacked", name))
        if known is not None and folder.is_dir() and content_hash_of(folder) == bytes(known).decode():
            return folder
        fresh = Path(mkdtemp(dir=cache))
        unpack(archive, fresh / "package", "zip", links=False)
        value = content_hash_of(fresh / "package")
        try:
            remove(folder)
            os.rename(fresh / "package", folder)
        except OSError:
            # the directory may exist because another process created it first
            if not folder.is_dir() or content_hash_of(folder) != value:
                raise
        CHECKSUMS.store(CHECKSUMS.name("unpacked", name), value.encode())
    except (OSError, InstallError) as problem:
        raise Failure(_unusable(address, f"{archive} cannot be unpacked: {problem}")) from None
    finally:
        if fresh is not None:
            rmtree(fresh, ignore_errors=True)
    return folder


def own_platform() -> str:
    """The platform of this machine, for example linux_amd64."""
    machine = platform.machine().lower()
    return f"{sys.platform.rstrip('0123456789')}_{_MACHINES.get(machine, machine)}"


def _unusable(address: str, reason: str) -> Diagnostic:
    return error("provider.unusable_package", "Provider package cannot be used", f"{address}: {reason}.")

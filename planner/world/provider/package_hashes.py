"""Checksums of provider packages as lock files record them.

`h1:` is over the content (golang.org/x/mod/sumdb/dirhash, Hash1: the base64 SHA-256 of a list of the SHA-256 of every
file), the same for a directory and the archive that it came from. `zh:` is the SHA-256 of the archive itself.
"""

from __future__ import annotations

import hashlib
import os
import time
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from planner.foundation.support.archive import members
from planner.foundation.vocabulary.diagnostic import InstallError

SCHEMES = ("h1:", "zh:")
EMPTY = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
"""of a package without files"""


def content_hash(package: Path) -> str:
    """The h1: checksum of an archive or directory. Raises InstallError."""
    try:
        return _directory(package.resolve()) if package.is_dir() else _archive(package)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as problem:
        raise InstallError(f"{package} cannot be read: {problem}") from None


def module_hash(folder: Path) -> str:
    """The h1: checksum of a module's files, without those that git and Mercurial keep of their own. Raises
    InstallError."""
    try:
        return _directory(folder.resolve(), without=(".git", ".hg"))
    except OSError as problem:
        raise InstallError(f"{folder} cannot be read: {problem}") from None


def archive_hash(archive: Path) -> str:
    """The zh: checksum of an archive. Raises InstallError."""
    try:
        with archive.open("rb") as file:
            return f"zh:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as problem:
        raise InstallError(f"{archive} cannot be read: {problem.strerror or problem}") from None


def computable_hashes(hashes: Iterable[str]) -> tuple[str, ...]:
    """The hashes of a kind that this program can compute, sorted."""
    return tuple(sorted({h for h in hashes if h.startswith(SCHEMES)}))


def matching(package: Path, hashes: Iterable[str]) -> tuple[str, ...]:
    """The checksums that match a package. Those of archives do not apply to a directory. Raises InstallError."""
    wanted = set(hashes)
    sums = set()
    if any(h.startswith("h1:") for h in wanted):
        sums.add(content_hash(package))
    if any(h.startswith("zh:") for h in wanted) and package.is_file():
        sums.add(archive_hash(package))
    return tuple(sorted(sums & wanted))


def _directory(folder: Path, without: tuple[str, ...] = ()) -> str:
    names = {}
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in without)
        for name in files:
            path = os.path.join(base, name)
            names[os.path.relpath(path, folder).replace(os.sep, "/")] = path
    return _list(names, lambda name: _known_sum(names[name]))


def _archive(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        names = (entry.filename for entry, _ in members(archive, path.stat().st_size))
        return _list(names, lambda name: _sum(archive.open(name)))


_LARGE = 1 << 20
_RACY = 20_000_000
"""nanoseconds: a file that was changed so lately may be changed again without a clock that shows it"""
_SUMS: dict[tuple[int, int, int, int], str] = {}
"""checksums of large files by device, number, time of the last change and size: many units have the same programs"""


def _known_sum(path: str) -> str:
    """The checksum of a file; of a large one, which no program can change without another time, once in a process."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        key = status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size
        if status.st_size < _LARGE or status.st_ctime_ns > time.time_ns() - _RACY:
            return _sum(file)
        if key not in _SUMS:
            _SUMS[key] = _sum(file)
        return _SUMS[key]


def _sum(file: IO[bytes]) -> str:
    with file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _list(names: Iterable[str], summed: Callable[[str], str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(names, key=lambda text: text.encode("utf-8", "surrogateescape")):
        if "\n" in name:
            raise InstallError(f"a package must not have a file with a line break in its name ({name!r})")
        digest.update(f"{summed(name)}  {name}\n".encode("utf-8", "surrogateescape"))
    return f"h1:{b64encode(digest.digest()).decode()}"

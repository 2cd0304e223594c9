"""Checksums of provider packages in lock files.

`h1:` covers the content (golang.org/x/mod/sumdb/dirhash, Hash1: the Base64 SHA-256 of a list of the SHA-256 of every
file), so a directory has the same checksum as the archive from which it was unpacked. `zh:` is the SHA-256 of the
archive."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from planner.foundation.support.store import Shelf
from planner.foundation.vocabulary.diagnostic import InstallError

SCHEMES = ("h1:", "zh:")
EMPTY = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="  # h1: checksum of a package without files


def content_hash(package: Path) -> str:
    """The h1: checksum of an archive or directory. The checksum of a directory is cached by names, sizes and times of
    its files, so that commands need not read programs of hundreds of megabytes. Raises InstallError."""
    try:
        return _known_directory(package.resolve()) if package.is_dir() else _archive(package)
    except OSError as problem:
        raise InstallError(f"{package} cannot be read: {problem}") from None


def module_hash(folder: Path) -> str:
    """The h1: checksum of a module, without the metadata of git and Mercurial. Raises InstallError."""
    try:
        return _directory(folder.resolve(), without=(".git", ".hg"))
    except OSError as problem:
        raise InstallError(f"{folder} cannot be read: {problem}") from None


def archive_hash(archive: Path) -> str:
    """The zh: checksum of an archive. Raises InstallError."""
    import hashlib

    try:
        with archive.open("rb") as file:
            return f"zh:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as problem:
        raise InstallError(f"{archive} cannot be read: {problem.strerror or problem}") from None


def computable_hashes(hashes: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({h for h in hashes if h.startswith(SCHEMES)}))


def matching(package: Path, hashes: Iterable[str]) -> tuple[str, ...]:
    """The checksums that match a package. Checksums of archives do not apply to a directory. Raises InstallError."""
    wanted = set(hashes)
    sums = set()
    if any(h.startswith("h1:") for h in wanted):
        sums.add(content_hash(package))
    if any(h.startswith("zh:") for h in wanted) and package.is_file():
        sums.add(archive_hash(package))
    return tuple(sorted(sums & wanted))


CHECKSUMS = Shelf("checksums", 8192)  # checksums of packages and archives by names, sizes and times of files
_RACY = 20_000_000  # within this many nanoseconds, a file may change twice without a change of its modification time
_KNOWN: dict[str, str] = {}  # checksums by identity of the files, because many units use the same packages


def _known_directory(folder: Path) -> str:
    """The h1: checksum of a directory, cached by names, sizes and times of its files."""
    files, newest = [], 0
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            try:
                status = os.stat(path)
            except OSError:
                continue  # reading the file reports the error
            newest = max(newest, status.st_ctime_ns)
            files.append((path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    identity = repr(sorted(files))
    if identity in _KNOWN:
        return _KNOWN[identity]
    name = CHECKSUMS.name(identity)
    kept = CHECKSUMS.load(name)
    value = bytes(kept).decode() if kept is not None else _directory(folder)
    if newest < time.time_ns() - _RACY:
        _KNOWN[identity] = value
        if kept is None:
            CHECKSUMS.store(name, value.encode())
    return value


def _directory(folder: Path, without: tuple[str, ...] = ()) -> str:
    names = {}
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in without)
        for name in files:
            path = os.path.join(base, name)
            names[os.path.relpath(path, folder).replace(os.sep, "/")] = path
    return _list(names, lambda name: _sum(open(names[name], "rb")))


def _archive(path: Path) -> str:
    import zipfile

    from planner.foundation.support.archive import members

    try:
        with zipfile.ZipFile(path) as archive:
            names = (entry.filename for entry, _ in members(archive, path.stat().st_size))
            return _list(names, lambda name: _sum(archive.open(name)))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as problem:
        raise InstallError(f"{path} cannot be read: {problem}") from None


def _sum(file: IO[bytes]) -> str:
    import hashlib

    with file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _list(names: Iterable[str], summed: Callable[[str], str]) -> str:
    import hashlib
    from base64 import b64encode

    digest = hashlib.sha256()
    for name in sorted(names, key=lambda text: text.encode("utf-8", "surrogateescape")):
        if "\n" in name:
            raise InstallError(f"a package must not have a file with a line break in its name ({name!r})")
        digest.update(f"{summed(name)}  {name}\n".encode("utf-8", "surrogateescape"))
    return f"h1:{b64encode(digest.digest()).decode()}"

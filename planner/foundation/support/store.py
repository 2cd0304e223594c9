"""The cache of planner: parsed files, tables of grammars, compiled rules, schemas of plugins, checksums.

Some of the cached data is executed (compiled rules), and all of it determines what commands do. Therefore it must be as
trustworthy as the program. Two conditions ensure this: only the user can write to the directory, and each entry begins
with a checksum that only this user can compute. The key of the checksum is not in the cache but in the user's state
directory (`$XDG_STATE_HOME`, otherwise `~/.local/state`). Entries from elsewhere, for example from a cache that a CI
server restored, are therefore ignored. Nothing is unpickled or unmarshalled before its checksum is verified.

There is one directory (a "shelf") for each kind of data. The name of an entry is a digest of the versions of planner
and Python, of the code that creates such entries, and of the input data. So entries never become invalid; the oldest
ones are deleted to limit the size. On small shelves, the age of an entry counts from its last use, so that planner's
own rules stay cached however often a user edits rule files. If the cache or an entry cannot be used, the entry is
treated as missing and created again. With `PLANNER_NO_CACHE=1`, all entries are treated as missing."""

from __future__ import annotations

import gc
import os
import stat
import sys
from _operator import _compare_digest  # importing the function from hmac would also load OpenSSL
from _pickle import loads
from contextlib import suppress
from functools import lru_cache
from io import FileIO
from typing import Any

from planner.foundation.support.assets import PACKAGE, cache_folder, grammar_file, is_closed, state_folder
from planner.foundation.support.digests import blake2b
from planner.foundation.vocabulary.release import RELEASE
from planner.foundation.vocabulary.span import pickled_without_texts

SEAL = 32  # bytes of the checksum at the beginning of an entry
_LENGTH = 8  # bytes of the number after the checksum: the length of the head, which the checksum covers
_MAX_HEAD = 1 << 30
_FEW = 256
"""shelves limited to at most this number of entries are trimmed whenever an entry is stored; larger shelves are trimmed
occasionally"""
_KEY_NAME = "cache-key"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 20


class Shelf:
    """The entries of one kind, in one directory. If the directory or an entry cannot be used, the methods do not
    raise."""

    __slots__ = ("folder", "made_by", "most_bytes", "most_entries")

    def __init__(self, folder: str, most_entries: int, most_bytes: int = 0, made_by: tuple[str, ...] = ()) -> None:
        """The newest entry is kept even if it is larger than `most_bytes` (0: no limit). `made_by`: directories of the
        package, and grammars, whose files determine the form of entries (`datalog/engine`, `datalog.lark`)."""
        self.folder, self.most_entries, self.most_bytes, self.made_by = folder, most_entries, most_bytes, made_by

    def name(self, *parts: str) -> str:
        """The name of the entry for these inputs, which may contain surrogates."""
        pieces = [_stamp(self.made_by)]
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            pieces += (len(data).to_bytes(8, "little"), data)
        return blake2b(b"".join(pieces), digest_size=16).hexdigest()

    def has(self, name: str) -> bool:
        """Whether the entry exists. It may be damaged; reading it detects this."""
        number = _open_entry(self.folder, name)
        if number is not None:
            os.close(number)
        return number is not None

    def load(self, name: str) -> memoryview | None:
        number = _open_entry(self.folder, name)
        if number is None:
            return None
        try:
            parts = []
            while part := os.read(number, _BLOCK):
                parts.append(part)
            if self.most_entries <= _FEW:
                with suppress(OSError):  # the cache may be read-only
                    os.utime(number)
        except OSError:
            return None
        finally:
            os.close(number)
        data = memoryview(parts[0] if len(parts) == 1 else b"".join(parts))
        head = data[SEAL + _LENGTH :]
        if int.from_bytes(data[SEAL : SEAL + _LENGTH], "little") != len(head):
            return None
        return head if _is_sealed(self.folder, name, data[:SEAL], head) else None

    def store(self, name: str, head: bytes, rest: bytes = b"") -> None:
        """Store an entry. Readers see either the old or the new entry. The checksum covers only the head, which must
        contain the means to verify the rest."""
        self.store_parts(name, (head,), rest)

    def store_parts(self, name: str, head: tuple[bytes, ...], rest: bytes = b"") -> None:
        """Like `store`, for a head in several parts. Errors of writing are ignored."""
        sealed = seal(self.folder, name, *head) if _is_on() else None
        if sealed is not None:
            _write_entry(self.folder, name, (sealed, sum(map(len, head)).to_bytes(_LENGTH, "little"), *head, rest))
            if self.most_entries <= _FEW or name.startswith("00"):
                self.trim()

    def open(self, name: str) -> StoreEntry | None:
        """Open an entry to read it in parts; None if it is missing or its head is invalid."""
        number = _open_entry(self.folder, name)
        if number is None:
            return None
        file = FileIO(number)
        try:
            sealed, size = file.read(SEAL), int.from_bytes(file.read(_LENGTH), "little")
            head = file.read(size) if size < _MAX_HEAD else b""
        except OSError:
            return None
        if len(head) != size or not _is_sealed(self.folder, name, sealed, head):
            return None
        return StoreEntry(head, file, SEAL + _LENGTH + size)

    def value(self, name: str) -> Any:
        """The unpickled object in an entry; None if the entry is missing or invalid."""
        data = self.load(name)
        if data is None:
            return None
        return self._unpickle(data)

    @staticmethod
    def _unpickle(data: memoryview) -> Any:
        paused = gc.isenabled()
        gc.disable()
        try:
            return loads(data)
        except Exception:  # after any problem the entry is created again
            return None
        finally:
            if paused:
                gc.enable()

    def keep(self, name: str, value: Any) -> None:
        """Pickle and store an object. An object that is nested too deeply for pickle is not stored."""
        if not _is_on():
            return
        self._pickle(name, value)

    def _pickle(self, name: str, value: Any) -> None:
        import pickle

        try:
            data = pickled_without_texts(value)
        except (RecursionError, pickle.PicklingError):  # nested too deeply for pickle
            return
        self.store(name, data)

    def trim(self) -> None:
        """Delete the oldest entries until the limits are satisfied."""
        at = _open_folder(self.folder)
        if at is None:
            return
        try:
            entries = []
            for name in os.listdir(at):
                status = os.stat(name, dir_fd=at, follow_symlinks=False)
                entries.append((status.st_mtime_ns, name, status.st_size))
            total = 0
            for i, (_, name, size) in enumerate(sorted(entries, reverse=True)):
                total += size
                if i >= self.most_entries or (i and self.most_bytes and total > self.most_bytes):
                    os.unlink(name, dir_fd=at)
        except OSError:
            return
        finally:
            os.close(at)


class StoreEntry:
    """An entry with a verified head. Its file stays open as long as this object exists."""

    __slots__ = ("_file", "_start", "head")

    def __init__(self, head: bytes, file: FileIO, start: int) -> None:
        self.head, self._file, self._start = head, file, start

    def read(self, at: int, length: int) -> bytes:
        """`length` bytes at the offset `at` of the rest, the data after the head. Raises OSError."""
        return os.pread(self._file.fileno(), length, self._start + at)


def _is_on() -> bool:
    return os.environ.get("PLANNER_NO_CACHE") in (None, "", "0")


@lru_cache
def _stamp(made_by: tuple[str, ...]) -> bytes:
    """The versions of planner and Python, and names, sizes and times of the code files."""
    files: list[tuple[str, int, int]] = []
    for source in made_by:
        if source.endswith(".lark"):
            files.append((source, *_times(os.stat(grammar_file(source)))))
            continue
        try:
            with os.scandir(os.path.join(PACKAGE, source)) as entries:
                files += [(e.name, *_times(e.stat())) for e in entries if e.name.endswith(".py")]
        except OSError:  # code inside a zip archive has no files to examine: the version alone has to suffice
            continue
    return f"{RELEASE} {sys.version} {made_by} {sorted(files)}".encode()


def _times(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


# ---------------------------------------------------------------- entries


def _open_entry(folder: str, name: str) -> int | None:
    """A descriptor of an unverified entry that belongs to the user, or None."""
    at = _open_folder(folder) if _is_on() else None
    if at is None:
        return None
    try:
        number = os.open(name, _READ, dir_fd=at)
    except OSError:
        return None
    finally:
        os.close(at)
    status = os.fstat(number)
    if stat.S_ISREG(status.st_mode) and is_closed(status):
        return number
    os.close(number)
    return None


def _write_entry(folder: str, name: str, parts: tuple[bytes, ...]) -> None:
    at = _open_folder(folder, make=True)
    if at is None:
        return
    fresh = f"{name}.{os.getpid()}.tmp"
    try:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=at)
        with open(os.open(fresh, _WRITE, 0o600, dir_fd=at), "wb", buffering=0) as file:
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[file.write(view) :]
        os.rename(fresh, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError:
        with suppress(OSError):
            os.unlink(fresh, dir_fd=at)
    finally:
        os.close(at)


def seal(folder: str, name: str, *data: bytes | memoryview) -> bytes | None:
    """The checksum of an entry, which only this user can compute; None if there is no key."""
    key = _key_of(*_environment())
    if key is None:
        return None
    made = blake2b(os.fsencode(f"{folder}/{name}\0"), key=key, digest_size=SEAL)
    for part in data:
        made.update(part)
    return made.digest()


def _is_sealed(folder: str, name: str, sealed: bytes | memoryview, data: bytes | memoryview) -> bool:
    made = seal(folder, name, data)
    return made is not None and _compare_digest(made, sealed)


# ---------------------------------------------------------------- folder and key


def folder_path(folder: str) -> str | None:
    """The path of a directory of the cache, created if it is missing. None if it does not belong to the user, or if
    other users can write to it."""
    at = _open_folder(folder, make=True)
    if at is None:
        return None
    os.close(at)
    home = _home(*_environment())
    return os.path.join(home, folder) if home is not None else None


def _open_folder(folder: str, make: bool = False) -> int | None:
    home = _home(*_environment())
    if home is None:
        return None
    path = f"{home}/{folder}"
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
        at = os.open(path, _FOLDER)
    except OSError:
        return None
    if is_closed(os.fstat(at)):
        return at
    os.close(at)
    return None


def _environment() -> tuple[str | None, ...]:
    get = os.environ.get
    return get("XDG_CACHE_HOME"), get("XDG_STATE_HOME"), get("HOME")


@lru_cache(8)
def _home(*environment: str | None) -> str | None:
    """planner's cache directory; None if it cannot be used. The result is cached, because it is needed for each file
    that is read."""
    return cache_folder()


@lru_cache(8)
def _key_of(*environment: str | None) -> bytes | None:
    folder = state_folder()
    if folder is None:
        return None
    path = os.path.join(folder, _KEY_NAME)
    try:
        return _read_key(path) if os.path.lexists(path) else _make_key(path)
    except OSError:
        return None


def _read_key(path: str) -> bytes | None:
    """The key of the checksums in a file; None if its size is wrong, or if other users could read or change the file.
    Raises OSError."""
    number = os.open(path, _READ)
    try:
        status = os.fstat(number)
        secret = stat.S_ISREG(status.st_mode) and is_closed(status) and not status.st_mode & 0o077
        key = os.read(number, SEAL + 1) if secret else b""
    finally:
        os.close(number)
    return key if len(key) == SEAL else None


def _make_key(path: str) -> bytes | None:
    """Create the key of the checksums in a file. Readers never see an incomplete key, even if two processes create one
    at the same time. Raises OSError. Returns None if the key of another process is not usable."""
    fresh = f"{path}.{os.getpid()}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(fresh)
    number = os.open(fresh, _WRITE, 0o600)
    try:
        os.write(number, os.urandom(SEAL))
    finally:
        os.close(number)
    try:
        with suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        os.unlink(fresh)
    return _read_key(path)

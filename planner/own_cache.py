"""What this program keeps for itself in the user's cache, and believes only when this user wrote it.

Some of what is kept is run (compiled rules), and all of it decides what a command does (parsed files, schemas), so it
has to be as trustworthy as the program. Two things see to that. The folder counts only if it belongs to the user and
nobody else may write there. And each entry begins with a sum that only he can make: its key is not in the cache but
with the user's state (`$XDG_STATE_HOME`, else `~/.local/state`), so that what comes with a cache from elsewhere, such
as one that a CI server restored, is not looked at. Nothing is unpickled or unmarshalled before its sum is found right.

Whatever is wrong with the cache, the key or an entry, the answer is the same: it is not there, and is made anew.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import lru_cache

from planner.support.assets import cache_dir, is_closed, state_dir

SEAL = 32
"""bytes that an entry begins with"""
_KEY_NAME = "cache-key"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 20


def load(folder: str, name: str) -> memoryview | None:
    """What is kept under a name, or None. Never raises."""
    number = open_entry(folder, name)
    if number is None:
        return None
    try:
        parts = []
        while part := os.read(number, _BLOCK):
            parts.append(part)
    except OSError:
        return None
    finally:
        os.close(number)
    data = memoryview(parts[0] if len(parts) == 1 else b"".join(parts))
    return data[SEAL:] if is_sealed(folder, name, data[:SEAL], data[SEAL:]) else None


def store(folder: str, name: str, data: bytes) -> None:
    """Keep something, where that is possible. Readers see the old or the new entry. Never raises."""
    sealed = seal(folder, name, data)
    if sealed is not None:
        store_parts(folder, name, (sealed, data))


# ---------------------------------------------------------------- for entries that are read in parts


def open_entry(folder: str, name: str) -> int | None:
    """A descriptor of an entry as it is, a file of the user's; None when there is none. Never raises."""
    at = _open(folder)
    if at is None:
        return None
    try:
        number = os.open(name, _READ, dir_fd=at)
    except OSError:
        return None
    finally:
        os.close(at)
    found = os.fstat(number)
    if stat.S_ISREG(found.st_mode) and is_closed(found):
        return number
    os.close(number)
    return None


def store_parts(folder: str, name: str, parts: tuple[bytes, ...]) -> None:
    """Write an entry as it will be. Never raises."""
    at = _open(folder, make=True)
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


def seal(folder: str, name: str, data: bytes | memoryview) -> bytes | None:
    """The sum that only this user can make, for an entry of this name; None where there is no key."""
    key = _key()
    if key is None:
        return None
    from hashlib import blake2b

    made = blake2b(os.fsencode(f"{folder}/{name}\0"), key=key, digest_size=SEAL)
    made.update(data)
    return made.digest()


def is_sealed(folder: str, name: str, sealed: bytes | memoryview, data: bytes | memoryview) -> bool:
    """Whether this is the sum of these data."""
    made = seal(folder, name, data)
    if made is None:
        return False
    from hmac import compare_digest

    return compare_digest(made, sealed)


def trim(folder: str, most_entries: int, most_bytes: int = 0, prefix: str = "") -> None:
    """Delete the oldest entries beyond so many, and (but never the newest) beyond so many bytes. Never raises."""
    at = _open(folder)
    if at is None:
        return
    try:
        found = []
        for name in os.listdir(at):
            if name.startswith(prefix):
                status = os.stat(name, dir_fd=at, follow_symlinks=False)
                found.append((status.st_mtime_ns, name, status.st_size))
        total = 0
        for i, (_, name, size) in enumerate(sorted(found, reverse=True)):
            total += size
            if i >= most_entries or (i and most_bytes and total > most_bytes):
                os.unlink(name, dir_fd=at)
    except OSError:
        return
    finally:
        os.close(at)


# ---------------------------------------------------------------- folder and key


def folder_path(folder: str) -> str | None:
    """The path of a folder of the cache, if that is the user's and closed to others; made when it is missing."""
    at = _open(folder, make=True)
    if at is None:
        return None
    os.close(at)
    home = _home(*_environment())
    return os.path.join(home, folder) if home is not None and folder else home


def _open(folder: str, make: bool = False) -> int | None:
    home = _home(*_environment())
    if home is None:
        return None
    path = f"{home}/{folder}" if folder else home
    try:
        if make and folder:
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
    """What the environment makes it; a process asks for every file that it reads."""
    found = cache_dir()
    return None if found is None else str(found)


def _key() -> bytes | None:
    return _key_of(*_environment())


@lru_cache(8)
def _key_of(*environment: str | None) -> bytes | None:
    folder = state_dir()
    if folder is None:
        return None
    path = str(folder / _KEY_NAME)
    try:
        return _read_key(path) if os.path.lexists(path) else _make_key(path)
    except OSError:
        return None


def _read_key(path: str) -> bytes | None:
    """Raises OSError."""
    number = os.open(path, _READ)
    try:
        found = os.fstat(number)
        secret = stat.S_ISREG(found.st_mode) and is_closed(found) and not found.st_mode & 0o077
        key = os.read(number, SEAL + 1) if secret else b""
    finally:
        os.close(number)
    return key if len(key) == SEAL else None


def _make_key(path: str) -> bytes | None:
    """A key that is there whole, whoever else makes one at the same time. Raises OSError."""
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

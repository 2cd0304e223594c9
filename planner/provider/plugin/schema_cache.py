"""The schemas that plugins told, kept in the user's cache: asking a large provider takes seconds.

An entry belongs to one file: its real path, size, times and number. That a script or an overridden provider in
development is the same file says nothing of what it will answer, so their answers are not kept.
`PLANNER_NO_CACHE=1` switches the cache off.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from planner import __version__, assets

_CHECK = 32
_MOST_ENTRIES = 200


def load(binary: str) -> tuple[int, bytes] | None:
    """Protocol version and message that the plugin in a file answered with, if that is known."""
    entry = _entry(binary)
    try:
        data = entry.read_bytes() if entry is not None else b""
    except OSError:
        return None
    if len(data) <= _CHECK or hashlib.sha256(data[_CHECK:]).digest() != data[:_CHECK]:
        return None
    return data[_CHECK], data[_CHECK + 1 :]


def store(binary: str, version: int, answer: bytes) -> None:
    """Keep what a plugin answered, where that is possible. Readers see the old or the new entry whole."""
    entry = _entry(binary)
    if entry is None:
        return
    data = bytes((version,)) + answer
    temporary = entry.with_name(f"{entry.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(hashlib.sha256(data).digest() + data)
        os.replace(temporary, entry)
        _trim(entry.parent)
    except OSError:
        temporary.unlink(missing_ok=True)


def _entry(binary: str) -> Path | None:
    if os.environ.get("PLANNER_NO_CACHE", "") not in ("", "0"):
        return None
    home = assets.cache_dir()
    if home is None:
        return None
    try:
        path = os.path.realpath(binary)
        with open(path, "rb") as file:
            if file.read(2) == b"#!":
                return None
            found = os.fstat(file.fileno())
        folder = home / "schemas"
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    identity = (__version__, path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
    return folder / hashlib.sha256(repr(identity).encode("utf-8", "surrogateescape")).hexdigest()


def _trim(folder: Path) -> None:
    entries = sorted((entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(folder))
    for _, path in entries[:-_MOST_ENTRIES]:
        os.unlink(path)

"""The schemas that plugins told, kept in the user's cache: asking a large provider takes seconds.

An entry belongs to one file: its real path, size, times and number. That a script is the same file says nothing of what
it will answer, so what scripts tell is not kept. An entry begins with a check sum and the length of its list of places;
then come the list and the bytes as the plugin sent them, of which a run reads only the types that it uses, each with a
check sum of its own (planner.provider.plugin.schema_parts). `PLANNER_NO_CACHE=1` switches the cache off.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode, b64encode
from io import FileIO
from pathlib import Path

from planner import __version__, assets
from planner.provider.plugin.messages import VERSIONS
from planner.provider.plugin.schema_parts import TABLES, SchemaParts

_CHECK, _LENGTH = 32, 8  # bytes of the SHA-256 of the list of places, and of its length
_MOST_ENTRIES = 200
_MOST_BYTES = 1 << 30


def load(binary: str) -> SchemaParts | None:
    """What the plugin in a file told in an earlier run, if that is known."""
    entry = _entry(binary)
    try:
        return None if entry is None else _read(FileIO(entry))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read(file: FileIO) -> SchemaParts:
    """Raises OSError and the errors of contents that nobody wrote like this."""
    check, size = file.read(_CHECK), int.from_bytes(file.read(_LENGTH), "little")
    listed = file.read(size) if size < _MOST_BYTES else b""
    if len(listed) != size or hashlib.sha256(listed).digest() != check:
        raise ValueError("a damaged entry")
    found = json.loads(listed)
    if found["version"] not in VERSIONS or set(found["places"]) != set(TABLES):
        raise ValueError("an entry of another kind")
    start = _CHECK + _LENGTH + size

    def read(at: int, length: int) -> bytes:
        return os.pread(file.fileno(), length, start + at)  # as long as this lives, so does the open file

    return SchemaParts(found["version"], b64decode(found["head"]), found["places"], read)


def store(binary: str, parts: SchemaParts, data: bytes) -> None:
    """Keep what a plugin told, where that is possible. Readers see the old or the new entry whole."""
    entry = _entry(binary)
    if entry is None:
        return
    listed = {"version": parts.version, "head": b64encode(parts.head).decode(), "places": parts.places}
    first = json.dumps(listed, separators=(",", ":")).encode()
    temporary = entry.with_name(f"{entry.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.writelines(
                (hashlib.sha256(first).digest(), len(first).to_bytes(_LENGTH, "little"), first, data),
            )
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
    """Remove the oldest entries beyond what the cache may hold."""
    entries = [
        (found.st_mtime_ns, entry.path, found.st_size) for entry in os.scandir(folder) for found in (entry.stat(),)
    ]
    total = 0
    for i, (_, path, size) in enumerate(sorted(entries, reverse=True)):
        total += size
        if i and (i >= _MOST_ENTRIES or total > _MOST_BYTES):
            os.unlink(path)

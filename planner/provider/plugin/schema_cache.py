"""The schemas that plugins told, kept in the user's cache: asking a large provider takes seconds.

An entry belongs to one file: its real path, size, times and number. That a script is the same file says nothing of what
it will answer, so what scripts tell is not kept. An entry begins with a sum of its list of places that only this user
can make (planner.own_cache), and the length of that list; then come the list and the bytes as the plugin sent them, of
which a run reads only the types that it uses, each with a check sum in the list (planner.provider.plugin.schema_parts).
`PLANNER_NO_CACHE=1` switches the cache off.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode, b64encode
from io import FileIO

from planner import __version__, own_cache
from planner.provider.plugin.messages import VERSIONS
from planner.provider.plugin.schema_parts import TABLES, SchemaParts

_FOLDER = "schemas"
_LENGTH = 8  # bytes of the length of the list of places
_MOST_ENTRIES = 200
_MOST_BYTES = 1 << 30


def load(binary: str) -> SchemaParts | None:
    """What the plugin in a file told in an earlier run, if that is known."""
    name = _name(binary)
    number = own_cache.open_entry(_FOLDER, name) if name is not None else None
    try:
        return None if name is None or number is None else _read(name, FileIO(number))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read(name: str, file: FileIO) -> SchemaParts:
    """Raises OSError and the errors of contents that nobody wrote like this."""
    sealed, size = file.read(own_cache.SEAL), int.from_bytes(file.read(_LENGTH), "little")
    listed = file.read(size) if size < _MOST_BYTES else b""
    if len(listed) != size or not own_cache.is_sealed(_FOLDER, name, sealed, listed):
        raise ValueError("a damaged entry")
    found = json.loads(listed)
    if found["version"] not in VERSIONS or set(found["places"]) != set(TABLES):
        raise ValueError("an entry of another kind")
    start = own_cache.SEAL + _LENGTH + size

    def read(at: int, length: int) -> bytes:
        return os.pread(file.fileno(), length, start + at)  # as long as this lives, so does the open file

    return SchemaParts(found["version"], b64decode(found["head"]), found["places"], read)


def store(binary: str, parts: SchemaParts, data: bytes) -> None:
    """Keep what a plugin told, where that is possible. Readers see the old or the new entry whole."""
    name = _name(binary)
    listed = {"version": parts.version, "head": b64encode(parts.head).decode(), "places": parts.places}
    first = json.dumps(listed, separators=(",", ":")).encode()
    sealed = own_cache.seal(_FOLDER, name, first) if name is not None else None
    if name is None or sealed is None:
        return
    own_cache.store_parts(_FOLDER, name, (sealed, len(first).to_bytes(_LENGTH, "little"), first, data))
    own_cache.trim(_FOLDER, _MOST_ENTRIES, _MOST_BYTES)


def _name(binary: str) -> str | None:
    if os.environ.get("PLANNER_NO_CACHE", "") not in ("", "0"):
        return None
    try:
        path = os.path.realpath(binary)
        with open(path, "rb") as file:
            if file.read(2) == b"#!":
                return None
            found = os.fstat(file.fileno())
    except OSError:
        return None
    identity = (__version__, path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
    return hashlib.sha256(repr(identity).encode("utf-8", "surrogateescape")).hexdigest()

"""The schemas that plugins told, kept in the user's cache: asking a large provider takes seconds.

An entry belongs to one file: its real path, size, times and number. That a script is the same file says nothing of what
it will answer, so what scripts tell is not kept. The head of an entry is a list of places; behind it stand the bytes as
the plugin sent them, of which a run reads only the types that it uses, each with a check sum in the list
(planner.world.provider.plugin.schema_parts).
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode

from planner.foundation.support.store import Shelf
from planner.world.provider.plugin.messages import VERSIONS
from planner.world.provider.plugin.schema_parts import TABLES, SchemaParts

SCHEMAS = Shelf("schemas", 200, 1 << 30, made_by=("world/provider/plugin",))


def load(binary: str) -> SchemaParts | None:
    """What the plugin in a file told in an earlier run, if that is known."""
    name = _name(binary)
    entry = SCHEMAS.open(name) if name is not None else None
    if entry is None:
        return None
    try:
        listed = json.loads(entry.head)
        if listed["version"] not in VERSIONS or set(listed["places"]) != set(TABLES):
            return None  # of another kind
        return SchemaParts(listed["version"], b64decode(listed["head"]), listed["places"], entry.read)
    except (ValueError, KeyError, TypeError):
        return None


def store(binary: str, parts: SchemaParts, data: bytes) -> None:
    """Keep what a plugin told, where that is possible."""
    name = _name(binary)
    if name is not None:
        listed = {"version": parts.version, "head": b64encode(parts.head).decode(), "places": parts.places}
        SCHEMAS.store(name, json.dumps(listed, separators=(",", ":")).encode(), data)


def _name(binary: str) -> str | None:
    try:
        path = os.path.realpath(binary)
        with open(path, "rb") as file:
            if file.read(2) == b"#!":
                return None
            status = os.fstat(file.fileno())
    except OSError:
        return None
    identity = (path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
    return SCHEMAS.name(repr(identity))

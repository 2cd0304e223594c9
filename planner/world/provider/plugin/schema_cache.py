"""The schemas of plugins, kept in the user's cache: requesting that of a large provider takes seconds.

An entry belongs to one file: its real path, size, times and number. An unchanged script may return another schema, so
those of scripts are not kept. The head of an entry is a list of places; behind it are the bytes as the plugin sent
them, of which a run reads only the types that it uses, each with a checksum in the list
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
    """The schema that the plugin in a file sent in an earlier run, if it is known."""
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
    """Keep the schema of a plugin, where that is possible."""
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

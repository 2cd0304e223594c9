"""Splits a plugin's schema into parts without decoding it. A large provider sends 30 MB and more, but a configuration
uses only a few of its types. So planner only looks up where each type's schema begins and ends in the message. The list
of about 2,000 positions is cached with the bytes, and the schema of a type is decoded on first use."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from planner.foundation.support.store import Shelf
from planner.world.provider.plugin.messages import VERSIONS, messages

TABLES = {
    "resource_schemas": "Schema",
    "data_source_schemas": "Schema",
    "ephemeral_resource_schemas": "Schema",
    "list_resource_schemas": "Schema",
    "action_schemas": "ActionSchema",
    "functions": "Function",
    "identity_schemas": "IdentitySchema",
}
"""the message type of the values in each table of a schema response"""
_ANSWER_TABLES = {
    2: "resource_schemas",
    3: "data_source_schemas",
    7: "functions",
    8: "ephemeral_resource_schemas",
    9: "list_resource_schemas",
    11: "action_schemas",
}
_IDENTITY_TABLES = {1: "identity_schemas"}

Place = tuple[int, int, str]  # (offset, size in bytes, checksum) of a part
Places = dict[str, dict[str, Place]]  # table -> name -> position


def check_sum(data: bytes) -> str:
    """A cryptographic checksum of 128 bits, in hexadecimal digits."""
    return blake2b(data, digest_size=16).hexdigest()


class DamagedSchema(Exception):
    """The cached bytes of a schema have changed since they were stored."""


class SchemaParts:
    """The schema of a plugin, in protocol `version`. `head`: the bytes of everything outside the tables. `read` returns
    bytes at an offset, possibly fewer than requested; it may raise OSError. Raises ValueError if the head is not a
    valid message."""

    def __init__(self, version: int, head: bytes, places: Places, read: Callable[[int, int], bytes]) -> None:
        self.version, self.head, self.places = version, head, places
        self._read = read
        self._messages = messages(version)
        self.general = _decode(self._messages.SchemaAnswer, head)
        """the message without its tables"""

    def part(self, table: str, name: str) -> Any:
        """One schema as a message. Raises KeyError for an unknown name, DamagedSchema if its bytes have changed, and
        ValueError if they are not a valid message."""
        start, size, check = self.places[table][name]
        try:
            data = self._read(start, size)
        except OSError:
            data = b""
        if len(data) != size or check_sum(data) != check:
            raise DamagedSchema
        return _decode(getattr(self._messages, TABLES[table]), data)


class MessageTable(Mapping[str, Any]):
    """A table as a mapping from names to messages, each created by `part` on first use."""

    def __init__(self, names: Mapping[str, Any], part: Callable[[str], Any]) -> None:
        self._names, self._part = names, part

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._part(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def take_apart(version: int, answer: bytes, identities: bytes = b"") -> tuple[SchemaParts, bytes]:
    """The parts of the responses to GetProviderSchema and GetResourceIdentitySchemas, and the bytes to which their
    offsets refer. Raises ValueError."""
    spans: dict[str, dict[str, tuple[int, int]]] = {table: {} for table in TABLES}
    head = _search(answer, _ANSWER_TABLES, spans, 0)
    _search(identities, _IDENTITY_TABLES, spans, len(answer))
    data = answer + identities
    places = {
        table: {name: (start, end - start, check_sum(data[start:end])) for name, (start, end) in parts.items()}
        for table, parts in spans.items()
    }
    return SchemaParts(version, head, places, lambda start, size: data[start : start + size]), data


def general_part(version: int, answer: bytes) -> Any:
    """The response to GetProviderSchema without its tables, as a message. Raises ValueError."""
    return _decode(messages(version).SchemaAnswer, _search(answer, _ANSWER_TABLES, {table: {} for table in TABLES}, 0))


def _search(data: bytes, tables: dict[int, str], spans: dict[str, dict[str, tuple[int, int]]], base: int) -> bytes:
    """Record where the values in the tables (fields by number) begin and end. Returns the bytes of everything else."""
    rest = bytearray()
    at = 0
    while at < len(data):
        start = at
        number, kind, inner, at = _field(data, at, len(data))
        table = tables.get(number) if kind == 2 else None
        if table is None:
            rest += data[start:at]
            continue
        name, span = "", (inner, inner)
        while inner < at:
            number, kind, begin, inner = _field(data, inner, at)
            if kind == 2 and number == 1:
                name = data[begin:inner].decode()
            elif kind == 2 and number == 2:
                span = (begin, inner)
        spans[table][name] = (base + span[0], base + span[1])
    return bytes(rest)


def _field(data: bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """Number and kind of the field at offset `at`, and where its value begins and ends. Raises ValueError."""
    tag, at = _varint(data, at, end)
    kind = tag & 7
    first = at
    if kind == 2:
        size, first = _varint(data, at, end)
        at = first + size
    elif kind == 0:
        at = _varint(data, at, end)[1]
    elif kind in (1, 5):
        at += 8 if kind == 1 else 4
    else:
        raise ValueError("a field of an unknown kind")
    if at > end:
        raise ValueError("a field that exceeds its message")
    return tag >> 3, kind, first, at


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    number = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
    raise ValueError("an incomplete number")


def _decode(kind: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(data)
    except DecodeError as problem:
        raise ValueError(str(problem)) from None


# The user's cache of schemas, because requesting the schema of a large provider takes seconds. The key of an entry is
# one file: its real path, size, times and inode. Schemas of scripts are not cached, because an unchanged script may
# return a different schema. An entry begins with a list of positions and checksums of all types, followed by the bytes
# from the plugin; a run reads only the types that it uses.


SCHEMAS = Shelf("schemas", 200, 1 << 30, made_by=("world/provider/plugin",))


def load_parts(binary: str) -> SchemaParts | None:
    """The cached schema of the plugin in this file, or None."""
    name = _name(binary)
    entry = SCHEMAS.open(name) if name is not None else None
    if entry is None:
        return None
    try:
        listed = json.loads(entry.head)
        if listed["version"] not in VERSIONS or set(listed["places"]) != set(TABLES):
            return None  # another format
        return SchemaParts(listed["version"], b64decode(listed["head"]), listed["places"], entry.read)
    except (ValueError, KeyError, TypeError):
        return None


def store_parts(binary: str, parts: SchemaParts, data: bytes) -> None:
    name = _name(binary)
    if name is not None:
        listed = {"version": parts.version, "head": b64encode(parts.head).decode(), "places": parts.places}
        SCHEMAS.store(name, json.dumps(listed, separators=(",", ":")).encode(), data)


def _name(binary: str) -> str | None:
    identity = identity_of(binary)
    return SCHEMAS.name(identity) if identity is not None else None


def identity_of(binary: str) -> str | None:
    """A string that changes when the file changes. None if the file cannot be read, or is a script: its behaviour may
    depend on other files."""
    try:
        path = os.path.realpath(binary)
        with open(path, "rb") as file:
            if file.read(2) == b"#!":
                return None
            status = os.fstat(file.fileno())
    except OSError:
        return None
    return repr((path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev))

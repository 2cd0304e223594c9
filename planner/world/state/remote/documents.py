"""planner's documents next to a state in a service, in parts of a size that every service accepts.

The first line of the first part has the length and the checksum of the whole document. A reader thereby recognizes a
document that is incomplete or being replaced."""

from __future__ import annotations

import re
from contextlib import suppress

from planner.foundation.support.digests import sha256_of
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import DOCUMENTS
from planner.world.state.remote.client import RemoteStateClient

PART = 256 << 10  # bytes in a part
_MAX_PARTS = 4096
_LENGTH = re.compile("[0-9]{1,10}")


def read_document(client: RemoteStateClient, name: str) -> bytes | None:
    """The content of a document; None if there is no complete one. Raises ServiceError."""
    first = client.get_beside(_part(name, 0))
    header, _, content = (first or b"").partition(b"\n")
    length, _, checksum = header.decode("ascii", "replace").partition(" ")
    if not _LENGTH.fullmatch(length) or not len(content) <= int(length) <= _MAX_PARTS * PART:
        return None
    parts, left, number = [content], int(length) - len(content), 0
    while left > 0:
        number += 1
        part = client.get_beside(_part(name, number))
        if not part:
            return None
        parts.append(part)
        left -= len(part)
    data = b"".join(parts)
    return data if sha256_of(data) == checksum else None


def put_document(client: RemoteStateClient, name: str, data: bytes) -> None:
    """Store a document. Parts that remain from a longer version are removed, if the service permits this. Raises
    ServiceError."""
    whole = f"{len(data)} {sha256_of(data)}\n".encode() + data
    parts = range(0, len(whole), PART)
    for number, at in enumerate(parts):
        client.put_beside(_part(name, number), whole[at : at + PART])
    _delete_from(client, name, len(parts))


def delete_documents(client: RemoteStateClient) -> None:
    """Remove all documents of a removed state, if the service permits this."""
    if client.has_place_beside:
        for name in DOCUMENTS:
            _delete_from(client, name, 0)


def _delete_from(client: RemoteStateClient, name: str, number: int) -> None:
    with suppress(ServiceError):  # some services respond to a missing document with an error
        while client.get_beside(_part(name, number)) is not None:
            client.delete_beside(_part(name, number))
            number += 1


def _part(name: str, number: int) -> str:
    return f"planner.{name}.{number}" if number else f"planner.{name}"

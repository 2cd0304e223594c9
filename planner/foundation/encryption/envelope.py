"""Envelopes: what stands in a file in the place of what was encrypted. They are OpenTofu's, to the byte:

    {"serial":7,"lineage":"...","meta":{"key_provider.pbkdf2.k":"BASE64"},"encrypted_data":"BASE64","encryption_version":"v0"}

Serial and lineage stand in those of states only. In `meta` each key provider has, under its address or alias, the JSON
of what it has to know to give the key again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planner.foundation.encryption.base64 import Base64Error, decode, encode
from planner.foundation.support.exact_json import JsonError, dumps, loads
from planner.foundation.vocabulary.records import frozen

VERSION = "v0"


class NotAnEnvelopeError(Exception):
    """Bytes are no envelope: maybe what they hold was never encrypted. `reason` is empty when they are JSON."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


@frozen(eq=False)
class Envelope:
    """What was encrypted, and the metadata of the key providers by their names. `head`: the other members."""

    metadata: Mapping[str, bytes]
    data: bytes
    version: str
    head: Mapping[str, Any]


def write_envelope(metadata: Mapping[str, bytes], data: bytes, head: Mapping[str, Any]) -> bytes:
    """The bytes of an envelope, compact and without a line break."""
    meta = {name: encode(metadata[name]) for name in sorted(metadata, key=lambda n: n.encode("utf-8", "replace"))}
    before = dumps({**head, "meta": meta})[:-1]
    return b'%s,"encrypted_data":"%s","encryption_version":"%s"}' % (before, encode(data).encode(), VERSION.encode())


def read_envelope(data: bytes) -> Envelope:
    """Raises NotAnEnvelopeError."""
    try:
        document = loads(data)
    except JsonError as bad:
        raise NotAnEnvelopeError(str(bad)) from None
    if not isinstance(document, dict):
        raise NotAnEnvelopeError("it is not a JSON object")
    version = document.get("encryption_version")
    if version is None or version == "":
        raise NotAnEnvelopeError
    try:
        if not isinstance(version, str):
            raise NotAnEnvelopeError("encryption_version is not a string")
        meta = document.get("meta") or {}
        if not isinstance(meta, dict):
            raise NotAnEnvelopeError("meta is not an object")
        metadata = {str(name): decode(_text(value, f"meta of {name}")) for name, value in meta.items()}
        encrypted = decode(_text(document.get("encrypted_data"), "encrypted_data"))
    except Base64Error as bad:
        raise NotAnEnvelopeError(str(bad)) from None
    head = {name: document[name] for name in ("serial", "lineage") if name in document}
    return Envelope(metadata, encrypted, version, head)


_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|\{\}|[{},:]')


def indented(envelope: bytes) -> bytes:
    """An envelope as OpenTofu lays it out in a local state file: indented by two blanks, a line break at its end."""
    depth = 0

    def laid_out(match: re.Match[bytes]) -> bytes:
        nonlocal depth
        token = match[0]
        if token == b"{":
            depth += 1
            return b"{\n" + b"  " * depth
        if token == b"}":
            depth -= 1
            return b"\n" + b"  " * depth + b"}"
        if token == b",":
            return b",\n" + b"  " * depth
        return b": " if token == b":" else token

    return _TOKEN.sub(laid_out, envelope) + b"\n"


def _text(value: Any, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise NotAnEnvelopeError(f"{what} is not a string")
    return value

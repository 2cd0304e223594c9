"""Reads and writes envelopes, the format of encrypted files, byte for byte as OpenTofu does:

    {"serial":7,"lineage":"...","meta":{"key_provider.pbkdf2.k":"BASE64"},"encrypted_data":"BASE64","encryption_version":"v0"}

Only envelopes of states have a serial and a lineage. `meta` maps the address or alias of each key provider to the JSON
that the provider needs to produce the key again."""

from __future__ import annotations

import binascii
import math
import re
from collections.abc import Mapping
from typing import Any

from planner.foundation.support.exact_json import JsonError, dumps, loads
from planner.foundation.vocabulary.records import frozen

VERSION = "v0"


class NotAnEnvelopeError(Exception):
    """The data is not an envelope; perhaps it was never encrypted. `reason` is empty for a JSON object without
    `encryption_version`."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


@frozen(eq=False)
class Envelope:
    """Encrypted data with its metadata. `metadata`: the JSON metadata of each key provider, by its address or alias.
    `head`: the other members, such as serial and lineage."""

    metadata: Mapping[str, bytes]
    data: bytes
    version: str
    head: Mapping[str, Any]


def write_envelope(metadata: Mapping[str, bytes], data: bytes, head: Mapping[str, Any]) -> bytes:
    """An envelope as compact JSON, without a line break."""
    meta = {name: encode(metadata[name]) for name in sorted(metadata, key=lambda n: n.encode("utf-8", "replace"))}
    before = dumps({**head, "meta": meta})[:-1]
    return b'%s,"encrypted_data":"%s","encryption_version":"%s"}' % (before, encode(data).encode(), VERSION.encode())


def read_envelope(data: bytes) -> Envelope:
    """Parse an envelope. Raises NotAnEnvelopeError."""
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


def indent(envelope: bytes) -> bytes:
    """An envelope in the layout of OpenTofu's local state files: indented by two spaces, with a line break at the
    end."""
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


# Base64 as in OpenTofu: the standard alphabet, with padding.


class Base64Error(ValueError):
    """The text is not valid Base64. The message contains the position of the error."""


def encode(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def decode(text: str) -> bytes:
    """The bytes of Base64 text, which may contain line breaks. Raises Base64Error."""
    if "\n" in text or "\r" in text:
        text = text.replace("\n", "").replace("\r", "")
    try:
        return binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except UnicodeEncodeError as bad:
        raise Base64Error(f"illegal base64 data at input byte {bad.start}") from None
    except binascii.Error:
        raise Base64Error(f"illegal base64 data at input byte {_first_wrong(text)}") from None


def _first_wrong(text: str) -> int:
    alphabet = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    for at, sign in enumerate(text):
        if sign not in alphabet:
            return at
    return len(text) // 4 * 4


# JSON as OpenTofu writes untyped data: members sorted by name, all numbers as 64-bit floats.


def members(values: Mapping[str, Any]) -> bytes:
    """A JSON object whose own members keep their order; members of nested objects are sorted."""
    return b"{" + b",".join(dumps(name) + b":" + go_json(value) for name, value in values.items()) + b"}"


def go_json(value: Any) -> bytes:
    """Compact JSON with < > & escaped. Raises ValueError (for an int, OverflowError) for a number that a float cannot
    represent."""
    if value.__class__ is dict:
        sorted_members = (
            dumps(name) + b":" + go_json(value[name])
            for name in sorted(value, key=lambda n: n.encode("utf-8", "replace"))
        )
        return b"{" + b",".join(sorted_members) + b"}"
    if value.__class__ is list:
        return b"[" + b",".join(map(go_json, value)) + b"]"
    if value.__class__ in (int, float):
        return _number(float(value)).encode()
    return dumps(value)


def _number(value: float) -> str:
    """The shortest notation of the float, with an exponent only if it is very small or large. Raises ValueError."""
    if not math.isfinite(value):
        raise ValueError("beyond all numbers")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    text = repr(abs(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, part = mantissa.partition(".")
    part = "" if part == "0" else part
    digits, point = whole + part, len(whole) + int(exponent or 0)
    kept = digits.lstrip("0")
    point -= len(digits) - len(kept)
    digits = kept.rstrip("0")
    sign = "-" if value < 0 else ""
    if not 1e-6 <= abs(value) < 1e21:
        power = point - 1
        tail = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{tail}e{'-' if power < 0 else '+'}{abs(power):0{1 if power < 0 else 2}d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"

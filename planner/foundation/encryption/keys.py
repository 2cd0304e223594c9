"""Keys and the interface of key providers. Each type of key provider is a module in
planner.foundation.encryption.key_providers:

    SETTINGS                 the arguments of its block (EncryptionArguments)
    build(settings)          a KeyProvider. Raises ProviderError

The metadata of a provider contains everything that it needs to produce the same key again. Metadata is stored with the
encrypted data as a JSON object, with the names and order of OpenTofu."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from planner.foundation.encryption.envelope import Base64Error, decode
from planner.foundation.support.exact_json import JsonError, loads
from planner.foundation.values.types import STRING, Type
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.release import NEXT_VERSION, follows_next

Metadata = Mapping[str, Any]


class ProviderError(Exception):
    """A key provider cannot provide a key. The message is the reason shown to the user."""


def check_next(settings: Given, name: str) -> None:
    """Raises ProviderError if the named argument is set and PLANNER_COMPATIBILITY does not enable OpenTofu's next
    version, which introduces this argument."""
    if settings.get(name) and not follows_next():
        raise ProviderError(
            f"{name} is an argument of OpenTofu {NEXT_VERSION}: set PLANNER_COMPATIBILITY=1.13 to use it"
        )


def check_base64(settings: Given, name: str) -> bytes:
    """The decoded bytes of a Base64 argument; empty if it is not set. Raises ProviderError."""
    try:
        return decode(str(settings.get(name) or ""))
    except Base64Error as bad:
        raise ProviderError(f"{name} must be valid Base64: {bad}") from None


class MetadataError(Exception):
    """The metadata does not have the form that the provider writes."""


class Key:
    """A key whose length is known from the beginning and whose bytes are computed on first use. Computing them may
    raise ProviderError."""

    __slots__ = ("_bytes", "_make", "length")

    def __init__(self, length: int, make: Callable[[], bytes]) -> None:
        self.length, self._make, self._bytes = length, make, b""

    @staticmethod
    def of(data: bytes) -> Key | None:
        """A key with these bytes; None for empty data."""
        return Key(len(data), lambda: data) if data else None

    def bytes(self) -> bytes:
        if not self._bytes:
            self._bytes = self._make()
        return self._bytes


@frozen(eq=False, repr=False)
class Keys:
    """The keys of a key provider: one for encryption, and one for decryption of data stored with the provider's
    metadata. `without_decryption`: the reason why there is no key for decryption."""

    encryption: Key | None
    decryption: Key | None = None
    without_decryption: str = ""


class KeyProvider(Protocol):
    """A key provider with its settings."""

    def provide(self, metadata: Metadata | None) -> tuple[Keys, Metadata]:
        """A new key for encryption and the metadata to store with the data; with stored `metadata`, also the key for
        decryption. Raises ProviderError and MetadataError."""


def provider_module(type: str) -> Any:
    """The module that implements a type of key providers, such as `aws_kms`; None if there is no such type."""
    return _module("key_providers", type)


def method_module(type: str) -> Any:
    """The module that implements a type of methods, such as `aes_gcm`; None if there is no such type."""
    return _module("methods", type)


def _module(folder: str, type: str) -> Any:
    name = f"planner.foundation.encryption.{folder}.{type}"
    if not type.isidentifier() or (name not in sys.modules and find_spec(name) is None):
        return None
    return import_module(name)


def decode_metadata(data: bytes | None) -> Metadata | None:
    """Parse the metadata in an envelope; None for None. Raises MetadataError."""
    if data is None:
        return None
    try:
        result = loads(data)
    except JsonError as bad:
        raise MetadataError(str(bad)) from None
    if not isinstance(result, dict):
        raise MetadataError("they are not a JSON object")
    return result


def text_of(metadata: Metadata, name: str) -> str:
    """A string in metadata, "" if it is missing. Raises MetadataError."""
    value = metadata.get(name)
    if value is None:
        return ""
    if value.__class__ is not str:
        raise MetadataError(f"{name} is not a string")
    return str(value)


def bytes_of(metadata: Metadata, name: str) -> bytes:
    """Bytes in metadata, stored as Base64; empty if they are missing. Raises MetadataError."""
    try:
        return decode(text_of(metadata, name))
    except Base64Error as bad:
        raise MetadataError(f"{name}: {bad}") from None


def number_of(metadata: Metadata, name: str) -> int:
    """A whole number in metadata, 0 if it is missing. Raises MetadataError."""
    value = metadata.get(name)
    if value is None:
        return 0
    if value.__class__ is not int or not -(1 << 63) <= value < 1 << 63:
        raise MetadataError(f"{name} is not a whole number")
    return int(value)


# The permitted arguments and blocks of key providers and methods.


@frozen
class Setting:
    """The type of an argument. `keys`: whether the value is the Keys of a key provider; then `type` is ignored.
    `nullable`: whether null means "not set"; otherwise null is an error."""

    type: Type = STRING
    required: bool = False
    keys: bool = False
    nullable: bool = False


@frozen(eq=False)
class EncryptionArguments:
    """Arguments by name, and blocks (at most one of each type) with their arguments."""

    arguments: Mapping[str, Setting]
    blocks: Mapping[str, Mapping[str, Setting]] = field(factory=dict)


Given = Mapping[str, Any]
"""argument values: strings, whole numbers, bools, tuples and dictionaries of these, or Keys; blocks are dictionaries"""

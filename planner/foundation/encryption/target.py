"""Targets of encryption: states, plans, and states that data sources read. Each target has a list of methods.

The first method encrypts; to decrypt, the methods are tried in order. One process uses one encryption key throughout,
so that results can be saved even if the network fails. Each encryption uses a new nonce."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from planner.foundation.encryption.envelope import VERSION, NotAnEnvelopeError, read_envelope, write_envelope
from planner.foundation.encryption.keys import ProviderError
from planner.foundation.vocabulary.records import frozen


class TargetError(Exception):
    """Data cannot be encrypted or decrypted, or is unencrypted although it must not be. The message is shown to the
    user."""


@frozen(eq=False, repr=False)
class Ready:
    """A method with its keys, and the metadata of the encryption key."""

    method: Method
    metadata: Mapping[str, bytes]


class Candidate(Protocol):
    """A configured method. It is set up on first use."""

    @property
    def is_unencrypted(self) -> bool:
        """Whether this is the `unencrypted` method."""

    def set_up(self, metadata: Mapping[str, bytes]) -> Ready:
        """Set up the method with its keys. `metadata`: the metadata of an envelope by key provider, from which key
        providers produce the decryption keys. Empty if the method will only encrypt. Raises Failure."""


@frozen(eq=False, repr=False)
class Decrypted:
    """The content of encrypted or unencrypted data. `is_pending`: whether the data should be encrypted again because
    the encryption configuration has changed."""

    data: bytes
    is_pending: bool
    was_encrypted: bool
    head: Mapping[str, Any]


class Target:
    """The encryption of one kind of data. `is_clear` checks unencrypted data: it returns the reason why the bytes are
    invalid, or "". Raises Failure if the first method cannot be set up."""

    def __init__(self, name: str, candidates: Sequence[Candidate], is_clear: Callable[[bytes], str]) -> None:
        self.name = name
        self._candidates = tuple(candidates)
        self._is_clear = is_clear
        first = self._candidates[0]
        self._first = None if first.is_unencrypted else first.set_up({})
        self._known: dict[tuple[int, tuple[tuple[str, bytes], ...]], Ready] = {}

    @property
    def is_plain(self) -> bool:
        return self._first is None

    @property
    def allows_clear(self) -> bool:
        """Whether stored data may be unencrypted."""
        return any(candidate.is_unencrypted for candidate in self._candidates)

    def encrypt(self, data: bytes, head: Mapping[str, Any]) -> bytes:
        """An envelope; the data itself if this target is not encrypted. Raises TargetError."""
        if self._first is None:
            return data
        try:
            encrypted = self._first.method.encrypt(data)
        except (EncryptionError, ProviderError) as bad:
            raise TargetError(f"encryption failed for {self.name}: encryption failed: {bad}") from None
        return write_envelope(self._first.metadata, encrypted, head)

    def decrypt(self, data: bytes, is_clear: Callable[[bytes], str] | None = None) -> Decrypted:
        """The content of an envelope; unencrypted data is returned unchanged if the target allows it. `is_clear`
        overrides the target's function. Raises TargetError, and Failure if a method cannot be set up."""
        try:
            envelope = read_envelope(data)
        except NotAnEnvelopeError as bad:
            return self._clear(data, bad.reason, is_clear or self._is_clear)
        if envelope.version != VERSION:
            raise TargetError(f"invalid encrypted payload version: {envelope.version} != {VERSION}")
        tried = []
        for number, candidate in enumerate(self._candidates):
            if candidate.is_unencrypted:
                continue
            try:
                decrypted = self._set_up(number, envelope.metadata).method.decrypt(envelope.data)
            except (DecryptionError, ProviderError) as bad:
                tried.append(f"attempted decryption failed for {self.name}: {_reason(bad)}")
                continue
            return Decrypted(decrypted, number > 0, True, envelope.head)
        raise TargetError("\n".join(["decryption failed for all provided methods", *tried]))

    def _set_up(self, number: int, metadata: Mapping[str, bytes]) -> Ready:
        key = number, tuple(sorted(metadata.items()))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._candidates[number].set_up(metadata)
        return known

    def _clear(self, data: bytes, reason: str, is_clear: Callable[[bytes], str]) -> Decrypted:
        wrong = is_clear(data)
        if wrong and reason:
            raise TargetError(f"invalid data format for decryption: {reason}, {wrong}")
        if wrong:
            raise TargetError(f"unable to determine data structure during decryption: {wrong}")
        if not self.allows_clear:
            raise TargetError("encountered unencrypted payload without unencrypted method configured")
        return Decrypted(data, not self.is_plain, False, {})


def _reason(bad: Exception) -> str:
    if isinstance(bad, NoKeyError):
        return f"no decryption key available ({bad})" if str(bad) else "no decryption key available"
    if isinstance(bad, DecryptionError):
        return f"decryption failed: {bad}"
    return str(bad)


# Methods encrypt and decrypt bytes. Each type of method is a module in planner.foundation.encryption.methods with
# `SETTINGS` and `build(settings)`, which returns a Method or raises InvalidMethodError.


class InvalidMethodError(Exception):
    """The configuration of a method is not valid."""


class EncryptionError(Exception):
    """The data cannot be encrypted."""


class DecryptionError(Exception):
    """The data cannot be decrypted: it is damaged, or was encrypted with a different method or key."""


class NoKeyError(DecryptionError):
    """There is no key for decryption. The message is the reason, "" if it is unknown."""


class Method(Protocol):
    def encrypt(self, data: bytes) -> bytes:
        """Encrypt bytes. Raises EncryptionError, and ProviderError if the key cannot be computed."""

    def decrypt(self, data: bytes) -> bytes:
        """Decrypt bytes. Raises DecryptionError (NoKeyError if there is no key), and ProviderError if the key cannot be
        computed."""

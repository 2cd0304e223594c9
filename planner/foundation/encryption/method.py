"""Methods, which make bytes unreadable and readable again. Each type is a module of
planner.foundation.encryption.methods with its name: `SETTINGS`, and `build(settings)`, which gives a Method or raises
InvalidMethodError."""

from __future__ import annotations

from typing import Protocol


class InvalidMethodError(Exception):
    """The configuration of a method is not valid."""


class EncryptionError(Exception):
    """Something cannot be encrypted."""


class DecryptionError(Exception):
    """Something cannot be decrypted: it is damaged, or was encrypted otherwise."""


class NoKeyError(DecryptionError):
    """There is no key to decrypt with, and why ("" where that is not known)."""


class Method(Protocol):
    """A method with its keys."""

    def encrypt(self, data: bytes) -> bytes:
        """Raises EncryptionError, and ProviderError where a key cannot be had."""

    def decrypt(self, data: bytes) -> bytes:
        """Raises DecryptionError, and ProviderError where a key cannot be had."""

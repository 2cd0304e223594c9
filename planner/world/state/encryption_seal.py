"""Seals: the layer between a state and its store. A seal may encrypt the stored bytes."""

from __future__ import annotations

from typing import Protocol

from planner.foundation.vocabulary.records import frozen


@frozen
class Unsealed:
    """Decrypted bytes. `is_pending`: whether they should be written again, because their stored form is outdated
    (unencrypted, or encrypted with a fallback method)."""

    data: bytes
    is_pending: bool = False


class Seal(Protocol):
    """Converts states (or plans), and the documents stored with them, to and from their stored form."""

    def seal(self, data: bytes) -> bytes:
        """The bytes to store. Raises Failure."""

    def unseal(self, data: bytes) -> Unsealed:
        """The content of stored bytes. Raises Failure if they cannot or must not be read."""

    def seal_document(self, kind: str, data: bytes) -> bytes:
        """The bytes to store for a document of planner, such as a journal. A document of one kind cannot be read as
        another kind. Raises Failure."""

    def unseal_document(self, kind: str, data: bytes) -> Unsealed:
        """The content of a stored document. Raises Failure if it cannot or must not be read."""

    @property
    def is_plain(self) -> bool:
        """Whether data is stored unencrypted."""


class PlainSeal:
    def seal(self, data: bytes) -> bytes:
        return data

    def unseal(self, data: bytes) -> Unsealed:
        return Unsealed(data)

    def seal_document(self, kind: str, data: bytes) -> bytes:
        return data

    def unseal_document(self, kind: str, data: bytes) -> Unsealed:
        return Unsealed(data)

    @property
    def is_plain(self) -> bool:
        return True


PLAIN = PlainSeal()

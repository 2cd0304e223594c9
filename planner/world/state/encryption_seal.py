"""What stands between the bytes of a state and the place where they are kept: nothing, or encryption."""

from __future__ import annotations

from typing import Protocol

from planner.foundation.vocabulary.records import frozen


@frozen
class Unsealed:
    """What was kept, in clear. `is_pending`: it should be written again, because it was kept in another way than what
    is written now (in clear, or by a fallback's method)."""

    data: bytes
    is_pending: bool = False


class Seal(Protocol):
    """How states (or plans) are kept, and what stands beside them."""

    def seal(self, data: bytes) -> bytes:
        """The bytes to keep. Raises Failure."""

    def unseal(self, data: bytes) -> Unsealed:
        """What bytes that were kept say. Raises Failure when they cannot be read, or may not be."""

    def seal_document(self, kind: str, data: bytes) -> bytes:
        """The bytes to keep of a document of ours, such as a journal; read as another kind they are refused. Raises
        Failure."""

    def unseal_document(self, kind: str, data: bytes) -> Unsealed:
        """What such bytes say. Raises Failure when they cannot be read, or may not be."""

    @property
    def is_plain(self) -> bool:
        """Whether what is kept can be read by everybody."""


class PlainSeal:
    """Bytes are kept as they are."""

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

"""The interface to the state of one workspace in a service: bytes with a version, a lock, and further documents."""

from __future__ import annotations

import zlib
from typing import Protocol

from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen
from planner.world.state.lock import LockInfo


@frozen
class Payload:
    """Stored bytes with their version, which the service defines (such as an entity tag or a generation)."""

    data: bytes
    version: str


class LockHeld(ServiceError):
    """Another process holds the lock. `may_wait`: whether a later attempt may succeed."""

    def __init__(self, text: str, info: LockInfo | None = None, may_wait: bool | None = None) -> None:
        super().__init__(text)
        self.info = info
        self.may_wait = bool(info is not None and info.id) if may_wait is None else may_wait


class VersionConflict(ServiceError):
    """Another process has written the state since it was read: the stored version differs."""


class RemoteStateClient(Protocol):
    """The state of one workspace in a service. All methods raise ServiceError."""

    @property
    def place(self) -> str:
        """The URL or path of the state, without secrets, for messages: `s3://bucket/key`."""

    @property
    def locks(self) -> bool:
        """Whether the configuration enables locks."""

    @property
    def lock_path(self) -> str:
        """The value of the member Path in lock infos."""

    def get(self) -> Payload | None:
        """The stored bytes; None if there are none."""

    def put(self, data: bytes, before: str | None) -> str:
        """Store bytes and return their version. `before`: the version that is replaced ("" if none may exist, None for
        any version). Raises VersionConflict if the service, or a check just before the write, detects a different
        version."""

    def delete(self) -> None:
        """Delete the state."""

    def lock(self, info: LockInfo) -> LockInfo:
        """Take the lock, and return the info with the id for releasing it. Raises LockHeld. If a response was lost but
        the request succeeded, the lock counts as taken."""

    def unlock(self, lock_id: str) -> None:
        """Release the lock. Raises ServiceError, also if another process holds the lock."""

    def force_unlock(self, lock_id: str) -> None:
        """Remove the lock with this id, even if another process holds it."""

    def has_lock(self, lock_id: str) -> bool:
        """Whether the lock with this id is still held. True if the service does not report locks."""

    def holder(self) -> LockInfo | None:
        """The holder of the lock; None if there is no lock or its holder is unknown."""

    def snapshot_interval(self, interval: float, is_urgent: bool) -> float | None:
        """Seconds between two snapshots during an apply, as in Store; None if none are written."""

    @property
    def has_place_beside(self) -> bool:
        """Whether documents can be stored next to the state."""

    def get_beside(self, name: str) -> bytes | None:
        """A document next to the state; None if it does not exist. `name` consists of letters, digits, dots and
        dashes."""

    def put_beside(self, name: str, data: bytes) -> None:
        """Store a document of at most 256 KiB."""

    def delete_beside(self, name: str) -> None:
        """Remove a document, if it exists."""


class StateClient:
    """The base class for most services. Snapshots are written at the user's interval."""

    def snapshot_interval(self, interval: float, is_urgent: bool) -> float | None:
        return 0.0 if is_urgent else interval


class StateOnlyClient(StateClient):
    """The base class for services that store only the state, and no documents next to it."""

    @property
    def has_place_beside(self) -> bool:
        return False

    def get_beside(self, name: str) -> bytes | None:
        return None

    def put_beside(self, name: str, data: bytes) -> None:
        pass

    def delete_beside(self, name: str) -> None:
        pass


# States that are compressed with gzip.


LARGEST = 1 << 30  # the maximum size of an uncompressed state, in bytes
_FRAME = 31  # the window size that makes zlib write gzip


def compress(data: bytes) -> bytes:
    """The data as gzip; equal data give equal bytes."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, _FRAME)
    return compressor.compress(data) + compressor.flush()


def decompress(data: bytes, place: str) -> bytes:
    """Decompressed bytes. Raises ServiceError if the data is not gzip, is incomplete, or is too large."""
    decompressor = zlib.decompressobj(_FRAME)
    try:
        result = decompressor.decompress(data, LARGEST)
    except zlib.error as bad:
        raise ServiceError(f"the object {place} is not valid gzip: {bad}") from None
    if decompressor.unconsumed_tail:
        raise ServiceError(f"the object {place} is larger than {LARGEST >> 20} MiB")
    if not decompressor.eof:
        raise ServiceError(f"the content of {place} is truncated")
    return result

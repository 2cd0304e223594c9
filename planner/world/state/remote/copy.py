"""A copy of the journal next to a state in a service, so that another machine can continue an interrupted operation.

The journal itself is in the working directory. A thread sends new entries to the service, normally within half a
second. The copy has a head, which identifies the journal, and parts with its text; only the last part is replaced,
until it has its full size."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any

from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen
from planner.world.state.remote.client import RemoteStateClient
from planner.world.state.remote.documents import delete_documents

HEAD = "planner.journal"
TAKEN = "planner.taken"
PART = 256 << 10  # bytes in a part
PAUSE = 0.5  # seconds between two copies
_MAX_PARTS = 4096
_LONGEST_ID = 64
_MAX_TAKEN = 20
_CLOSING = 5.0  # maximum number of seconds for the last copy after a failed operation


@frozen
class Copied:
    """The copy of a journal next to a state. `id`: as returned by `id_of`."""

    id: str
    data: bytes


def read_copy(client: RemoteStateClient) -> Copied | None:
    """The copy of a journal next to the state; None if there is none. Raises ServiceError."""
    if not client.has_place_beside:
        return None
    head = client.get_beside(HEAD)
    if head is None:
        return None
    none = ServiceError(
        f"the document {HEAD} next to {client.place} does not identify a journal: if the state is correct without the "
        "journal, remove the document"
    )
    try:
        document = json.loads(head)
        journal = str(document["journal"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise none from None
    if not journal.isascii() or not journal.isalnum() or len(journal) > _LONGEST_ID:
        raise none
    parts: list[bytes] = []
    while len(parts) < _MAX_PARTS and (part := client.get_beside(_part(journal, len(parts)))) is not None:
        if len(part) > PART:
            raise none
        parts.append(part)
    return Copied(journal, b"".join(parts))


def forget(client: RemoteStateClient, journal: str, parts: int | None = None) -> None:
    """Remove the copy of a journal. The head is removed first, so that no incomplete copy is ever read. `parts`: the
    number of its parts, if it is known. Raises ServiceError."""
    client.delete_beside(HEAD)
    number = 0
    while number < _MAX_PARTS if parts is None else number < parts:
        if parts is None and client.get_beside(_part(journal, number)) is None:
            break
        client.delete_beside(_part(journal, number))
        number += 1


def forget_all(client: RemoteStateClient) -> None:
    """Remove all documents next to a removed state. Raises ServiceError."""
    copy = read_copy(client)
    if copy is not None:
        forget(client, copy.id)
    if client.has_place_beside and client.get_beside(TAKEN) is not None:
        client.delete_beside(TAKEN)
    delete_documents(client)


def _part(journal: str, number: int) -> str:
    return f"{HEAD}.{journal}.{number}"


def id_of(data: bytes) -> str:
    """A digest of the journal's first line. No two journals have the same first line."""
    return hashlib.sha256(data.partition(b"\n")[0]).hexdigest()[:32]


def mark_adopted(client: RemoteStateClient, journal: Copied) -> None:
    """Record that the state contains the changes of this copy, and remove the copy. The machine with the original
    journal reads this record. Raises ServiceError."""
    copies = [[journal.id, len(journal.data)], *_taken_copies(client)][:_MAX_TAKEN]
    client.put_beside(TAKEN, json.dumps(copies).encode())
    forget(client, journal.id)


def is_adopted(client: RemoteStateClient, data: bytes) -> bool:
    """Whether the state already contains the changes in these bytes of a journal, because they were adopted from the
    copy. Raises ServiceError."""
    return client.has_place_beside and [id_of(data), len(data)] in _taken_copies(client)


def _taken_copies(client: RemoteStateClient) -> list[Any]:
    try:
        document = json.loads(client.get_beside(TAKEN) or b"[]")
    except (ValueError, RecursionError):
        return []
    return document if isinstance(document, list) else []


class Copier:
    """Copies the file of a journal while it grows."""

    def __init__(self, client: RemoteStateClient, path: str, about: dict[str, Any]) -> None:
        self._client, self._path, self._about = client, path, about
        self._journal = ""
        self._grown, self._end = Event(), Event()
        self._thread: Thread | None = None
        self._sent = 0
        """the number of bytes that are already in the service"""
        self._copying = Lock()
        self._has_head = False
        self.problem: ServiceError | None = None

    def grown(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, name="journal copy", daemon=True)
            self._thread.start()
        self._grown.set()

    def copy_now(self) -> None:
        """Copy the remaining entries; returns when the service has all of them. Raises ServiceError, OSError."""
        self._copy()

    def close(self, finished: bool) -> None:
        """Stop copying. `finished`: whether the state has all changes; then the copy is removed. Otherwise the
        remaining entries are sent first, if possible within _CLOSING seconds."""
        self._end.set()
        self._grown.set()
        if self._thread is not None:
            self._thread.join(_CLOSING)
        if finished:
            if self._has_head:
                with suppress(ServiceError):
                    forget(self._client, self._journal, -(-self._sent // PART) or 1)
        elif self._thread is not None and not self._thread.is_alive():
            with suppress(ServiceError, OSError):
                self._copy()

    def _run(self) -> None:
        self._end.wait(PAUSE / 2)  # most operations end within this time and need no copy
        while not self._end.is_set():
            self._grown.wait()
            if self._end.is_set():
                return
            self._grown.clear()
            try:
                self._copy()
            except (ServiceError, OSError) as problem:
                self.problem = problem if isinstance(problem, ServiceError) else ServiceError(str(problem))
                self._grown.set()  # the next round sends the entries again
                self._end.wait(4 * PAUSE)
            else:
                self.problem = None
            self._end.wait(PAUSE)

    def _copy(self) -> None:
        """Send the entries that were appended to the journal since the last call. Raises ServiceError, OSError."""
        with self._copying:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if not self._has_head:
                    self._journal = id_of(os.pread(descriptor, 1 << 16, 0))
                    began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                    head = {"version": 1, "journal": self._journal, **self._about, "began": began}
                    self._client.put_beside(HEAD, json.dumps(head).encode())
                    self._has_head = True
                size = os.fstat(descriptor).st_size
                while self._sent < size:
                    number = self._sent // PART
                    data = os.pread(descriptor, PART, number * PART)
                    self._client.put_beside(_part(self._journal, number), data)
                    self._sent = number * PART + len(data)
            finally:
                os.close(descriptor)

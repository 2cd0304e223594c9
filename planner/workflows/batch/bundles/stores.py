"""Stores for archives of bundles: in the message to the worker, in a shared directory, or next to states in a backend.

A store has a name, which is sent to the worker: `scheduler` (in the message), a directory (`/mnt/bundles`), or a
backend with its settings (`s3:bucket=b,key=fleet/bundles,region=eu-central-1`). The name never contains credentials.
Each machine needs its own credentials, in one of the places where the backend looks for them. An archive is used only
if it has the requested digest."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Protocol

from planner.foundation.support.disk import read_whole, replace_file
from planner.foundation.vocabulary.diagnostic import Failure, error, has_errors
from planner.world.state.backend import DEFAULT_WORKSPACE, open_backend
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import RemoteStateClient

SCHEDULER = "scheduler"
PART = 256 << 10
"""maximum size in bytes of a document next to a state"""
_MOST_PARTS = 4096
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SECRETS = re.compile(r"secret|password|passphrase|token|access_key|sas|credentials|conn_str|client_certificate", re.I)


class ArchiveStore(Protocol):
    """Archives by digest (SHA-256 in hexadecimal). Methods raise OSError."""

    def has(self, digest: str) -> bool:
        """Whether the complete archive is in the store."""

    def put(self, digest: str, data: bytes) -> None:
        """Store an archive."""

    def get(self, digest: str) -> bytes:
        """The archive with this digest."""


def open_store(text: str) -> ArchiveStore | None:
    """The store that a string names; None for `scheduler` and for an empty string. Raises Failure."""
    if text in ("", SCHEDULER):
        return None
    if os.path.isabs(text):
        return Folder(text)
    return _service(text)


def fetched(store: ArchiveStore, digest: str) -> bytes:
    """The archive with this digest. Raises OSError if the archive is missing or has another digest."""
    if not _DIGEST.fullmatch(digest):
        raise OSError(0, "its digest is not valid")
    data = store.get(digest)
    if hashlib.sha256(data).hexdigest() != digest:
        raise OSError(0, f"the stored bundle {digest[:12]} has different content")
    return data


class Folder:
    """A directory that this machine and the workers share."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _place(self, digest: str) -> str:
        return os.path.join(self._path, f"{digest}.tar.gz")

    def has(self, digest: str) -> bool:
        return os.path.exists(self._place(digest))

    def put(self, digest: str, data: bytes) -> None:
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        replace_file(self._place(digest), data, mode=0o600, durable=False)

    def get(self, digest: str) -> bytes:
        return read_whole(self._place(digest))


class Beside:
    """Stores archives next to the states in a remote backend. An archive is stored in parts, and the number of parts is
    written last, so an incomplete archive is never used."""

    def __init__(self, client: object) -> None:
        self._client: RemoteStateClient = client  # type: ignore[assignment]

    def has(self, digest: str) -> bool:
        return self._client.get_beside(f"bundle-{digest}") is not None

    def put(self, digest: str, data: bytes) -> None:
        parts = range(0, len(data), PART)
        if len(parts) > _MOST_PARTS:
            raise OSError(0, f"a bundle of {len(data) >> 20} MiB is too large for {self._client.place}")
        for number, at in enumerate(parts):
            self._client.put_beside(f"bundle-{digest}.{number}", data[at : at + PART])
        self._client.put_beside(f"bundle-{digest}", str(len(parts)).encode())

    def get(self, digest: str) -> bytes:
        count = self._client.get_beside(f"bundle-{digest}") or b""
        if not count.isdigit() or len(count) > 4 or int(count) > _MOST_PARTS:
            raise FileNotFoundError(2, f"there is no bundle {digest[:12]} next to {self._client.place}")
        items = (self._client.get_beside(f"bundle-{digest}.{number}") or b"" for number in range(int(count)))
        return b"".join(items)


def _service(text: str) -> ArchiveStore:
    kind, _, rest = text.partition(":")
    settings: dict[str, str] = {}
    for word in filter(None, rest.split(",")):
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise _refusal(text, f'"{word}" is not a setting of the form NAME=VALUE.')
        if _SECRETS.search(name) and not name.startswith("skip_"):
            raise _refusal(
                text, f"{name} is a secret, but this string is sent to all workers. Configure it on each worker."
            )
        settings[name] = value
    backend, problems = open_backend(kind, settings)
    if has_errors(problems):
        raise Failure(problems)
    if not isinstance(backend, RemoteBackend) or not (client := backend.client(DEFAULT_WORKSPACE)).has_place_beside:
        raise _refusal(text, "It must be an absolute path, or a backend that can store other objects next to states.")
    return Beside(client)


def _refusal(text: str, detail: str) -> Failure:
    return Failure(error("batch.bundle_store", f"Not a store for bundles: {text}", detail))

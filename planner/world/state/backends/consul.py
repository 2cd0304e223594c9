"""`backend "consul"`: states in keys of a Consul cluster, locked by sessions that must be renewed.

Keys, flags and lock infos are the same as OpenTofu's. A lock and its info are set and removed in one transaction, so
every lock has information about its holder. If a session expires while its process runs, a new session takes the lock,
unless the state was written or the lock removed by force in between."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from hashlib import md5
from threading import RLock
from typing import Any

from planner.foundation.clients.consul import Cluster, ConsulSession, value_of, version_of
from planner.foundation.clients.http import Http, Retries, Tls, basic
from planner.foundation.support.disk import read_text
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import evolve
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.lock import LockInfo, lock_info_of
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateClient, VersionConflict, compress, decompress
from planner.world.state.settings import SettingsReading, flag, text

SCHEMA = BlockSchema(
    {
        "path": text("Path to store state in Consul", required=True),
        "access_token": text("Access token for a Consul ACL"),
        "address": text("Address to the Consul Cluster"),
        "scheme": text("Scheme to communicate to Consul with"),
        "datacenter": text("Datacenter to communicate with"),
        "http_auth": text("HTTP Auth in the format of 'username:password'"),
        "gzip": flag("Compress the state data using gzip"),
        "lock": flag("Lock state access"),
        "ca_file": text("A path to a PEM-encoded certificate authority used to verify the remote agent's certificate."),
        "cert_file": text(
            "A path to a PEM-encoded certificate provided to the remote agent; requires use of key_file."
        ),
        "key_file": text("A path to a PEM-encoded private key, required if cert_file is specified."),
    }
)
_WORKSPACES = "-env:"
_FLAGS = 0x2DDCCBC058A50C18  # the flag with which Consul's clients mark locks
_CHUNK = 524288  # maximum size of a value with the default settings of a server, in bytes
_READS = 5


class ConsulClient(StateClient):
    """The state in a key. Its version is the index of the key's last change."""

    def __init__(self, cluster: Cluster, path: str, compresses: bool, locks: bool) -> None:
        self._cluster, self._path, self._compresses, self.locks = cluster, path, compresses, locks
        self._below = path.rstrip("/")
        self._lock_key, self._info_key = f"{self._below}/.lock", f"{self._below}/.lockinfo"
        self._mutex = RLock()
        self._session: ConsulSession | None = None
        self._lock: LockInfo | None = None
        self._mine: set[str] = set()
        """the ids of all sessions of this process that have held the lock"""
        self._seen = ""
        """the version of the state that was last read or written"""

    @property
    def place(self) -> str:
        return f"{self._cluster.place}/{self._path}"

    @property
    def lock_path(self) -> str:
        return self._path

    # ------------------------------------------------------------ state

    def get(self) -> Payload | None:
        for left in reversed(range(_READS)):
            kept = self._cluster.key(self._path)
            self._seen = version_of(kept)
            if kept is None:
                return None
            value = value_of(kept)
            chunks = _chunks(value)
            if chunks is None:
                return Payload(self._plain(value), self._seen) if value else None
            digest, names = chunks
            try:
                return Payload(self._join(digest, names), self._seen)
            except ServiceError:  # a writer may have removed the parts: read the new list
                if not left or version_of(self._cluster.key(self._path)) == self._seen:
                    raise
        raise AssertionError

    def _join(self, digest: str, names: list[str]) -> bytes:
        parts = []
        for name in names:
            kept = self._cluster.key(name)
            if kept is None:
                raise ServiceError(f'Key "{name}" could not be found')
            parts.append(value_of(kept))
        data = self._plain(b"".join(parts))
        if _sum(data) != digest:
            raise ServiceError("The remote state does not match the expected hash")
        return data

    def _plain(self, data: bytes) -> bytes:
        return decompress(data, self.place) if data.startswith(b"\x1f") else data

    def put(self, data: bytes, before: str | None) -> str:
        old = self._chunks_kept()
        payload = compress(data) if self._compresses else data
        digest = _sum(data)
        # larger values are not even sent, because Consul rejects them only after receiving them
        version = self._set(payload, before) if len(payload) <= _CHUNK else ""
        parts: str | None = None
        if not version:
            parts, names = digest, []
            for number in range(-(-len(payload) // _CHUNK)):
                names.append(f"{self._below}/tfstate.{digest}/{number}")
                part = payload[number * _CHUNK : (number + 1) * _CHUNK]
                if self._cluster.ask("PUT", f"kv/{names[-1]}", part).text.strip() != "true":
                    raise ServiceError(f'Key "{names[-1]}" could not be written')
            link = json.dumps({"chunks": names, "current-hash": digest}, separators=(",", ":")).encode()
            try:
                version = self._set(link, before)
            except VersionConflict:
                if self._chunks_kept() != digest:
                    self._drop(digest)
                raise
            if not version:
                raise ServiceError(f"the list of parts of {self.place} is too large for Consul")
        if old is not None and old != parts:
            with suppress(ServiceError):  # leftover parts are harmless
                self._drop(old)
        self._seen = version
        return version

    def _chunks_kept(self) -> str | None:
        """The digest in the keys of the stored parts; None if the state is stored in one key."""
        kept = self._cluster.key(self._path)
        chunks = _chunks(value_of(kept)) if kept is not None else None
        return chunks[0] if chunks is not None else None

    def _drop(self, digest: str) -> None:
        self._cluster.ask("DELETE", f"kv/{self._below}/tfstate.{digest}/", recurse=None)

    def _set(self, value: bytes, before: str | None) -> str:
        """Store the value of the state's key, and return its version; "" if the value is too large. Raises
        VersionConflict, ServiceError."""
        verb = {"Verb": "set"} if before is None else {"Verb": "cas", "Index": int(before or 0)}
        try:
            done, problem = self._cluster.together({**verb, "Key": self._path, "Value": b64encode(value).decode()})
        except ServiceError as refused:
            if "too large" in refused.text or "maximum" in refused.text:
                return ""
            raise
        if "too large" in problem:
            return ""
        if problem and ("index is stale" in problem or "key exists" in problem):
            raise VersionConflict(f"the content of {self.place} has changed since it was read")
        if problem or not done:
            raise ServiceError(f"consul CAS failed with transaction errors: {problem}")
        return version_of(done[0])

    def delete(self) -> None:
        old = self._chunks_kept()
        self._cluster.ask("DELETE", f"kv/{self._path}")
        if old is not None:
            self._drop(old)

    # ------------------------------------------------------------ lock

    def lock(self, info: LockInfo) -> LockInfo:
        with self._mutex:
            self._refuse_others()
            session = ConsulSession(self._cluster)
            lock = evolve(info, id=session.id, info=f"consul session: {session.id}", path=self._path)
            try:
                _, problem = self._cluster.together(
                    {"Verb": "lock", "Key": self._lock_key, "Flags": _FLAGS, "Session": session.id},
                    {"Verb": "set", "Key": self._info_key, "Value": b64encode(lock.to_json()).decode()},
                )
                if problem:
                    self._refuse_others()
                    if "lock" not in problem:
                        raise ServiceError(problem)
                    raise LockHeld(
                        f"Consul does not allow anyone to take the lock on {self._path} yet: {problem}", may_wait=True
                    )
            except BaseException:
                session.end()
                raise
            session.keep()
            self._session, self._lock = session, lock
            self._mine.add(session.id)
            return lock

    def _refuse_others(self) -> None:
        """Raises LockHeld if another holder has the lock, and ServiceError if the key is not a lock."""
        kept = self._cluster.key(self._lock_key)
        if kept is None:
            return
        if kept.get("Flags") != _FLAGS:
            raise ServiceError("Existing key does not match lock use")
        if kept.get("Session"):
            holder = self._holder()
            if holder is None:
                raise LockHeld(
                    f"consul session {kept['Session']} has the lock, without data about its holder", may_wait=True
                )
            raise LockHeld("", holder)

    def _holder(self) -> LockInfo | None:
        kept = self._cluster.key(self._info_key)
        return lock_info_of(value_of(kept)) if kept is not None else None

    def unlock(self, lock_id: str) -> None:
        with self._mutex:
            session, self._session, self._lock = self._session, None, None
            if session is None:
                return self.force_unlock(lock_id)
            try:
                _, problem = self._cluster.together(
                    {"Verb": "check-session", "Key": self._lock_key, "Session": session.id},
                    {"Verb": "delete", "Key": self._info_key},
                    {"Verb": "unlock", "Key": self._lock_key, "Flags": _FLAGS, "Session": session.id},
                    {"Verb": "delete", "Key": self._lock_key},
                )
                if problem:
                    kept, holder = self._cluster.key(self._lock_key), self._holder()
                    if (kept is not None and kept.get("Session") == session.id) or (holder and holder.id == session.id):
                        raise ServiceError(f"consul lock was lost: {problem}")
            finally:
                session.end()

    def force_unlock(self, lock_id: str) -> None:
        """Release the lock of a session, if there is a lock. Unlike OpenTofu, this checks that the lock belongs to the
        session. Raises ServiceError."""
        kept, info = self._cluster.key(self._lock_key), self._holder()
        holder = str((kept or {}).get("Session") or (info.id if info is not None else ""))
        if holder and holder != lock_id:
            raise ServiceError(f'lock id "{lock_id}" does not match existing lock')
        if not holder:
            return
        self._cluster.ask("PUT", f"session/destroy/{lock_id}")
        kept = self._cluster.key(self._lock_key)
        if kept is not None and kept.get("Session"):
            return  # another process has taken the lock
        gone = (
            {"Verb": "delete-cas", "Key": self._lock_key, "Index": int(version_of(kept))} if kept is not None else None
        )
        _, problem = self._cluster.together(*([gone] if gone else []), {"Verb": "delete", "Key": self._info_key})
        if problem:
            raise ServiceError(problem)

    def has_lock(self, lock_id: str) -> bool:
        """Whether this process has the lock. If its session has expired, the lock is taken again, unless it was removed
        by force or the state was written in between. Raises a temporary ServiceError while Consul does not allow any
        session to take the lock."""
        with self._mutex:
            kept = self._cluster.key(self._lock_key)
            holder = str((kept or {}).get("Session") or "")
            if self._session is None or self._lock is None or lock_id not in self._mine:
                return holder == lock_id
            if holder:
                return holder in self._mine
            info, seen = self._holder(), self._seen
            if info is None or info.id not in self._mine:
                return False
            if version_of(self._cluster.key(self._path)) != seen:
                return False
            self._session.end()
            try:
                self.lock(self._lock)
            except LockHeld as held:
                if held.info is not None:
                    return False
                raise ServiceError(held.text, may_pass=True) from None
            return version_of(self._cluster.key(self._path)) == seen

    def holder(self) -> LockInfo | None:
        kept = self._cluster.key(self._lock_key)
        if kept is None or not kept.get("Session"):
            return None
        session = str(kept["Session"])
        return self._holder() or LockInfo(session, "", f"consul session: {session}", "", "", "", self._path)

    # ------------------------------------------------------------ documents next to the state

    @property
    def has_place_beside(self) -> bool:
        return True

    def get_beside(self, name: str) -> bytes | None:
        kept = self._cluster.key(f"{self._below}/{name}")
        return value_of(kept) if kept is not None else None

    def put_beside(self, name: str, data: bytes) -> None:
        if self._cluster.ask("PUT", f"kv/{self._below}/{name}", data).text.strip() != "true":
            raise ServiceError(f'Key "{self._below}/{name}" could not be written')

    def delete_beside(self, name: str) -> None:
        self._cluster.ask("DELETE", f"kv/{self._below}/{name}")


def _sum(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()


def _chunks(value: bytes) -> tuple[str, list[str]] | None:
    """The digest and the keys of a state that is stored in several keys; None if it is stored in one. Raises
    ServiceError."""
    if b'"current-hash"' not in value:
        return None
    try:
        document = json.loads(value)
        digest, names = document["current-hash"], document["chunks"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    good = isinstance(digest, str) and digest.isalnum() and isinstance(names, list)
    if not good or not all(isinstance(name, str) for name in names):
        raise ServiceError("The list of the keys that contain the state is malformed")
    return digest, names


class ConsulBackend(RemoteBackend):
    """The `consul` backend: states in keys."""

    type = "consul"

    def __init__(
        self, settings: Mapping[str, Any], seal: Seal, cluster: Cluster, path: str, compresses: bool, locks: bool
    ) -> None:
        super().__init__(settings, seal)
        self._cluster, self._path, self._compresses, self._locks = cluster, path, compresses, locks

    def client(self, workspace: str) -> ConsulClient:
        path = self._path if workspace == DEFAULT_WORKSPACE else f"{self._path}{_WORKSPACES}{workspace}"
        return ConsulClient(self._cluster, path, self._compresses, self._locks)

    def names(self) -> list[str]:
        prefix = f"{self._path}{_WORKSPACES}"
        answer = self._cluster.ask("GET", f"kv/{prefix}", keys=None, separator="/", consistent=None)
        if answer.status == 404:
            return []
        items = [str(key).removeprefix(prefix) for key in answer.json() if str(key).startswith(prefix)]
        return [name for name in items if name and "/" not in name]


def open(read: SettingsReading, seal: Seal) -> ConsulBackend:
    """Open the backend. Settings that are not set come from the environment variables CONSUL_*."""
    path = read.required("path")
    read.finish_check()
    if path.startswith("/"):
        read.wrong(f"Invalid key. Key must not begin with a '/': {path}")
    scheme = read.text("scheme", default="https" if read.flag("", "CONSUL_HTTP_SSL") else "http")
    address = read.text("address", "CONSUL_HTTP_ADDR", default="127.0.0.1:8500")
    named, has_scheme, rest = address.partition("://")
    if has_scheme:
        if named not in ("http", "https"):
            reason = "sockets of the file system are not supported" if named == "unix" else "Unknown protocol scheme"
            read.wrong(f"{reason}: {named}")
        address, scheme = rest, "https" if named == "https" else scheme
    authority = read.text("ca_file", "CONSUL_CACERT")
    if not authority and os.environ.get("CONSUL_CAPATH"):
        authority = read.compute(lambda: _folder(os.environ["CONSUL_CAPATH"]))
    certificate, key = read.text("cert_file", "CONSUL_CLIENT_CERT"), read.text("key_file", "CONSUL_CLIENT_KEY")
    if bool(certificate) != bool(key):
        read.wrong("both client cert and client key must be provided")
    verify = read.flag("", "CONSUL_HTTP_SSL_VERIFY", default=True)
    headers = {}
    token = read.text("access_token") or read.compute(_token_file) or os.environ.get("CONSUL_HTTP_TOKEN", "")
    if token:
        headers["X-Consul-Token"] = token
    user = read.text("http_auth", "CONSUL_HTTP_AUTH")
    if user:
        name, _, password = user.partition(":")
        headers["Authorization"] = basic(name, password)
    query = {"dc": read.text("datacenter"), "ns": read.text("", "CONSUL_NAMESPACE")}
    query["partition"] = read.text("", "CONSUL_PARTITION")
    read.check()
    cluster = Cluster(
        f"{scheme}://{address}".rstrip("/"),
        headers,
        {name: value for name, value in query.items() if value},
        Http(
            retries=Retries(3, 0.25, 2.0, refused=False),
            tls=Tls(authority, certificate, key, verify, os.environ.get("CONSUL_TLS_SERVER_NAME", "")),
        ),
    )
    return ConsulBackend(read.settings, seal, cluster, path, read.flag("gzip"), read.flag("lock", default=True))


def _token_file() -> str:
    """The token in the file that CONSUL_HTTP_TOKEN_FILE names; "" if the variable is not set. Raises ValueError."""
    path = os.environ.get("CONSUL_HTTP_TOKEN_FILE", "")
    try:
        return read_text(path).strip() if path else ""
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ValueError(f"Error loading token file {path} : {reason}") from None


def _folder(path: str) -> str:
    """All certificates in a directory, joined into one string. Raises ValueError."""
    try:
        return "\n".join(read_text(os.path.join(path, name)) for name in sorted(os.listdir(path)))
    except OSError as problem:
        raise ValueError(f"{path}: {problem.strerror or problem}") from None


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    address = settings.get("address") or os.environ.get("CONSUL_HTTP_ADDR") or "127.0.0.1:8500"
    where = str(address).partition("://")[2] or address
    key = f"{settings.get('path') or ''}" + ("" if workspace == DEFAULT_WORKSPACE else f"{_WORKSPACES}{workspace}")
    return f"consul:{where}@{settings.get('datacenter') or ''}/{key}"

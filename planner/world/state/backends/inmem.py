"""`backend "inmem"`: states in the memory of this process, for tests and for programs that use planner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import define, evolve, field
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.lock import LockInfo, new_lock_info
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateClient, VersionConflict
from planner.world.state.settings import SettingsReading, text

SCHEMA = BlockSchema({"lock_id": text("The id with which the default workspace is locked from the beginning.")})


@define
class WorkspaceMemory:
    data: bytes | None = None
    writes: int = 0
    lock: LockInfo | None = None
    beside: dict[str, bytes] = field(factory=dict)


class MemoryClient(StateClient):
    """The state of one workspace."""

    def __init__(self, workspace: str) -> None:
        self.place = f"inmem:{workspace}"
        self._kept = InMemory.kept.setdefault(workspace, WorkspaceMemory())

    locks = True
    lock_path = ""
    has_place_beside = True

    def get(self) -> Payload | None:
        return None if self._kept.data is None else Payload(self._kept.data, str(self._kept.writes))

    def put(self, data: bytes, before: str | None) -> str:
        now = "" if self._kept.data is None else str(self._kept.writes)
        if before is not None and before != now:
            raise VersionConflict(f"the stored version is {now or '(none)'}, not {before or '(none)'}")
        self._kept.data = data
        self._kept.writes += 1
        return str(self._kept.writes)

    def delete(self) -> None:
        self._kept.data = None

    def lock(self, info: LockInfo) -> LockInfo:
        if self._kept.lock is not None:
            raise LockHeld("state locked", self._kept.lock)
        self._kept.lock = info
        return info

    def unlock(self, lock_id: str) -> None:
        if self._kept.lock is None:
            raise ServiceError("state not locked")
        if self._kept.lock.id != lock_id:
            raise ServiceError("invalid lock id")
        self._kept.lock = None

    def force_unlock(self, lock_id: str) -> None:
        self.unlock(lock_id)

    def has_lock(self, lock_id: str) -> bool:
        return self._kept.lock is not None and self._kept.lock.id == lock_id

    def holder(self) -> LockInfo | None:
        return self._kept.lock

    def get_beside(self, name: str) -> bytes | None:
        return self._kept.beside.get(name)

    def put_beside(self, name: str, data: bytes) -> None:
        self._kept.beside[name] = data

    def delete_beside(self, name: str) -> None:
        self._kept.beside.pop(name, None)


class InMemory(RemoteBackend):
    """The backend `inmem`: keeps states in the memory of this process."""

    type = "inmem"
    kept: ClassVar[dict[str, WorkspaceMemory]] = {}

    def client(self, workspace: str) -> MemoryClient:
        return MemoryClient(workspace)

    def names(self) -> list[str]:
        return [name for name, memory in self.kept.items() if memory.data is not None]

    def remove(self, workspace: str) -> None:
        self.kept.pop(workspace, None)


def open(read: SettingsReading, seal: Seal) -> InMemory:
    """Open the backend. If `lock_id` is set, the state of the default workspace is locked from the beginning, by an
    operation `test`."""
    read.finish_check()
    backend = InMemory(read.settings, seal)
    if read.settings.get("lock_id") and InMemory.kept.get(DEFAULT_WORKSPACE) is None:
        locked = evolve(new_lock_info("test", "", "test config"), id=read.settings["lock_id"])
        InMemory.kept[DEFAULT_WORKSPACE] = WorkspaceMemory(lock=locked)
    return backend


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """The identity of the state: the workspace. Each process has its own states."""
    return f"inmem:#{workspace}"

"""Journals of states in services: the journal that is being written, and journals that interrupted operations left."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from planner.foundation.support.disk import read_whole, replace_file
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.world.state.encryption_seal import Seal
from planner.world.state.journal import (
    DAMAGED,
    DISCARDED,
    SUFFIX,
    Journal,
    JournalContent,
    is_written,
    journal_in,
    mark_saving,
    read_journal,
)
from planner.world.state.model import InstanceKey, InstanceState, ResourceState, State
from planner.world.state.recovery import StateRecovery, recover
from planner.world.state.remote.client import RemoteStateClient
from planner.world.state.remote.copy import HEAD, Copied, Copier, id_of, is_adopted, mark_adopted, read_copy
from planner.world.state.remote.fence import Fence


class Leftovers:
    """The journals of interrupted operations: files next to `path` in the working directory, and the copy in the
    service. A file is preferred to its copy, which may lack entries; a copy without a file was written in another
    working directory, usually on another machine. Journals that are still being written are ignored. As a bool, a
    `Leftovers` is true if `taken_in` has read journals that the next write removes. The methods raise ServiceError and
    OSError."""

    def __init__(self, client: RemoteStateClient, path: str, seal: Seal) -> None:
        self._client, self._path, self._seal = client, path, seal
        self._files: list[str] = []
        self._copy: Copied | None = None
        self._is_damaged = False
        self.missing: tuple[str, ...] = ()
        """the instances with objects that a journal recorded, but the state does not have"""
        self.adopts = False
        """whether to add the missing objects to the state"""

    def __bool__(self) -> bool:
        return bool(self._files) or self._copy is not None

    def taken_in(
        self, state: State | None, checksum: str, is_at_work: Callable[[], bool]
    ) -> tuple[State | None, list[Diagnostic]]:
        """The state plus the changes in the journals; None on an error. `checksum`: the checksum of the unencrypted
        stored state. `is_at_work`: whether the writer of the copy is still running."""
        problems: list[Diagnostic] = []
        self._files, self._copy, self._is_damaged, self.missing = [], None, False, ()
        ids = set()
        for path in self._leftover_files():
            recorded, item = read_journal(path, self._seal)
            if recorded is None and has_errors(item):
                return None, item
            data = read_whole(path)
            ids.add(id_of(data))
            came = self._recover(state, checksum, recorded, path)
            if came.problems and not came.adds and is_adopted(self._client, data):
                came = StateRecovery(state)
            if came.missing:
                self.missing += came.missing
                problems += came.problems
                continue
            self._files.append(path)
            self._is_damaged |= recorded is not None and bool(recorded.damage)
            if came.adds:
                state = came.state
                problems += item
            problems += came.problems
        copy = None if is_at_work() else read_copy(self._client)
        self._copy = copy
        if copy is None or copy.id in ids or not copy.data:
            if self.missing:
                self._copy = None
            return state, problems
        recorded, item = journal_in(copy.data, self._beside, self._seal)
        if recorded is None:
            return (None if has_errors(item) else state), [*problems, *item]
        came = self._recover(state, checksum, recorded, self._beside)
        if came.missing:
            self.missing, self._copy = self.missing + came.missing, None
        return came.state, [*problems, *(item if came.adds else ()), *came.problems]

    def _recover(
        self, state: State | None, checksum: str, recorded: JournalContent | None, journal: str
    ) -> StateRecovery:
        if recorded is None:
            return StateRecovery(state)
        return recover(state, recorded, journal, self._client.place, False, checksum, self.adopts)

    @property
    def _beside(self) -> str:
        """The name of the copy in messages."""
        return f"{HEAD} beside {self._client.place}"

    def _leftover_files(self) -> list[str]:
        folder, name = os.path.split(self._path)
        stem = name.removesuffix(SUFFIX)
        try:
            names = sorted(n for n in os.listdir(folder) if n.startswith(f"{stem}.") and n.endswith(SUFFIX))
        except OSError:
            return []
        return [path for path in (os.path.join(folder, n) for n in names) if not is_written(path)]

    def contents(self) -> dict[str, bytes]:
        """The bytes of the journals by path or name."""
        result = {path: read_whole(path) for path in self._leftover_files()}
        copy = read_copy(self._client)
        if copy is not None and copy.id not in map(id_of, result.values()):
            result[self._beside] = copy.data
        return result

    def discard(self, place: str) -> None:
        """Remove a journal and its copy. Its bytes are kept in a file whose name marks them as discarded."""
        copy, kept = read_copy(self._client), f"{place}{DISCARDED}"
        if place != self._beside:
            os.replace(place, kept)
            if copy is None or copy.id != id_of(read_whole(kept)):
                return
        if copy is not None:
            if place == self._beside:
                kept = f"{self._path.removesuffix(SUFFIX)}.{copy.id}{DISCARDED}"
                os.makedirs(os.path.dirname(kept), exist_ok=True)
                replace_file(kept, copy.data, mode=0o600)
            mark_adopted(self._client, copy)

    def mark_saving(self, state: State, checksum: str) -> None:
        for path in self._files:
            mark_saving(path, state, checksum, self._seal)

    def forget(self) -> None:
        """Remove the journals after the state was written; rename the files if one was damaged."""
        files, self._files = self._files, []
        copy, self._copy = self._copy, None
        if copy is not None:
            mark_adopted(self._client, copy)
        for path in files:
            if self._is_damaged:
                os.replace(path, path + DAMAGED)
            elif os.path.exists(path):
                os.remove(path)


class GuardedJournal(Journal):
    """A journal that refuses new operations after the lock is lost. New entries are also copied to the service."""

    def __init__(self, fence: Fence | None, copier: Copier | None, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._fence, self._copier = fence, copier

    def start(self, address: str, deposed: str, action: str, durable: bool) -> int:
        if self._fence is not None:
            self._fence.check()
        number = super().start(address, deposed, action, durable)
        self._report_growth()
        return number

    def end(self, number: int, durable: bool) -> None:
        super().end(number, durable)
        self._report_growth()

    def instance(self, resource: ResourceState, key: InstanceKey, instance: InstanceState | None) -> None:
        super().instance(resource, key, instance)
        self._report_growth()

    def snapshot(self, state: State, checksum: str, changes: int) -> None:
        super().snapshot(state, checksum, changes)
        if self._copier is not None:
            self._copier.copy_now()  # so that other machines can see which process is changing the state

    def _report_growth(self) -> None:
        if self._copier is not None:
            self._copier.grown()

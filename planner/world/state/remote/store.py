"""The state of a workspace in a service: locked, read and written, with a journal in the working directory.

Locks, serials and the stored form are as in OpenTofu (states/remote): states are compact JSON, the serial increases if
the content differs, and the pauses between attempts to take the lock become longer."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable

from planner.foundation.support.digests import sha256_of
from planner.foundation.support.disk import absolute_path, note_service_read, read_whole, replace_file
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, ServiceError, error, has_errors, warning
from planner.world.state.backend import document_not_saved
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.file import Texts, lineage_after, read_with_texts, same_content, successor, write_state
from planner.world.state.journal import Journal
from planner.world.state.lock import SLOW, LockInfo, Stop, new_lock_info, wait
from planner.world.state.model import State
from planner.world.state.recovery import forget_rescued, refusal
from planner.world.state.remote.client import LockHeld, Payload, RemoteStateClient, VersionConflict
from planner.world.state.remote.copy import Copier
from planner.world.state.remote.documents import delete_documents, put_document, read_document
from planner.world.state.remote.fence import OUTAGE, Fence, with_retries
from planner.world.state.remote.journals import GuardedJournal, Leftovers
from planner.world.state.snapshots import NEWER
from planner.world.state.verify import VerifiedFile, verify_kept
from planner.world.state.workspace import data_directory

READ = "state.remote_read"  # the code of errors while reading from a service
FOLDER = "planner"  # subdirectory of the data directory for journals and other files of states in services
_LONGEST_PAUSE = 16.0  # the maximum number of seconds between two attempts to take a lock


class RemoteStore:
    """A state in a service. `backup_path`: the file for a copy of the state before the first write ("": none)."""

    def __init__(self, client: RemoteStateClient, seal: Seal = PLAIN, backup_path: str = "") -> None:
        self.client, self.seal, self.backup_path = client, seal, backup_path
        self.current: State | None = None
        """the last state read or written, without the changes of a journal"""
        self.journal: Journal | None = None
        self.read_failure = ""
        """the error of the service in the last `read`"""
        self.size = 0
        self._version: str | None = None
        self._texts: Texts | None = None
        self._read = False
        self._is_pending = False
        self._unanswered: dict[str, State] = {}
        """states whose writing failed, although the service may have stored them, by the checksums of their bytes"""
        self._lineage = ""
        self._info: LockInfo | None = None
        self._fence: Fence | None = None
        self._stop: Stop | None = None
        self._copier: Copier | None = None
        self._left = Leftovers(client, self.journal_path, seal)

    # ------------------------------------------------------------ lock

    @property
    def locks(self) -> bool:
        return self.client.locks

    def lock(
        self,
        operation: str,
        timeout: float = 0.0,
        on_wait: Callable[[], None] | None = None,
        stop: Stop | None = None,
    ) -> list[Diagnostic]:
        """Take the lock for an operation (`OperationTypeApply` and the like), waiting up to `timeout` seconds. Does
        nothing if locks are disabled or this process has the lock."""
        if not self.client.locks or self._info is not None:
            return []
        self._stop = stop
        began, is_reported, pause = time.monotonic(), False, 1.0
        info = new_lock_info(operation, self.client.lock_path)
        while True:
            try:
                self._info = self.client.lock(info)
                break
            except LockHeld as held:
                waited = time.monotonic() - began
                if waited >= timeout or not held.may_wait or (stop is not None and stop.requested):
                    return [_not_locked(held)]
            except ServiceError as problem:
                return [_not_locked(problem)]
            if on_wait is not None and not is_reported and timeout > SLOW:
                is_reported = True
                on_wait()
            wait(min(pause, timeout - waited), stop)
            pause = min(pause * 2, _LONGEST_PAUSE)
        self._fence = Fence(self.client, self._info.id, stop)
        return []

    def unlock(self) -> list[Diagnostic]:
        """Release the lock. Does nothing if the lock was not taken or is lost."""
        info, fence, copier = self._info, self._fence, self._copier
        self._info = self._fence = self._copier = None
        if copier is not None:
            copier.close(finished=False)
        if info is None or (fence is not None and fence.is_lost):
            return []
        try:
            self.client.unlock(info.id)
        except ServiceError as problem:
            detail = (
                f"Error message: {problem.text}\n\nThe lock may or may not be released now. If it is not, and no other "
                f"process is using the state, run `planner force-unlock {info.id}`.\n\n{info.describe()}"
            )
            return [error("state.unlock", "Error releasing the state lock", detail)]
        return []

    @property
    def is_locked(self) -> bool:
        return self._info is not None

    def lock_holder(self) -> str:
        info = self._holder()
        if info is None or not info.operation:
            return ""
        return (
            f", held by {info.who or 'an unknown user'} since {info.created or 'an unknown time'} for {info.operation}"
        )

    def held_by(self, lock_id: str) -> tuple[LockInfo | None, list[Diagnostic]]:
        """The holder of the lock, or lock info with only this id and the path if the holder is unknown; None and an
        error if the backend has no locks. The service compares the ids when the lock is removed."""
        if not self.client.locks:
            return None, [error("state.no_locks", "Locking disabled", "Locking is disabled for this backend.")]
        return self._holder() or LockInfo(lock_id, "", "", "", "", "", self.client.lock_path), []

    def force_unlock(self, lock_id: str) -> list[Diagnostic]:
        try:
            self.client.force_unlock(lock_id)
        except ServiceError as problem:
            holder = problem.info if isinstance(problem, LockHeld) else self._holder()
            detail = holder.describe() if holder is not None else ""
            return [error("state.force_unlock", f"Failed to unlock state: {problem.text}", detail)]
        return []

    def _holder(self) -> LockInfo | None:
        """The holder of the lock; None if there is no lock or its holder cannot be read."""
        try:
            return self.client.holder()
        except ServiceError:
            return None

    @property
    def place(self) -> str:
        return self.client.place

    # ------------------------------------------------------------ read

    def read(self) -> tuple[State | None, list[Diagnostic]]:
        """The state plus the changes in the journal of an interrupted operation. None if there is no state, or on an
        error."""
        note_service_read()
        try:
            kept = self.client.get()
            checksum, problems = self._take_in(kept)
            if has_errors(problems):
                return None, problems
            state, item = self.current, list[Diagnostic]()
            if self.journal is None:
                state, item = self._left.taken_in(state, checksum, self._is_locked_elsewhere)
        except ServiceError as problem:
            self.read_failure = problem.text
            return None, [error(READ, f"error loading state: {problem.text}", f"It is in {self.place}.")]
        except Failure as refused:
            return None, list(refused.diagnostics)
        return state, [*problems, *item]

    def _take_in(self, kept: Payload | None) -> tuple[str, list[Diagnostic]]:
        """Decrypt and parse a stored state, and record it as the current one. Returns the checksum of the unencrypted
        content, and problems."""
        if kept is None or not kept.data:
            self.current, self._version, self._read = None, kept.version if kept is not None else "", True
            return "", []
        opened, self.size = self.seal.unseal(kept.data), len(kept.data)
        state, self._texts, problems = read_with_texts(opened.data, self.place)
        self._read = not has_errors(problems)
        if self._read:
            self.current, self._version, self._is_pending = state, kept.version, opened.is_pending
        return sha256_of(opened.data), problems

    # ------------------------------------------------------------ journal

    @property
    def journal_path(self) -> str:
        return self._document_path("journal")

    def _document_path(self, name: str) -> str:
        """The path of a file in the working directory that belongs to this state."""
        digest = hashlib.sha256(self.client.place.encode()).hexdigest()[:20]
        return os.path.join(absolute_path(data_directory(os.environ)), FOLDER, f"{digest}.{name}")

    def _is_locked_elsewhere(self) -> bool:
        """Whether another process holds the lock: then the process that writes the copied journal is still running."""
        if self._info is not None or not self.client.locks:
            return False
        return self._holder() is not None

    def journals(self) -> dict[str, bytes]:
        return self._left.contents()

    @property
    def missing(self) -> tuple[str, ...]:
        return self._left.missing

    def adopt_journal(self) -> None:
        self._left.adopts = True

    def discard_journal(self, place: str) -> list[Diagnostic]:
        try:
            self._left.discard(place)
        except OSError as problem:
            return [error("state.journal", "Cannot discard the journal", f"{place}: {problem.strerror or problem}.")]
        return []

    def begin_journal(
        self, operation: str, begins_with: State | None = None
    ) -> tuple[Journal | None, list[Diagnostic]]:
        """A journal for an operation; the next `write` closes it. None if there are errors. The changes in an older
        journal are saved first. `begins_with`: the state at the beginning of the operation, after refreshing and
        moving."""
        state, problems = self.read()
        if has_errors(problems):
            return None, problems
        if self._left.missing:
            return None, [refusal(self.place, self._left.missing)]
        if self._left:
            _, problems = self.write(state or State())
            if has_errors(problems):
                return None, problems
        base = self.current
        self._lineage = lineage_after(base)
        serial = base.serial if base is not None else 0
        path = self.journal_path
        if os.path.exists(path):  # without a lock, another running process may be writing this journal
            path = f"{path.removesuffix('.journal')}.{os.getpid()}.journal"
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except OSError as problem:
            return None, [error("state.journal", "Cannot write the journal", f"{path}: {problem.strerror or problem}.")]
        if self.client.has_place_beside:
            about = {"place": self.place, "operation": operation, "lock": self._info.id if self._info else ""}
            self._copier = Copier(self.client, path, about)
        self.journal = GuardedJournal(
            self._fence, self._copier, path, self._lineage, serial, operation, base, begins_with, self.seal
        )
        return self.journal, []

    # ------------------------------------------------------------ write

    def write(self, state: State) -> tuple[State, list[Diagnostic]]:
        """Save a state, unless the present one cannot be read. Returns the state with its serial, which increases only
        if the content differs from the state last read or written. A first state without a lineage gets the lineage of
        its journal, or a new one."""
        if not self._read:
            _, problems = self.read()
            if has_errors(problems):
                return state, problems
        problems = self._settle(OUTAGE if self.journal is not None else 0.0)
        if problems:  # the returned state must follow the last state that the service may have stored
            last = [*self._unanswered.values()][-1]
            return successor(last, state, self._lineage)[0], problems
        new, changed = successor(self.current, state, self._lineage, self._is_pending)
        if not changed:
            return new, self._end_journal(new)
        return self.put(new)

    def put(self, state: State) -> tuple[State, list[Diagnostic]]:
        """Save a state with the serial and lineage that it has."""
        longest = OUTAGE if self.journal is not None else 0.0
        problems = self._save(state, self._mark_saving, longest)
        return state, problems or self._end_journal(state)

    def snapshot_interval(self, interval: float, is_urgent: bool) -> float | None:
        return self.client.snapshot_interval(interval, is_urgent)

    def snapshot(self, take: Callable[[], State]) -> list[Diagnostic]:
        if self.journal is None:
            return []
        return self._settle() or self.journal.write_snapshot(
            take, lambda state: successor(self.current, state, self._lineage, self._is_pending), self._save
        )

    def _mark_saving(self, state: State, checksum: str) -> None:
        if self.journal is not None:
            self.journal.saving(state, checksum)
        self._left.mark_saving(state, checksum)

    def _save(self, state: State, mark: Callable[[State, str], None], longest: float = 0.0) -> list[Diagnostic]:
        """Replace the stored state, after `mark` has recorded the new state and its checksum in the journal. `longest`:
        seconds for which the service may be unavailable."""
        try:
            data = write_state(state, compact=True, texts=self._texts)
            sealed = self.seal.seal(data)
        except ValueError as bad:  # a value that JSON cannot represent
            return [error("state.unwritable", "Failed to save state", f"The state cannot be written: {bad}.")]
        except Failure as refused:
            return list(refused.diagnostics)
        problem = self._fence.problem() if self._fence is not None else None
        if problem is not None:
            return [problem]
        try:
            if not self._read:
                kept = self.client.get()
                self._version = kept.version if kept is not None else ""
            mark(state, sha256_of(data))
            self._back_up(state)
            self._unanswered[sha256_of(sealed)] = state
            self._version = with_retries(lambda: self._put(sealed), self._stop, longest=longest)
        except Failure as unreadable:
            return list(unreadable.diagnostics)
        except VersionConflict as newer:
            detail = (
                f"{newer.text}. The state in {self.place} has changed since it was read: another process has written "
                "it. planner did not replace it."
            )
            return [error(NEWER, "Failed to save state", detail)]
        except ServiceError as refused_write:
            return [self._not_saved(refused_write)]
        except OSError as failed:
            detail = f"{failed.filename or self.journal_path}: {failed.strerror or failed}."
            return [error("state.file", "Failed to save state", detail)]
        self.current, self._read, self._is_pending, self.size = state, True, False, len(sealed)
        self._unanswered.clear()
        return []

    def _not_saved(self, problem: ServiceError) -> Diagnostic:
        detail = f"Error saving state: {_at_place(problem, self.place)}"
        return error("state.remote_write", "Failed to save state", detail)

    def _settle(self, longest: float = 0.0) -> list[Diagnostic]:
        """Determine whether an earlier write succeeded although its response was lost. If it did, the written state
        becomes the current one, so that the next write replaces it with a higher serial. `longest`: seconds for which
        the service may be unavailable."""
        if not self._unanswered:
            return []
        try:
            kept = with_retries(self.client.get, self._stop, longest=longest)
        except ServiceError as away:
            return [self._not_saved(away)]
        done = self._unanswered.get(sha256_of(kept.data)) if kept is not None else None
        self._unanswered.clear()
        if kept is not None and done is not None:
            self.current, self._version, self._is_pending = done, kept.version, False
            if self.journal is not None:
                self.journal.mark_kept(done)
        return []

    def _put(self, sealed: bytes) -> str:
        """Store the bytes, and return their version. If a response was lost but the write succeeded, the write counts
        as successful."""
        try:
            return self.client.put(sealed, self._version)
        except VersionConflict:
            kept = self.client.get()
            if kept is not None and kept.data == sealed:
                return kept.version
            raise

    def _back_up(self, state: State) -> None:
        if self.backup_path and self.current is not None and not same_content(self.current, state):
            replace_file(self.backup_path, self.seal.seal(write_state(self.current, compact=True)))
            self.backup_path = ""

    def _end_journal(self, state: State) -> list[Diagnostic]:
        """Remove the journals, because the service has the complete state. Returns only warnings."""
        self.current, self._read = state, True
        if self._copier is not None:
            self._copier.close(finished=True)
            self._copier = None
        finished = ""
        if self.journal is not None:
            finished = self.journal.path
            self.journal.close()
            self.journal = None
        else:
            forget_rescued(self.current, self.seal)
        try:
            self._left.forget()
            if finished and os.path.exists(finished):
                os.remove(finished)
        except ServiceError as problem:
            detail = f"{_at_place(problem, self.place)} The state has all changes of the journal: the file is harmless."
            return [warning("state.journal_left", "Cannot remove the copy of the journal", detail)]
        except OSError as problem:
            detail = (
                f"{self.journal_path}: {problem.strerror or problem}. The state contains all changes of the journal."
            )
            return [warning("state.journal_left", "Cannot remove the journal", detail)]
        return []

    def keep_backup(self, path: str) -> None:
        """Set the file for a copy of the state before the first write. A default path, which begins with the location
        of the state, is ignored."""
        if not path.startswith(f"{self.place}."):
            self.backup_path = path

    @property
    def shares_documents(self) -> bool:
        return self.client.has_place_beside

    def beside(self, name: str) -> bytes | None:
        try:
            if self.shares_documents:
                data = read_document(self.client, name)
            else:
                data = read_whole(self._document_path(f"{name}.json"))
            return self.seal.unseal_document(name, data).data if data is not None else None
        except (OSError, ValueError, Failure):
            return None

    def put_beside(self, name: str, data: bytes) -> list[Diagnostic]:
        """Store a document next to the state, or in the working directory if the service can store only states."""
        path = self._document_path(f"{name}.json")
        try:
            sealed = self.seal.seal_document(name, data)
            if self.shares_documents:
                put_document(self.client, name, sealed)
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                replace_file(path, sealed, mode=0o600, durable=False)
        except (OSError, Failure) as problem:
            return document_not_saved(name, self.place if self.shares_documents else path, problem)
        return []

    def verify(self) -> tuple[list[VerifiedFile], list[Diagnostic]]:
        """The stored files of the state, and their problems. Changes nothing."""
        _, problems = self.read()
        return verify_kept(self.place, self.current, self.journal_path, problems, self.seal)

    def erase(self) -> list[Diagnostic]:
        try:
            self.client.delete()
            delete_documents(self.client)
        except ServiceError as problem:
            return [error("state.remote_write", "Cannot erase the state", _at_place(problem, self.place))]
        self.current, self._version, self._read = None, "", False
        return []

    def make_empty(self, with_lock: bool) -> list[Diagnostic]:
        """Save an empty state if there is none. `with_lock`: whether to take the lock for this."""
        state, problems = self.read()
        if state is not None or has_errors(problems):
            return problems
        problems = self.lock("init") if with_lock else []
        if has_errors(problems):
            return problems
        try:
            state, problems = self.read()
            if state is None and not has_errors(problems):
                problems = self.write(State())[1]
        finally:
            problems = [*problems, *self.unlock()]
        return problems


def _at_place(problem: ServiceError, place: str) -> str:
    text = problem.text if problem.text.endswith((".", "\n")) else f"{problem.text}."
    return text if place in text else f"{place}: {text}"


def _not_locked(problem: ServiceError) -> Diagnostic:
    info = problem.info if isinstance(problem, LockHeld) else None
    message = problem.text
    if info is not None:  # some services do not store information about a lock
        message = "\n".join(filter(None, (problem.text, f"{info.describe()}\n")))
    detail = (
        f"Error message: {message}\n\nplanner acquires a state lock to protect the state from being written\n"
        "by multiple users at the same time. Please resolve the issue above and try\n"
        'again. For most commands, you can disable locking with the "-lock=false"\n'
        "flag, but this is not recommended."
    )
    return error("state.locked", "Error acquiring the state lock", detail)

"""`backend "local"`: states in files, and the store of one file.

A file is replaced as a whole (written next to it, flushed to disk, renamed), so after a crash it contains either the
old or the new state."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from planner.foundation.support.digests import sha256_of
from planner.foundation.support.disk import note_look, on_disk, read_whole, replace_file, sync_directory, write_all
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.records import frozen
from planner.world.state.backend import DEFAULT_WORKSPACE, DOCUMENTS, document_not_saved
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.file import SealedFiles, lineage_after, read_state, same_content, successor
from planner.world.state.journal import DAMAGED, DISCARDED, SUFFIX, Journal, is_written, mark_saving, read_journal
from planner.world.state.lock import FileLock, LockInfo, Stop, file_problem, held_by, remove_info
from planner.world.state.model import State
from planner.world.state.recovery import forget_rescued, recover, refusal
from planner.world.state.settings import SettingsReading
from planner.world.state.settings import text as setting

if TYPE_CHECKING:
    from planner.world.state.verify import VerifiedFile

DEFAULT_PATH = "terraform.tfstate"
DEFAULT_WORKSPACE_DIRECTORY = "terraform.tfstate.d"
SCHEMA = BlockSchema(
    {
        "path": setting("The file of the default state."),
        "workspace_dir": setting("The directory for the states of other workspaces."),
    }
)


class StateStore:
    """The state in one file. Until the first write, the state is read from `read_path` (by default the same file). The
    first write saves the former state in `backup_path` ("": no backup)."""

    def __init__(
        self, path: str, read_path: str | None = None, backup_path: str | None = None, seal: Seal = PLAIN
    ) -> None:
        self.path, self.seal = path, seal
        self.read_path = read_path or path
        self.backup_path = f"{path}.backup" if backup_path is None else backup_path
        self.lock_file = FileLock(path)
        self.current: State | None = None
        """the last state read or written, without the changes of a journal"""
        self.journal: Journal | None = None
        self._files = SealedFiles(seal)
        self._lineage = ""
        self._is_pending = False
        self._journal_is_damaged = False
        self.missing: tuple[str, ...] = ()
        self._adopts = False
        self._read = False
        self._backed_up = False

    # ------------------------------------------------------------ lock

    def lock(
        self,
        operation: str,
        timeout: float = 0.0,
        on_wait: Callable[[], None] | None = None,
        stop: Stop | None = None,
    ) -> list[Diagnostic]:
        """Take the lock for an operation (such as `OperationTypeApply`), waiting up to `timeout` seconds."""
        note_look(self.read_path)  # recorded here, because reads through the lock's descriptor are not recorded
        return self.lock_file.acquire(operation, timeout, on_wait=on_wait, stop=stop)

    def unlock(self) -> list[Diagnostic]:
        return self.lock_file.release()

    @property
    def locks(self) -> bool:
        return True

    @property
    def is_locked(self) -> bool:
        return self.lock_file.held

    def lock_holder(self) -> str:
        return self.lock_file.holder()

    def held_by(self, lock_id: str) -> tuple[LockInfo | None, list[Diagnostic]]:
        return held_by(self.path, lock_id)

    def force_unlock(self, lock_id: str) -> list[Diagnostic]:
        return remove_info(self.path)

    @property
    def place(self) -> str:
        return self.path

    def verify(self) -> tuple[list[VerifiedFile], list[Diagnostic]]:
        from planner.world.state.verify import verify

        return verify(self)

    @property
    def shares_documents(self) -> bool:
        return True

    def beside(self, name: str) -> bytes | None:
        try:
            return self.seal.unseal_document(name, read_whole(self._document_path(name))).data
        except (OSError, ValueError, Failure):
            return None

    def put_beside(self, name: str, data: bytes) -> list[Diagnostic]:
        if os.path.exists(self.path) and not os.path.isfile(self.path):  # the path may be a device
            return []
        try:
            replace_file(self._document_path(name), self.seal.seal_document(name, data), 0o600, durable=False)
        except (OSError, Failure) as problem:
            return document_not_saved(name, self._document_path(name), problem)
        return []

    def _document_path(self, name: str) -> str:
        """The file name of a document. Other programs do not consider it a state, but it matches the usual patterns
        that exclude states and backups from version control (`*.tfstate.*`)."""
        folder, file = os.path.split(os.path.realpath(self.path))
        return os.path.join(folder, f".{file.removesuffix('.tfstate')}.tfstate.{name}.json")

    @property
    def size(self) -> int:
        return os.path.getsize(self.path) if os.path.isfile(self.path) else 0

    def keep_backup(self, path: str) -> None:
        self.backup_path = path

    # ------------------------------------------------------------ read and write

    def read(self) -> tuple[State | None, list[Diagnostic]]:
        """The state in the file, plus the changes in the journal of an interrupted apply; None if there is no file yet,
        or on errors."""
        try:
            data = self._bytes(self.read_path)
            content = self._files.unseal(data)
        except OSError as e:
            return None, [file_problem("read", self.read_path, e)]
        except Failure as failure:
            return None, list(failure.diagnostics)
        self._is_pending = content.is_pending
        state, diagnostics = read_state(content.data, self.read_path)
        self.current, self._read = state, not has_errors(diagnostics)
        if not self._read:
            return None, diagnostics
        if not data:
            diagnostics = diagnostics + self._empty_file_warning()
        state, more = self._with_journal(state, content.data)
        return state, diagnostics + more

    def _empty_file_warning(self) -> list[Diagnostic]:
        """A warning about an empty state file with a non-empty backup. The file was probably emptied by mistake,
        because planner does not empty it during an apply. A plan would create all objects again."""
        try:
            if not self.backup_path or self.lock_file.made_file or not os.path.exists(self.read_path):
                return []
            backup = self._files.state(read_whole(self.backup_path), self.backup_path)
        except OSError:
            return []
        if backup is None or not backup.resources:
            return []
        detail = (
            f"{self.read_path} is empty, so planner assumes that no objects exist. The number of objects in its backup "
            f"{self.backup_path} is {sum(1 for _ in backup.instances())}: if the file was emptied by mistake, replace "
            "it with the backup."
        )
        return [warning("state.emptied", "The state file is empty", detail)]

    # ------------------------------------------------------------ journal

    @property
    def journal_path(self) -> str:
        return self.path + SUFFIX

    def _with_journal(self, state: State | None, data: bytes) -> tuple[State | None, list[Diagnostic]]:
        if self.journal is not None:
            return state, []
        recorded, problems = read_journal(self.journal_path, self.seal)
        if recorded is None:
            return (None if has_errors(problems) else state), problems
        self._journal_is_damaged = bool(recorded.damage)
        at_work, checksum = self._lock_is_elsewhere(), sha256_of(data)
        result = recover(state, recorded, self.journal_path, self.read_path, at_work, checksum, self._adopts)
        self.missing = result.missing
        return result.state, [*problems, *result.problems] if result.adds else list(result.problems)

    def adopt_journal(self) -> None:
        self._adopts = True

    def _lock_is_elsewhere(self) -> bool:
        return not self.lock_file.held and self.lock_file.is_taken()

    def journals(self) -> dict[str, bytes]:
        try:
            return {self.journal_path: read_whole(self.journal_path)}
        except OSError:
            return {}

    def discard_journal(self, place: str) -> list[Diagnostic]:
        try:
            os.replace(place, place + DISCARDED)
        except OSError as e:
            return [file_problem("discard the journal of", place, e)]
        return []

    def begin_journal(
        self, operation: str, begins_with: State | None = None
    ) -> tuple[Journal | None, list[Diagnostic]]:
        """A journal for an operation that changes the state; the next `write` closes it. None if there are errors. The
        content of an older journal is saved first. `begins_with`: the state at the beginning of the operation, after
        refreshing and moving."""
        if is_written(self.journal_path):
            detail = (
                f"Another process is writing {self.journal_path} without the lock of the state. Its changes would be "
                "lost: wait until it has ended."
            )
            return None, [error("state.journal", "Another operation is in progress", detail)]
        state, problems = self.read()
        if has_errors(problems):
            return None, problems
        if self.missing:
            return None, [refusal(self.read_path, self.missing)]
        if os.path.exists(self.journal_path):
            _, problems = self.write(state or State())
            if has_errors(problems):
                return None, problems
        base = self.current
        self._lineage = lineage_after(base)
        serial = base.serial if base is not None else 0
        self.journal = Journal(
            self.journal_path, self._lineage, serial, operation, base, begins_with, self.seal, self._permissions()
        )
        return self.journal, []

    def _permissions(self) -> int:
        """The permissions of the journal: the same as for the state."""
        try:
            return os.stat(self.path).st_mode & 0o666
        except OSError:
            return 0o600

    def write(self, state: State) -> tuple[State, list[Diagnostic]]:
        """Save a state, unless the present one cannot be read. Returns the saved state, whose serial increases only if
        the content differs from the state last read or written. A first state without a lineage gets the lineage of its
        journal, or a new one."""
        if not self._read:
            _, diagnostics = self.read()
            if has_errors(diagnostics):
                return state, diagnostics
        return self.put(successor(self.current, state, self._lineage)[0])

    def put(self, state: State) -> tuple[State, list[Diagnostic]]:
        """Save a state without changing its serial and lineage."""
        problems = self._save(state, self._mark_saving)
        return state, problems or self._end_journal()

    def snapshot_interval(self, interval: float, is_urgent: bool) -> float | None:
        return 0.0 if is_urgent else interval

    def snapshot(self, take: Callable[[], State]) -> list[Diagnostic]:
        if self.journal is None:
            return []
        return self.journal.write_snapshot(
            take, lambda state: successor(self.current, state, self._lineage), self._save
        )

    def _mark_saving(self, state: State, checksum: str) -> None:
        if self.journal is not None:
            self.journal.saving(state, checksum)
        elif not self.missing and os.path.exists(self.journal_path):
            mark_saving(self.journal_path, state, checksum, self.seal)

    def _save(self, state: State, mark: Callable[[State, str], None]) -> list[Diagnostic]:
        """Replace the state file, after `mark` has recorded the state and its checksum in the journal."""
        try:
            text = self._files.text(state)
        except ValueError as bad:  # JSON cannot represent a value
            return [error("state.unwritable", "Failed to save state", f"The state cannot be written: {bad}.")]
        try:
            mark(state, sha256_of(text))
            before = self._bytes(self.path)
            if not self._files.says(before, text):
                self._back_up(before, state)
                self._replace(self._files.sealed(text))
        except Failure as failure:
            return list(failure.diagnostics)
        except OSError as e:
            return [file_problem("write", e.filename or self.path, e)]
        self.read_path = self.path
        self.current, self._read, self._is_pending = state, True, False
        return []

    def erase(self) -> list[Diagnostic]:
        """Empty the state file after a backup (if backups are enabled), and remove the documents next to it. Called
        when the state has been copied to another backend."""
        try:
            before = self._bytes(self.path)
            if before and self.backup_path:
                replace_file(self.backup_path, self._files.backup(before))
            if before:
                self._replace(b"")
            for name in DOCUMENTS:
                with suppress(FileNotFoundError):
                    os.remove(self._document_path(name))
        except OSError as e:
            return [file_problem("erase", e.filename or self.path, e)]
        self.current, self._read = None, False
        return []

    def _end_journal(self) -> list[Diagnostic]:
        """Remove the journal, because the state file now has all of its changes. A damaged journal is renamed; a
        journal with objects that the state lacks is kept."""
        if self.journal is not None:
            self.journal.close()
            self.journal = None
        else:
            forget_rescued(self.current, self.seal)
        try:
            if os.path.exists(self.journal_path) and not self.missing:
                if self._journal_is_damaged:
                    os.replace(self.journal_path, self.journal_path + DAMAGED)
                else:
                    os.remove(self.journal_path)
                sync_directory(os.path.dirname(os.path.realpath(self.path)))
        except OSError as e:
            detail = (
                f"{self.journal_path}: {e.strerror or e}. The state contains all changes of the journal, so the file "
                "is harmless."
            )
            return [warning("state.journal_left", "Cannot remove the journal", detail)]
        return []

    def _bytes(self, path: str) -> bytes:
        descriptor = self.lock_file.descriptor
        if descriptor is not None and path == self.path:
            parts, at = [], 0
            while part := os.pread(descriptor, 1 << 24, at):
                parts.append(part)
                at += len(part)
            return b"".join(parts)
        try:
            return read_whole(path)
        except FileNotFoundError:
            return b""

    def _back_up(self, before: bytes, state: State) -> None:
        if self._backed_up or not before or not self.backup_path:
            return
        old = self._files.state(before, self.path)
        if old is None or not same_content(old, state):
            self._write_backup(self._files.backup(before))
            self._backed_up = True
        elif self._is_pending and os.path.exists(self.backup_path):  # an older backup must not stay unencrypted
            resealed = self._files.resealed(read_whole(self.backup_path))
            if resealed is not None:
                self._write_backup(resealed)

    def _write_backup(self, data: bytes) -> None:
        try:
            replace_file(self.backup_path, data)
        except PermissionError:
            with builtins.open(self.backup_path, "wb") as file:  # the directory does not allow new files
                file.write(data)

    def _replace(self, data: bytes) -> None:
        """Replace the file atomically; overwrite it if the directory does not allow new files. Raises OSError."""
        target = os.path.realpath(self.path)
        os.makedirs(os.path.dirname(target), exist_ok=True)

        lock = self.lock_file
        try:
            replace_file(target, data, ready=lock.prepare)
        except PermissionError:
            self._overwrite(target, data)
        finally:
            lock.follow()

    def _overwrite(self, path: str, data: bytes) -> None:
        held = self.lock_file.descriptor
        descriptor = held if held is not None else os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            write_all(descriptor, data)
            os.ftruncate(descriptor, len(data))
            os.fsync(descriptor)
        finally:
            if held is None:
                os.close(descriptor)


# ---------------------------------------------------------------- the local backend


@frozen
class LocalBackend:
    """The `local` backend. The default workspace has its state in the file `path`; each other workspace has its state
    in a directory of its own."""

    path: str = DEFAULT_PATH
    workspace_directory: str = DEFAULT_WORKSPACE_DIRECTORY
    seal: Seal = PLAIN

    @property
    def type(self) -> str:
        return "local"

    @property
    def has_workspaces(self) -> bool:
        return True

    @property
    def settings(self) -> dict[str, str]:
        return {"path": self.path, "workspace_dir": self.workspace_directory}

    def state_path(self, workspace: str = DEFAULT_WORKSPACE) -> str:
        if workspace in (DEFAULT_WORKSPACE, ""):
            return self.path
        return os.path.join(self.workspace_directory, workspace, DEFAULT_PATH)

    def store(
        self, workspace: str = DEFAULT_WORKSPACE, state: str = "", state_out: str = "", backup: str = ""
    ) -> StateStore:
        """The store of a workspace. The options `-state`, `-state-out` and `-backup` ("-": no backup) take precedence
        over the settings."""
        read_path = on_disk(state or self.state_path(workspace))
        path = on_disk(state_out) if state_out else read_path
        return StateStore(path, read_path, "" if backup == "-" else backup or f"{path}.backup", self.seal)

    def workspaces(self) -> list[str]:
        """The default workspace first, the others sorted. Raises OSError."""
        try:
            names = sorted(e.name for e in os.scandir(on_disk(self.workspace_directory)) if e.is_dir())
        except FileNotFoundError:
            names = []
        return [DEFAULT_WORKSPACE, *names]

    def create_workspace(self, workspace: str, with_lock: bool = True) -> None:
        """Create a workspace. Raises OSError."""
        os.makedirs(on_disk(os.path.join(self.workspace_directory, workspace)), exist_ok=True)

    def prepare(self, workspace: str, with_lock: bool = True) -> list[Diagnostic]:
        return []

    def delete_workspace(self, workspace: str) -> None:
        """Remove a workspace and its state. Raises OSError."""
        import shutil

        shutil.rmtree(on_disk(os.path.join(self.workspace_directory, workspace)))


def open(read: SettingsReading, seal: Seal) -> LocalBackend:
    for name, value in read.settings.items():
        if value == "":
            read.wrong("Invalid backend configuration", f'"{name}" must not be empty.')
    read.finish_check()
    path, folder = read.settings.get("path"), read.settings.get("workspace_dir")
    return LocalBackend(path or DEFAULT_PATH, folder or DEFAULT_WORKSPACE_DIRECTORY, seal)


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """The identity of the state: the real path of the file. `directory`: the base of relative paths."""
    path, folder = settings.get("path") or DEFAULT_PATH, settings.get("workspace_dir") or DEFAULT_WORKSPACE_DIRECTORY
    return os.path.realpath(os.path.join(directory, LocalBackend(str(path), str(folder)).state_path(workspace)))

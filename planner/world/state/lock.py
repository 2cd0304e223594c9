"""The lock on a state file: a record lock on the file, and another file next to it that identifies the holder.

If the system supports it, a record lock belongs to an open file. Otherwise (POSIX) the lock belongs to the process,
which loses the lock when it closes any other descriptor of the file. A lock of one kind also excludes locks of the
other kind. Both are compatible with OpenTofu, and so is the other file, `.NAME.lock.info`: it contains a JSON object
with ID, Operation, Info, Who, Version, Created and Path."""

from __future__ import annotations

import os
import pwd
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from planner.foundation.support.digests import random_uuid
from planner.foundation.support.disk import check_kind, read_whole, remove_leftovers, replace_file
from planner.foundation.support.exact_json import JsonError, dumps, loads
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, warning
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION

_MEMBERS = ("ID", "Operation", "Info", "Who", "Version", "Created", "Path")
_MAX_INFO = 1 << 16  # bytes
SLOW = 0.4  # seconds


class Stop(Protocol):
    """A request to stop waiting. `requested`: whether it was issued."""

    requested: bool

    def wait(self, seconds: float) -> bool:
        """Wait for this time, or until a stop is requested. Returns whether a stop is requested."""


def wait(seconds: float, stop: Stop | None) -> None:
    """Wait for this time, or until a stop is requested."""
    if stop is not None:
        stop.wait(seconds)
    else:
        time.sleep(seconds)


@frozen
class LockInfo:
    """The holder of a lock, its purpose, and the time when it was locked (RFC 3339, UTC)."""

    id: str
    operation: str
    info: str
    who: str
    version: str
    created: str
    path: str

    def to_json(self) -> bytes:
        values = (self.id, self.operation, self.info, self.who, self.version, self.created, self.path)
        if all(_is_plain(value) for value in values):
            members = ",".join([f'"{name}":"{value}"' for name, value in zip(_MEMBERS, values, strict=True)])
            return f"{{{members}}}".encode()
        return dumps(dict(zip(_MEMBERS, values, strict=True)))

    def describe(self) -> str:
        rows = (
            ("ID", self.id),
            ("Path", self.path),
            ("Operation", self.operation),
            ("Who", self.who),
            ("Version", self.version),
            ("Created", _moment(self.created)),
            ("Info", self.info),
        )
        return "\n".join(["Lock Info:", *(f"  {name + ':':<10} {value}" for name, value in rows)])


def _is_plain(text: str) -> bool:
    """Whether a string needs no escapes in JSON. A lock info with only such strings is written without a JSON
    encoder."""
    return text.isascii() and text.isprintable() and not any(sign in text for sign in '"\\<>&')


def _moment(created: str) -> str:
    date, t, rest = created.partition("T")
    return f"{date} {rest[:-1]} +0000 UTC" if t and rest.endswith("Z") else created


def new_lock_info(operation: str, path: str, info: str = "") -> LockInfo:
    seconds, parts = divmod(time.time_ns() // 1000, 1_000_000)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    created = f"{moment}.{parts:06}".rstrip("0").rstrip(".") + "Z"
    return LockInfo(random_uuid(), operation, info, user_at_host(), COMPATIBLE_VERSION, created, path)


def user_at_host() -> str:
    """The user of this process as USER@HOST; if the user has no name, the user id."""
    names = (os.environ.get(name) for name in ("LOGNAME", "USER", "LNAME", "USERNAME"))
    return f"{next(filter(None, names), None) or _account()}@{os.uname().nodename}"


def _account() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, OSError):
        return str(os.getuid())


def info_path(state_path: str) -> str:
    directory, name = os.path.split(state_path)
    return os.path.join(directory, f".{name.removeprefix('.')}.lock.info")


def read_lock_info(state_path: str) -> LockInfo | None:
    try:
        data = read_whole(info_path(state_path))
    except OSError:
        return None
    return lock_info_of(data)


def lock_info_of(data: bytes) -> LockInfo | None:
    """The lock info in a JSON object that another program may have written; None if it is invalid."""
    if len(data) > _MAX_INFO:
        return None
    try:
        raw = loads(data)
    except JsonError:
        return None
    if not isinstance(raw, dict):
        return None
    texts = (str(raw.get(name) or "") for name in _MEMBERS)
    return LockInfo(*("".join(c if c.isprintable() else "?" for c in text) for text in texts))


def _take(descriptor: int) -> None:
    """Lock an open file. Raises BlockingIOError or PermissionError if another process has the lock."""
    _set_lock(descriptor, "F_WRLCK")


def _set_lock(descriptor: int, kind: str) -> None:
    import fcntl
    import struct

    if sys.platform == "linux":
        # struct flock: l_type, l_whence, l_start, l_len (0: to the end of the file), l_pid
        whole = struct.pack("@hhqqi4x", getattr(fcntl, kind), os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, whole)
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if kind == "F_WRLCK" else fcntl.LOCK_UN)


class FileLock:
    """The lock on one state file. While the lock is held, read the file through `descriptor`: if this process closes
    another descriptor of the file, it may lose the lock."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor: int | None = None
        self.info: LockInfo | None = None
        self._created = False
        self._replaced: list[int] = []
        self._next: int | None = None

    @property
    def held(self) -> bool:
        return self.info is not None

    @property
    def made_file(self) -> bool:
        """Whether the state file was created only for the lock."""
        return self._created

    def acquire(
        self,
        operation: str,
        timeout: float = 0.0,
        info: str = "",
        on_wait: Callable[[], None] | None = None,
        stop: Stop | None = None,
    ) -> list[Diagnostic]:
        """Take the lock, trying for `timeout` seconds. `info`: the text of the member Info in the lock info. `on_wait`
        is called once, if waiting takes long; `stop` ends the attempts."""
        began = time.monotonic()
        is_reported, delay = False, 0.05
        while True:
            try:
                if self._try():
                    break
            except OSError as e:
                self._close()
                return [file_problem("lock", self.path, e)]
            waited = time.monotonic() - began
            stopped = stop is not None and stop.requested
            if waited >= timeout or stopped:
                self._close()
                return [_given_up(self.path)] if stopped else [self._taken_error()]
            if waited >= SLOW and not is_reported and on_wait is not None:
                is_reported = True
                on_wait()
            wait(min(delay, timeout - waited), stop)
            delay = min(delay * 2, 1.0)
        self.info = new_lock_info(operation, self.path, info)
        try:
            for path in (self.path, info_path(self.path)):
                remove_leftovers(path)
            replace_file(info_path(self.path), self.info.to_json(), 0o600, durable=False)
        except OSError as e:
            self.release()
            return [file_problem("write the lock info of", self.path, e)]
        return []

    def _try(self) -> bool:
        """Take the lock on the file that the path names now. Returns whether it was taken. Raises OSError."""
        if self.descriptor is None:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            self._created = not os.path.exists(self.path)
            self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                check_kind(self.descriptor, self.path)
            except OSError:
                self._close()
                raise
        try:
            _take(self.descriptor)
        except (BlockingIOError, PermissionError):
            return False
        # A writer replaces the file, so the file that was opened may no longer be the state.
        try:
            if os.path.samestat(os.fstat(self.descriptor), os.stat(self.path)):
                return True
        except FileNotFoundError:
            pass
        self._close()
        return self._try()

    def is_taken(self) -> bool:
        """Whether another process holds the lock."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            _take(descriptor)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def prepare(self, descriptor: int) -> bool:
        """Also lock the file of `descriptor`, which is about to replace the state file. Returns False if no lock is
        held. Otherwise this object owns the descriptor, and `follow` must be called next."""
        if not self.held:
            return False
        self._next = descriptor
        _take(descriptor)
        return True

    def follow(self) -> None:
        """Switch to the prepared file if it has replaced the state file."""
        descriptor, self._next = self._next, None
        if descriptor is None:
            return
        try:
            arrived = os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except OSError:
            arrived = False
        if not arrived:
            os.close(descriptor)
            return
        if self.descriptor is not None:
            self._replaced.append(self.descriptor)
        self.descriptor = descriptor
        self._created = False

    def release(self) -> list[Diagnostic]:
        """Release the lock. A state file that was created only for the lock, and is still empty, is removed."""
        if self.info is None:
            return []
        problems: list[Diagnostic] = []
        try:
            os.remove(info_path(self.path))
        except FileNotFoundError:
            pass
        except OSError as e:
            detail = (
                f"{info_path(self.path)}: {e.strerror or e}. The lock is released, and the next lock overwrites this "
                "file."
            )
            problems.append(warning("state.lock_info", "Cannot remove the lock info", detail))
        try:
            if self._created and os.path.getsize(self.path) == 0:
                os.remove(self.path)
        except OSError:
            pass
        self.info = None
        self._close()
        return problems

    def _close(self) -> None:
        for descriptor in (*self._replaced, self.descriptor):
            if descriptor is not None:
                # The lock is released explicitly, because child processes may share the open file.
                with suppress(OSError):
                    _set_lock(descriptor, "F_UNLCK")
                os.close(descriptor)
        self._replaced, self.descriptor = [], None

    def holder(self) -> str:
        """The holder, start and purpose of the lock, to be appended to a sentence; "" if they are unknown."""
        info = read_lock_info(self.path)
        if info is None:
            return ""
        return (
            f", held by {info.who or 'an unknown user'} since {info.created or 'an unknown time'} for {info.operation}"
        )

    def _taken_error(self) -> Diagnostic:
        holder = read_lock_info(self.path)
        for _ in range(10):
            if holder is not None:
                break
            time.sleep(0.02)  # the new holder of the lock may not have written its lock info yet
            holder = read_lock_info(self.path)
        who = f"\n\n{holder.describe()}" if holder else " Its holder is unknown."
        return error(
            "state.locked",
            "Error acquiring the state lock",
            f"Another process holds the lock on {self.path}. Try again when it has ended, or let planner wait with "
            f"-lock-timeout.{who}",
        )


def held_by(state_path: str, lock_id: str) -> tuple[LockInfo | None, list[Diagnostic]]:
    """The lock info that a process left; None and an error if there is no lock info, if it has a different id, or if a
    process holds the lock."""
    holder = read_lock_info(state_path)
    if holder is None:
        return None, [error("state.not_locked", "The state is not locked", f"No lock is recorded for {state_path}.")]
    if holder.id != lock_id:
        detail = f'The lock on {state_path} has the id "{holder.id}", not "{lock_id}".\n\n{holder.describe()}'
        return None, [error("state.lock_id", "Wrong lock id", detail)]
    if FileLock(state_path).is_taken():
        detail = (
            f"The process that holds the lock on {state_path} is still running, and a file lock cannot be removed by "
            f"force: wait until the process ends, or end it.\n\n{holder.describe()}"
        )
        return None, [error("state.lock_alive", "The lock is held", detail)]
    return holder, []


def remove_info(state_path: str) -> list[Diagnostic]:
    try:
        os.remove(info_path(state_path))
    except OSError as e:
        return [file_problem("remove the lock info of", state_path, e)]
    return []


def _given_up(path: str) -> Diagnostic:
    detail = f"Waiting for the lock on {path} was interrupted. Another process holds the lock. Nothing was done."
    return error("state.lock_interrupted", "Error acquiring the state lock", detail)


def file_problem(verb: str, path: str, e: OSError) -> Diagnostic:
    return error("state.file", f"Cannot {verb} the state file", f"{path}: {e.strerror or e}.")

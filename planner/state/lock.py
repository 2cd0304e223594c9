"""The lock on a state file: a POSIX record lock on the file, and a file beside it that says who holds it.

Both are OpenTofu's, so that the two keep each other out: `.NAME.lock.info` holds a JSON object with ID, Operation,
Info, Who, Version, Created and Path.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from attrs import frozen

from planner.vocabulary.diagnostic import Diagnostic, error
from planner.vocabulary.version import COMPATIBLE_VERSION

SLOW = 0.4
"""Seconds after which waiting is worth a message."""


@frozen
class LockInfo:
    """Who holds a lock, since when (RFC 3339, UTC) and what for."""

    id: str
    operation: str
    info: str
    who: str
    version: str
    created: str
    path: str

    def to_json(self) -> bytes:
        from planner.vocabulary.exact_json import dumps

        names = ("ID", "Operation", "Info", "Who", "Version", "Created", "Path")
        values = (self.id, self.operation, self.info, self.who, self.version, self.created, self.path)
        return dumps(dict(zip(names, values, strict=True)))

    def describe(self) -> str:
        """Several lines, each a name and a value."""
        rows = (
            ("ID", self.id),
            ("Path", self.path),
            ("Operation", self.operation),
            ("Who", self.who),
            ("Version", self.version),
            ("Created", self.created),
            ("Info", self.info),
        )
        return "\n".join(["Lock Info:", *(f"  {name + ':':<10} {value}" for name, value in rows)])


def new_lock_info(operation: str, path: str, info: str = "") -> LockInfo:
    """A lock info for this process and moment."""
    import getpass
    import socket
    import uuid
    from datetime import UTC, datetime

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    created = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    who = f"{user}@{socket.gethostname()}"
    return LockInfo(str(uuid.uuid4()), operation, info, who, COMPATIBLE_VERSION, created, path)


def info_path(state_path: str) -> str:
    """Where the lock info of a state file stands."""
    directory, name = os.path.split(state_path)
    return os.path.join(directory, f".{name.removeprefix('.')}.lock.info")


def read_lock_info(state_path: str) -> LockInfo | None:
    """Who holds the lock; None when nobody says so."""
    from planner.vocabulary.exact_json import JsonError, loads

    try:
        with open(info_path(state_path), "rb") as file:
            raw = loads(file.read())
    except (OSError, JsonError):
        return None
    if not isinstance(raw, dict):
        return None
    names = ("ID", "Operation", "Info", "Who", "Version", "Created", "Path")
    return LockInfo(*(str(raw.get(name) or "") for name in names))


class FileLock:
    """The lock on one state file. While it is held, `descriptor` is open on the file: reading it through another
    descriptor of the same process would drop the lock when that one is closed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor: int | None = None
        self.info: LockInfo | None = None
        self._created = False
        self._replaced: list[int] = []

    @property
    def held(self) -> bool:
        return self.info is not None

    def acquire(
        self,
        operation: str,
        timeout: float = 0.0,
        info: str = "",
        on_wait: Callable[[], None] | None = None,
        stop: Any = None,
    ) -> list[Diagnostic]:
        """Take the lock, trying again for `timeout` seconds. `on_wait` is called once when that takes long; `stop`
        (a threading.Event) gives up early."""
        began = time.monotonic()
        told, delay = False, 0.05
        while True:
            try:
                if self._try():
                    break
            except OSError as e:
                self._close()
                return [_os_problem("lock", self.path, e)]
            waited = time.monotonic() - began
            if waited >= timeout or (stop is not None and stop.is_set()):
                self._close()
                return [self._taken()]
            if waited >= SLOW and not told and on_wait is not None:
                told = True
                on_wait()
            pause = min(delay, timeout - waited)
            if stop is not None:
                stop.wait(pause)
            else:
                time.sleep(pause)
            delay = min(delay * 2, 1.0)
        self.info = new_lock_info(operation, self.path, info)
        try:
            descriptor = os.open(info_path(self.path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(self.info.to_json())
        except OSError as e:
            self.release()
            return [_os_problem("write the lock info of", self.path, e)]
        return []

    def _try(self) -> bool:
        """Whether the lock could be taken on the file that now stands at the path."""
        import fcntl

        if self.descriptor is None:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            self._created = not os.path.exists(self.path)
            self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        # A writer replaces the file: the one that was opened may not be the state any more.
        try:
            if os.path.samestat(os.fstat(self.descriptor), os.stat(self.path)):
                return True
        except FileNotFoundError:
            pass
        self._close()
        return self._try()

    def is_taken(self) -> bool:
        """Whether another process holds the lock."""
        import fcntl

        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def follow(self, descriptor: int) -> None:
        """Hold the lock on the file behind `descriptor` too, which is about to take the place of the state file."""
        import fcntl

        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if self.descriptor is not None:
            self._replaced.append(self.descriptor)
        self.descriptor = descriptor
        self._created = False

    def release(self) -> list[Diagnostic]:
        """Give the lock back. An empty file that only the lock created disappears."""
        if self.info is None:
            return []
        found: list[Diagnostic] = []
        try:
            os.remove(info_path(self.path))
        except FileNotFoundError:
            pass
        except OSError as e:
            found.append(_os_problem("remove the lock info of", self.path, e))
        try:
            if self._created and os.path.getsize(self.path) == 0:
                os.remove(self.path)
        except OSError:
            pass
        self.info = None
        self._close()
        return found

    def _close(self) -> None:
        for descriptor in (*self._replaced, self.descriptor):
            if descriptor is not None:
                os.close(descriptor)
        self._replaced, self.descriptor = [], None

    def _taken(self) -> Diagnostic:
        holder = read_lock_info(self.path)
        who = f"\n\n{holder.describe()}" if holder else " Nothing says which."
        return error(
            "state.locked",
            "Error acquiring the state lock",
            f"Another process holds the lock on {self.path}. Wait until it is done, allow waiting with -lock-timeout, "
            f"or, when you are sure that nothing runs any more, release the lock with force-unlock.{who}",
        )


def force_unlock(state_path: str, lock_id: str) -> list[Diagnostic]:
    """Remove the lock info that a process left behind, if it is the one with this id and no process holds the lock."""
    holder = read_lock_info(state_path)
    if holder is None:
        return [error("state.not_locked", "The state is not locked", f"No lock is recorded for {state_path}.")]
    if holder.id != lock_id:
        return [
            error(
                "state.lock_id",
                "Wrong lock id",
                f'The lock on {state_path} has the id "{holder.id}", not "{lock_id}".\n\n{holder.describe()}',
            )
        ]
    try:
        os.remove(info_path(state_path))
    except OSError as e:
        return [_os_problem("remove the lock info of", state_path, e)]
    return []


def _os_problem(verb: str, path: str, e: OSError) -> Diagnostic:
    return error("state.file", f"Cannot {verb} the state file", f"{path}: {e.strerror or e}.")

"""Installs files that other processes use, and locks files between processes. A file is written next to its destination
and then renamed, so that no process sees an incomplete file."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from planner.foundation.vocabulary.diagnostic import InstallError

_POLL = 0.1
_SLOW = 5.0


@contextmanager
def locked(path: Path, waiting: Callable[[], object] = bool, stop: Callable[[], object] = bool) -> Iterator[None]:
    """A context in which a file is locked with a POSIX record lock, which other programs of the ecosystem respect.
    `waiting` is called once if the lock is not available soon. `stop` returns whether to stop waiting. Raises
    InstallError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as problem:
        raise InstallError(f"{path} cannot be written: {problem.strerror or problem}") from None
    with file:
        began, is_reported = time.monotonic(), False
        while True:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except (BlockingIOError, PermissionError):
                if stop():
                    raise InstallError("interrupted") from None
                if not is_reported and time.monotonic() - began > _SLOW:
                    is_reported = True
                    waiting()
                time.sleep(_POLL)
            except OSError as problem:
                raise InstallError(f"{path} cannot be locked: {problem.strerror or problem}") from None
        yield  # closing the file releases the lock


@contextmanager
def beside(place: Path) -> Iterator[Path]:
    """A context with a new temporary directory next to a destination, which the caller must have locked. The directory
    is removed at the end; the temporary directories of killed runs are removed first. Converts OSError, also from the
    body of the context, to InstallError."""
    prefix = f".{place.name}.new-"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        for old in place.parent.glob(f"{prefix}*"):
            shutil.rmtree(old, ignore_errors=True)
        folder = Path(mkdtemp(prefix=prefix, dir=place.parent))
    except OSError as problem:
        raise InstallError(f"{place.parent} cannot be written: {problem.strerror or problem}") from None
    try:
        yield folder
    except OSError as problem:
        where = f" ({problem.filename})" if problem.filename else ""
        raise InstallError(f"{problem.strerror or problem}{where}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove(place: Path) -> None:
    """Remove a file, link or directory, if it exists. Raises OSError."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.exists():
        shutil.rmtree(place)


def copy_directory(source: Path, target: Path) -> None:
    """Copy a directory; links are copied as links. Raises OSError."""
    shutil.copytree(source, target, symlinks=True)
    os.chmod(target, 0o755)

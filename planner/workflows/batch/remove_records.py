"""Removes records of old runs, with their plans and values."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import frozen
from planner.workflows.batch import FOLDER
from planner.workflows.batch.record import Record, is_run, take

MOST = 200
"""number of records that are kept even if `batch clean` is never used; older records are removed when a run starts"""


@frozen
class Cleaned:
    """The records that were removed. `size`: their size in bytes. `kept`: old records that were not removed, because
    their runs can still be resumed."""

    removed: tuple[str, ...]
    size: int
    kept: tuple[str, ...] = ()


def clean(root: str, keep: int, age: float, is_tried: bool = False) -> Cleaned:
    """Remove the records of a fleet, except the newest `keep` records and all records younger than `age` seconds. The
    newest record is also kept if it is of an interrupted run that made changes. `is_tried`: remove nothing, and return
    the records that would be removed. Raises Failure if another batch is running or a record cannot be removed."""
    held = take(root, "clean", True, 0.0)
    try:
        names = runs(root)
        old = names[: max(0, len(names) - keep)]
        old = [name for name in old if _age(root, name) >= age]
        open_ = [name for name in old if name == names[-1] and not _is_over(root, name)]
        gone, size = [], 0
        for name in old:
            if name in open_:
                continue
            size += _size(os.path.join(root, FOLDER, name))
            if not is_tried:
                _remove(os.path.join(root, FOLDER, name))
            gone.append(name)
        if not is_tried and keep == 0 and len(gone) == len(names):
            shutil.rmtree(os.path.join(root, FOLDER, "facts"), ignore_errors=True)
        return Cleaned(tuple(gone), size, tuple(open_))
    finally:
        if held is not None:
            held.release()


def retain(root: str, most: int = MOST) -> None:
    """Remove the records older than the newest `most`, except those of interrupted runs that made changes."""
    names = runs(root)
    for name in names[: max(0, len(names) - most)]:
        if _is_over(root, name):
            shutil.rmtree(os.path.join(root, FOLDER, name), ignore_errors=True)


def runs(root: str) -> list[str]:
    """Names of the records, oldest first."""
    return sorted(_names(root))


def _names(root: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(os.path.join(root, FOLDER)))
    except OSError:
        return
    for entry in entries:
        if is_run(entry.name) and entry.is_dir(follow_symlinks=False):
            yield entry.name


def _is_over(root: str, name: str) -> bool:
    """Whether a run's record may be removed: the run has ended, never started, or makes no changes."""
    record = Record(root, name)
    try:
        if record.asked().get("command") in ("plan", "validate"):
            return True
    except Failure:
        return True  # interrupted before it began
    return any(event.get("event") == "ended" for event in record.events())


def _age(root: str, name: str) -> float:
    try:
        return time.time() - os.stat(os.path.join(root, FOLDER, name)).st_mtime
    except OSError:
        return 0.0


def _size(folder: str) -> int:
    return sum(os.lstat(os.path.join(at, name)).st_size for at, _, names in os.walk(folder) for name in names)


def _remove(folder: str) -> None:
    """Remove a directory. Raises Failure."""
    try:
        shutil.rmtree(folder)
    except OSError as problem:
        detail = f"{problem.filename or folder}: {problem.strerror or problem}."
        raise Failure(error("batch.clean", "A record cannot be removed", detail)) from None

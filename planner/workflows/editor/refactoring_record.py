"""Writes and undoes refactorings. A file in the data directory records the former contents of the edited files."""

from __future__ import annotations

import base64
import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from planner.foundation.support.digests import sha256_of
from planner.foundation.support.disk import path_exists, read_whole, replace_file
from planner.foundation.vocabulary.diagnostic import Failure
from planner.operations.options import OperationOptions
from planner.workflows.editor.key_edits import refusal
from planner.workflows.editor.refactoring import ObjectMove, Refactoring
from planner.world.state.workspace import data_directory

_RECORD = "refactorings.json"
_BY_INIT = ("modules.json", ".terraform.lock.hcl")
"""names of files that `init` writes; if `init` has changed them since the refactoring, `undo` leaves them unchanged"""
_MOST_KEPT = 20
"""maximum number of recorded refactorings, which can be undone one after the other"""


def write(options: OperationOptions, made: Refactoring, words: Sequence[str]) -> None:
    """Record the former contents of the files, move objects between states if the refactoring does, and write the
    files. If a step fails, files and states are restored. Raises Failure."""
    for name, text in made.former.items():
        if _content(name) != _bytes(text):
            raise refusal(f"{os.path.relpath(name)} was changed meanwhile. Nothing was written.")
        # a file can be replaced without write permission for it
        if text is not None and not os.stat(name).st_mode & 0o222:
            raise refusal(f"{os.path.relpath(name)} is read-only. Nothing was written.")
    path = _record_path(options)
    entry = {
        "command": list(words),
        "files": [
            {
                "path": os.path.relpath(name, os.path.abspath(options.directory)),
                "before": _base64(_bytes(made.former[name])),
                "after": _digest(_bytes(made.texts[name])),
            }
            for name in sorted(made.texts)
        ],
    }
    if made.states is not None:
        entry["states"] = made.states.record(os.path.abspath(options.directory))
    contents = [(name, _bytes(text), _bytes(made.former[name])) for name, text in made.texts.items()]
    new = [one for one in contents if one[2] is None]
    rest = sorted((one for one in contents if one[2] is not None), key=lambda one: one[1] is None)
    try:
        with _alone(path):
            kept = _record(path)
            record: FileChange = (path, _record_data([*kept, entry][-_MOST_KEPT:]), _record_data(kept))
            _replace_all([record, *new], lambda: _move_and_replace(options, made.states, rest))
    except OSError as problem:
        raise _unwritten(problem) from None


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """Context in which the directory of the record is locked against other refactorings. Raises OSError."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # the file system has no such locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _move_and_replace(options: OperationOptions, states: ObjectMove | None, files: list[FileChange]) -> None:
    """Move objects to the other state, then replace the files. If the files cannot be replaced, move the objects
    back."""
    if states is None:
        return _replace_all(files)
    states.carry_out(options)
    try:
        _replace_all(files)
    except BaseException:
        states.take_back(options)
        raise


def _unwritten(problem: OSError) -> Failure:
    return refusal(f"{problem.filename}: {problem.strerror or problem}. All files have their former content.")


FileChange: TypeAlias = tuple[str, "bytes | None", "bytes | None"]
"""(path, new content, former content); None as new content removes the file, and None as former content means that the
file did not exist"""


def _replace_all(files: Iterable[FileChange], then: Callable[[], None] = lambda: None) -> None:
    """Replace files, then call `then`. If a step fails, restore the files. Raises OSError, and the exceptions of
    `then`."""
    begun = []
    try:
        for name, data, former in files:
            begun.append((name, former))
            _put(name, data, 0o600 if name.endswith(_RECORD) else 0o666)
        then()
    except BaseException:
        for name, former in reversed(begun):
            if _content(name) != former:
                _put(name, former)
        raise


def _put(name: str, data: bytes | None, mode: int = 0o666) -> None:
    """Replace a file. If `data` is None, remove the file and the directories that become empty. Raises OSError."""
    if data is not None:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        replace_file(name, data, mode)
        return
    with suppress(FileNotFoundError):
        os.remove(name)
    with suppress(OSError):
        os.removedirs(os.path.dirname(name))


def _content(path: str) -> bytes | None:
    """The content of a file; None if it cannot be read."""
    try:
        return read_whole(path)
    except (OSError, ValueError):
        return None


def _bytes(text: str | None) -> bytes | None:
    return text.encode() if text is not None else None


def _base64(data: bytes | None) -> str | None:
    return base64.b64encode(data).decode() if data is not None else None


def _digest(data: bytes | None) -> str:
    return sha256_of(data) if data is not None else ""


def undo(
    options: OperationOptions,
    move_of: Callable[[Mapping[str, Any], str], ObjectMove] | None = None,
    is_written: bool = True,
) -> tuple[list[str], dict[str, tuple[str | None, str | None]]]:
    """Undo the last refactoring. Returns its command, and {name: (content before undo, content after undo)}; None as
    content means that the file does not exist. `move_of`: a function that reads the record of a move of objects. If
    `is_written` is false, nothing is changed. Raises Failure if no refactoring is recorded, or if a file has changed
    since the refactoring."""
    path = _record_path(options)
    if not path_exists(path):
        raise refusal("There is no refactoring to undo.")
    with _alone(path):
        return _undo(options, path, move_of, is_written)


def _undo(
    options: OperationOptions,
    path: str,
    move_of: Callable[[Mapping[str, Any], str], ObjectMove] | None,
    is_written: bool,
) -> tuple[list[str], dict[str, tuple[str | None, str | None]]]:
    record = _record(path)
    if not record:
        raise refusal("There is no refactoring to undo.")
    entry = record[-1]
    folder = os.path.abspath(options.directory)
    files = []
    for one in entry["files"]:
        name = os.path.normpath(os.path.join(folder, one["path"]))
        now, before = _content(name), base64.b64decode(one["before"]) if one["before"] is not None else None
        if now != before and _digest(now) != one["after"]:
            if name.endswith(_BY_INIT):
                continue
            raise refusal(f"{one['path']} was changed after the refactoring; nothing was undone.")
        files.append((name, before, now))
    last = [(path, _record_data(record[:-1]), _record_data(record))]
    states = move_of(entry["states"], folder) if move_of is not None and "states" in entry else None
    old, new = ([one for one in files if (one[1] is None) == is_new] for is_new in (False, True))

    def take_back() -> None:
        if states is not None:
            states.take_back(options)
        _replace_all([*new, *last])

    try:
        if is_written:
            _replace_all(old, take_back)
    except OSError as problem:
        raise _unwritten(problem) from None
    texts = {os.path.relpath(name): (_as_text(now), _as_text(before)) for name, before, now in files}
    return list(entry["command"]), texts


def _as_text(data: bytes | None) -> str | None:
    return data.decode("utf-8", "replace") if data is not None else None


def _record_path(options: OperationOptions) -> str:
    return os.path.join(os.path.abspath(options.directory), data_directory(os.environ), _RECORD)


def _record(path: str) -> list[dict[str, Any]]:
    """The recorded refactorings, oldest first; [] if there is no record. Raises Failure if the file is not a valid
    record."""
    try:
        entries = json.loads(read_whole(path))
        texts = [text for entry in entries for text in entry["command"]]
        for one in (one for entry in entries for one in entry["files"]):
            texts += one["path"], one["after"]
            base64.b64decode(one["before"] or "", validate=True)
        if not isinstance(entries, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError(path)
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):
        raise refusal(f"{os.path.relpath(path)} is not a record of refactorings: remove it.") from None
    return list(entries)


def _record_data(entries: list[dict[str, Any]]) -> bytes:
    return json.dumps(entries, indent=1).encode()

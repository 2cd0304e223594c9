"""Records the files and directories that are read while a unit is processed, with digests of their content. Later they
are compared with the current content. Python's audit events report the reads.

An entry is [path, kind, time, size, digest]. Kinds: file; folder (the names in a directory, without those that change
in every run); names (all names in a directory; `own names` if this is the directory of the run); outputs (a state that
another unit writes, of which only the outputs are compared); missing; until (`time` is the end of the result's
validity). The size is combined with the inode, because a symbolic link may point to another file with the same time and
size. The time is ctime, in nanoseconds, because programs cannot set ctime. A file counts as unchanged if its time and
size are equal. The digests are compared if they differ, or if the file had changed less than RACY nanoseconds before it
was recorded. An entry for a missing file has the time of the nearest existing parent directory and, instead of a size,
the path of that directory. While that directory is unchanged, the file is still missing."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from planner.foundation.support.assets import PACKAGE, cache_dir, rules_path
from planner.foundation.support.digests import blake2b
from planner.foundation.support.disk import LISTED, LOOKED, TIMED, read_whole, remove_leftovers
from planner.workflows.batch import FOLDER

Entry = list[Any]
A_FOLDER = "a folder"
"""digest of a directory that was opened like a file"""
RACY = 20_000_000
"""nanoseconds in which a file may change without a new time, because file systems' clocks are coarse"""
NANO = 1_000_000_000
RECORDS = f"{os.sep}{FOLDER}{os.sep}"
"""the records of runs, which are not compared"""
SHARED_MEMORY = "/dev/shm/"
"""the only directory below /dev with ordinary files"""
_ASKS = (LOOKED, LISTED)
"""audit events of the functions of the configuration language that read files"""
_KINDS = {"os.listdir": "folder", "os.scandir": "folder", LISTED: "names"}
_FOLDERS = ("folder", "names", "own names")
_IMPORTS = "<frozen importlib._bootstrap_external>"
_LOOKS = ("open", "os.listdir", "os.scandir", LOOKED, LISTED, TIMED)
_PASSING = (".planner", ".terraform", "terraform.tfstate")
_IGNORED_NAMES = (".lock.info", ".pyc", ".py", ".so", ".tmp")


_MIX, _MOST = 0x9E3779B97F4A7C15, 1 << 62

Looked = dict[str, tuple[str, int, int, str]]
"""{path: (kind, time, size, digest of the names in a directory or "")} at the first read"""


class _Own(threading.local):
    """Data of a thread. `looks`: whether the recorder itself is reading files; these reads are not recorded."""

    looks = False


class FileRecorder:
    """Records the files that are opened and the directories that are listed while the recorder is active. At most one
    recorder is active in a process."""

    def __init__(self) -> None:
        self.paths: Looked | None = None
        self.has_unseen = False
        """whether a function of the configuration has read the time or a file that is not recorded"""
        self._home = ""
        self._known: set[str] = set()
        self._installed = False
        self._ignored: tuple[str, ...] = ()
        self._passing: re.Pattern[str] | None = None
        self._own = _Own()

    def install(self) -> None:
        if self._installed:
            return
        self._installed = True
        homes = [os.path.dirname(os.__file__), PACKAGE, str(rules_path()), "/proc", "/sys"]
        homes += [path for path in sys.path if path.endswith("-packages")]
        cache = cache_dir()
        homes += [str(cache)] if cache is not None else []
        self._ignored = tuple(f"{home}/" for home in homes)
        self._passing = _own_folders()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.paths is None or event not in _LOOKS or self._own.looks:
            return
        path = arguments[0]
        if event == TIMED:
            self._limit(path)
            return
        if path in self._known and event not in _ASKS:
            return
        if path is None:
            path = "."
        elif type(path) is bytes:
            path = os.fsdecode(path)
        if type(path) is not str:
            return  # a file descriptor; its opening was recorded already
        if event == "open" and _writes(arguments):
            return
        if event == "os.listdir" and _is_tidying(sys._getframe(1).f_code):
            return
        if event in _ASKS and not self._counts(self._full(path)):
            self.has_unseen = True
        self.look(path, _KINDS.get(event, "file"))

    def _limit(self, until: int) -> None:
        """Record that the result is valid until this time, in seconds since 1970. If the time has passed already, the
        result cannot be reused."""
        assert self.paths is not None
        earlier = self.paths.get(TIMED)
        if until <= time.time():
            self.has_unseen = True
        elif earlier is None or until * NANO < earlier[1]:
            self.paths[TIMED] = ("until", until * NANO, 0, "")

    def look(self, path: str, kind: str = "file") -> None:
        """Record that a path is being read. `kind`: file, folder, or names (a directory that a function of the
        configuration lists)."""
        paths = self.paths
        assert paths is not None
        self._known.add(path)
        path = self._full(path)
        key = path
        if kind == "names":
            key = os.path.join(path, ".")  # a separate key, apart from other entries about the directory
            kind = "own names" if path == self._home else kind
        if key not in paths and self._counts(path):
            self._own.looks = True  # this listing is not recorded; other threads still record
            try:
                paths |= looked_at(key, kind)
            finally:
                self._own.looks = False

    def _full(self, path: str) -> str:
        """The absolute path. It is normalized unless ".." follows a symbolic link, because the normalized path would
        then be a different file."""
        full = os.path.join(self._home, path)
        short = os.path.normpath(full)
        if ".." not in path or os.path.realpath(os.path.dirname(full)) == os.path.realpath(os.path.dirname(short)):
            return short
        return full

    def _counts(self, path: str) -> bool:
        """Whether reads of this path are recorded. Excluded are files of planner, Python and the system, and files that
        change in every run."""
        if RECORDS in path or path.endswith(_IGNORED_NAMES):
            return False
        if path.startswith("/dev/") and not path.startswith(SHARED_MEMORY):
            return False
        return not path.startswith(self._ignored) and not self._is_own(path)

    def _is_own(self, path: str) -> bool:
        """Whether a path is in a temporary directory that planner made. False if the unit runs in that directory."""
        result = self._passing.match(path) if self._passing is not None else None
        return result is not None and not f"{self._home}/".startswith(f"{result[0].rstrip('/')}/")

    def begin_again(self) -> None:
        assert self.paths is not None
        self.paths.clear()
        self._known.clear()

    def look_again(self, folder: str) -> None:
        """Record the paths below a directory again, because this process has changed them."""
        paths = self.paths
        assert paths is not None
        inside = os.path.normpath(os.path.join(self._home, folder)) + os.sep
        for path in [path for path in paths if path.startswith(inside)]:
            self.look(path, paths.pop(path)[0].removeprefix("own "))

    def compared(self) -> Looked:
        """The recorded paths. Empty if the result cannot be reused, because a function of the configuration has read
        the time or a file that is not recorded."""
        assert self.paths is not None
        return {} if self.has_unseen else dict(self.paths)

    def has_seen(self, path: str, looked: Looked) -> bool:
        return self._full(path) in looked

    @contextmanager
    def recording(self) -> Iterator[Looked]:
        """Record reads until the context ends. Relative paths refer to the working directory at its start."""
        self.install()
        looked: Looked = {}
        self._home, self._known = os.getcwd(), set()
        self.has_unseen = False
        self.paths = looked
        try:
            yield looked
        finally:
            self.paths = None


def _own_folders() -> re.Pattern[str]:
    """A pattern that matches paths in planner's temporary directories. The names of these directories differ in each
    run."""
    return re.compile(f"(?:{re.escape(tempfile.gettempdir())}|/tmp)/planner-[a-z0-9_]{{8}}(?:/|$)")


def _is_tidying(code: CodeType) -> bool:
    """Whether directory listings by this code are not recorded, because the code searches for Python modules or removes
    files that killed processes left behind."""
    return code.co_filename == _IMPORTS or code is remove_leftovers.__code__


def _writes(arguments: tuple[Any, ...]) -> bool:
    mode, flags = arguments[1], arguments[2]
    if type(mode) is str:
        return any(letter in mode for letter in "wax")
    return bool(type(flags) is int and flags & (os.O_WRONLY | os.O_CREAT | os.O_TRUNC))


RECORDER = FileRecorder()


def _stat(path: str) -> tuple[int, int]:
    """(ctime, size combined with the inode); (-1, -1) for a missing file."""
    try:
        status = os.stat(path)
    except OSError:
        return -1, -1
    return status.st_ctime_ns, (status.st_size + status.st_ino * _MIX) % _MOST


def looked_at(path: str, kind: str) -> Looked:
    return {path: (kind, *_stat(path), digest(path, kind) if kind in _FOLDERS else "")}


# ---------------------------------------------------------------- recording


def entries(paths: Looked, foreign_states: Collection[str] = ()) -> list[Entry] | None:
    """An entry for each recorded path, with a digest of its content. None if a file has changed since it was read.
    `foreign_states`: states of other units; only the outputs of such a state are compared."""
    listed: list[Entry] = []
    now, folders = time.time_ns(), dict[str, tuple[str, int]]()
    for path in sorted(paths):
        kind, changed, size, names = paths[path]
        if kind == "until":
            listed.append([path, kind, changed, size, names])
            continue
        after = _stat(path)
        if changed == -1:
            if after[0] != -1:
                return None
            folder = os.path.dirname(path)
            if folder not in folders:
                place = _folder_above(path)
                folders[folder] = place, _stat(place)[0]
            place, changed = folders[folder]
            if changed > now - RACY or _is_behind_link(path):
                changed = 0
            listed.append([path, "missing", changed, place, ""])
            continue
        if kind == "file" and (changed, size) != after:
            return None
        kind = "outputs" if path in foreign_states else kind
        content = _content(path, kind, changed, size, now)
        if kind in _FOLDERS:
            if content != names:
                return None
            changed, size = after  # the time may differ because of temporary files, such as locks
        if changed > now - RACY:
            changed = 0  # an impossible time, so that the content is compared
        listed.append([path, kind, changed, size, content])
    return listed


_LARGE = 1 << 20
_CONTENTS: dict[tuple[str, int, int], str] = {}
"""{(path, time, size): digest} of large files, because many units use the same plugins"""


def _content(path: str, kind: str, changed: int, size: int, now: int) -> str:
    """The digest of a file or directory. The digest of a large file is cached, except if the file changed less than
    RACY nanoseconds ago."""
    if kind != "file" or changed > now - RACY or not _is_large(path):
        return digest(path, kind)
    key = path, changed, size
    if key not in _CONTENTS:
        _CONTENTS[key] = digest(path, kind)
    return _CONTENTS[key]


def _is_behind_link(path: str) -> bool:
    """Whether the path of a missing file contains a symbolic link. Then the file may appear although its nearest
    existing parent directory is unchanged."""
    return os.path.realpath(path) != path


def _is_large(path: str) -> bool:
    try:
        return os.path.getsize(path) >= _LARGE
    except OSError:
        return False


def with_settled_time(entry: Entry) -> Entry:
    """The entry, with its time added if the time was omitted because the file had just changed. The time is added only
    if the file is unchanged and has not changed in the last RACY nanoseconds."""
    path, kind, changed, size, content = entry
    if changed or kind == "until" or (kind == "missing" and _is_behind_link(path)):
        return entry
    now = _stat(size if kind == "missing" else path)
    if not 0 < now[0] < time.time_ns() - RACY or digest(path, kind) != content:
        return entry
    return [path, kind, now[0], size if kind == "missing" else now[1], content]


def _folder_above(path: str) -> str:
    while True:
        path = os.path.dirname(path)
        if os.path.isdir(path) or path == os.path.dirname(path):
            return path


def digest(path: str, kind: str) -> str:
    try:
        if kind == "missing":
            return "" if not os.path.exists(path) else "there"
        if kind in _FOLDERS:
            is_passing = _PASSES[kind]
            names = sorted(name for name in os.listdir(path) if not is_passing(name))
            return _short("\0".join(names).encode("utf-8", "surrogateescape"))
        data = read_whole(path)
    except IsADirectoryError:
        return A_FOLDER
    except OSError:
        return "unreadable"
    return _short(_outputs(data) if kind == "outputs" else data)


def _is_passing(name: str) -> bool:
    """Whether a file or directory with this name may appear or disappear in every run. Such names are ignored when
    listings are compared. The content of states and data directories is compared if it was read."""
    return name.endswith((".lock.info", ".tmp", ".backup")) or name in _PASSING


def _is_ours(name: str) -> bool:
    """Whether a run creates a file with this name in the unit's directory when it locks the state."""
    return name in ("terraform.tfstate", ".terraform.tfstate.lock.info")


_PASSES = {"folder": _is_passing, "names": lambda name: False, "own names": _is_ours}


def _outputs(data: bytes) -> bytes:
    try:
        return json.dumps(json.loads(data or b"null").get("outputs"), sort_keys=True).encode()
    except (ValueError, AttributeError):
        return data


def _short(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


# ---------------------------------------------------------------- comparing


class ReadComparison:
    """Checks recorded entries against the file system. Each path is checked once."""

    def __init__(self) -> None:
        self.stats: dict[str, tuple[int, int]] = {}
        self.digests: dict[tuple[str, str], str] = {}

    def is_same(self, path: str, kind: str, changed: int, size: Any, content: str) -> bool:
        if kind == "until":
            return time.time_ns() < changed
        looked = size if kind == "missing" else path
        now = self.stats.get(looked)
        if now is None:
            now = self.stats[looked] = _stat(looked)
        if now[0] == changed and (kind == "missing" or now[1] == size):
            return True
        key = (path, kind)
        if key not in self.digests:
            self.digests[key] = digest(path, kind)
        return self.digests[key] == content

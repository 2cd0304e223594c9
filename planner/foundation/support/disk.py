"""Reads and replaces complete files; replaced files (states, backups, plans) are flushed to disk before they are
reported as written."""

from __future__ import annotations

import errno
import gc
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Protocol

_CANNOT = frozenset((errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM))

_BLOCK = 1 << 20
MOST_BYTES = 2 << 30
"""the maximum number of bytes that are read from a file"""
MOST_STREAMED = 64 << 20
"""the maximum number of bytes that are read from files without a size"""


class Entry(Protocol):
    """A directory entry, either on the disk (os.DirEntry) or in a tree."""

    @property
    def name(self) -> str:
        """The name of the entry in its directory."""

    def is_dir(self) -> bool:
        """Whether the entry is a directory or a link to one. Raises OSError."""


class TreeEntry:
    """A directory entry in a tree."""

    __slots__ = ("_is_dir", "name")

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name, self._is_dir = name, is_dir

    def is_dir(self) -> bool:
        """Whether the entry is a directory or a link to one."""
        return self._is_dir


class UnrecordedError(OSError):
    """The tree has no content of a file, and it is unknown whether the content has changed."""


class ChangedError(UnrecordedError):
    """The tree has no content of a file, but it is known that the content has changed."""


class Tree(Protocol):
    """The files below a directory as they were at another time. Names are relative to the directory, in the shortest
    spelling; they may contain links."""

    @property
    def root(self) -> str:
        """The absolute path of the directory, with links resolved."""

    def read(self, name: str) -> bytes:
        """The content of a file. Raises OSError."""

    def entries(self, directory: str) -> Iterable[Entry]:
        """The files and directories in a directory; `.` is the root. Raises OSError."""


_DIRECTORY: ContextVar[str] = ContextVar("working directory", default="")


@contextmanager
def working_in(directory: str) -> Iterator[None]:
    """A context in which relative paths of configurations start from this absolute directory, instead of the current
    directory of the process, which all threads share."""
    token = _DIRECTORY.set(directory)
    try:
        yield
    finally:
        _DIRECTORY.reset(token)


def working_directory() -> str:
    """The absolute directory at which relative paths of configurations start."""
    return _DIRECTORY.get() or os.getcwd()


def on_disk(path: str | os.PathLike[str]) -> str:
    """The path of a file for the operating system: relative ones start at the working directory."""
    return os.path.join(_DIRECTORY.get(), path)


def absolute_path(path: str) -> str:
    """The absolute path of a file, in its shortest spelling."""
    return os.path.normpath(os.path.join(working_directory(), path))


def repository_of(directory: str) -> str:
    """The directory with `.git` that contains a directory, as an absolute path without links; "" if there is none."""
    here = os.path.realpath(directory)
    while not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return ""
        here = parent
    return here


_TREE: ContextVar[Tree | None] = ContextVar("tree", default=None)


@contextmanager
def view(tree: Tree | None) -> Iterator[None]:
    """A context in which configurations and their functions read files below the tree's root from the tree, under the
    same paths, and all other files from the disk. None: all files are read from the disk. The innermost view applies.
    """
    token = _TREE.set(tree)
    try:
        yield
    finally:
        _TREE.reset(token)


_HASHED: ContextVar[bool] = ContextVar("hashed", default=False)


@contextmanager
def hashing() -> Iterator[None]:
    """A context in which files are read only to compute digests: if the earlier content of a file is unknown, any
    different content can replace it."""
    token = _HASHED.set(True)
    try:
        yield
    finally:
        _HASHED.reset(token)


def is_hashed() -> bool:
    """Whether files are only read for digests."""
    return _HASHED.get()


def _name_in(tree: Tree, path: str | os.PathLike[str]) -> str | None:
    """The name of a path in a tree; None for a path outside of it. Raises ValueError for an impossible name."""
    absolute = os.path.join(working_directory(), path)
    root = tree.root.rstrip("/")
    for candidate in (os.path.normpath(absolute), os.path.realpath(absolute)):
        if candidate == root:
            return "."
        if candidate.startswith(f"{root}/"):
            return candidate[len(root) + 1 :]
    return None


def _entry_in(tree: Tree, name: str) -> Entry | None:
    """The entry of a name in a tree; None if it does not exist."""
    if name == ".":
        return TreeEntry(".", True)
    parent, _, last = name.rpartition("/")
    try:
        return next((entry for entry in tree.entries(parent or ".") if entry.name == last), None)
    except OSError:
        return None


def replace_file(
    path: str,
    data: bytes,
    mode: int = 0o666,
    ready: Callable[[int], bool] | None = None,
    durable: bool = True,
) -> None:
    """Replace a file with these bytes atomically: the file is always either the old or the new one. An existing file
    keeps its permissions, a new one gets `mode` without the bits of the umask; files that are not regular, such as
    devices, are written to directly. `ready` is called with the descriptor of the new file just before the old file is
    replaced; if it returns True, the descriptor stays open. `durable`: whether the bytes must be on disk when the
    function returns. Raises OSError; in this case the old file is unchanged, unless the only failure was flushing its
    directory."""
    try:
        _replace(path, data, mode, ready, durable)
    except OSError as problem:
        problem.filename = problem.filename or path  # add the file name, which errors about descriptors lack
        raise


def _replace(path: str, data: bytes, mode: int, ready: Callable[[int], bool] | None, durable: bool) -> None:
    target = os.path.realpath(on_disk(path))
    if os.path.exists(target) and not os.path.isfile(target):
        descriptor = os.open(target, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # fails for a pipe without a reader
        try:
            os.set_blocking(descriptor, True)
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        return
    beside = f"{target}.{os.getpid()}.tmp"
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    kept = False
    try:
        write_all(descriptor, data)
        with suppress(FileNotFoundError):
            os.fchmod(descriptor, os.stat(target).st_mode & 0o7777)
        if durable:
            os.fsync(descriptor)
        if ready is not None:
            kept = ready(descriptor)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.remove(beside)
        raise
    finally:
        if not kept:
            os.close(descriptor)
    if durable:
        sync_directory(os.path.dirname(target))


def read_whole(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """The content of a file that the user has not named. A pipe or a device is refused, because reading it could block
    or never end; the null device counts as an empty file. Raises OSError, and ValueError for an impossible name."""
    tree = _TREE.get()
    if tree is not None and (name := _name_in(tree, path)) is not None:
        return tree.read(name)
    descriptor = os.open(on_disk(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        check_kind(descriptor, path)
        return _read(descriptor, most, path)
    finally:
        os.close(descriptor)


def read_given(path: str | os.PathLike[str], most: int = MOST_STREAMED) -> bytes:
    """The content of a file that the user named: it may be a pipe (`<(...)`, `/dev/stdin`), which is read to its end.
    Raises OSError, and ValueError for an impossible name."""
    mode = path_mode(path)
    if not stat.S_ISFIFO(mode) and not stat.S_ISCHR(mode):
        return read_whole(path)
    descriptor = os.open(on_disk(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read(descriptor, most, path)
    finally:
        os.close(descriptor)


def read_text(path: str | os.PathLike[str], given: bool = False) -> str:
    """The content of a UTF-8 file, with line breaks as "\n". `given`: whether the user named the file. Raises OSError
    and ValueError (including UnicodeDecodeError)."""
    return (read_given if given else read_whole)(path).decode("utf-8").replace("\r\n", "\n")


def list_directory(path: str) -> Sequence[Entry]:
    """The entries of a directory. Raises OSError, and ValueError for an impossible name."""
    tree = _TREE.get()
    if tree is not None and (name := _name_in(tree, path)) is not None:
        return list(tree.entries(name))
    with os.scandir(on_disk(path)) as entries:
        return list(entries)


def path_mode(path: str | os.PathLike[str]) -> int:
    """The type and the permissions of a file, as in `os.stat_result.st_mode`; links are followed. Raises OSError, and
    ValueError for an impossible name."""
    tree = _TREE.get()
    if tree is not None and (name := _name_in(tree, path)) is not None:
        entry = _entry_in(tree, name)
        if entry is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        return stat.S_IFDIR | 0o755 if entry.is_dir() else stat.S_IFREG | 0o644
    return os.stat(on_disk(path)).st_mode


def is_directory(path: str) -> bool:
    """Whether a path names a directory."""
    try:
        return stat.S_ISDIR(path_mode(path))
    except (OSError, ValueError):
        return False


def path_exists(path: str) -> bool:
    """Whether a directory has an entry of this name, which may be a link to a missing file."""
    tree = _TREE.get()
    if tree is not None and (name := _name_in(tree, path)) is not None:
        return _entry_in(tree, name) is not None
    return os.path.lexists(on_disk(path))


def real_path(path: str) -> str:
    """The absolute path of a directory without links; it is the same for all paths to the directory (in a view: for all
    spellings of one path)."""
    tree = _TREE.get()
    if tree is not None and _name_in(tree, path) is not None:
        return absolute_path(path)
    return os.path.realpath(on_disk(path))


def check_kind(descriptor: int, path: str | os.PathLike[str]) -> None:
    """Raises OSError for a file that is neither regular nor the null device."""
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISCHR(status.st_mode) or status.st_rdev != os.stat(os.devnull).st_rdev:
        raise OSError(errno.EINVAL, "Not a regular file", path)


def _read(descriptor: int, most: int, path: str | os.PathLike[str]) -> bytes:
    parts, size = [], 0
    # if the file has a size, it is read with one call
    block = min(max(os.fstat(descriptor).st_size + 1, _BLOCK), most + 1)
    while part := os.read(descriptor, block):
        parts.append(part)
        size += len(part)
        if size > most:
            raise OSError(errno.EFBIG, f"More than {most >> 20} MiB", path)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, with several calls if necessary. Raises OSError."""
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        view = view[written:]


def sync_directory(path: str) -> None:
    """Flush the entries of a directory to disk. Raises OSError, except if the file system does not support it."""
    try:
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        return  # a directory may be writable but not readable
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in _CANNOT:
            raise
    finally:
        os.close(descriptor)


def remove_leftovers(path: str) -> None:
    """Remove files that killed processes left in a file's directory: unfinished replacements of the file, or of files
    whose names begin with the same name (such as a backup)."""
    folder, name = os.path.split(os.path.realpath(path))
    with suppress(OSError):
        for entry in os.listdir(folder):
            if not entry.startswith(f"{name}.") or not entry.endswith(".tmp"):
                continue
            process = entry.removesuffix(".tmp").rpartition(".")[2]
            if process.isdecimal() and process.isascii() and not _runs(int(process)):
                os.remove(os.path.join(folder, entry))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process != os.getpid()


# Pauses Python's garbage collector while many permanent objects are created: collections would double the time.


@contextmanager
def collector_paused() -> Iterator[None]:
    """A context in which the garbage collector does not run (reference counting continues). Afterwards, the former
    setting is restored. Contexts may be nested."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# Records the reads of a configuration's functions: files, names in directories, and the time. The recorder also counts
# the states that were read from services, which cannot be compared like files. Reads from a tree are not recorded.


LOOKED = "planner.looked"
"""the audit event of a function that reads a file, or checks for one without opening it"""
LISTED = "planner.listed"
"""the audit event of listing the names in a directory"""
TIMED = "planner.timed"
"""the audit event of a result that depends on the current time"""


class Reads:
    """Reads by the functions of one configuration."""

    __slots__ = ("files", "lock_waits", "looked_at", "services", "time")

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.looked_at: dict[str, None] = {}
        self.services = 0
        self.lock_waits = 0


_READS: ContextVar[Reads] = ContextVar("reads", default=Reads())  # noqa: B039 -- of the process, which has one command


@contextmanager
def own_reads() -> Iterator[None]:
    """A context in which reads are recorded separately from those of other threads."""
    token = _READS.set(Reads())
    try:
        yield
    finally:
        _READS.reset(token)


class FilesUsed:
    """The files that functions read, and the files that matched their patterns."""

    __slots__ = ("matched", "read")

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.matched: set[str] = set()


_USED: ContextVar[FilesUsed | None] = ContextVar("files used", default=None)


@contextmanager
def files_used() -> Iterator[FilesUsed]:
    """A context that records the files that functions use, including files of a tree."""
    used = FilesUsed()
    token = _USED.set(used)
    try:
        yield used
    finally:
        _USED.reset(token)


def note_matches(paths: Iterable[str]) -> None:
    """Record that these files match the pattern of a function."""
    if (used := _USED.get()) is not None:
        used.matched.update(paths)


def note_file_read(path: str) -> None:
    """Record that a function has read the file."""
    if (used := _USED.get()) is not None:
        used.read.add(path)
    if _TREE.get() is None:
        _READS.get().files[path] = None
        sys.audit(LOOKED, path)


def files_read() -> tuple[str, ...]:
    """The names of the files as passed to the operating system, sorted."""
    return tuple(sorted(_READS.get().files))


def note_look(path: str) -> None:
    """Record that a function checks whether a file exists."""
    if _TREE.get() is not None:
        return
    _READS.get().looked_at[path] = None
    sys.audit(LOOKED, path)


def note_listing(path: str, are_all: bool) -> None:
    """Record that a function lists a directory; `are_all`: whether planner's own files are included."""
    if _TREE.get() is not None:
        return
    _READS.get().looked_at[path] = None
    if are_all:
        sys.audit(LISTED, path)


def looked_at() -> tuple[str, ...]:
    """The files that functions looked up, whether they exist or not, and the directories that they listed, sorted."""
    return tuple(sorted(_READS.get().looked_at))


def note_time(until: int = 0) -> None:
    """Record that a result depends on the current time. It is valid until this time, in seconds since 1970 (0: at no
    other time)."""
    if _TREE.get() is None:
        sys.audit(TIMED, until)


def note_service_read() -> None:
    """Record that a state was read from a service."""
    _READS.get().services += 1


def service_reads() -> int:
    """The number of states that this process has read from services."""
    return _READS.get().services


def note_lock_wait() -> None:
    """Record that the lock of a state was held by another process."""
    _READS.get().lock_waits += 1


def lock_waits() -> int:
    """The number of times that this process has waited for the lock of a state."""
    return _READS.get().lock_waits


def forget_files_read() -> None:
    """Forget all recorded reads before another configuration is evaluated."""
    reads = _READS.get()
    reads.files.clear()
    reads.looked_at.clear()

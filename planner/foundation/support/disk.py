"""Reads and replaces complete files. States, backups and plans are flushed to disk before they are reported as
written."""

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
MAX_BYTES = 2 << 30  # the maximum number of bytes that are read from a file
MAX_STREAMED = 64 << 20  # the maximum number of bytes that are read from a pipe or device


class Entry(Protocol):
    """A directory entry: os.DirEntry on the disk, TreeEntry in a tree."""

    @property
    def name(self) -> str:
        """The name of the entry in its directory."""

    def is_dir(self) -> bool:
        """Whether this is a directory, or a link to one. Raises OSError."""


class TreeEntry:
    """A directory entry in a tree."""

    __slots__ = ("_is_dir", "name")

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name, self._is_dir = name, is_dir

    def is_dir(self) -> bool:
        return self._is_dir


class UnrecordedError(OSError):
    """The tree does not contain the content of a file. It is unknown whether the content has changed."""


class ChangedError(UnrecordedError):
    """The tree does not contain the content of a file, and the content has changed."""


class Tree(Protocol):
    """The files below a directory in a version that differs from the one on disk, for example at a commit. Names are
    relative to the directory and normalized; they may contain links."""

    @property
    def root(self) -> str:
        """The absolute path of the directory, with links resolved."""

    def read(self, name: str) -> bytes:
        """The content of a file. Raises OSError."""

    def entries(self, directory: str) -> Iterable[Entry]:
        """The entries of a directory; `.` is the root. Raises OSError."""


_DIRECTORY: ContextVar[str] = ContextVar("working directory", default="")


@contextmanager
def working_in(directory: str) -> Iterator[None]:
    """A context in which `directory`, an absolute path, is the base of relative paths in configurations. The current
    directory of the process is not changed, because all threads share it."""
    token = _DIRECTORY.set(directory)
    try:
        yield
    finally:
        _DIRECTORY.reset(token)


def working_directory() -> str:
    """The absolute path of the directory that is the base of relative paths in configurations."""
    return _DIRECTORY.get() or os.getcwd()


def on_disk(path: str | os.PathLike[str]) -> str:
    """The path to pass to the operating system: a relative path is joined to the directory of `working_in`."""
    return os.path.join(_DIRECTORY.get(), path)


def absolute_path(path: str) -> str:
    return os.path.normpath(os.path.join(working_directory(), path))


def repository_of(directory: str) -> str:
    """The directory itself or its closest parent with `.git`, as an absolute path without links; "" if there is
    none."""
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
    """A context in which configurations and their functions read files below the tree's root from the tree. Other files
    are read from the disk. None: all files are read from the disk. Of nested views, only the innermost applies."""
    token = _TREE.set(tree)
    try:
        yield
    finally:
        _TREE.reset(token)


_HASHED: ContextVar[bool] = ContextVar("hashed", default=False)


@contextmanager
def hashing() -> Iterator[None]:
    """A context in which files are read only for digests. A tree may know that a file differs from the file on disk,
    but not have its content. Inside the context, any content that differs from the content on disk may be read for such
    a file."""
    token = _HASHED.set(True)
    try:
        yield
    finally:
        _HASHED.reset(token)


def is_hashed() -> bool:
    """Whether files are read only for digests (see `hashing`)."""
    return _HASHED.get()


def _name_in(tree: Tree, path: str | os.PathLike[str]) -> str | None:
    """The name of a path in a tree, None for a path outside. Raises ValueError for an invalid name."""
    absolute = os.path.join(working_directory(), path)
    root = tree.root.rstrip("/")
    for candidate in (os.path.normpath(absolute), os.path.realpath(absolute)):
        if candidate == root:
            return "."
        if candidate.startswith(f"{root}/"):
            return candidate[len(root) + 1 :]
    return None


def _entry_in(tree: Tree, name: str) -> Entry | None:
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
    """Replace a file atomically: it always has either the old or the new content. An existing file keeps its
    permissions; a new file has `mode` without the bits of the umask. Devices and pipes are written to directly. `ready`
    is called with the descriptor of the new file just before the replacement; if it returns True, the descriptor stays
    open. `durable`: whether the data must be on disk when the function returns. Raises OSError. The old file is then
    unchanged, except if only flushing the directory failed."""
    try:
        _replace(path, data, mode, ready, durable)
    except OSError as problem:
        problem.filename = problem.filename or path  # errors of descriptors have no file name
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


def read_whole(path: str | os.PathLike[str], most: int = MAX_BYTES) -> bytes:
    """The content of a file that the user has not named. Pipes and devices are refused, because reading them could
    block or never end; the null device counts as empty. Raises OSError, and ValueError for an invalid name."""
    tree = _TREE.get()
    if tree is not None and (name := _name_in(tree, path)) is not None:
        return tree.read(name)
    descriptor = os.open(on_disk(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        check_kind(descriptor, path)
        return _read(descriptor, most, path)
    finally:
        os.close(descriptor)


def read_given(path: str | os.PathLike[str], most: int = MAX_STREAMED) -> bytes:
    """The content of a file that the user named. A pipe (`<(...)`, `/dev/stdin`) or device is read to its end. The
    limit is `most` for pipes and devices, and MAX_BYTES for regular files. Raises OSError, and ValueError for an
    invalid name."""
    mode = path_mode(path)
    if not stat.S_ISFIFO(mode) and not stat.S_ISCHR(mode):
        return read_whole(path)
    descriptor = os.open(on_disk(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read(descriptor, most, path)
    finally:
        os.close(descriptor)


def read_text(path: str | os.PathLike[str], given: bool = False) -> str:
    r"""UTF-8 text with "\n" as line breaks. `given`: whether the user named the file. Raises OSError and ValueError
    (including UnicodeDecodeError)."""
    return (read_given if given else read_whole)(path).decode("utf-8").replace("\r\n", "\n")


def list_directory(path: str) -> Sequence[Entry]:
    """The entries of a directory. Raises OSError, and ValueError for an invalid name."""
    tree = _TREE.get()
    if tree is not None and (name := _name_in(tree, path)) is not None:
        return list(tree.entries(name))
    with os.scandir(on_disk(path)) as entries:
        return list(entries)


def path_mode(path: str | os.PathLike[str]) -> int:
    """`os.stat_result.st_mode` of a file; links are followed. Raises OSError, and ValueError for an invalid name."""
    tree = _TREE.get()
    if tree is not None and (name := _name_in(tree, path)) is not None:
        entry = _entry_in(tree, name)
        if entry is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        return stat.S_IFDIR | 0o755 if entry.is_dir() else stat.S_IFREG | 0o644
    return os.stat(on_disk(path)).st_mode


def is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(path_mode(path))
    except (OSError, ValueError):
        return False


def path_exists(path: str) -> bool:
    """Whether a file of this name exists; a link counts even if its target is missing."""
    tree = _TREE.get()
    if tree is not None and (name := _name_in(tree, path)) is not None:
        return _entry_in(tree, name) is not None
    return os.path.lexists(on_disk(path))


def real_path(path: str) -> str:
    """The absolute path of a directory with links resolved. For a path below the root of the current tree (see `view`),
    links are not resolved."""
    tree = _TREE.get()
    if tree is not None and _name_in(tree, path) is not None:
        return absolute_path(path)
    return os.path.realpath(on_disk(path))


def check_kind(descriptor: int, path: str | os.PathLike[str]) -> None:
    """Raises OSError if the file is neither regular nor the null device."""
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISCHR(status.st_mode) or status.st_rdev != os.stat(os.devnull).st_rdev:
        raise OSError(errno.EINVAL, "Not a regular file", path)


def _read(descriptor: int, most: int, path: str | os.PathLike[str]) -> bytes:
    parts, size = [], 0
    # a regular file is read with one call
    block = min(max(os.fstat(descriptor).st_size + 1, _BLOCK), most + 1)
    while part := os.read(descriptor, block):
        parts.append(part)
        size += len(part)
        if size > most:
            raise OSError(errno.EFBIG, f"The file is larger than {most >> 20} MiB", path)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the data, in several steps if necessary. Raises OSError."""
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        view = view[written:]


def sync_directory(path: str) -> None:
    """Flush a directory to disk, if it is readable and the file system supports this. Raises OSError."""
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
    """Remove temporary files that killed processes left next to `path`: unfinished replacements of this file, and of
    files whose names begin with its name (`terraform.tfstate.backup`) or with a dot and its name
    (`.terraform.tfstate.applied.json`)."""
    folder, name = os.path.split(os.path.realpath(path))
    with suppress(OSError):
        for entry in os.listdir(folder):
            if not entry.startswith((f"{name}.", f".{name}.")) or not entry.endswith(".tmp"):
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


@contextmanager
def collector_paused() -> Iterator[None]:
    """A context without garbage collection (reference counting continues), for creating many permanent objects, because
    collections would double the time. May be nested."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# Records reads by the functions of a configuration: files, directory listings, and the time. Also counts states that
# were read from services, because these states cannot be compared like files. Reads from a tree (see `view`) are not
# recorded.


LOOKED = "planner.looked"  # the audit event for reading a file, or for checking whether it exists
LISTED = "planner.listed"  # the audit event for listing a directory
TIMED = "planner.timed"  # the audit event of a result that depends on the current time


class Reads:
    __slots__ = ("files", "lock_waits", "looked_at", "services", "time")

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.looked_at: dict[str, None] = {}
        self.services = 0
        self.lock_waits = 0


_READS: ContextVar[Reads] = ContextVar("reads", default=Reads())  # noqa: B039 -- all threads share the default


@contextmanager
def own_reads() -> Iterator[None]:
    """A context in which the files read by this thread are recorded separately from those of other threads."""
    token = _READS.set(Reads())
    try:
        yield
    finally:
        _READS.reset(token)


class FilesUsed:
    """The files that functions of the language such as `file` read, and the files that match the patterns of functions
    such as `fileset`."""

    __slots__ = ("matched", "read")

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.matched: set[str] = set()


_USED: ContextVar[FilesUsed | None] = ContextVar("files used", default=None)


@contextmanager
def files_used() -> Iterator[FilesUsed]:
    """A context that records the files used by functions of the language, including files of a tree."""
    used = FilesUsed()
    token = _USED.set(used)
    try:
        yield used
    finally:
        _USED.reset(token)


def note_matches(paths: Iterable[str]) -> None:
    if (used := _USED.get()) is not None:
        used.matched.update(paths)


def note_file_read(path: str) -> None:
    if (used := _USED.get()) is not None:
        used.read.add(path)
    if _TREE.get() is None:
        _READS.get().files[path] = None
        sys.audit(LOOKED, path)


def files_read() -> tuple[str, ...]:
    """The paths of the files that functions of the language read, sorted, as they were passed to the operating
    system."""
    return tuple(sorted(_READS.get().files))


def note_look(path: str) -> None:
    if _TREE.get() is not None:
        return
    _READS.get().looked_at[path] = None
    sys.audit(LOOKED, path)


def note_listing(path: str, are_all: bool) -> None:
    """Record that a directory is listed. `are_all`: whether the pattern matches names with any ending, and therefore
    also files that planner writes."""
    if _TREE.get() is not None:
        return
    _READS.get().looked_at[path] = None
    if are_all:
        sys.audit(LISTED, path)


def looked_at() -> tuple[str, ...]:
    """Files that functions of the language checked for existence, and directories that they listed; sorted."""
    return tuple(sorted(_READS.get().looked_at))


def note_time(until: int = 0) -> None:
    """Record that a result depends on the current time. `until`: when it becomes invalid, in seconds since 1970 (0: it
    is valid only now)."""
    if _TREE.get() is None:
        sys.audit(TIMED, until)


def note_service_read() -> None:
    _READS.get().services += 1


def service_reads() -> int:
    return _READS.get().services


def note_lock_wait() -> None:
    _READS.get().lock_waits += 1


def lock_waits() -> int:
    return _READS.get().lock_waits


def forget_files_read() -> None:
    reads = _READS.get()
    reads.files.clear()
    reads.looked_at.clear()

"""Files that are read or replaced as a whole; the latter are on the disk when that is said: states, backups, plans."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress

_CANNOT = frozenset((errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM))

_BLOCK = 1 << 20


def replace_file(
    path: str,
    data: bytes,
    mode: int = 0o666,
    ready: Callable[[int], bool] | None = None,
    durable: bool = True,
) -> None:
    """Put these bytes in place of a file at once: whatever happens meanwhile, the file is the old or the new one.

    A file that exists keeps its permissions, a new one gets `mode` without the bits of the umask; what is no ordinary
    file, such as a device, is just written to. `ready` is called
    with the descriptor of the new file just before that takes the place; with True the descriptor stays open.
    `durable`: the bytes are on the disk when this returns. Raises OSError; the file is the old one then, except when
    its folder could not be flushed at the end."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb", buffering=0) as file:
            write_all(file.fileno(), data)
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


def read_whole(path: str) -> bytes:
    """What is in a file, with fewer calls than an object for a file takes. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, _BLOCK):
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything, however little a single call takes. Raises OSError."""
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        view = view[written:]


def sync_directory(path: str) -> None:
    """Flush the names in a folder. Raises OSError, but not where a file system cannot do that."""
    try:
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        return  # one may be allowed to write in a folder, but not to list it
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in _CANNOT:
            raise
    finally:
        os.close(descriptor)


def remove_leftovers(path: str) -> None:
    """Remove what processes that were killed while they replaced a file, or one whose name begins like its own (as that
    of a backup does), left in its folder."""
    folder, name = os.path.split(os.path.realpath(path))
    with suppress(OSError):
        for found in os.listdir(folder):
            if not found.startswith(f"{name}.") or not found.endswith(".tmp"):
                continue
            process = found.removesuffix(".tmp").rpartition(".")[2]
            if process.isdecimal() and process.isascii() and not _runs(int(process)):
                os.remove(os.path.join(folder, found))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process != os.getpid()

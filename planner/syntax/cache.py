"""Results of parsing, kept in the user's cache by the hash of what was parsed.

An entry is a pickle behind its own checksum: what does not match, cannot be read or cannot be unpickled counts as
missing and is written anew. Entries of another version of this package or of this folder's code are never looked at.
`PLANNER_NO_CACHE=1` switches the cache off.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from planner import __version__, assets
from planner.vocabulary.disk import read_whole, write_all

_MOST_ENTRIES = 8192  # older ones are deleted beyond that
_stamp: str | None = None


def key(*parts: str) -> str:
    """The name of an entry: a hash over all parts (surrogates allowed) and this version of the code."""
    digest = hashlib.sha256(_version().encode())
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def load(name: str) -> Any:
    """The object stored under a name, or None."""
    folder = _open()
    if folder is None:
        return None
    try:
        data = memoryview(read_whole(f"{folder}/{name}"))
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            return None
        import gc
        import pickle

        paused = gc.isenabled()
        gc.disable()
        try:
            return pickle.loads(data[32:])
        finally:
            if paused:
                gc.enable()
    except Exception:  # whatever is wrong with an entry, parsing again is the answer
        return None


def store(name: str, value: Any) -> None:
    """Keep an object under a name, where that is possible. What a reader sees of an entry that is just written does not
    match its checksum; two that write the same name write the same."""
    folder = _open()
    if folder is None:
        return
    import pickle

    try:
        data = pickle.dumps(value, 5)
    except (RecursionError, pickle.PicklingError):  # syntax nested deeper than the pickler goes
        return
    try:
        descriptor = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            write_all(descriptor, hashlib.sha256(data).digest() + data)
        finally:
            os.close(descriptor)
        if name.startswith("00"):  # now and then
            _trim(folder)
    except OSError:
        return


def _open() -> str | None:
    """The folder of the entries, created if missing; None without one."""
    environment = os.environ
    names = (environment.get("PLANNER_NO_CACHE"), environment.get("XDG_CACHE_HOME"), environment.get("HOME"))
    return None if names[0] not in (None, "", "0") else _folder(*names)


@lru_cache(8)
def _folder(*environment: str | None) -> str | None:
    """What the environment makes it; a process asks for every file that it reads."""
    home = assets.cache_dir()
    if home is None:
        return None
    folder = home / "syntax"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return str(folder)


def _version() -> str:
    """Our version, the interpreter's, and the times of the code and grammar that make the entries."""
    global _stamp
    if _stamp is None:
        files = sorted(Path(__file__).parent.glob("*.py"))
        files.append(assets.grammar_path("config.lark"))
        times = [(file.name, *_times(file)) for file in files]
        _stamp = f"{__version__} {sys.implementation.cache_tag} {times}"
    return _stamp


def _times(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
        return found.st_mtime_ns, found.st_size
    except OSError:  # inside a zip archive: the version number has to do
        return 0, 0


def _trim(folder: str) -> None:
    """Delete the oldest entries above the limit."""
    entries = [(entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(folder)]
    for _, path in sorted(entries)[: -_MOST_ENTRIES or None]:
        os.unlink(path)

"""Results of parsing, kept in the user's cache by the hash of what was parsed.

An entry is a pickle, which planner.own_cache gives only to the user who wrote it. Entries of another version of this
package or of this folder's code are never looked at. `PLANNER_NO_CACHE=1` switches the cache off.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from planner import __version__, own_cache
from planner.support import assets

FOLDER = "syntax"
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
    data = own_cache.load(FOLDER, name) if _is_on() else None
    if data is None:
        return None
    import gc
    import pickle

    paused = gc.isenabled()
    gc.disable()
    try:
        return pickle.loads(data)
    except Exception:  # whatever is wrong with an entry, parsing again is the answer
        return None
    finally:
        if paused:
            gc.enable()


def store(name: str, value: Any) -> None:
    """Keep an object under a name, where that is possible."""
    if not _is_on():
        return
    import pickle

    try:
        data = pickle.dumps(value, 5)
    except (RecursionError, pickle.PicklingError):  # syntax nested deeper than the pickler goes
        return
    own_cache.store(FOLDER, name, data)
    if name.startswith("00"):  # now and then
        own_cache.trim(FOLDER, _MOST_ENTRIES)


def _is_on() -> bool:
    return os.environ.get("PLANNER_NO_CACHE") in (None, "", "0")


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

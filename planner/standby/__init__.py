"""A process that stands by: it has everything loaded, and does each of the next batch commands in a fork of itself.

Most of the time of a batch command that finds little changed is that of loading planner. So a command that has much to
do begins such a process on the way (begin.py), and later ones first look for it (client.py). It ends when nothing was
asked of it for a while, or when planner's code is no longer what it has loaded (server.py). It keeps nothing of any
command: each is done in a process of its own, in the folder, with the environment and the open files of the one that
asks, and ends with that.

Every batch command loads this module and the client before anything else, so they import next to nothing.
"""

from __future__ import annotations

import os
import sys

COMMANDS = frozenset(("graph", "plan", "policy", "query", "validate", "why"))
"""batch commands that change no state and never ask; the others always run by themselves"""
SWITCH = "PLANNER_STANDBY"
STAY = 300.0
"""seconds that the process stays after the last command"""
BEGUN, REFUSED = b"+", b"-"
"""what it answers first: that the command has begun, or that its code is of another version"""
LENGTH = 16
"""digits of the length that a request begins with"""
_LONGEST = 100
"""bytes of the path of a socket, about what all systems allow"""


def stay() -> float:
    """How many seconds a process stands by: PLANNER_STANDBY, 0 for never; else five minutes, but never on CI servers,
    which set CI."""
    text = os.environ.get(SWITCH, "")
    if text:
        try:
            return max(float(text), 0.0)
        except ValueError:
            return 0.0
    return 0.0 if os.environ.get("CI") or not hasattr(os, "fork") else STAY


def socket_path() -> str | None:
    """Where a process listens that would do just what this one does: the same user, code, interpreter and files."""
    from zlib import crc32

    home = os.environ.get("XDG_CACHE_HOME", "")
    base = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), ".cache")
    try:
        files = os.readlink("/proc/self/ns/mnt")  # containers may share a home, but not what else they see
    except OSError:
        files = ""
    same = (sys.prefix, sys.version, __file__, os.environ.get("PYTHONPATH", ""), os.getuid(), files)
    path = os.path.join(base, "planner", f"standby-{crc32(os.fsencode(repr(same))):08x}")
    return path if os.path.isabs(path) and len(os.fsencode(path)) <= _LONGEST else None


def is_own_folder(path: str) -> bool:
    """Whether a folder is the user's and nobody else may put something there. Raises OSError."""
    found = os.lstat(path)
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def stamp() -> str:
    """The state of planner's code, its rules and its grammars: names, times and sizes."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found: list[str] = []
    for folder in (package, *(os.path.join(os.path.dirname(package), name) for name in ("rules", "grammar"))):
        _times(folder, found)
    return "\n".join(found)


def _times(folder: str, found: list[str]) -> None:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith((".py", ".dl", ".lark")):
            status = entry.stat()
            found.append(f"{entry.name} {status.st_mtime_ns} {status.st_size}")
        elif entry.name != "__pycache__" and entry.is_dir():
            _times(entry.path, found)

"""Beginning a process that stands by."""

from __future__ import annotations

import os
import sys

from planner.standby import SWITCH, socket_path, stay

MANY = 200
"""units that a command plans when it begins such a process on the way"""
_KEPT = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "PYTHONPATH",
    "LANG",
    "CI",
    SWITCH,
)
"""variables that it gets; the others come with each command"""
_CODE = "import sys; sys.path.append({!r}); from planner.standby.server import serve; serve()"


def begin() -> bool:
    """Begin a process that stands by, unless there is one or nobody wants it; whether it was begun. It belongs to no
    terminal and holds none of our files."""
    path = socket_path()
    if stay() <= 0 or path is None or _is_there(path):
        return False
    import subprocess

    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_")}
    try:
        subprocess.Popen(
            [sys.executable, "-P", "-c", _CODE.format(home)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
    except OSError:
        return False
    return True


def _is_there(path: str) -> bool:
    """Whether one stands by, which has its lock as long as it lives."""
    import fcntl

    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False

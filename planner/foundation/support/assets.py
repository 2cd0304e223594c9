"""Where the grammars, the rules and the user's cache are: in a checkout, in an installed wheel, on this machine."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
"""the folder of this program's code"""


def _directory(name: str) -> str:
    """A folder beside the package (checkout), or the copy inside it (wheel: `planner/_assets`)."""
    installed = os.path.join(PACKAGE, "_assets", name)
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(PACKAGE), name)


def grammar_file(name: str) -> str:
    """The file of a grammar, for example `config.lark`."""
    return os.path.join(_directory("grammar"), name)


def rules_folder() -> str:
    """The folder with the rule files."""
    return _directory("rules")


def cache_folder() -> str | None:
    """Our folder in the user's cache (`$XDG_CACHE_HOME`, else `~/.cache`), created if missing; None when it cannot be
    written, or when it or the cache is not the user's alone: others could put there what is run later. Never raises."""
    return _own_directory("XDG_CACHE_HOME", ".cache")


def state_folder() -> str | None:
    """The directory for files to keep (`$XDG_STATE_HOME`, else `~/.local/state`)."""
    return _own_directory("XDG_STATE_HOME", ".local/state")


def grammar_path(name: str) -> Path:
    """The file of a grammar."""
    return _path(grammar_file(name))


def rules_path() -> Path:
    """The folder with the rule files."""
    return _path(rules_folder())


def cache_dir() -> Path | None:
    """Our folder in the user's cache, like `cache_folder`."""
    folder = cache_folder()
    return None if folder is None else _path(folder)


def _path(path: str) -> Path:
    from pathlib import Path

    return Path(path)


def is_closed(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user and only he may write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _own_directory(variable: str, usual: str) -> str | None:
    try:
        home = os.environ.get(variable, "")
        # The XDG base directory specification says to ignore a relative path.
        base = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), usual)
        if not os.path.isabs(base):  # nobody knows the home of this user
            return None
        folder = os.path.join(base, "planner")
        os.makedirs(base, mode=0o700, exist_ok=True)
        if not _may_hold(os.stat(base)):
            return None
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder if is_closed(os.lstat(folder)) and os.access(folder, os.W_OK | os.X_OK) else None
    except (OSError, ValueError):
        return None


def _may_hold(status: os.stat_result) -> bool:
    """Whether the user's files in a directory are safe from others: the directory is the user's, or the system's; where
    all may write, as in /tmp, files cannot be removed by other users."""
    return status.st_uid in (os.geteuid(), 0) and (not status.st_mode & 0o022 or bool(status.st_mode & stat.S_ISVTX))

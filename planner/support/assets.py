"""Where the grammars, the rules and the user's cache are: in a checkout, in an installed wheel, on this machine."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def _directory(name: str) -> Path:
    """A folder beside the package (checkout), or the copy inside it (wheel: `planner/_assets`)."""
    installed = _PACKAGE / "_assets" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def grammar_path(name: str) -> Path:
    """The file of a grammar, for example `config.lark`."""
    return _directory("grammar") / name


def rules_path() -> Path:
    """The folder with the rule files."""
    return _directory("rules")


def cache_dir() -> Path | None:
    """Our folder in the user's cache (`$XDG_CACHE_HOME`, else `~/.cache`), created if missing; None when it cannot be
    written, or when it or the cache is not the user's alone: others could put there what is run later. Never raises."""
    return _own_directory("XDG_CACHE_HOME", ".cache")


def state_dir() -> Path | None:
    """The same for what is to stay (`$XDG_STATE_HOME`, else `~/.local/state`)."""
    return _own_directory("XDG_STATE_HOME", ".local/state")


def is_closed(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user and only he may write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _own_directory(variable: str, usual: str) -> Path | None:
    try:
        home = os.environ.get(variable, "")
        # The XDG base directory specification says to ignore a relative path.
        base = Path(home) if os.path.isabs(home) else Path.home() / usual
        folder = base / "planner"
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _may_hold(base.stat()):
            return None
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder if is_closed(folder.lstat()) and os.access(folder, os.W_OK | os.X_OK) else None
    except (OSError, RuntimeError, ValueError):
        return None


def _may_hold(status: os.stat_result) -> bool:
    """Whether what the user has in a folder stays his: it is his, or the system's; where all may write, as in /tmp,
    nobody takes away what belongs to others."""
    return status.st_uid in (os.geteuid(), 0) and (not status.st_mode & 0o022 or bool(status.st_mode & stat.S_ISVTX))

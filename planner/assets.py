"""Where the grammars, the rules and the user's cache are: in a checkout, in an installed wheel, on this machine."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


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
    written. Never raises."""
    try:
        home = os.environ.get("XDG_CACHE_HOME", "")
        # The XDG base directory specification says to ignore a relative path.
        base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
        folder = base / "planner"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if os.access(folder, os.W_OK | os.X_OK) else None
    except (OSError, RuntimeError, ValueError):
        return None

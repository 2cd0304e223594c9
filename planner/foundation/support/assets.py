"""Paths of the grammars, the rules, the documentation and the user's directories."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
"""the directory of this program's code"""


def _directory(name: str) -> str:
    """A directory of the checkout, or its copy in an installed package (`planner/_assets`)."""
    installed = os.path.join(PACKAGE, "_assets", name)
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(PACKAGE), name)


def grammar_file(name: str) -> str:
    """The file of a grammar, for example `config.lark`."""
    return os.path.join(_directory("grammar"), name)


def rules_folder() -> str:
    return _directory("rules")


def documents_folder() -> str:
    return _directory("docs")


def cache_folder() -> str | None:
    """planner's directory in the user's cache (`$XDG_CACHE_HOME`, otherwise `~/.cache`), created if it is missing. None
    if it is not writable, or if other users can write to it or replace it: they could store code that is executed
    later. Never raises."""
    return _own_directory("XDG_CACHE_HOME", ".cache")


def state_folder() -> str | None:
    """planner's directory in `$XDG_STATE_HOME`, otherwise in `~/.local/state`; None in the cases that `cache_folder`
    lists."""
    return _own_directory("XDG_STATE_HOME", ".local/state")


def grammar_path(name: str) -> Path:
    return _path(grammar_file(name))


def rules_path() -> Path:
    return _path(rules_folder())


def cache_dir() -> Path | None:
    folder = cache_folder()
    return None if folder is None else _path(folder)


def _path(path: str) -> Path:
    from pathlib import Path

    return Path(path)


def is_closed(status: os.stat_result) -> bool:
    """Whether a file or directory belongs to the user and only the user may write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _own_directory(variable: str, usual: str) -> str | None:
    try:
        home = os.environ.get(variable, "")
        # the XDG base directory specification requires programs to ignore relative paths
        base = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), usual)
        if not os.path.isabs(base):  # the home directory of this user is unknown
            return None
        folder = os.path.join(base, "planner")
        os.makedirs(base, mode=0o700, exist_ok=True)
        if not _is_safe_parent(os.stat(base)):
            return None
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder if is_closed(os.lstat(folder)) and os.access(folder, os.W_OK | os.X_OK) else None
    except (OSError, ValueError):
        return None


def _is_safe_parent(status: os.stat_result) -> bool:
    """Whether a directory protects the user's files in it from other users. It must belong to the user or to the
    system. If everyone may write to it (as to /tmp), its sticky bit must be set, so that only owners can remove their
    files."""
    return status.st_uid in (os.geteuid(), 0) and (not status.st_mode & 0o022 or bool(status.st_mode & stat.S_ISVTX))


# The user's CLI configuration files.


def home(environ: Mapping[str, str]) -> Path:
    return _path(_home(environ))


def _home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or os.path.expanduser("~")


def setting_files(environ: Mapping[str, str]) -> list[Path]:
    """The existing CLI configuration files, in reading order."""
    return [_path(name) for name in _setting_files(environ)]


def _setting_files(environ: Mapping[str, str]) -> list[str]:
    named = environ.get("TF_CLI_CONFIG_FILE") or environ.get("TERRAFORM_CONFIG")
    if named:
        return [named] if os.path.isfile(named) else []
    own = _home(environ)
    candidates = [os.path.join(own, ".tofurc"), os.path.join(own, ".terraformrc")]
    folder = os.path.join(own, ".terraform.d")
    if environ.get("XDG_CONFIG_HOME"):
        settings = os.path.join(environ["XDG_CONFIG_HOME"], "opentofu")
        candidates.append(os.path.join(settings, "tofurc"))
        folder = folder if os.path.isdir(folder) else settings
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    more = [os.path.join(folder, name) for name in names if name.endswith((".tfrc", ".tfrc.json"))]
    return [
        *[file for file in candidates if os.path.isfile(file)][:1],
        *[file for file in more if os.path.isfile(file)],
    ]

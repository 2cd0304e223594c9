"""Which files of a directory make up a module."""

from __future__ import annotations

import os
from stat import S_ISREG

from planner.foundation.vocabulary.records import frozen

_EXTENSIONS = (".tf.json", ".tofu.json", ".tf", ".tofu")


def located(root_dir: str, directory: str, absolute: str = "") -> str:
    """Where a module's directory is, which is named from the root module's or absolutely; `absolute`: the folder below
    which those are that are named absolutely, when they were put elsewhere."""
    return f"{absolute}/{directory}" if absolute and directory.startswith("/") else os.path.join(root_dir, directory)


@frozen
class ModuleFiles:
    """File names in lexical order: the normal files, and the override files that are applied after them."""

    normal: tuple[str, ...]
    override: tuple[str, ...]


def module_files(directory: str) -> ModuleFiles:
    """The configuration files of a directory. A `.tofu` file hides the `.tf` file of the same name; hidden files and
    editors' backups are left out. Raises OSError."""
    with os.scandir(directory) as entries:
        names = sorted(e.name for e in entries if not _is_folder(e) and not _ignored(e.name))
    normal: list[str] = []
    override: list[str] = []
    for name in names:
        stem = _stem(name)
        if stem is not None:
            (override if stem == "override" or stem.endswith("_override") else normal).append(name)
    return ModuleFiles(_without_hidden(normal), _without_hidden(override))


def is_module(directory: str) -> bool:
    """Whether there is any configuration file in the directory."""
    try:
        if S_ISREG(os.stat(f"{directory}/main.tf").st_mode):  # most have one, and no others have to be listed then
            return True
    except OSError:
        pass
    try:
        with os.scandir(directory) as entries:
            return any(e.name.endswith(_EXTENSIONS) and not _ignored(e.name) and not _is_folder(e) for e in entries)
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself: what is wrong is said when it is read
        return False


def _stem(name: str) -> str | None:
    for extension in _EXTENSIONS:
        if name.endswith(extension):
            return name.removesuffix(extension)
    return None


def _ignored(name: str) -> bool:
    return name.startswith(".") or name.endswith("~") or (name.startswith("#") and name.endswith("#"))


def _without_hidden(names: list[str]) -> tuple[str, ...]:
    present = set(names)
    return tuple(n for n in names if not _has_tofu_twin(n, present))


def _has_tofu_twin(name: str, present: set[str]) -> bool:
    for extension in (".tf.json", ".tf"):
        if name.endswith(extension):
            return name.removesuffix(extension) + extension.replace(".tf", ".tofu") in present
    return False

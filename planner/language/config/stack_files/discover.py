"""Which files of a directory are stack files."""

from __future__ import annotations

import os

from planner.foundation.vocabulary.records import frozen

COMPONENTS = (".tfcomponent.hcl", ".tfcomponent.json", ".tfstack.hcl", ".tfstack.json")
DEPLOYMENTS = (".tfdeploy.hcl", ".tfdeploy.json")
OLD = (".tfstack.hcl", ".tfstack.json")
"""endings of the time before the language was settled"""


@frozen
class StackFiles:
    """Names in lexical order."""

    components: tuple[str, ...]
    deployments: tuple[str, ...]


def stack_files(directory: str) -> StackFiles:
    """The stack files of a directory; hidden files and editors' backups are left out. Raises OSError."""
    with os.scandir(directory) as entries:
        names = sorted(entry.name for entry in entries if is_stack_file(entry.name) and not _is_folder(entry))
    return StackFiles(
        tuple(name for name in names if name.endswith(COMPONENTS)),
        tuple(name for name in names if name.endswith(DEPLOYMENTS)),
    )


def is_stack_file(name: str) -> bool:
    """Whether a file is one by its name."""
    if name.startswith(".") or name.endswith("~") or (name.startswith("#") and name.endswith("#")):
        return False
    return name.endswith((*COMPONENTS, *DEPLOYMENTS))


def is_stack(directory: str) -> bool:
    """Whether there is any stack file in the directory."""
    try:
        found = stack_files(directory)
    except OSError:
        return False
    return bool(found.components or found.deployments)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads to itself: reading it says what is wrong

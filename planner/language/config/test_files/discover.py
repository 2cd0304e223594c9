"""Which files are test files: those directly in the root module's directory and in the test directory."""

from __future__ import annotations

import os
import posixpath

from planner.foundation.vocabulary.diagnostic import Failure, error

DEFAULT_DIRECTORY = "tests"
_PAIRS = ((".tftest.hcl", ".tofutest.hcl"), (".tftest.json", ".tofutest.json"))
OWN = ".plannertest.hcl"
"""files that may say more than other programs understand"""
ENDINGS = (*(ending for pair in _PAIRS for ending in pair), OWN)
MOCKS = ".tfmock.hcl"
"""files with blocks of `mock_provider`"""


def is_test_file(name: str) -> bool:
    """Whether a file is a test file by its name."""
    if name.startswith(".") or name.endswith("~") or (name.startswith("#") and name.endswith("#")):
        return False
    return name.endswith(ENDINGS)


def find_test_files(root_dir: str, directory: str = DEFAULT_DIRECTORY) -> tuple[list[str], bool]:
    """Paths from the root module's directory in byte order, and whether the test directory is there. A file of the
    second form (`x.tofutest.hcl`) hides the one of the first (`x.tftest.hcl`) beside it. Raises Failure for a directory
    that is there and cannot be read."""
    found = _of(root_dir, ".") or []
    inside = _of(root_dir, directory)
    if inside is not None and posixpath.normpath(directory) != ".":
        found += inside
    return sorted(found, key=os.fsencode), inside is not None


def _of(root_dir: str, directory: str) -> list[str] | None:
    folder = os.path.join(root_dir, directory)
    try:
        found = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as bad:
        raise Failure(
            error("config.unreadable_tests", "Failed to read directory", f"{folder}: {bad.strerror or bad}.")
        ) from bad
    names = {name for name in found if is_test_file(name) and not os.path.isdir(os.path.join(folder, name))}
    for hidden, hiding in _PAIRS:
        for name in [name for name in names if name.endswith(hiding)]:
            names.discard(name.removesuffix(hiding) + hidden)
    return [posixpath.normpath(posixpath.join(directory, name)) for name in names]

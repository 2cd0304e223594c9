"""The archive of a configuration for runs on a server: all files of a directory but those that `.terraformignore`
leaves out."""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from planner.foundation.vocabulary.diagnostic import ServiceError

IGNORE_FILE = ".terraformignore"
_USUAL = (".git/", ".terraform/", "!.terraform/modules/", "terraform.rc", ".terraformrc")
_LARGEST = 1 << 30
Patterns = list[tuple[re.Pattern[str], bool]]
"""with whether what fits is left out; the last one that fits decides"""


def archive(folder: Path) -> bytes:
    """A .tar.gz of a directory. Raises ServiceError."""
    buffer = io.BytesIO()
    try:
        with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
            for name in sorted(files_to_upload(folder)):
                path = folder / name
                if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
                    raise ServiceError(f"{name} is a link that leads out of the configuration, so it is not uploaded")
                packed.add(path, name, recursive=False)
                if buffer.tell() > _LARGEST:
                    raise ServiceError("the configuration is larger than 1 GiB; .terraformignore can leave files out")
    except OSError as problem:
        if isinstance(problem, ServiceError):
            raise
        raise ServiceError(f"{problem.filename or folder}: {problem.strerror or problem}") from None
    return buffer.getvalue()


def files_to_upload(folder: Path) -> Iterator[str]:
    """The files below a directory that are uploaded."""
    patterns = ignore_patterns(folder)
    for base, folders, files in os.walk(folder):
        inner = os.path.relpath(base, folder)
        prefix = "" if inner == "." else f"{inner}/"
        links = [name for name in folders if os.path.islink(os.path.join(base, name))]
        for name in (*files, *links):
            if not is_ignored(f"{prefix}{name}", patterns):
                yield f"{prefix}{name}"


def ignore_patterns(folder: Path) -> Patterns:
    """The usual patterns, and those of the directory's `.terraformignore`."""
    try:
        lines = (folder / IGNORE_FILE).read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    return [_pattern(line) for line in (*_USUAL, *map(str.strip, lines)) if line and not line.startswith("#")]


def is_ignored(name: str, patterns: Patterns) -> bool:
    """Whether a file is left out: by its own name, or by that of a directory above it."""
    ignored = False
    for pattern, leaves_out in patterns:
        if pattern.match(name):
            ignored = leaves_out
    return ignored


def _pattern(line: str) -> tuple[re.Pattern[str], bool]:
    leaves_out = not line.startswith("!")
    line = line.removeprefix("!")
    anchored = line.startswith("/")
    text = ""
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", line.strip("/")):
        text += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece))
    within = "/.*" if line.endswith("/") else "(?:/.*)?"
    return re.compile(f"{'' if anchored else '(?:.*/)?'}{text}{within}$", re.DOTALL), leaves_out

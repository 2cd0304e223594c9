"""The commit that a working directory has checked out, read without running git."""

from __future__ import annotations

import os
import re

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[A-Za-z0-9_./+@{}=,~#%-]{1,500}")
_MOST = 1 << 24
"""bytes of a file that are read; packed refs of very large repositories have some megabytes"""


def head_commit(directory: str) -> str:
    """The commit (hexadecimal) that HEAD names in the repository of a directory; "" where there is none, or where it is
    unknown."""
    folder = _git_folder(os.path.realpath(directory))
    if folder is None:
        return ""
    head = _text(os.path.join(folder, "HEAD"))
    if not head.startswith("ref:"):
        return head if _COMMIT.fullmatch(head) else ""
    ref = head.removeprefix("ref:").strip()
    if _REF.fullmatch(ref) is None or ".." in ref:
        return ""
    common = _text(os.path.join(folder, "commondir"))
    for place in (folder, os.path.normpath(os.path.join(folder, common)) if common else folder):
        commit = _text(os.path.join(place, ref))
        if _COMMIT.fullmatch(commit):
            return commit
        for line in _text(os.path.join(place, "packed-refs")).splitlines():
            commit, _, name = line.partition(" ")
            if name == ref and _COMMIT.fullmatch(commit):
                return commit
    return ""


def _git_folder(directory: str) -> str | None:
    """The directory `.git` of the directory or one above it; that of a worktree is named in a file."""
    while True:
        path = os.path.join(directory, ".git")
        if os.path.isdir(path):
            return path
        link = _text(path)
        if link.startswith("gitdir:"):
            return os.path.normpath(os.path.join(directory, link.removeprefix("gitdir:").strip()))
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above


def _text(path: str) -> str:
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return file.read(_MOST).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return ""

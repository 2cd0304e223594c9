"""The kind of a file, by its first bytes."""

from __future__ import annotations

import os

STDIN = "-"


def is_plan_file(path: str) -> bool:
    """Whether a file begins like a zip, as plan files do and state files do not, or like an encrypted one: those of
    states have their serial first."""
    try:
        if not os.path.isfile(path):
            return False  # of a pipe, what is read now would be missing later
        with open(path, "rb") as file:
            begins = file.read(64)
        return begins.startswith(b"PK\x03\x04") or b"".join(begins.split()).startswith(b'{"meta":')
    except (OSError, ValueError):
        return False


def is_document(path: str) -> bool:
    """Whether the file to check is not a plan file of ours: those are archives."""
    return path == STDIN or (os.path.exists(path) and not is_plan_file(path))

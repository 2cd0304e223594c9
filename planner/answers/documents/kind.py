"""Detects the kind of a file from its first bytes."""

from __future__ import annotations

import os

STDIN = "-"


def is_plan_file(path: str) -> bool:
    """Whether a file begins like a zip archive or an encrypted plan file. (An encrypted state file begins differently,
    with its serial.) False for a file that cannot be read, and for a pipe."""
    try:
        if not os.path.isfile(path):
            return False  # a pipe can be read only once
        with open(path, "rb") as file:
            begins = file.read(64)
        return begins.startswith(b"PK\x03\x04") or b"".join(begins.split()).startswith(b'{"meta":')
    except (OSError, ValueError):
        return False


def is_document(path: str) -> bool:
    """Whether a path means a JSON document: standard input, or an existing file that is not a plan file. The content is
    not parsed."""
    return path == STDIN or (os.path.exists(path) and not is_plan_file(path))

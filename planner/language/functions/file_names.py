"""Names of files in expressions, and calls that read files, without importing the functions themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence

from planner.language.functions.protocol import FunctionError
from planner.language.syntax.nodes import Call

CONTENTS = ("file", "filebase64", "templatefile")
"""functions that return the contents of files"""
HASHES = ("md5", "sha", "base64sha", "bcrypt", "filemd5", "filesha", "filebase64sha")
"""prefixes of the names of functions whose results do not reveal their arguments"""


def shown_reads(calls: Sequence[Call]) -> list[Call]:
    """The calls in an expression that return the contents of files, except those that are arguments of a digest."""
    names = {call: call.name.removeprefix("core::") for call in calls}
    digests = [call for call in calls if names[call].startswith(HASHES)]
    reads = [call for call in calls if names[call] in CONTENTS]
    return [call for call in reads if not any(around.start <= call.start < around.end for around in digests)]


def clean(path: str) -> str:
    """The shortest path to the same file, judged by its spelling alone; `.` for an empty path."""
    path = os.path.normpath(path) if path else "."
    return path[1:] if path.startswith("//") else path


def expand_home(path: str) -> str:
    """The path with a leading `~` replaced by the home directory. Raises FunctionError for `~name`."""
    if not path.startswith("~"):
        return path
    if len(path) > 1 and path[1] not in "/\\":
        raise FunctionError("The home directory of another user cannot be expanded.")
    home = os.environ.get("HOME") or os.path.expanduser("~")
    return clean(f"{home}/{path[1:]}")


def located(path: str, base_dir: str) -> str:
    """The path of a file whose name is relative to a directory."""
    path = expand_home(path)
    return clean(path if path.startswith("/") else f"{base_dir or '.'}/{path}")

"""File names in expressions, and calls that read files, for code that does not import the functions themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence

from planner.language.functions.protocol import FunctionError
from planner.language.syntax.nodes import Call

CONTENTS = ("file", "filebase64", "templatefile")  # functions that return the content of a file
HASHES = ("md5", "sha", "base64sha", "bcrypt", "filemd5", "filesha", "filebase64sha")
"""name prefixes of functions whose results do not reveal their arguments"""


def shown_reads(calls: Sequence[Call]) -> list[Call]:
    """The calls that return the content of a file, except those inside the arguments of a hash function."""
    names = {call: call.name.removeprefix("core::") for call in calls}
    digests = [call for call in calls if names[call].startswith(HASHES)]
    reads = [call for call in calls if names[call] in CONTENTS]
    return [call for call in reads if not any(around.start <= call.start < around.end for around in digests)]


def clean(path: str) -> str:
    """The normalized path, without access to the file system; `.` for an empty path."""
    path = os.path.normpath(path) if path else "."
    return path[1:] if path.startswith("//") else path


def expand_home(path: str) -> str:
    """Replace a leading `~` with the home directory. Raises FunctionError for `~name`."""
    if not path.startswith("~"):
        return path
    if len(path) > 1 and path[1] not in "/\\":
        raise FunctionError("The home directory of another user cannot be expanded.")
    home = os.environ.get("HOME") or os.path.expanduser("~")
    return clean(f"{home}/{path[1:]}")


def locate(path: str, base_dir: str) -> str:
    path = expand_home(path)
    return clean(path if path.startswith("/") else f"{base_dir or '.'}/{path}")

"""The reads of a configuration's functions: files, names in directories, the time; and how often states were read from
services, which leaves no file to compare."""

from __future__ import annotations

import sys

LOOKED = "planner.looked"
"""the audit event of a check for a file, which opens nothing"""
LISTED = "planner.listed"
"""the audit event of listing the names in a directory, whatever they belong to"""
_READ: dict[str, None] = {}
_LOOKED: dict[str, None] = {}
_TIME = [False]
_SERVICES = [0]


def note_file_read(path: str) -> None:
    """A function has read the file."""
    _READ[path] = None


def files_read() -> tuple[str, ...]:
    """The files by the names that the operating system was given, sorted."""
    return tuple(sorted(_READ))


def note_look(path: str) -> None:
    """A function checks whether there is such a file."""
    _LOOKED[path] = None
    sys.audit(LOOKED, path)


def note_listing(path: str, are_all: bool) -> None:
    """A function lists names in a directory; `are_all`: those of our own files, too."""
    _LOOKED[path] = None
    if are_all:
        sys.audit(LISTED, path)


def looked_at() -> tuple[str, ...]:
    """The files that functions looked up, whether they exist or not, and the directories that they listed, sorted."""
    return tuple(sorted(_LOOKED))


def note_time() -> None:
    """A function read the time of the plan."""
    _TIME[0] = True


def has_asked_time() -> bool:
    """Whether a function of this configuration read the time of the plan."""
    return _TIME[0]


def note_service_read() -> None:
    """A state was read from a service."""
    _SERVICES[0] += 1


def service_reads() -> int:
    """How many states this process has read from services."""
    return _SERVICES[0]


def forget_files_read() -> None:
    """Another configuration begins."""
    _READ.clear()
    _LOOKED.clear()
    _TIME[0] = False

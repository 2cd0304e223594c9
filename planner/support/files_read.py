"""Which files the functions of a configuration have read."""

from __future__ import annotations

_READ: dict[str, None] = {}


def note_file_read(path: str) -> None:
    """A function has read the file."""
    _READ[path] = None


def files_read() -> tuple[str, ...]:
    """The files by the names that the operating system was given, sorted."""
    return tuple(sorted(_READ))


def forget_files_read() -> None:
    """Another configuration begins."""
    _READ.clear()

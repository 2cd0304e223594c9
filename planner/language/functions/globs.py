"""File name patterns: `*`, `?`, `[a-z]`, `[^a-z]`, `{one,two}`, `**` for any number of directories, `\\` to escape.

After doublestar (the library that OpenTofu uses): names that begin with a dot match like any other, symbolic links are
followed, directories that cannot be read count as empty.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise

from planner.foundation.support.files_read import note_listing, note_look

_META = re.compile(r"\\.|([*?\[{])", re.DOTALL)
_UNESCAPE = re.compile(r"\\([*?\[\]{}])")
_ENDS = re.compile(r"\.(?!tmp$|backup$|info$|planner$|terraform$|tfstate$)\w+$")
"""ends of patterns that no name of our own files has"""


class PatternError(ValueError):
    """A pattern with an unclosed bracket or brace, or a backslash at its end."""


def glob(pattern: str) -> list[str]:
    """The names of existing files and directories that match a pattern (a clean path). Raises PatternError."""
    base, rest = _split(pattern)
    if not _is_valid(pattern if rest in ("", ".", "..") else rest):
        raise PatternError(pattern)
    paths: set[str] = set()
    for alternative in _alternatives(rest):
        parts = alternative.split("/")
        if all(parts):  # braces may leave an empty part, which names nothing
            paths.update(_matches(base, parts))
    return sorted(paths)


def _split(pattern: str) -> tuple[str, str]:
    """The directory that the pattern begins with, before all special characters, and the rest."""
    meta = next((match.start() for match in _META.finditer(pattern) if match[1]), len(pattern))
    slash = meta
    while (slash := pattern.rfind("/", 0, slash)) > 0 and pattern[slash - 1] == "\\":
        pass
    return _UNESCAPE.sub(r"\1", pattern[: slash + 1]), pattern[slash + 1 :]


def _is_valid(pattern: str) -> bool:
    depth = position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if character == "\\":
            position += 1
            if position > len(pattern):
                return False
        elif character == "[":
            closing = _class_end(pattern, position)
            if closing < 0:
                return False
            position = closing + 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _class_end(pattern: str, position: int) -> int:
    """Index of the bracket that closes the class whose content begins at a position; -1: there is none."""
    if pattern[position : position + 1] in ("^", "!"):
        position += 1
    if pattern[position : position + 1] in ("", "]"):
        return -1
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 1
        elif pattern[position] == "]":
            return position
        position += 1
    return -1


def _alternatives(pattern: str) -> Iterator[str]:
    """The patterns without braces that a pattern with braces stands for."""
    opening = -1
    depth, cuts, position = 0, [], 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 1
        elif character == "{":
            depth += 1
            if depth == 1:
                opening, cuts = position, [position]
        elif character == "," and depth == 1:
            cuts.append(position)
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                cuts.append(position)
                break
        position += 1
    if opening < 0 or depth:
        yield pattern
        return
    for start, end in pairwise(cuts):
        yield from _alternatives(pattern[:opening] + pattern[start + 1 : end] + pattern[position + 1 :])


def _matches(directory: str, parts: list[str]) -> Iterator[str]:
    if not parts:
        if directory and os.path.lexists(directory):
            yield directory
        return
    part, rest = parts[0], parts[1:]
    while part == "**" and rest[:1] == ["**"]:
        rest = rest[1:]  # means the same
    if part == "**":
        note_listing(directory or ".", are_all=True)
        yield from _matches(directory, rest)
        for entry in _entries(directory):
            path = directory + entry.name
            if entry.is_dir():
                yield from _matches(path + "/", parts)
            elif not rest:
                yield path
        return
    if not any(match[1] for match in _META.finditer(part)):
        path = directory + _UNESCAPE.sub(r"\1", part)
        note_look(path)
        if os.path.isdir(path) if rest else os.path.lexists(path):
            yield from _matches(path + "/", rest) if rest else [path]
        return
    note_listing(directory or ".", are_all=not _ENDS.search(part))
    entries = _entries(directory)
    expression = _expression(part) if entries else None
    for entry in entries:
        if expression is not None and expression.fullmatch(entry.name):
            path = directory + entry.name
            if not rest:
                yield path
            elif entry.is_dir():
                yield from _matches(path + "/", rest)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory or ".") as entries:
            return list(entries)
    except (OSError, ValueError):  # ValueError: a null character, which no name has
        return []


def _expression(part: str) -> re.Pattern[str]:
    """The regular expression for one part of a path."""
    out: list[str] = []
    position = 0
    while position < len(part):
        character = part[position]
        position += 1
        if character == "*":
            out.append(".*")
        elif character == "?":
            out.append(".")
        elif character == "[":
            end = _class_end(part, position)
            if end < 0:
                raise PatternError(part)
            out.append(_character_class(part[position:end]))
            position = end + 1
        else:
            if character == "\\" and position < len(part):
                character = part[position]
                position += 1
            out.append(re.escape(character))
    return re.compile("".join(out), re.DOTALL)


def _character_class(content: str) -> str:
    negated = content[0] in "^!"
    body = content[1:] if negated else content
    characters = [match[1] or match[2] for match in re.finditer(r"\\(.)|(.)", body, re.DOTALL)]
    escaped = [match[1] is not None for match in re.finditer(r"\\(.)|(.)", body, re.DOTALL)]
    out: list[str] = []
    position = 0
    while position < len(characters):
        first = characters[position]
        is_range = position + 2 < len(characters) and characters[position + 1] == "-" and not escaped[position + 1]
        last = characters[position + 2] if is_range else first
        if first <= last:
            out.append(re.escape(first) if first == last else f"{re.escape(first)}-{re.escape(last)}")
        position += 3 if is_range else 1
    if not out:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{''.join(out)}]"

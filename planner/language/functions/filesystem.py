"""Functions that read files and handle file names. Relative names are relative to `base_dir` of the call's context. In
a configuration, this is the working directory, not the directory of the module."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from itertools import pairwise

from planner.foundation.support.disk import (
    Entry,
    UnrecordedError,
    hashing,
    is_directory,
    list_directory,
    note_file_read,
    note_listing,
    note_look,
    note_matches,
    path_exists,
    path_mode,
    read_whole,
    working_directory,
)
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import BOOL, STRING, SetType
from planner.foundation.values.value import Value, mark, unmark
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.language.functions.crypto import base64, hexadecimal
from planner.language.functions.encoding import base64_text
from planner.language.functions.file_names import clean, expand_home, locate
from planner.language.functions.protocol import CallContext, Function, FunctionError, Param, function, text

FUNCTIONS: list[Function] = []


def read_bytes(path: str, base_dir: str, hidden: bool = False, argument: int | None = None) -> bytes:
    """The content of a file. Raises FunctionError if the file cannot be read; the error refers to the argument with the
    index `argument`, or to the whole call if this is None. Raises UnrecordedError if an explanation needs the former
    content of the file, which was not recorded. `hidden`: whether error messages must not contain the name."""
    name = "The file" if hidden else f'"{path}"'
    try:
        at = locate(path, base_dir)
        data = read_whole(at)
        note_file_read(at)
        return data
    except UnrecordedError:
        note_file_read(at)
        raise
    except FileNotFoundError:
        raise FunctionError(
            f"{name} does not exist.{'' if hidden else _similar(at)} Functions can only read files that exist before "
            "planning. For a file that a resource creates, refer to an attribute of that resource.",
            argument,
        ) from None
    except (OSError, ValueError) as problem:
        reason = (problem.strerror or problem) if isinstance(problem, OSError) else "its name is not valid"
        raise FunctionError(f"{name} cannot be read: {reason}.", argument) from None


def _similar(path: str) -> str:
    """A suggestion to append to a message, with the most similar name in the same directory; "" if there is none."""
    directory, slash, name = path.rpartition("/")
    try:
        beside = sorted(entry.name for entry in list_directory(directory or slash or "."))
    except OSError:
        return ""
    return did_you_mean(name, beside)


def read_text(path: str, base_dir: str, hidden: bool = False) -> str:
    """The UTF-8 text of the file in the first argument. `hidden`: as in `read_bytes`. Raises FunctionError."""
    data = read_bytes(path, base_dir, hidden, 0)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        name = "The file" if hidden else f'"{path}"'
        raise FunctionError(f"{name} is not text in UTF-8; read it with filebase64.") from None


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def abspath(path: str) -> Value:
    """Returns the absolute path of a file whose name is relative to the working directory."""
    return text(clean(path if path.startswith("/") else f"{working_directory()}/{path}"))


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def basename(path: str) -> Value:
    """Returns the last part of a path."""
    if not path:
        return "."
    return text(path.rstrip("/").rpartition("/")[2] or "/")


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def dirname(path: str) -> Value:
    """Returns a path without its last part."""
    return text(clean(path[: path.rfind("/") + 1]))


@function(Param("path", STRING, allow_marked=True), result=STRING, into=FUNCTIONS)
def file(path: Value, *, context: CallContext) -> Value:
    """Returns the content of a file, which must be text in UTF-8."""
    path, marks = unmark(path)
    return mark(text(read_text(path, context.base_dir, bool(marks))), marks)


@function(Param("path", STRING, allow_marked=True), result=STRING, into=FUNCTIONS)
def filebase64(path: Value, *, context: CallContext) -> Value:
    """Returns the content of a file in Base64."""
    path, marks = unmark(path)
    return mark(base64_text(read_bytes(path, context.base_dir, bool(marks), 0)), marks)


def _read_to_hash(path: str, base_dir: str) -> bytes:
    with hashing():
        return read_bytes(path, base_dir)


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filemd5(path: str, *, context: CallContext) -> Value:
    """Returns the MD5 hash of a file, in hexadecimal digits."""
    return hexadecimal(hashlib.md5(_read_to_hash(path, context.base_dir), usedforsecurity=False).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filesha1(path: str, *, context: CallContext) -> Value:
    """Returns the SHA-1 hash of a file, in hexadecimal digits."""
    return hexadecimal(hashlib.sha1(_read_to_hash(path, context.base_dir), usedforsecurity=False).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filesha256(path: str, *, context: CallContext) -> Value:
    """Returns the SHA-256 hash of a file, in hexadecimal digits."""
    return hexadecimal(hashlib.sha256(_read_to_hash(path, context.base_dir)).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filesha512(path: str, *, context: CallContext) -> Value:
    """Returns the SHA-512 hash of a file, in hexadecimal digits."""
    return hexadecimal(hashlib.sha512(_read_to_hash(path, context.base_dir)).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filebase64sha256(path: str, *, context: CallContext) -> Value:
    """Returns the SHA-256 hash of a file, in Base64."""
    return base64(hashlib.sha256(_read_to_hash(path, context.base_dir)).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filebase64sha512(path: str, *, context: CallContext) -> Value:
    """Returns the SHA-512 hash of a file, in Base64."""
    return base64(hashlib.sha512(_read_to_hash(path, context.base_dir)).digest())


@function(Param("path", STRING, allow_marked=True), result=BOOL, into=FUNCTIONS)
def fileexists(path: Value, *, context: CallContext) -> Value:
    """Returns whether a file exists. Fails if the path exists but is not a regular file."""
    path, marks = unmark(path)
    name = "The path" if marks else f'"{path}"'
    try:
        at = locate(path, context.base_dir)
        note_look(at)
        mode = path_mode(at)
    except FileNotFoundError:
        return mark(False, marks)
    except (OSError, ValueError):
        raise FunctionError(f"{name} cannot be looked up.") from None
    if not stat.S_ISREG(mode):
        # without an index, the error refers to the whole call
        raise FunctionError(f"{name} is {'a directory' if stat.S_ISDIR(mode) else 'not a regular file'}.")
    return mark(True, marks)


@function(
    Param("path", STRING, "The directory to search.", allow_marked=True),
    Param(
        "pattern",
        STRING,
        "A pattern with *, ?, [...], {...,...} and ** (any number of directories).",
        allow_marked=True,
    ),
    result=SetType(STRING),
    into=FUNCTIONS,
)
def fileset(path: Value, pattern: Value, *, context: CallContext) -> Value:
    """Searches a directory for regular files with names that match a pattern. Returns the names, which are relative to
    the directory."""
    path, path_marks = unmark(path)
    pattern, pattern_marks = unmark(pattern)
    directory = path if path.startswith("/") else _join_path(context.base_dir, path)
    paths: list[str] = []
    files: list[str] = []
    note_look(locate(directory, ""))
    try:
        for name in glob(_join_path(directory, pattern)):
            try:
                is_file = stat.S_ISREG(path_mode(name))
            except OSError:
                raise FunctionError("A file that matches the pattern cannot be looked up.") from None
            if is_file:
                files.append(name)
                paths.append(text(os.path.relpath(name, directory or ".")))
    except PatternError:
        raise FunctionError("The pattern is not valid.") from None
    note_matches(files)
    return mark(make_set(STRING, paths), path_marks | pattern_marks)


def _join_path(*parts: str) -> str:
    given = [part for part in parts if part]
    return clean("/".join(given)) if given else ""


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def pathexpand(path: str) -> Value:
    """Replaces a leading `~` in a path with the home directory."""
    return text(expand_home(path))


# Patterns of file names: `*`, `?`, `[a-z]`, `[^a-z]`, `{one,two}`, `**` for any number of directories, `\` to escape.
#
# As in OpenTofu's library doublestar: names that begin with a dot match like other names, symbolic links are followed,
# and directories that cannot be read count as empty.


_META = re.compile(r"\\.|([*?\[{])", re.DOTALL)
_UNESCAPE = re.compile(r"\\([*?\[\]{}])")
_ENDS = re.compile(r"\.(?!tmp$|backup$|info$|planner$|terraform$|tfstate$)\w+$")
"""suffixes of patterns that cannot match planner's own files"""


class PatternError(ValueError):
    """A pattern is invalid: a bracket or brace is not closed, or it ends with a backslash."""


def glob(pattern: str) -> list[str]:
    """Sorted names of files and directories that match a normalized pattern. Raises PatternError."""
    base, rest = _split(pattern)
    if not _is_valid(pattern if rest in ("", ".", "..") else rest):
        raise PatternError(pattern)
    paths: set[str] = set()
    for alternative in _alternatives(rest):
        parts = alternative.split("/")
        if all(parts):  # an empty alternative in braces may produce an empty path element, which matches nothing
            paths.update(_matches(base, parts))
    return sorted(paths)


def _split(pattern: str) -> tuple[str, str]:
    """The directory before the first special character, and the rest of the pattern."""
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
    """The index of the bracket that closes a character class, whose content begins at `position`; -1 if there is
    none."""
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
    """Yields the patterns that result from expanding the braces in a pattern: `ab` and `ac` for `a{b,c}`."""
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
        if directory and path_exists(directory):
            yield directory
        return
    part, rest = parts[0], parts[1:]
    while part == "**" and rest[:1] == ["**"]:
        rest = rest[1:]  # `**/**` means the same as `**`
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
        if is_directory(path) if rest else path_exists(path):
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


def _entries(directory: str) -> Sequence[Entry]:
    try:
        return list_directory(directory or ".")
    except (OSError, ValueError):  # ValueError: a null character, which is not allowed in names
        return []


def _expression(part: str) -> re.Pattern[str]:
    """The regular expression for one path element. Raises PatternError."""
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

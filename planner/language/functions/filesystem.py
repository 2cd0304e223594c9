"""Files and their names. Relative names start from the module's directory, those of `abspath` from the current one."""

from __future__ import annotations

import hashlib
import os
import stat

from planner.foundation.support.disk import read_whole
from planner.foundation.support.files_read import note_file_read, note_look
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import BOOL, STRING, SetType
from planner.foundation.values.value import Value, mark, unmark
from planner.language.functions.arguments import text
from planner.language.functions.crypto import base64, hexadecimal
from planner.language.functions.encoding import base64_text
from planner.language.functions.protocol import CallContext, Function, FunctionError, Param, function

FUNCTIONS: list[Function] = []


def clean(path: str) -> str:
    """The shortest name of the same file, by its spelling alone; `.` for an empty one."""
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
    """The path of a file named relative to a directory."""
    path = expand_home(path)
    return clean(path if path.startswith("/") else f"{base_dir or '.'}/{path}")


def read_bytes(path: str, base_dir: str, hidden: bool = False, argument: int | None = None) -> bytes:
    """The content of a file. Raises FunctionError about the argument; `hidden`: the name must not be told."""
    name = "The file" if hidden else f'"{path}"'
    try:
        at = located(path, base_dir)
        data = read_whole(at)
        note_file_read(at)
        return data
    except FileNotFoundError:
        raise FunctionError(
            f"{name} does not exist. Functions read only files that are there before the plan is made: for a file that "
            "a resource creates, refer to an attribute of that resource.",
            argument,
        ) from None
    except (OSError, ValueError) as problem:
        reason = (problem.strerror or problem) if isinstance(problem, OSError) else "its name is not valid"
        raise FunctionError(f"{name} cannot be read: {reason}.", argument) from None


def read_text(path: str, base_dir: str, hidden: bool = False) -> str:
    """The content of a file, the first argument, which must be text in UTF-8. Raises FunctionError."""
    data = read_bytes(path, base_dir, hidden, 0)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        name = "The file" if hidden else f'"{path}"'
        raise FunctionError(f"{name} is not text in UTF-8; read it with filebase64.") from None


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def abspath(path: str) -> Value:
    """Gives the absolute path of a file named relative to the current directory."""
    return text(clean(path if path.startswith("/") else f"{os.getcwd()}/{path}"))


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def basename(path: str) -> Value:
    """Gives the last part of a path."""
    if not path:
        return "."
    return text(path.rstrip("/").rpartition("/")[2] or "/")


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def dirname(path: str) -> Value:
    """Gives a path without its last part."""
    return text(clean(path[: path.rfind("/") + 1]))


@function(Param("path", STRING, allow_marked=True), result=STRING, into=FUNCTIONS)
def file(path: Value, *, context: CallContext) -> Value:
    """Reads a file, which must be text in UTF-8."""
    path, marks = unmark(path)
    return mark(text(read_text(path, context.base_dir, bool(marks))), marks)


@function(Param("path", STRING, allow_marked=True), result=STRING, into=FUNCTIONS)
def filebase64(path: Value, *, context: CallContext) -> Value:
    """Reads a file and encodes its bytes in Base64."""
    path, marks = unmark(path)
    return mark(base64_text(read_bytes(path, context.base_dir, bool(marks), 0)), marks)


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filemd5(path: str, *, context: CallContext) -> Value:
    """Gives the MD5 hash of a file, in hexadecimal digits."""
    return hexadecimal(hashlib.md5(read_bytes(path, context.base_dir), usedforsecurity=False).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filesha1(path: str, *, context: CallContext) -> Value:
    """Gives the SHA-1 hash of a file, in hexadecimal digits."""
    return hexadecimal(hashlib.sha1(read_bytes(path, context.base_dir), usedforsecurity=False).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filesha256(path: str, *, context: CallContext) -> Value:
    """Gives the SHA-256 hash of a file, in hexadecimal digits."""
    return hexadecimal(hashlib.sha256(read_bytes(path, context.base_dir)).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filesha512(path: str, *, context: CallContext) -> Value:
    """Gives the SHA-512 hash of a file, in hexadecimal digits."""
    return hexadecimal(hashlib.sha512(read_bytes(path, context.base_dir)).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filebase64sha256(path: str, *, context: CallContext) -> Value:
    """Gives the SHA-256 hash of a file, its bytes in Base64."""
    return base64(hashlib.sha256(read_bytes(path, context.base_dir)).digest())


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def filebase64sha512(path: str, *, context: CallContext) -> Value:
    """Gives the SHA-512 hash of a file, its bytes in Base64."""
    return base64(hashlib.sha512(read_bytes(path, context.base_dir)).digest())


@function(Param("path", STRING, allow_marked=True), result=BOOL, into=FUNCTIONS)
def fileexists(path: Value, *, context: CallContext) -> Value:
    """Tells whether a file exists. It is an error when a directory, or another thing that is no file, has the name."""
    path, marks = unmark(path)
    name = "The path" if marks else f'"{path}"'
    try:
        at = located(path, context.base_dir)
        note_look(at)
        mode = os.stat(at).st_mode
    except FileNotFoundError:
        return mark(False, marks)
    except (OSError, ValueError):
        raise FunctionError(f"{name} cannot be looked up.") from None
    if not stat.S_ISREG(mode):
        # The index is that of an argument that is not there: the call as a whole is pointed at.
        raise FunctionError(f"{name} is {'a directory' if stat.S_ISDIR(mode) else 'not a regular file'}.")
    return mark(True, marks)


@function(
    Param("path", STRING, "The directory to search.", allow_marked=True),
    Param("pattern", STRING, "A pattern with *, ?, [...], {...,...} and, for any directories, **.", allow_marked=True),
    result=SetType(STRING),
    into=FUNCTIONS,
)
def fileset(path: Value, pattern: Value, *, context: CallContext) -> Value:
    """Finds the files whose names, relative to a directory, match a pattern."""
    from planner.language.functions.globs import PatternError, glob

    path, path_marks = unmark(path)
    pattern, pattern_marks = unmark(pattern)
    directory = path if path.startswith("/") else _joined(context.base_dir, path)
    paths: list[str] = []
    note_look(located(directory, ""))
    try:
        for name in glob(_joined(directory, pattern)):
            try:
                is_file = stat.S_ISREG(os.stat(name).st_mode)
            except OSError:
                raise FunctionError("A file that matches the pattern cannot be looked up.") from None
            if is_file:
                paths.append(text(os.path.relpath(name, directory or ".")))
    except PatternError:
        raise FunctionError("The pattern is not valid.") from None
    return mark(make_set(STRING, paths), path_marks | pattern_marks)


def _joined(*parts: str) -> str:
    given = [part for part in parts if part]
    return clean("/".join(given)) if given else ""


@function(Param("path", STRING), result=STRING, into=FUNCTIONS)
def pathexpand(path: str) -> Value:
    """Replaces a leading `~` in a path by the home directory."""
    return text(expand_home(path))

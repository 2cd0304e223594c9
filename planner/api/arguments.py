"""Checks the arguments of library calls. An invalid argument immediately raises a Failure that names it."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""several paths, or a single path"""


def expect(name: str, value: object, kinds: Any, words: str) -> None:
    """Raises Failure if the argument does not have one of the types `kinds`. `words` describes these types in the
    message."""
    if not isinstance(value, kinds):
        what = f"{name} is {reprlib.repr(value)}" if name else reprlib.repr(value)
        raise Failure(error("api.argument", "Invalid argument", f"{what}; it must be {words}."))


def absolute(name: str, given: Any) -> str:
    """The argument as an absolute path. Raises Failure unless `given` is a valid path."""
    return os.path.abspath(path(name, given))


def path(name: str, given: Any) -> str:
    """The argument as a path string. Raises Failure unless `given` is a valid path."""
    expect(name, given, (str, os.PathLike), "a path")
    return text(name, os.fsdecode(given))


def text(name: str, given: Any) -> str:
    """The argument, a string. Raises Failure for other types, and for strings that file names and command lines cannot
    contain."""
    expect(name, given, str, "a string")
    try:
        if b"\0" not in os.fsencode(given):
            return str(given)
        detail = "which contains a NUL character"
    except UnicodeEncodeError:
        detail = "which contains half of a surrogate pair"
    raise Failure(error("api.argument", "Invalid argument", f"{name} is {reprlib.repr(given)}, {detail}."))


def functions(**given: Any) -> None:
    """Raises Failure if one of the arguments, which are passed by name, is not callable."""
    for name, value in given.items():
        if not callable(value):
            detail = f"{name} is {reprlib.repr(value)}, which is not callable."
            raise Failure(error("api.argument", "Invalid argument", detail))


def paths(name: str, given: Any) -> tuple[str, ...]:
    """The paths in an argument, which is a sequence of paths or a single path. Raises Failure if `given` is neither a
    path nor an iterable of paths."""
    one_or_more = (given,) if isinstance(given, str | os.PathLike) else given
    expect(name, one_or_more, Iterable, "a list of paths")
    return tuple(path(f"one of {name}", one) for one in one_or_more)


def several(words: str | Sequence[str], name: str = "") -> tuple[str, ...]:
    """The strings in an argument, which is a sequence of strings or a single string. Raises Failure for values that are
    not strings."""
    if isinstance(words, str):
        return (words,)
    expect(name, words, Iterable, "a list of strings")
    given = tuple(words)
    for word in given:
        if not isinstance(word, str):
            raise Failure(error("api.argument", "Invalid argument", f"{word!r} is not a string."))
    return given


def one_of(name: str, value: str, known: Sequence[str]) -> None:
    """Raises Failure if the value is not one of the allowed values."""
    if value not in known:
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        detail = f"{name} is {reprlib.repr(value)}, but must be one of {', '.join(map(repr, known))}.{hint}"
        raise Failure(error("api.argument", "Invalid argument", detail))


def switches(**given: bool) -> None:
    """Raises Failure if one of the arguments, which are passed by name, is neither True nor False."""
    for name, value in given.items():
        expect(name, value, bool, "True or False")

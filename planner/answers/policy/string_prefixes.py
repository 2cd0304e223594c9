"""Draws conclusions from the known beginning of a string: results of tests and functions that are the same for every
possible rest of the string."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from planner.logic.datalog.language.functions import compiled_pattern
from planner.logic.datalog.language.times import DURATIONS, TIME

LONGEST = 300
"""maximum number of characters of a prefix that are matched"""
_SPACE = r"[\s\x1c-\x1f\x80-\U0010ffff]*"
"""white space, including characters that are white space only in some dialects"""
_KINDS = {
    "is_cidr": rf"{_SPACE}[0-9a-fA-F:.]*(%[^/]*)?(/[0-9.]*)?{_SPACE}",
    "is_version": rf"{_SPACE}v?([0-9][0-9A-Za-z.+~-]*)?{_SPACE}",
    "is_constraint": rf"(?:[0-9A-Za-z.+~<>=!,-]|{_SPACE[:-1]})*",
    "is_base64": rf"(?:[A-Za-z0-9+/=_-]|{_SPACE[:-1]})*",
    "is_json": rf"{_SPACE}([\[{{\"tfn0-9-].*)?",
    "is_time": TIME.pattern,
    "is_duration": "|".join(f"(?:{pattern.pattern})" for pattern in DURATIONS),
}
"""{test: a pattern that matches at least all strings for which the test holds}"""
_ENDINGS = re.compile(r"\$|\\[bBzQE]|\(\?")
"""parts of a pattern because of which a match depends on the text after it, or which may change the meaning of the rest
of the pattern"""
_PLAIN = re.compile(
    r"\^(?:[\w :/=@,-]|\\[.\-/d]|\.|\[\^?(?:(?:\w-\w|[\w .:/@]|\\[.\-/d])+-?|-)\]|[+*?]|\{\d+(?:,\d*)?\}|[()])*\$?"
)
"""patterns that have the same meaning in all dialects of regular expressions"""


def known_truth(name: str, begin: str, arguments: tuple[Any, ...]) -> bool | None:
    """Whether a test holds for a string with this beginning; None if this depends on the rest of the string, or is not
    known."""
    if name in _KINDS:
        return None if _may_become(_KINDS[name], begin) else False
    if not arguments or type(arguments[0]) is not str:
        return None
    if name == "contains":
        return True if arguments[0] in begin else None
    return _matches(begin, arguments[0]) if name == "matches" else None


def _matches(begin: str, pattern: str) -> bool | None:
    if not begin or len(begin) > LONGEST:
        return None
    expression = compiled_pattern(pattern)
    if expression is None:
        return None
    if not _ENDINGS.search(pattern) and expression.search(begin):
        return True
    if not _PLAIN.fullmatch(pattern) or re.search(r"\)[*+?{]", pattern):
        return None
    return None if _may_become(pattern, begin, is_whole=pattern.endswith("$")) else False


def _may_become(pattern: str, begin: str, is_whole: bool = True) -> bool:
    """Whether some string with this beginning matches the pattern: the whole string or, if not `is_whole`, a first part
    of it. True if the search takes too long."""
    expression = _expression(pattern.removeprefix("^").removesuffix("$"))
    match = expression.fullmatch if is_whole else expression.match
    try:
        return match(begin[:LONGEST], partial=True, timeout=0.1) is not None
    except TimeoutError:
        return True


@lru_cache(maxsize=200)
def _expression(pattern: str) -> Any:
    import regex

    return regex.compile(pattern, regex.ASCII | regex.DOTALL)


def known_result(function: str, begin: str, arguments: tuple[Any, ...]) -> str | None:
    """The result of a function for a string with this beginning; None if the result depends on the rest of the string,
    or is not known."""
    if function == "before" and type(arguments[0]) is str and arguments[0] and arguments[0] in begin:
        return begin.partition(arguments[0])[0]
    if function == "substring" and all(type(n) is int and n >= 0 for n in arguments):
        end = arguments[0] + arguments[1]
        return begin[arguments[0] : end] if end <= len(begin) else None
    return None


def is_found(function: str, begin: str, arguments: tuple[Any, ...]) -> bool:
    """Whether a function that searches a string certainly finds something in each string with this beginning."""
    if function in ("before", "after", "before_last", "after_last", "replace"):
        return type(arguments[0]) is str and bool(arguments[0]) and arguments[0] in begin
    if function == "substring":
        return all(type(n) is int and n >= 0 for n in arguments)
    return False


def prefix_of_result(function: str, begin: str, arguments: tuple[Any, ...]) -> str:
    """The known beginning of the result of a function for a string with the beginning `begin`; "" if nothing is
    known."""
    if function in ("lower", "upper"):
        plain = begin[: next((i for i, c in enumerate(begin) if ord(c) > 127), len(begin))]
        return plain.lower() if function == "lower" else plain.upper()
    if function == "to_symbol":
        return begin
    if function == "trim":
        return begin.strip()
    if any(type(argument) is not str for argument in arguments):
        return ""
    if function == "after" and arguments[0] and arguments[0] in begin:
        return begin[begin.index(arguments[0]) + len(arguments[0]) :]
    if function == "trim_prefix":
        prefix: str = arguments[0]
        return begin.removeprefix(prefix) if begin.startswith(prefix) or not prefix.startswith(begin) else ""
    if function == "replace" and arguments[0]:
        old: str = arguments[0]
        return str(arguments[1]).join(known_parts(begin, old))
    return ""


def known_parts(begin: str, separator: Any) -> list[str]:
    """The parts between separators that each string with this beginning contains. The last item is only the beginning
    of a part. [] if the separator is not a string, or is empty."""
    if type(separator) is not str or not separator:
        return []
    *whole, last = begin.split(separator)
    begun = next((n for n in range(len(separator) - 1, 0, -1) if last.endswith(separator[:n])), 0)
    return [*whole, last[: len(last) - begun]]  # a separator may continue after the known beginning

r"""Regular expressions in the RE2 syntax of Go's regexp package (without `\C`; several groups may have the same
name)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from planner.foundation.support.lazy import MAX_NESTED, is_too_deep
from planner.foundation.values.types import DYNAMIC, STRING, ListType, ObjectType, TupleType, Type
from planner.foundation.values.value import List, Null, Unknown, Value
from planner.language.functions.protocol import Function, FunctionError, Param, function, text

FUNCTIONS: list[Function] = []

_MEMORY = 1 << 28  # bytes that the automaton of one expression may use
# matches named groups; also quoted text, escapes and character classes, because text like `(?<name>` inside these is
# not a group
_TOKENS = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\(\?P?<(\w+)>", re.DOTALL)

Spans = list[tuple[int, int]]  # byte ranges of the match and of each group; (-1, -1): the group did not match


class Pattern:
    """A compiled regular expression for UTF-8 text. `names`: the names of its groups in order, "" for unnamed
    groups."""

    __slots__ = ("_expression", "groups", "names")

    def __init__(self, pattern: str) -> None:
        import re2

        if is_too_deep(pattern):
            reason = f"more than {MAX_NESTED:,} nested groups"
            raise FunctionError(f"The regular expression is not valid: {reason}.")
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MEMORY
        try:
            self._expression: Any = re2.compile(pattern.encode("utf-8", "surrogateescape"), options)
        except re2.error as problem:
            reason = problem.args[0] if problem.args else "it cannot be parsed"
            reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            raise FunctionError(f"The regular expression is not valid: {reason}.") from None
        tokens = list(_TOKENS.finditer(pattern))
        if any(token[1] == "C" for token in tokens):
            raise FunctionError("The regular expression is not valid: it has the escape \\C.")
        self.groups: int = self._expression.groups
        self.names = [token[2] for token in tokens if token[2]]
        if len(self.names) != self.groups:
            self.names = [""] * self.groups
            for name, index in self._expression.groupindex.items():
                self.names[index - 1] = name.decode()

    def search(self, data: bytes, position: int = 0) -> Spans | None:
        """The first match at or after a position; None if there is none. Empty matches inside a character are
        ignored."""
        while position <= len(data):
            match = self._expression.search(data, position)
            if match is None:
                return None
            start, end = match.span()
            if start < len(data) and data[start] & 0xC0 == 0x80:
                position = next_character(data, start - 1)
                continue
            return [(start, end), *(match.span(i) for i in range(1, self.groups + 1))]
        return None

    def search_all(self, data: bytes) -> Iterator[Spans]:
        """All non-overlapping matches. An empty match directly after another match is ignored."""
        position, previous_end = 0, -1
        while (spans := self.search(data, position)) is not None:
            start, end = spans[0]
            accepted = end != position or start != previous_end
            position = next_character(data, position) if end == position else end
            previous_end = end
            if accepted:
                yield spans


def next_character(data: bytes, position: int) -> int:
    position += 1
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Pattern:
    """The compiled pattern, from a cache. Raises FunctionError if the pattern is invalid."""
    return Pattern(pattern)


def match_type(pattern: str) -> Type:
    """The type of one match: an object if the pattern has named groups, a tuple of strings for unnamed groups,
    otherwise a string. Raises FunctionError for an invalid pattern."""
    names = compile_pattern(pattern).names
    if not names:
        return STRING
    if not any(names):
        return TupleType((STRING,) * len(names))
    if not all(names):
        raise FunctionError("Either all groups of a regular expression must have names, or none.")
    return ObjectType(dict.fromkeys(names, STRING))


def _pattern_type(pattern: Value) -> Type:
    if pattern.__class__ is Unknown:
        return DYNAMIC
    try:
        return match_type(pattern)
    except FunctionError as problem:
        raise FunctionError(problem.message, 0) from None


def _match_value(pattern: Pattern, data: bytes, spans: Spans) -> Value:
    if not pattern.groups:
        return text(_part(data, spans[0]))
    groups = [Null(STRING) if span[0] < 0 else text(_part(data, span)) for span in spans[1:]]
    return dict(zip(pattern.names, groups, strict=True)) if pattern.names[0] else tuple(groups)


def _part(data: bytes, span: tuple[int, int]) -> str:
    return data[span[0] : span[1]].decode() if span[0] >= 0 else ""


@function(
    Param("pattern", STRING, "The regular expression."),
    Param("string", STRING, "The string to search."),
    result=lambda pattern, string: _pattern_type(pattern),
    into=FUNCTIONS,
)
def regex(pattern: str, string: str) -> Value:
    """Returns the first match of a regular expression in a string. If the expression has groups, the result is a tuple
    of their matches, or an object if the groups have names. Fails if nothing matches."""
    expression, data = compile_pattern(pattern), string.encode("utf-8", "surrogateescape")
    spans = expression.search(data)
    if spans is None:
        raise FunctionError("The regular expression does not match any part of the string.")
    return _match_value(expression, data, spans)


@function(
    Param("pattern", STRING, "The regular expression."),
    Param("string", STRING, "The string to search."),
    result=lambda pattern, string: ListType(_pattern_type(pattern)),
    into=FUNCTIONS,
)
def regexall(pattern: str, string: str, *, result_type: ListType) -> Value:
    """Returns all matches of a regular expression in a string, each in the same form as the result of `regex`."""
    expression, data = compile_pattern(pattern), string.encode("utf-8", "surrogateescape")
    return List(result_type.element, tuple(_match_value(expression, data, s) for s in expression.search_all(data)))


@function(
    Param("str", STRING, "The string to change."),
    Param("substr", STRING, "The text to replace; between slashes, a regular expression."),
    Param(
        "replace",
        STRING,
        "The replacement; with a regular expression, `$1` or `${name}` insert the text of its groups.",
    ),
    result=STRING,
    into=FUNCTIONS,
)
def replace(string: str, substring: str, replacement: str) -> Value:
    """Replaces all occurrences of a substring, or all matches of a regular expression, in a string."""
    if len(substring) > 1 and substring[0] == substring[-1] == "/":
        return text(_replace_matches(compile_pattern(substring[1:-1]), string, replacement))
    return text(string.replace(substring, replacement))


def _replace_matches(pattern: Pattern, string: str, replacement: str) -> str:
    parts = _template(replacement, pattern)
    data = string.encode("utf-8", "surrogateescape")
    out: list[str] = []
    done = position = 0
    while (spans := pattern.search(data, position)) is not None:
        start, end = spans[0]
        out.append(data[done:start].decode())
        if end > done or start == 0:
            out.extend(part if isinstance(part, str) else _part(data, spans[part(spans)]) for part in parts)
        done = end
        position = max(next_character(data, position), end)
    out.append(data[done:].decode())
    return "".join(out)


Choice = Callable[[Spans], int]  # of several groups with the same name, returns the number of the one that matched


def _template(replacement: str, pattern: Pattern) -> list[str | Choice]:
    """The parts of a replacement: literal text, and groups for `$name` and `${name}`; `$$` is a dollar sign. The
    longest possible name is used. Any other `$` is literal. A group that does not exist or did not match is replaced by
    ""."""
    parts: list[str | Choice] = []
    rest = replacement
    while True:
        before, dollar, rest = rest.partition("$")
        parts.append(before)
        if not dollar:
            return parts
        if rest.startswith("$"):
            parts.append("$")
            rest = rest[1:]
            continue
        braced = rest.startswith("{")
        body = rest[1:] if braced else rest
        length = 0
        while length < len(body) and (body[length].isalpha() or body[length].isdecimal() or body[length] == "_"):
            length += 1
        name, after = body[:length], body[length:]
        if not name or (braced and not after.startswith("}")):
            parts.append("$")
            continue
        rest = after[1:] if braced else after
        groups = _groups(name, pattern)
        if groups:
            parts.append(_first_matched(groups))


def _groups(name: str, pattern: Pattern) -> list[int]:
    if name.isascii() and name.isdigit() and (name[0] != "0" or name == "0"):
        number = int(name[:9])
        return [number] if number <= pattern.groups and len(name) < 9 else []
    return [index for index, own in enumerate(pattern.names, 1) if own == name]


def _first_matched(groups: list[int]) -> Choice:
    return lambda spans: next((group for group in groups if spans[group][0] >= 0), groups[0])

"""Regular expressions, in the syntax of RE2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from planner.language.functions.arguments import text
from planner.language.functions.protocol import Function, FunctionError, Param, function
from planner.language.types import DYNAMIC, STRING, ListType, ObjectType, TupleType, Type
from planner.language.values import List, Null, Unknown, Value

FUNCTIONS: list[Function] = []


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """A pattern compiled. Raises FunctionError when it is not valid."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 28
    try:
        return re2.compile(pattern, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else "it cannot be read"
        reason = reason.decode() if isinstance(reason, bytes) else str(reason)
        raise FunctionError(f"The regular expression is not valid: {reason}.") from None


def match_type(pattern: str) -> Type:
    """The type of one match: a string; with groups a tuple of strings, with named ones an object."""
    expression = compiled(pattern)
    groups, named = expression.groups, expression.groupindex
    if not groups:
        return STRING
    if not named:
        return TupleType((STRING,) * groups)
    if len(named) < groups:
        raise FunctionError("Either all or no groups of a regular expression may have names.")
    return ObjectType(dict.fromkeys(named, STRING))


def _pattern_type(pattern: Value) -> Type:
    if pattern.__class__ is Unknown:
        return DYNAMIC
    try:
        return match_type(pattern)
    except FunctionError as problem:
        raise FunctionError(problem.message, 0) from None


def _match_value(expression: Any, match: Any) -> Value:
    if not expression.groups:
        return text(match.group(0))
    if expression.groupindex:
        return {name: _group(match, index) for name, index in expression.groupindex.items()}
    return tuple(_group(match, index) for index in range(1, expression.groups + 1))


def _group(match: Any, index: int) -> Value:
    found = match.group(index)
    return Null(STRING) if found is None else text(found)


def all_matches(expression: Any, string: str) -> Iterator[Any]:
    """All matches that do not overlap. An empty one directly after another match does not count."""
    position, previous_end = 0, -1
    while position <= len(string):
        match = expression.search(string, position)
        if match is None:
            return
        start, end = match.span()
        accepted = True
        if end == position:
            accepted = start != previous_end
            position += 1
        else:
            position = end
        previous_end = end
        if accepted:
            yield match


@function(
    Param("pattern", STRING, "The regular expression."),
    Param("string", STRING, "The string to search."),
    result=lambda pattern, string: _pattern_type(pattern),
    into=FUNCTIONS,
)
def regex(pattern: str, string: str) -> Value:
    """Finds the first part of a string that a regular expression matches: the part itself or, when the expression has
    groups, a tuple of what they matched, or an object when they have names. It is an error when nothing matches."""
    expression = compiled(pattern)
    match = expression.search(string)
    if match is None:
        raise FunctionError("The regular expression matches no part of the string.")
    return _match_value(expression, match)


@function(
    Param("pattern", STRING, "The regular expression."),
    Param("string", STRING, "The string to search."),
    result=lambda pattern, string: ListType(_pattern_type(pattern)),
    into=FUNCTIONS,
)
def regexall(pattern: str, string: str, *, result_type: ListType) -> Value:
    """Lists all parts of a string that a regular expression matches, each as `regex` gives it."""
    expression = compiled(pattern)
    return List(result_type.element, tuple(_match_value(expression, m) for m in all_matches(expression, string)))


@function(
    Param("str", STRING, "The string to change."),
    Param("substr", STRING, "What to replace; a regular expression when written between slashes."),
    Param("replace", STRING, "What to put there; after a regular expression, `$1` or `${name}` stand for its groups."),
    result=STRING,
    into=FUNCTIONS,
)
def replace(string: str, substring: str, replacement: str) -> Value:
    """Replaces all occurrences of a string, or all matches of a regular expression, in another string."""
    if len(substring) > 1 and substring[0] == substring[-1] == "/":
        return text(_replace_matches(compiled(substring[1:-1]), string, replacement))
    return text(string.replace(substring, replacement))


def _replace_matches(expression: Any, string: str, replacement: str) -> str:
    parts = _template(replacement, expression)
    out: list[str] = []
    done = position = 0
    while position <= len(string):
        match = expression.search(string, position)
        if match is None:
            break
        start, end = match.span()
        out.append(string[done:start])
        if end > done or start == 0:
            out.extend(part if isinstance(part, str) else part(match) for part in parts)
        done = end
        position = max(position + 1, end)
    out.append(string[done:])
    return "".join(out)


def _template(replacement: str, expression: Any) -> list[str | Callable[[Any], str]]:
    """The parts of a replacement: texts, and functions of the match for `$name`, `${name}` and `$$`. A name is as long
    as it can be; a group that does not exist, or has not matched, is empty."""
    parts: list[str | Callable[[Any], str]] = []
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
        index = _group_index(name, expression)
        if index is not None:
            parts.append(_reference(index))


def _reference(index: int) -> Callable[[Any], str]:
    return lambda match: match.group(index) or ""


def _group_index(name: str, expression: Any) -> int | None:
    if name.isascii() and name.isdigit() and (name[0] != "0" or name == "0"):
        number = int(name) if len(name) < 9 else expression.groups + 1
        return number if number <= expression.groups else None
    return expression.groupindex.get(name)  # type: ignore[no-any-return]

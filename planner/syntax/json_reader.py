"""JSON text to values that know where they stand. Strict as RFC 8259, except that names may repeat (their meaning
depends on where the object stands, see json_body)."""

from __future__ import annotations

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from planner.vocabulary.diagnostic import Diagnostic, error
from planner.vocabulary.nearest import did_you_mean
from planner.vocabulary.span import Source, Span

_DEEPEST = 400  # values inside values; no configuration comes near it

_space = re.compile(r"[ \t\r\n]*").match
_plain = re.compile(r'"([^"\\\x00-\x1f]*)"').match
_number = re.compile(r"[-+.0-9][-+.eE0-9]*").match
_word = re.compile(r"[A-Za-z][A-Za-z_]*").match
_valid_number = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?").fullmatch
_string_token = re.compile(r'"(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*"?').match
_surrogate = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}


class JsonText:
    """A string: its text, and its span with the quotes."""

    __slots__ = ("end", "start", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonText, (self.text, self.start, self.end))


class JsonAtom:
    """A number (as its text), true, false or null."""

    __slots__ = ("end", "start", "value")

    def __init__(self, value: str | bool | None, start: int, end: int) -> None:
        self.value, self.start, self.end = value, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonAtom, (self.value, self.start, self.end))


class JsonArray:
    """An array; start is its opening bracket."""

    __slots__ = ("end", "items", "start")

    def __init__(self, items: list[JsonValue], start: int, end: int) -> None:
        self.items, self.start, self.end = items, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonArray, (self.items, self.start, self.end))


class JsonObject:
    """An object: names with their values, in order and with repetitions."""

    __slots__ = ("end", "members", "start")

    def __init__(self, members: list[tuple[JsonText, JsonValue]], start: int, end: int) -> None:
        self.members, self.start, self.end = members, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonObject, (self.members, self.start, self.end))


JsonValue: TypeAlias = JsonText | JsonAtom | JsonArray | JsonObject


class _JsonError(Exception):
    def __init__(self, code: str, summary: str, detail: str, start: int, end: int) -> None:
        self.code, self.summary, self.detail, self.start, self.end = code, summary, detail, start, end


def read_json(source: Source) -> tuple[JsonValue | None, list[Diagnostic]]:
    """The one value of a JSON text; None, and what is wrong with it, when it is not well-formed."""
    text = source.text
    try:
        value, at = _value(text, _skip(text, 0), 0)
        at = _skip(text, at)
        if at < len(text):
            detail = "The JSON value is complete, but more text follows it."
            raise _JsonError("extra", "Text after the JSON value", detail, at, _token_end(text, at))
    except _JsonError as m:
        return None, [error(f"json.{m.code}", m.summary, m.detail, Span(source, m.start, m.end))]
    return value, []


def _skip(text: str, at: int) -> int:
    return _space(text, at).end()  # type: ignore[union-attr]


def _value(text: str, at: int, depth: int) -> tuple[JsonValue, int]:
    """The value that begins at an offset, and the offset behind it."""
    char = text[at : at + 1]
    if char == '"':
        string = _string(text, at)
        return string, string.end
    if char == "{" or char == "[":
        if depth >= _DEEPEST:
            detail = f"Values may be nested {_DEEPEST} deep at most."
            raise _JsonError("depth", "Nested too deeply", detail, at, at + 1)
        return (_object if char == "{" else _array)(text, at, depth + 1)
    match = _number(text, at)
    if match:
        if not _valid_number(match[0]):
            detail = f"{match[0]} is not a number as JSON writes them."
            raise _JsonError("number", "Invalid JSON number", detail, at, match.end())
        return JsonAtom(match[0], at, match.end()), match.end()
    match = _word(text, at)
    if match:
        if match[0] not in _WORDS:
            hint = did_you_mean(match[0].lower(), _WORDS)
            detail = f"JSON knows the words true, false and null, not {match[0]}.{hint}"
            raise _JsonError("word", "Unknown word in JSON", detail, at, match.end())
        return JsonAtom(_WORDS[match[0]], at, match.end()), match.end()
    if not char:
        raise _JsonError("end", "Missing JSON value", "The text ends where a value should stand.", at, at)
    detail = "A value should stand here: an object, an array, a string, a number, true, false or null."
    raise _JsonError("value", "Missing JSON value", detail, at, at + 1)


def _string(text: str, at: int) -> JsonText:
    match = _plain(text, at)
    if match:
        return JsonText(match[1], at, match.end())
    try:
        value, end = scanstring(text, at + 1, True)
    except JSONDecodeError:
        found = _string_token(text, at)
        end = found.end() if found else at + 1
        bad = next((m for m in re.finditer(r"\\(?!u[0-9a-fA-F]{4}|[\"\\/bfnrt])", text[at:end])), None)
        if bad is not None:
            where = min(at + bad.start() + 2, len(text))
            detail = 'The escapes of JSON are \\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t and \\u with four digits.'
            until = min(where + 1, len(text))
            raise _JsonError("escape", "Invalid escape in a JSON string", detail, where, until) from None
        detail = "The string has no closing quote on its line. Write \\n for a line break."
        raise _JsonError("string", "JSON string not closed", detail, end, min(end + 1, len(text))) from None
    if not value.isascii():
        value = _surrogate.sub("\ufffd", value)  # half a pair stands for no character
    return JsonText(value, at, end)


def _object(text: str, start: int, depth: int) -> tuple[JsonObject, int]:
    members: list[tuple[JsonText, JsonValue]] = []
    at = _skip(text, start + 1)
    if text.startswith("}", at):
        return JsonObject(members, start, at + 1), at + 1
    while True:
        if not text.startswith('"', at):
            _value(text, at, depth)  # says if there is none at all
            detail = "Names in JSON objects are strings."
            raise _JsonError("name", "Invalid property name", detail, at, _token_end(text, at))
        name = _string(text, at)
        at = _skip(text, name.end)
        if not text.startswith(":", at):
            detail = "A colon separates a property's name from its value."
            if text.startswith("=", at):
                detail = "JSON separates a property's name from its value by a colon, not by an equals sign."
            raise _JsonError("colon", "Missing colon", detail, at, _token_end(text, at))
        value, at = _value(text, _skip(text, at + 1), depth)
        members.append((name, value))
        at = _skip(text, at)
        char = text[at : at + 1]
        if char == "}":
            return JsonObject(members, start, at + 1), at + 1
        if char != ",":
            raise _unfinished(text, at, start, "object", "}", "]")
        comma, at = at, _skip(text, at + 1)
        if text.startswith("}", at):
            detail = "JSON has no comma behind the last property of an object."
            raise _JsonError("trailing_comma", "Comma at the end of an object", detail, comma, comma + 1)


def _array(text: str, start: int, depth: int) -> tuple[JsonArray, int]:
    items: list[JsonValue] = []
    at = _skip(text, start + 1)
    if text.startswith("]", at):
        return JsonArray(items, start, at + 1), at + 1
    while True:
        item, at = _value(text, at, depth)
        items.append(item)
        at = _skip(text, at)
        char = text[at : at + 1]
        if char == "]":
            return JsonArray(items, start, at + 1), at + 1
        if char != ",":
            raise _unfinished(text, at, start, "array", "]", "}")
        comma, at = at, _skip(text, at + 1)
        if text.startswith("]", at):
            detail = "JSON has no comma behind the last item of an array."
            raise _JsonError("trailing_comma", "Comma at the end of an array", detail, comma, comma + 1)


def _unfinished(text: str, at: int, start: int, what: str, closing: str, other: str) -> _JsonError:
    """What is wrong where a comma or the closing bracket should stand."""
    if at >= len(text):
        detail = f"The text ends before the closing {closing} of this {what}."
        return _JsonError("unclosed", f"JSON {what} not closed", detail, start, start + 1)
    if text[at] == other:
        detail = f"An {what} is closed by {closing}, not by {other}."
        return _JsonError("bracket", "Wrong closing bracket", detail, at, at + 1)
    detail = f"A comma separates the parts of an {what}."
    return _JsonError("comma", "Missing comma", detail, at, _token_end(text, at))


def _token_end(text: str, at: int) -> int:
    """Where the token that begins at an offset ends, well-formed or not."""
    match = _string_token(text, at) or _number(text, at) or _word(text, at)
    return match.end() if match else min(at + 1, len(text))

"""JSON text to values with their positions. Strict as RFC 8259, except that names may repeat (their meaning depends on
where the object is used, see json_body)."""

from __future__ import annotations

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.span import Source
from planner.language.syntax.json_mistakes import json_mistakes
from planner.language.syntax.json_values import DEEPEST, JsonArray, JsonAtom, JsonObject, JsonText, JsonValue

_space = re.compile(r"[ \t\r\n]*").match
_plain = re.compile(r'"([^"\\\x00-\x1f]*)"').match
_number = re.compile(r"[-+.0-9][-+.eE0-9]*").match
_word = re.compile(r"[A-Za-z][A-Za-z_]*").match
_valid_number = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?").fullmatch
_surrogate = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}


class _NotJsonError(Exception):
    pass


def read_json(source: Source) -> tuple[JsonValue | None, list[Diagnostic]]:
    """The one value of a JSON text, and its problems; None when hardly anything of it can be read."""
    text = source.text
    try:
        value, at = _value(text, _skip(text, 0), 0)
        if _skip(text, at) < len(text):
            raise _NotJsonError
    except _NotJsonError:
        return json_mistakes(source)
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
        if depth >= DEEPEST:
            raise _NotJsonError
        return (_object if char == "{" else _array)(text, at, depth + 1)
    match = _number(text, at)
    if match and _valid_number(match[0]):
        return JsonAtom(match[0], at, match.end()), match.end()
    match = _word(text, at)
    if match and match[0] in _WORDS:
        return JsonAtom(_WORDS[match[0]], at, match.end()), match.end()
    raise _NotJsonError


def _string(text: str, at: int) -> JsonText:
    match = _plain(text, at)
    if match:
        return JsonText(match[1], at, match.end())
    try:
        value, end = scanstring(text, at + 1, True)
    except JSONDecodeError:
        raise _NotJsonError from None
    if not value.isascii():
        value = _surrogate.sub("\ufffd", value)  # half a pair is not a character
    return JsonText(value, at, end)


def _object(text: str, start: int, depth: int) -> tuple[JsonObject, int]:
    members: list[tuple[JsonText, JsonValue]] = []
    at = _skip(text, start + 1)
    if text.startswith("}", at):
        return JsonObject(members, start, at + 1), at + 1
    while text.startswith('"', at):
        name = _string(text, at)
        at = _skip(text, name.end)
        if not text.startswith(":", at):
            break
        value, at = _value(text, _skip(text, at + 1), depth)
        members.append((name, value))
        at = _skip(text, at)
        if text.startswith("}", at):
            return JsonObject(members, start, at + 1), at + 1
        if not text.startswith(",", at):
            break
        at = _skip(text, at + 1)
    raise _NotJsonError


def _array(text: str, start: int, depth: int) -> tuple[JsonArray, int]:
    items: list[JsonValue] = []
    at = _skip(text, start + 1)
    if text.startswith("]", at):
        return JsonArray(items, start, at + 1), at + 1
    while True:
        item, at = _value(text, at, depth)
        items.append(item)
        at = _skip(text, at)
        if text.startswith("]", at):
            return JsonArray(items, start, at + 1), at + 1
        if not text.startswith(",", at):
            raise _NotJsonError
        at = _skip(text, at + 1)

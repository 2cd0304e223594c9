"""Parses JSON into values with positions. The parser is as strict as RFC 8259, except that a name may occur several
times in an object; json_body handles such names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Source, Span

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
    """The value of a JSON text, and the problems. If the text has mistakes, the value is only the readable part of its
    object or array, or None if there is none."""
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
    """The value at an offset, and the offset after it. Raises _NotJsonError."""
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
        value = _surrogate.sub("\ufffd", value)  # a lone surrogate is not a character
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


DEEPEST = 400  # the maximum nesting depth of values, more than any real configuration needs


class JsonText:
    """A string. The span includes the quotes."""

    __slots__ = ("end", "start", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.start, self.end = text, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonText, (self.text, self.start, self.end))


class JsonAtom:
    """A number (as a string), true, false or null."""

    __slots__ = ("end", "start", "value")

    def __init__(self, value: str | bool | None, start: int, end: int) -> None:
        self.value, self.start, self.end = value, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonAtom, (self.value, self.start, self.end))


class JsonArray:
    """An array; `start` is its opening bracket."""

    __slots__ = ("end", "items", "start")

    def __init__(self, items: list[JsonValue], start: int, end: int) -> None:
        self.items, self.start, self.end = items, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonArray, (self.items, self.start, self.end))


class JsonObject:
    """Pairs (name, value) in source order, including repetitions."""

    __slots__ = ("end", "members", "start")

    def __init__(self, members: list[tuple[JsonText, JsonValue]], start: int, end: int) -> None:
        self.members, self.start, self.end = members, start, end

    def __reduce__(self) -> tuple[Any, ...]:
        return (JsonObject, (self.members, self.start, self.end))


JsonValue: TypeAlias = JsonText | JsonAtom | JsonArray | JsonObject


# Finds all mistakes in invalid JSON.
#
# Text that the reader rejects is read again, token by token. After a wrong word, number or string, reading continues; a
# wrong punctuation character ends the object or array that contains it. Positions are those of HCL's JSON parser, even
# if they are imprecise: the parser searches for the closing brace and reports the position after the brace.


_quoted = re.compile(r'"(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*(?:"|\\(?=[\x00-\x1f]|\Z))?').match
_valid_string = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))*"').fullmatch
# matches the beginning of an invalid escape, up to the wrong character
_bad_escape = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}(?![0-9a-fA-F])|(?![u\"\\/bfnrt]))").search

WORDS = {"true": True, "false": False, "null": None}
END, NUMBER, STRING, WORD, OTHER = "end", "number", "string", "word", "other"

Token = tuple[str, int, int]  # (kind, start, end); the kind of a punctuation character is this character


def json_mistakes(source: Source) -> tuple[JsonValue | None, list[Diagnostic]]:
    """The readable part of invalid JSON, and the mistakes in source order. The readable part is an object or array with
    `false` in place of malformed parts; None if there is no object or array, or if its end was not found."""
    reader = _Mistakes(source)
    first = reader.peek()
    value = reader.value(0)
    if not reader.found and reader.peek()[0] != END:
        reader.report(
            "extra",
            "Unexpected content after the JSON value",
            "The JSON value ends before this character.",
            reader.peek(),
        )
    if isinstance(value, JsonObject | JsonArray):
        return value, reader.found
    detail = "The file must contain one JSON object, or an array of objects."
    reader.report("root", "Not a JSON object", detail, first)
    return None, reader.found


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while True:
        at = _space(text, at).end()  # type: ignore[union-attr]
        if at >= len(text):
            yield END, at, at
            return
        char = text[at]
        if char in "{}[],:=":
            kind, end = char, at + 1
        elif char == '"':
            kind, end = STRING, _quoted(text, at).end()  # type: ignore[union-attr]
        elif match := _number(text, at):
            kind, end = NUMBER, match.end()
        elif match := _word(text, at):
            kind, end = WORD, match.end()
        else:
            yield OTHER, at, at + 1
            yield END, at + 1, at + 1
            return
        yield kind, at, end
        at = end


class _Mistakes:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = list(_tokens(source.text))
        self.at = 0
        self.found: list[Diagnostic] = []

    def peek(self) -> Token:
        return self.tokens[self.at]

    def read(self) -> Token:
        token = self.tokens[self.at]
        if token[0] != END:
            self.at += 1
        return token

    def report(self, code: str, summary: str, detail: str, token: Token) -> None:
        self.found.append(error(f"json.{code}", summary, detail, Span(self.source, token[1], token[2])))

    def text(self, token: Token) -> str:
        return self.source.text[token[1] : token[2]]

    # ------------------------------------------------------------ values

    def value(self, depth: int) -> JsonValue:
        token = self.peek()
        kind, start, end = token
        wrong = JsonAtom(False, start, end)
        if kind in "{[":
            if depth >= DEEPEST:
                detail = f"Values may be nested at most {DEEPEST} levels deep."
                self.report("depth", "Nested too deeply", detail, token)
                self.at = len(self.tokens) - 1
                return wrong
            return (self.object(depth + 1) if kind == "{" else self.array(depth + 1)) or wrong
        if kind == NUMBER:
            self.read()
            if _valid_number(self.text(token)):
                return JsonAtom(self.text(token), start, end)
            detail = f"{self.text(token)} is not a valid JSON number."
            self.report("number", "Invalid JSON number", detail, token)
        elif kind == STRING:
            self.read()
            return self.string(token) or wrong
        elif kind == WORD:
            self.read()
            word = self.text(token)
            if word in WORDS:
                return JsonAtom(WORDS[word], start, end)
            detail = (
                f"{word} is not valid JSON: the only words are true, false and null.{did_you_mean(word.lower(), WORDS)}"
            )
            self.report("word", "Unknown word in JSON", detail, token)
        elif kind == END:
            self.report("end", "Missing JSON value", "Unexpected end of input: expected a value.", token)
        else:
            detail = "Expected a value: an object, an array, a string, a number, true, false or null."
            self.report("value", "Missing JSON value", detail, token)
        return wrong

    def string(self, token: Token) -> JsonText | None:
        _, start, end = token
        text = self.text(token)
        if _valid_string(text):
            return JsonText(scanstring(self.source.text, start + 1, True)[0], start, end)
        bad = _bad_escape(text)
        wrong = bad.end() if bad is not None else len(text)
        if wrong < len(text):
            detail = 'The escapes of JSON are \\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t and \\u with four digits.'
            behind = min(start + wrong + 1, len(self.source.text))
            place = (STRING, behind, min(behind + 1, len(self.source.text)))
            self.report("escape", "Invalid escape in a JSON string", detail, place)
        else:
            detail = "The string has no closing quote on its line. Write \\n for a line break."
            self.report("string", "JSON string not closed", detail, (STRING, end, end))
        return None

    # ------------------------------------------------------------ objects and arrays

    def object(self, depth: int) -> JsonObject | None:
        """Read an object; None if it is malformed (reported)."""
        members: list[tuple[JsonText, JsonValue]] = []
        opened = self.read()
        while self.peek()[0] != "}":
            first, name = self.peek(), self.value(depth)
            if not isinstance(name, JsonText):
                place = (OTHER, first[1], first[1] + 1) if first[0] in "{[" else first
                self.report("name", "Invalid property name", "Names in JSON objects must be strings.", place)
                return None
            colon = self.read()
            if colon[0] != ":":
                self.skip(colon, "{", "}")
                other = ", not by an equals sign" if colon[0] == "=" else ""
                detail = f"A colon separates a property's name from its value{other}."
                self.report("colon", "Missing colon", detail, colon)
                return None
            members.append((name, self.value(depth)))
            token = self.peek()
            if token[0] == ",":
                self.read()
                if self.peek()[0] == "}":
                    detail = "JSON allows no comma after the last property of an object."
                    self.report("trailing_comma", "Trailing comma in an object", detail, token)
                    return None
            elif token[0] == END:
                detail = "The text ends before the closing brace of this object."
                self.report("unclosed", "JSON object not closed", detail, opened)
                return None
            elif token[0] == "]":
                self.read()
                detail = "An object must be closed by a brace, not by a bracket."
                self.report("bracket", "Wrong closing bracket", detail, self.peek())
                return None
            elif token[0] != "}":
                self.skip(self.read(), "{", "}")
                detail = "In the object that ends before this character, properties must be separated by commas."
                self.report("comma", "Missing comma", detail, self.peek())
                return None
        return JsonObject(members, opened[1], self.read()[2])

    def array(self, depth: int) -> JsonArray | None:
        """Read an array; None if it is malformed (reported)."""
        items: list[JsonValue] = []
        opened = self.read()
        while self.peek()[0] != "]":
            items.append(self.value(depth))
            token = self.peek()
            if token[0] == ",":
                self.read()
                if self.peek()[0] == "]":
                    detail = "JSON allows no comma after the last item of an array."
                    self.report("trailing_comma", "Trailing comma in an array", detail, token)
                    return None
            elif token[0] == END:
                detail = "The text ends before the closing bracket of this array."
                self.report("unclosed", "JSON array not closed", detail, opened)
                return None
            elif token[0] != "]":
                self.skip(self.read(), "[", "]")
                if token[0] == "}":
                    detail = "The array that ends before this character must be closed by a bracket, not by a brace."
                    self.report("bracket", "Wrong closing bracket", detail, self.peek())
                else:
                    detail = "In the array that ends before this character, items must be separated by commas."
                    self.report("comma", "Missing comma", detail, self.peek())
                return None
        return JsonArray(items, opened[1], self.read()[2])

    def skip(self, token: Token, opening: str, closing: str) -> None:
        """Skip the tokens up to the probable end of a malformed object or array."""
        depth = 1
        while token[0] != END:
            if token[0] == opening:
                depth += 1
            elif token[0] == closing:
                depth -= 1
                if depth <= 1:
                    return
            token = self.read()

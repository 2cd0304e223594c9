"""Reads TOML files strictly: a key that is not used is an error that suggests the most similar known key, and each
value has a source location. `tomllib` parses the file, and a second pass finds the locations of keys and elements."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Source, Span

Path: TypeAlias = tuple[str | int, ...]
"""keys of tables and indexes of arrays"""
T = TypeVar("T")
MOST_CHARACTERS = 4 << 20
DEEPEST = 40
"""maximum nesting of brackets, and maximum number of names in a key (a.b.c)"""

_SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_KEY = re.compile(r'[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_TEXT = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_DEEP_KEY = re.compile(rf"(?:^|[{{,\[])[ \t]*+(?:(?:{_KEY.pattern})[ \t]*+\.[ \t]*+){{{DEEPEST}}}", re.MULTILINE)
_WORD = re.compile(r"[^\s,\]}#]+(?: \d\d:[^\s,\]}#]+)?")


class TomlTable:
    """A table with its source location. The keys that are read are recorded as known. Problems are collected in
    `file.problems`."""

    def __init__(self, data: Mapping[str, Any], path: Path, file: TomlFile) -> None:
        self.data, self.path, self.file = data, path, file
        self.known: dict[str, None] = {}

    @property
    def span(self) -> Span:
        return self.file.span(self.path)

    def place(self, key: str) -> Span:
        return self.file.span((*self.path, key))

    def __contains__(self, key: str) -> bool:
        self.known[key] = None
        return key in self.data

    def problem(self, key: str, detail: str, summary: str = "Wrong value") -> None:
        span = self.place(key) if key in self.data else self.span
        self.file.problems.append(error(self.file.code, f"{summary} in {self.file.what}", detail, span))

    def value(self, key: str, kind: type[T], called: str, default: T) -> T:
        """The value of a key; `default` if the key is missing, or if the value does not have the type `kind`. A value
        of the wrong type is a problem. `called`: the expected type in words."""
        if key not in self:
            return default
        result = self.data[key]
        if not isinstance(result, kind) or (isinstance(result, bool) and kind is not bool):
            self.problem(key, f"{key} is {kind_of(result)}; it must be {called}.")
            return default
        return result

    def text(self, key: str, default: str = "") -> str:
        result = self.value(key, str, "a string", default)
        if any(c < " " and c not in "\n\t" for c in result):
            self.problem(key, f"{key} contains a control character.")
            return default
        return result

    def needed(self, key: str) -> str:
        """The string of a required key. If the key is missing, this is a problem, and the result is ""."""
        if key not in self:
            self.problem(key, f"The key {key} is required.", "Something is missing")
        return self.text(key)

    def word(self, key: str, words: Iterable[str], default: str) -> str:
        """The value of a key, which must be one of `words`; `default` if the key is missing, or if the value is not one
        of `words`. A value that is not one of `words` is a problem."""
        known = list(words)
        result = self.text(key, default)
        if result not in known and key in self.data:
            self.problem(key, f'{key} must be one of {", ".join(known)}, not "{result}".{did_you_mean(result, known)}')
            return default
        return result

    def texts(self, key: str) -> tuple[str, ...]:
        result = self.value(key, list, "a list of strings", [])
        wrong = [x for x in result if not isinstance(x, str)]
        if wrong:
            self.problem(key, f"{key} must be a list of strings, but it contains {kind_of(wrong[0])}.")
        return tuple(x for x in result if isinstance(x, str))

    def table(self, key: str) -> TomlTable:
        """The table of a key; empty if the key is missing, or if its value is not a table. A value that is not a table
        is a problem."""
        result = self.value(key, dict, "a table", {})
        return TomlTable(result, (*self.path, key), self.file)

    def tables(self, key: str) -> Iterator[tuple[str, TomlTable]]:
        """(name, table) of each table in the table with this key. Values in it that are not tables are problems."""
        within = self.table(key)
        for name in within.data:
            if isinstance(within.data[name], dict):
                yield name, TomlTable(within.data[name], (*within.path, name), self.file)
            else:
                within.problem(name, f"{name} is {kind_of(within.data[name])}; it must be a table.")

    def several(self, key: str) -> Iterator[TomlTable]:
        """The tables of an array, `[[key]]`. Elements that are not tables are problems."""
        for number, item in enumerate(self.value(key, list, f"an array of tables, [[{key}]]", [])):
            if isinstance(item, dict):
                yield TomlTable(item, (*self.path, key, number), self.file)
            else:
                self.problem(key, f"{key} must be an array of tables, [[{key}]], but it contains {kind_of(item)}.")

    def done(self) -> None:
        """Add a problem for each key that was not read."""
        for key in self.data:
            if key not in self.known:
                known = ", ".join(sorted(self.known))
                detail = f"{key} is not valid here.{did_you_mean(key, self.known)} The keys are {known}."
                self.problem(key, detail, "Unknown key")


class TomlFile:
    """A parsed TOML file. `what`: the kind of the file in messages, such as "a pack". `code`: the code of these
    messages. The constructor raises Failure for invalid TOML."""

    def __init__(self, source: Source, what: str, code: str) -> None:
        self.source, self.what, self.code = source, what, code
        self.problems: list[Diagnostic] = []
        self._places: dict[Path, Span] | None = None
        text = source.text
        if len(text) > MOST_CHARACTERS:
            detail = f"{source.filename} is longer than {MOST_CHARACTERS:,} characters."
            raise Failure(error(code, f"{what} is too large", detail))
        deepest = _depth(text)
        if deepest > DEEPEST:
            detail = f"{source.filename} has brackets nested {deepest} levels deep; at most {DEEPEST} levels are read."
            raise Failure(error(code, f"Nested too deeply for {what}", detail))
        key = _DEEP_KEY.search(text)
        if key is not None:  # parsing such a key takes quadratic time
            span = Span(source, key.end() - 1, key.end())
            detail = f"A key has more than {DEEPEST} names."
            raise Failure(error(code, f"Nested too deeply for {what}", detail, span))
        try:
            self.data = _loads(text)
        except (ValueError, RecursionError) as problem:
            raise Failure(_syntax(problem, source, what, code)) from None

    @property
    def root(self) -> TomlTable:
        return TomlTable(self.data, (), self)

    def span(self, path: Path) -> Span:
        """The source location of a key or element; if it is not known, the location of the enclosing table."""
        if self._places is None:
            try:
                self._places = dict(_TomlLocations(self.source).all())
            except (AssertionError, ValueError, RecursionError):  # the file is valid, but has an unexpected form
                self._places = {}
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path) or Span(self.source, 0, min(1, len(self.source.text)))

    def finish(self, make: Callable[[], T]) -> T:
        """The result of `make`. Raises Failure if there are problems."""
        made = make()
        if self.problems:
            raise Failure(self.problems)
        return made


def kind_of(value: Any) -> str:
    """A description of a value for messages, such as "the number 3" or "a list"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return f"the number {value}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "a list"
    return "a table" if isinstance(value, dict) else "a time"


def _loads(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=_number)


def _number(text: str) -> int | Decimal:
    """A float in the file as an exact number. Raises ValueError for infinite numbers and for numbers with very large
    exponents, because these make computations slow."""
    return plain_number(Decimal(text), text)


def plain_number(number: Decimal, text: str) -> int | Decimal:
    """The number in the form that it has in plans: 1.0 is the integer 1. Raises ValueError for infinite numbers and for
    numbers with very large exponents, because these make computations slow. `text`: the number as it is written."""
    if not number.is_finite() or abs(number.adjusted()) > 1000:
        limits = "it must be finite, with an exponent between -1000 and 1000"
        raise ValueError(f"{text[:60]} cannot be used as a number: {limits}")
    return int(number) if number == number.to_integral_value() else number


def _depth(text: str) -> int:
    """The maximum depth of nested brackets in a text. Brackets in strings and comments are counted, too."""
    deepest = depth = 0
    for sign in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if sign in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _syntax(problem: Exception, source: Source, what: str, code: str) -> Diagnostic:
    text = str(problem)
    match = re.search(r" \(at line (\d+), column (\d+)\)", text)
    if match is not None:
        starts = source.line_starts
        line = min(int(match[1]), len(starts))
        start = min(starts[line - 1] + int(match[2]) - 1, len(source.text))
        text = text.replace(match[0], "")
    else:
        start = len(source.text.rstrip())
        text = text.replace(" (at end of document)", ", at the end of the file")
    begin = max(0, min(start, len(source.text) - 1))
    span = Span(source, begin, min(begin + 1, len(source.text)))
    return error(code, f"Syntax error in {what}", f"The file is not valid TOML: {text}.", span)


class _TomlLocations:
    """Finds the source locations of keys and elements in valid TOML."""

    def __init__(self, source: Source) -> None:
        self.source, self.text = source, source.text
        self.found: list[tuple[Path, Span]] = []
        self.at = 0

    def all(self) -> Iterator[tuple[Path, Span]]:
        arrays: dict[Path, int] = {}
        table: Path = ()
        text = self.text
        while True:
            self._skip(_SPACE)
            if self.at >= len(text):
                break
            if text[self.at] == "[":
                start = self.at
                is_array = text.startswith("[[", start)
                self.at += 1 + is_array
                path: Path = ()
                for part in self._keys():
                    path = (*path, part)
                    if path in arrays:
                        path = (*path, arrays[path])
                if is_array:
                    if path in arrays or (path and isinstance(path[-1], int)):
                        path = path[:-1] if isinstance(path[-1], int) else path
                    arrays[path] = arrays.get(path, -1) + 1
                    path = (*path, arrays[path])
                self._skip(_BLANK)
                self.at += 1 + is_array
                table = path
                self._note(path, start)
            else:
                self._pair(table)
        return iter(self.found)

    def _note(self, path: Path, start: int) -> None:
        self.found.append((path, Span(self.source, start, self.at)))

    def _skip(self, what: re.Pattern[str]) -> None:
        match = what.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip(_BLANK)
            match = _KEY.match(self.text, self.at)
            assert match is not None
            self.at = match.end()
            word = match[0]
            keys.append(next(iter(_loads(f"{word} = 0"))) if word[0] in "\"'" else word)
            self._skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _pair(self, table: Path) -> None:
        start = self.at
        path = (*table, *self._keys())
        self.at += 1  # the equals sign
        self._skip(_BLANK)
        self._value(path)
        self._note(path, start)

    def _value(self, path: Path) -> None:
        sign = self.text[self.at : self.at + 1]
        if sign == "[":
            self.at += 1
            number = 0
            self._skip(_SPACE)
            while not self.text.startswith("]", self.at):
                start = self.at
                self._value((*path, number))
                self._note((*path, number), start)
                number += 1
                self._skip(_SPACE)
                if self.text.startswith(",", self.at):
                    self.at += 1
                    self._skip(_SPACE)
            self.at += 1
        elif sign == "{":
            self.at += 1
            self._skip(_SPACE)
            while not self.text.startswith("}", self.at):
                self._pair(path)
                self._skip(_SPACE)
                if self.text.startswith(",", self.at):
                    self.at += 1
                    self._skip(_SPACE)
            self.at += 1
        else:
            match = _TEXT.match(self.text, self.at) or _WORD.match(self.text, self.at)
            assert match is not None
            self.at = match.end()

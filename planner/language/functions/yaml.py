"""`yamldecode` and `yamlencode`."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Any

import yaml

from planner.foundation.support.calendar import month_days
from planner.foundation.values.convert import convert
from planner.foundation.values.numbers import number_to_text
from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.values.value import NULL, Map, Null, Value, is_wholly_known, number_from_text
from planner.language.functions.encoding import base64_bytes
from planner.language.functions.protocol import Function, FunctionError, Param, function, items, text, unknown

FUNCTIONS: list[Function] = []


@function(Param("src", STRING, "The YAML document."), result=DYNAMIC, not_null=False, into=FUNCTIONS)
def yamldecode(source: str) -> Value:
    """Parses a YAML document: mappings become objects, sequences become tuples."""
    try:
        return read(source)
    except YamlError as problem:
        raise FunctionError(f"It is not valid YAML: {problem}.") from None


@function(
    Param("value", DYNAMIC, "The value to write.", allow_null=True, allow_dynamic=True),
    result=STRING,
    not_null=False,
    into=FUNCTIONS,
)
def yamlencode(value: Value) -> Value:
    """Writes a value as a YAML document, in block style with all strings quoted."""
    return text(write(value)) if is_wholly_known(value) else unknown(STRING)


# Parses YAML with the rules of go-cty-yaml: YAML 1.1 with parts of YAML 1.2.
#
# Plain `yes`, `on`, `y` and similar words are bools. `017` is the number seventeen. Timestamps become RFC 3339 strings.
# `<<` merges mappings. A sequence becomes a tuple, a mapping becomes an object with string keys. PyYAML parses the text
# into events.


_PREFIX = "tag:yaml.org,2002:"
_TAGS = frozenset(["", *(_PREFIX + tag for tag in ("str", "bool", "int", "float", "null", "timestamp", "binary"))])
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULLS = frozenset(["", "~", "null", "Null", "NULL"])
_INFINITIES = {
    sign + word: ("-" if sign == "-" else "") + "Inf" for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_TIME = r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?"
_TIMESTAMP = re.compile(
    rf"([0-9]{{4}})-([0-9]{{1,2}})-([0-9]{{1,2}})(?:[Tt]{_TIME}(Z|([+-])([0-9]{{2}}):([0-9]{{2}}))| +{_TIME})?",
    re.ASCII,
)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlError(ValueError):
    """The text is not valid YAML, or has no representation as a value."""


@lru_cache(8)  # several expressions often decode the same large file, and causes evaluate each of them again
def read(source: str) -> Value:
    """The value of a YAML document. Raises YamlError."""
    loader = _Loader(source or "\n")
    try:
        reader = _YamlReader(loader)
        reader.expect(yaml.StreamStartEvent)
        reader.expect(yaml.DocumentStartEvent)
        value = reader.node(loader.get_event())
        reader.expect(yaml.DocumentEndEvent)
        reader.expect(yaml.StreamEndEvent)
        return value
    except yaml.YAMLError as problem:
        place = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or str(problem)
        raise YamlError(f"{reason}{f' (line {place.line + 1}, column {place.column + 1})' if place else ''}") from None
    except RecursionError:
        raise YamlError("it is nested too deeply") from None
    finally:
        loader.dispose()


class _YamlReader:
    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.anchors: dict[str, Value] = {}
        self.pending: list[str] = []

    def expect(self, kind: Any) -> None:
        event = self.loader.get_event()
        if not isinstance(event, kind):
            raise YamlError("there must be exactly one document")

    def node(self, event: Any) -> Value:
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event.anchor or "")
        anchor = getattr(event, "anchor", None)
        if anchor:
            self.pending.append(anchor)
        if isinstance(event, yaml.ScalarEvent):
            value = self.scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self.sequence(event)
        elif isinstance(event, yaml.MappingStartEvent):
            value = self.mapping(event)
        else:
            raise YamlError("a value is missing")
        if anchor:
            self.pending.remove(anchor)
            self.anchors[anchor] = value
        return value

    def alias(self, name: str) -> Value:
        if name in self.pending:
            raise YamlError(f"the anchor {name} contains itself")
        if name not in self.anchors:
            raise YamlError(f"there is no anchor {name}")
        return self.anchors[name]

    def scalar(self, event: Any) -> Value:
        tag = event.tag or ""
        value = resolve(tag, event.value, event.style)
        if not tag and not event.implicit[0] and value.__class__ is not str:
            # a block scalar is always a string, even if it looks like a number or a bool
            return convert(value, STRING)
        return value

    def sequence(self, event: Any) -> Value:
        if event.tag not in (None, _PREFIX + "seq"):
            raise YamlError(f"a sequence cannot be of the type {event.tag}")
        items = []
        while not isinstance(event := self.loader.get_event(), yaml.SequenceEndEvent):
            items.append(self.node(event))
        return tuple(items)

    def mapping(self, event: Any) -> Value:
        if event.tag not in (None, _PREFIX + "map"):
            raise YamlError(f"a mapping cannot be of the type {event.tag}")
        entries: dict[str, Value] = {}
        while not isinstance(event := self.loader.get_event(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise YamlError("a key of a mapping must be a single value, not a mapping, a sequence or an alias")
            if (not event.tag and event.value == "<<") or event.tag == _PREFIX + "merge":
                self.merge(entries, self.node(self.loader.get_event()))
                continue
            key = resolve(event.tag or "", event.value, event.style)
            if key == NULL:
                raise YamlError("a key of a mapping must not be null")
            if key.__class__ is not str:
                key = convert(key, STRING)
            entries[key] = self.node(self.loader.get_event())
        return entries

    def merge(self, entries: dict[str, Value], value: Value) -> None:
        for part in value if value.__class__ is tuple else (value,):
            if part.__class__ is not dict:
                raise YamlError("only mappings can be merged into a mapping")
            entries.update(part)


def resolve(tag: str, source: str, style: str | None) -> Value:
    """The value of a scalar. Raises YamlError."""
    if tag not in _TAGS:
        raise YamlError(f"the type {tag} is not supported")
    kind = tag.removeprefix(_PREFIX)
    first = source[:1]
    if kind not in ("str", "binary") and (not first or first in "+-0123456789.yYnNtTfFoO~"):
        if style in ("'", '"'):
            return text(source)
        if source in _TRUE or source in _FALSE:
            return source in _TRUE
        if source in _NULLS:
            return NULL
        if source in _INFINITIES:
            return number_from_text(_INFINITIES[source])
        if not kind and source in (".nan", ".NaN", ".NAN"):
            raise YamlError("the language has no value for NaN (not a number)")
        if first == ".":
            try:
                return number_from_text(source)
            except ValueError:
                pass
        elif first and first in "+-0123456789":
            moment = timestamp(source) if kind in ("", "timestamp") else None
            if moment is not None:
                return moment
            if _INTEGER.fullmatch(source) or _FLOAT.fullmatch(source):
                kind = "float"
    return _tagged_value(kind, source)


def _tagged_value(kind: str, source: str) -> Value:
    if kind in ("", "str"):
        return text(source)
    if kind == "null":
        return NULL
    if kind in ("int", "float"):
        number = _number(source.replace("_", ""))
        if number is not None:
            return number
    elif kind == "binary":
        if base64_bytes(source) is not None:
            return text(source)
    elif kind == "bool" and (source in _TRUE or source in _FALSE):
        return source in _TRUE
    elif kind == "timestamp":
        moment = timestamp(source)
        if moment is not None:
            return moment
    raise YamlError(f'"{source}" is not a valid {kind}')


def _number(source: str) -> Value | None:
    try:
        return number_from_text(source)
    except ValueError:
        pass
    sign, digits = (source[:1], source[1:]) if source[:1] in ("+", "-") else ("", source)
    for prefix, base in (("0x", 16), ("0o", 8), ("0b", 2), ("0", 8)):
        if digits.lower().startswith(prefix):
            try:
                value = int(sign + digits[len(prefix) :], base)
            except ValueError:
                return None
            return value if -(2**63) <= value < 2**64 else None
    return None


def timestamp(source: str) -> str | None:
    """The text as an RFC 3339 timestamp, with fractions of a second removed; None if the text is not a timestamp."""
    match = _TIMESTAMP.fullmatch(source)
    if match is None:
        return None
    return _timestamp(match)


def _timestamp(match: re.Match[str]) -> str | None:
    groups = match.groups()
    year, month, day = map(int, groups[:3])
    hour, minute, second = (int(a or b or 0) for a, b in zip(groups[3:6], groups[10:13], strict=True))
    zone_hour, zone_minute = int(groups[8] or 0), int(groups[9] or 0)
    if not (1 <= month <= 12 and 1 <= day <= month_days(year, month) and hour < 24 and minute < 60 and second < 60):
        return None
    if zone_hour > 24 or zone_minute > 60:
        return None
    minutes = zone_hour * 60 + zone_minute
    zone = f"{groups[7]}{minutes // 60:02}:{minutes % 60:02}" if minutes else "Z"
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"


# Writes YAML as go-cty-yaml (libyaml in Go) does: in block style, with strings in double quotes or, for several lines,
# as literals. Long lines are folded at spaces after 80 columns.


_WIDTH = 80
_STEP = 2
_SIMPLE_KEY = 128  # the maximum length of a key on the same line as its value, in bytes
_BREAKS = "\r\n\x85\u2028\u2029"
_ESCAPES = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e",
    '"': '"', "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip


def write(value: Value) -> str:
    """The YAML document of a value, which must be known and without marks."""
    writer = _Writer()
    writer.node(value)
    writer.indent_line()
    if writer.open_ended:
        writer.indicator("...")
        writer.indent_line()
    return "".join(writer.out)


class _Writer:
    """Writes YAML like libyaml's emitter. Its state is the column, and whether the line so far has only white space or
    indicators."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.column = 0
        self.indent = -1
        self.whitespace = True
        self.indention = True
        self.open_ended = False

    def put(self, string: str) -> None:
        self.out.append(string)
        self.column += len(string)

    def line_break(self, character: str = "\n") -> None:
        self.out.append(character)
        self.column = 0

    def indent_line(self) -> None:
        indent = max(self.indent, 0)
        if not self.indention or self.column > indent or (self.column == indent and not self.whitespace):
            self.line_break()
        self.put(" " * (indent - self.column))
        self.whitespace = self.indention = True

    def indicator(self, string: str, spaced: bool = True, is_space: bool = False, is_indention: bool = False) -> None:
        if spaced and not self.whitespace:
            self.put(" ")
        self.put(string)
        self.whitespace = is_space
        self.indention = self.indention and is_indention
        self.open_ended = False

    def node(self, value: Value, in_mapping: bool = False) -> None:
        cls = value.__class__
        if cls is str:
            self.string(value)
        elif cls is dict or cls is Map:
            self.mapping(value if cls is dict else value.items)
        elif cls is bool:
            self.plain("true" if value else "false")
        elif cls is Null:
            self.plain("null")
        elif cls is tuple or hasattr(value, "items"):
            self.sequence(items(value), in_mapping)
        else:
            self.plain(number_to_text(value))

    def sequence(self, elements: tuple[Value, ...], in_mapping: bool) -> None:
        if not elements:
            self.indicator("[", True, True)
            self.indicator("]", False)
            return
        outer = self.indent
        if outer < 0:
            self.indent = 0
        elif not (in_mapping and not self.indention):
            self.indent += _STEP
        for element in elements:
            self.indent_line()
            self.indicator("-", True, False, True)
            self.node(element)
        self.indent = outer

    def mapping(self, entries: dict[str, Value]) -> None:
        if not entries:
            self.indicator("{", True, True)
            self.indicator("}", False)
            return
        outer = self.indent
        self.indent = 0 if outer < 0 else outer + _STEP
        for key in sorted(entries):
            self.indent_line()
            if len(key.encode("utf-8", "surrogateescape")) <= _SIMPLE_KEY and not any(c in _BREAKS for c in key):
                self.string(key, is_key=True)
                self.indicator(":", False)
            else:
                self.indicator("?", True, False, True)
                self.string(key)
                self.indent_line()
                self.indicator(":", True, False, True)
            self.node(entries[key], in_mapping=True)
        self.indent = outer

    def plain(self, string: str) -> None:
        if not self.whitespace:
            self.put(" ")
        self.put(string)
        self.whitespace = self.indention = False
        self.open_ended = self.open_ended or self.indent < 0

    def string(self, string: str, is_key: bool = False) -> None:
        outer = self.indent
        self.indent = _STEP if outer < 0 else outer + _STEP
        if "\n" in string and not is_key and _may_be_literal(string):
            self.literal(string)
        else:
            self.quoted(string, not is_key)
        self.indent = outer

    def literal(self, string: str) -> None:
        self.indicator("|")
        if string[0] in " " + _BREAKS:
            self.indicator(str(_STEP), False)
        if string[-1] not in _BREAKS:
            self.indicator("-", False)
        elif len(string) == 1 or string[-2] in _BREAKS:
            self.indicator("+", False)
        self.line_break()
        self.indention = self.whitespace = True
        after_break = True
        for character in string:
            if character in _BREAKS:
                self.line_break(character)
                self.indention = after_break = True
                continue
            if after_break:
                self.indent_line()
            self.put(character)
            self.indention = after_break = False

    def quoted(self, string: str, may_break: bool) -> None:
        self.indicator('"')
        # like libyaml, escape all characters of a string that begins with a byte order mark
        escape_all = string.startswith("\ufeff")
        after_space = False
        last = len(string) - 1
        for position, character in enumerate(string):
            if escape_all or not _is_printable(character) or character in '"\\' or character in _BREAKS:
                self.put("\\" + _escape(character))
                after_space = False
            elif character == " ":
                if may_break and not after_space and self.column > _WIDTH and 0 < position < last:
                    self.indent_line()
                    if string[position + 1] == " ":
                        self.put("\\")
                else:
                    self.put(character)
                after_space = True
            else:
                self.put(character)
                after_space = False
        self.indicator('"', False)
        self.indention = False


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    return f"x{code:02X}" if code < 0x100 else f"u{code:04X}" if code < 0x10000 else f"U{code:08X}"


def _is_printable(character: str) -> bool:
    code = ord(character)
    return (
        code == 0x0A or 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xD7FF or (0xE000 <= code <= 0xFFFD and code != 0xFEFF)
    )


def _may_be_literal(string: str) -> bool:
    """Whether a string can be written as a literal block (`|`): it has no characters to escape, and no space before a
    line break or at the end."""
    if not all(map(_is_printable, string)) or string.endswith(" "):
        return False
    return not any(a == " " and b in _BREAKS for a, b in pairwise(string))

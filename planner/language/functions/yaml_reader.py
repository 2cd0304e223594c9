"""Reading YAML as values, with the rules of go-cty-yaml: YAML 1.1 with some of 1.2.

Plain `yes`, `on`, `y` and the like are bools, `017` is seventeen; timestamps become strings in the form of RFC 3339;
`<<` merges mappings; a sequence becomes a tuple, a mapping an object with string keys. PyYAML gives the events.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from planner.foundation.support.calendar import month_days
from planner.foundation.values.convert import convert
from planner.foundation.values.types import STRING
from planner.foundation.values.value import NULL, Value, number_from_text
from planner.language.functions.arguments import text
from planner.language.functions.encoding import base64_bytes

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
    """A text that is no YAML document, or one that has no value."""


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
            raise YamlError(f"the anchor {name} stands within its own definition")
        if name not in self.anchors:
            raise YamlError(f"there is no anchor {name}")
        return self.anchors[name]

    def scalar(self, event: Any) -> Value:
        tag = event.tag or ""
        value = resolve(tag, event.value, event.style)
        if not tag and not event.implicit[0] and value.__class__ is not str:
            # A block scalar that reads like a number or a bool is a string after all.
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
                raise YamlError("the keys of a mapping must be strings")
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
            raise YamlError("there is no value for a number that is none")
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
    return _tagged(kind, source)


def _tagged(kind: str, source: str) -> Value:
    if kind in ("", "str"):
        return text(source)
    if kind == "null":
        return NULL
    if kind in ("int", "float"):
        number = _number(source.replace("_", ""))
        if number is not None:
            return number
    elif kind == "binary":
        if _is_base64(source):
            return text(source)
    elif kind == "bool" and (source in _TRUE or source in _FALSE):
        return source in _TRUE
    elif kind == "timestamp":
        moment = timestamp(source)
        if moment is not None:
            return moment
    raise YamlError(f'"{source}" is no {kind}')


def _is_base64(source: str) -> bool:
    return base64_bytes(source) is not None


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
    """A YAML timestamp in the form of RFC 3339, without fractions of a second; None when it is none."""
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

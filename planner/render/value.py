"""Values in the configuration language's syntax, for `output` and `console`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from planner.foundation.values.numbers import number_to_text
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    SetType,
    Type,
    friendly_name,
)
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    List,
    Map,
    Marked,
    Null,
    Set,
    Unknown,
    Value,
    unmark_deep,
)
from planner.foundation.vocabulary.address import valid_identifier
from planner.render.diff_model import MISSING, Digits
from planner.world.state.model import OutputState

_NULLS: dict[Type, str] = {DYNAMIC: "null", STRING: "tostring(null)", NUMBER: "tonumber(null)", BOOL: "tobool(null)"}


def all_outputs(outputs: Mapping[str, OutputState], show_sensitive: bool) -> str:
    """All outputs, sorted by name. Sensitive values are hidden unless `show_sensitive`."""
    lines = []
    for name in sorted(outputs):
        output = outputs[name]
        hidden = output.sensitive and not show_sensitive
        lines.append(f"{name} = {'<sensitive>' if hidden else format_value(unmark_deep(output.value)[0])}")
    return "\n".join(lines)


def format_value(value: Value, indent: int = 0) -> str:
    """The value as an expression. Placeholders represent sensitive, ephemeral and unknown values. Conversion functions
    distinguish lists, sets and maps from tuples and objects. `indent`: the indentation of the lines after the first, in
    spaces."""
    cls = value.__class__
    if cls is Marked:
        if SENSITIVE in value.marks:
            return "(sensitive value)"
        if EPHEMERAL in value.marks:
            return "(ephemeral value)"
        return format_value(value.value, indent)
    if cls is str:
        return _heredoc(value, indent) if "\n" in value else quoted(value)
    if cls is bool:
        return "true" if value else "false"
    if cls is Unknown:
        return "(known after apply)"
    if cls is Null:
        return _null(value.type)
    if cls is dict:
        return _entries(value, indent)
    if cls is Map:
        return f"tomap({_entries(value.items, indent)})"
    if cls is tuple:
        return _items(value, indent)
    if cls is List:
        return f"tolist({_items(value.items, indent)})"
    if cls is Set:
        return f"toset({_items(value.items, indent)})"
    return number_text(value)


def _null(type: Type) -> str:
    if type in _NULLS:
        return _NULLS[type]
    for cls, function in ((ListType, "tolist"), (SetType, "toset"), (MapType, "tomap")):
        if isinstance(type, cls):
            return f"{function}(null) /* of {friendly_name(type.element)} */"
    return f"null /* {friendly_name(type)} */"


def _heredoc(text: str, indent: int) -> str:
    lines = text.split("\n")
    end = "EOT"
    while any(line.strip() == end for line in lines):
        end += "_"
    blank = " " * indent
    return "\n".join([f"{'<<-' if indent else '<<'}{end}", *(blank + line for line in lines), blank + end])


def _entries(items: dict[str, Value], indent: int) -> str:
    if not items:
        return "{}"
    blank = " " * (indent + 2)
    lines = [f"{blank}{format_value(k, indent + 2)} = {format_value(items[k], indent + 2)}" for k in sorted(items)]
    return "\n".join(["{", *lines, " " * indent + "}"])


def _items(items: Iterable[Value], indent: int) -> str:
    blank = " " * (indent + 2)
    lines = [f"{blank}{format_value(item, indent + 2)}," for item in items]
    return "\n".join(["[", *lines, " " * indent + "]"]) if lines else "[]"


# names, texts and numbers in the configuration language's syntax


@lru_cache(maxsize=4096)  # even many objects have few different names
def attribute_name(name: str) -> str:
    """The name, quoted unless it is an identifier."""
    return name if valid_identifier(name) else quoted(name)


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def quoted(text: str) -> str:
    """The text in double quotes, with unprintable characters escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        else:
            code = ord(char)
            out.append(f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return f'"{"".join(out)}"'


def number_text(value: Value) -> str:
    """A number in decimal notation: the shortest one that is read as the same number."""
    return number_to_text(value)


def text_value(value: Value) -> str | None:
    return value if value.__class__ is str else None


def json_value(text: str | None) -> Value:
    """The decoded value of a string that contains a JSON object or array; otherwise MISSING."""
    if text is None or text[:1] not in ("{", "["):
        return MISSING
    import json

    try:
        return _from_json(json.loads(text, parse_int=Digits, parse_float=Digits, parse_constant=_no_constant))
    except (ValueError, RecursionError):
        return MISSING


def _no_constant(name: str) -> Value:
    raise ValueError(name)


def _from_json(data: Any) -> Value:
    if data is None:
        return Null()
    if isinstance(data, dict):
        return {key: _from_json(value) for key, value in data.items()}
    if isinstance(data, list):
        return tuple(_from_json(value) for value in data)
    return data

"""The settings of backends: validation, defaults, and the hash of a block.

The `SCHEMA` of a backend has the same form as a provider's schema. Settings are stored as plain values (None if not
set) in the record of the working directory, in plans, and in `terraform_remote_state`."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.json_codec import CodecError, from_json, plain
from planner.foundation.values.numbers import from_float
from planner.foundation.values.schema import AttributeSchema, BlockSchema, decode_type
from planner.foundation.values.types import BOOL, NUMBER, STRING, ListType, MapType, ObjectType, SetType, Type
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.nearest import did_you_mean


def text(
    description: str = "", required: bool = False, sensitive: bool = False, deprecated: str = ""
) -> AttributeSchema:
    return _attribute(STRING, description, required, sensitive, deprecated)


def flag(description: str = "", deprecated: str = "") -> AttributeSchema:
    return _attribute(BOOL, description, False, False, deprecated)


def number(description: str = "") -> AttributeSchema:
    return _attribute(NUMBER, description, False, False, "")


def texts(description: str = "", kind: str = "list", sensitive: bool = False, deprecated: str = "") -> AttributeSchema:
    """The schema of a setting whose value is a list, set or map of strings."""
    wanted: dict[str, Type] = {"list": ListType(STRING), "set": SetType(STRING), "map": MapType(STRING)}
    return _attribute(wanted[kind], description, False, sensitive, deprecated)


def _attribute(kind: Type, description: str, required: bool, sensitive: bool, deprecated: str) -> AttributeSchema:
    return AttributeSchema(
        kind,
        required=required,
        optional=not required,
        sensitive=sensitive,
        description=description,
        deprecated=bool(deprecated),
        deprecation_message=deprecated,
    )


def check_settings(
    kind: str, schema: BlockSchema, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """All settings of a schema by name, as plain values that fit their types. A setting that is not set is None, or []
    for a repeatable block. Invalid settings are reported and left out."""
    problems = []
    types = decode_type(schema).attributes
    result: dict[str, Any] = {}
    for name in settings:
        if name not in types:
            near = did_you_mean(name, list(types))
            problems.append(_wrong(f'The backend "{kind}" has no setting "{name}".{near}'))
    for name, wanted in types.items():
        given = settings.get(name)
        if given is None:
            result[name] = [] if name in schema.blocks and schema.blocks[name].nesting in ("list", "set") else None
            continue
        try:
            result[name] = plain(_convert_setting(given, wanted))
            if wanted == NUMBER and (result[name].__class__ is not int or abs(result[name]) >= 1 << 63):
                raise ConversionError("a whole number is required")
        except (ConversionError, CodecError) as bad:
            problems.append(_wrong(f'"{name}" is not valid: {getattr(bad, "reason", None) or bad}.'))
    return result, problems


def _convert_setting(given: Any, wanted: Type) -> Value:
    if isinstance(given, bool | int | float | str) and wanted in (STRING, NUMBER, BOOL):
        return _scalar(given, wanted)
    return from_json(_strings_where_required(given, wanted), wanted)


def _strings_where_required(given: Any, wanted: Type) -> Any:
    if isinstance(wanted, ObjectType) and isinstance(given, Mapping):
        for name in given:
            if name not in wanted.attributes:
                raise ConversionError(f'it cannot contain "{name}"')
        return {name: _strings_where_required(given.get(name), kind) for name, kind in wanted.attributes.items()}
    if isinstance(wanted, ListType | SetType) and isinstance(given, list | tuple):
        return [_strings_where_required(item, wanted.element) for item in given]
    if isinstance(wanted, MapType) and isinstance(given, Mapping):
        return {str(name): _strings_where_required(item, wanted.element) for name, item in given.items()}
    if wanted in (STRING, NUMBER, BOOL) and isinstance(given, bool | int | float | str):
        return plain(_scalar(given, wanted))
    return given


def _scalar(given: bool | int | float | str, wanted: Type) -> Value:
    """A setting converted to a primitive type. Raises ConversionError, also for strings with characters that files,
    requests or the environment cannot contain."""
    value = convert(from_float(given) if isinstance(given, float) else given, wanted)
    if isinstance(value, str) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
        raise ConversionError("it has characters that are not allowed in names")
    return value


def _wrong(detail: str) -> Diagnostic:
    return error("state.backend_setting", "Invalid backend configuration", detail)


# ---------------------------------------------------------------- the hash of a block


def settings_hash(kind: str, schema: BlockSchema, settings: Mapping[str, Any]) -> int:
    """The CRC-32 of the type and settings of a backend block.

    OpenTofu 1.12 computes the same hash (cty's hash of a tuple of the type and an object), so both programs can use one
    initialized directory."""
    body = _hash_text(dict(settings), decode_type(schema))
    return zlib.crc32(f"<{_quote(kind)};{body};>".encode("utf-8", "surrogateescape"))


def _hash_text(value: Any, kind: Type) -> str:
    if value is None:
        return "~"
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, int | float):
        return f"{value:.10g}"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(kind, ListType | SetType):
        items = [_hash_text(item, kind.element) for item in value]
        items = sorted(items) if isinstance(kind, SetType) else items
        return f"[{''.join(f'{item};' for item in items)}]"
    if isinstance(kind, MapType):
        return f"{{{''.join(f'{_quote(k)}:{_hash_text(v, kind.element)};' for k, v in sorted(value.items()))}}}"
    assert isinstance(kind, ObjectType)
    members = (_hash_text(value.get(name), kind.attributes[name]) for name in sorted(kind.attributes))
    return f"<{''.join(f'{member};' for member in members)}>"


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"} | {
    '"': '\\"',
    "\\": "\\\\",
}


def _quote(text: str) -> str:
    """The text as a Go string literal."""
    out = []
    for letter in text:
        if letter in _ESCAPES:
            out.append(_ESCAPES[letter])
        elif letter.isprintable():
            out.append(letter)
        elif ord(letter) < 0x80:
            out.append(f"\\x{ord(letter):02x}")
        else:
            out.append(f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}")
    return f'"{"".join(out)}"'


# ---------------------------------------------------------------- defaults


class Unopened(Exception):
    """No backend is opened, because the settings have problems or are only checked."""


class SettingsReading:
    """Reads settings. If a setting is not set, its value comes from environment variables or, if these are not set
    either, from its default. Collects errors and warnings (`remarks`). `only_check`: whether only the settings
    themselves are checked."""

    def __init__(self, settings: Mapping[str, Any], only_check: bool = False) -> None:
        self.settings, self.only_check = settings, only_check
        self.environment = os.environ
        self.problems: list[Diagnostic] = []
        self.remarks: list[Diagnostic] = []

    def check(self) -> None:
        """Stop the reading if there was a problem: raises Unopened."""
        if self.problems:
            raise Unopened

    def finish_check(self) -> None:
        """Call this after the settings are checked, and before any file is read, any credentials are looked up, or any
        request is sent. Raises Unopened after a problem, and always with `only_check`."""
        if self.problems or self.only_check:
            raise Unopened

    def text(self, name: str, *variables: str, default: str = "") -> str:
        """The setting if it is not empty, otherwise the first environment variable that is not empty, otherwise the
        default."""
        given = self.settings.get(name)
        if given is not None and given != "":
            return str(given)
        return next((self.environment[v] for v in variables if self.environment.get(v)), default)

    def required(self, name: str, *variables: str) -> str:
        result = self.text(name, *variables)
        if not result:
            self.wrong(f'"{name}": required field is not set')
        return result

    def flag(self, name: str, *variables: str, default: bool = False) -> bool:
        given = self.settings.get(name)
        if given is not None:
            return bool(given)
        word = self.text("", *variables)
        if not word:
            return default
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        self.wrong(f'error setting default for "{name}": a bool is required', self._value_source(word, variables))
        return default

    def number(self, name: str, *variables: str, default: int = 0) -> int:
        given = self.settings.get(name)
        if given is not None:
            return int(given)
        word = self.text("", *variables)
        if not word:
            return default
        try:
            return int(word)
        except ValueError:
            self.wrong(f'error setting default for "{name}": a number is required', self._value_source(word, variables))
            return default

    def _value_source(self, word: str, variables: tuple[str, ...]) -> str:
        name = next((v for v in variables if self.environment.get(v)), "")
        return f'The environment variable {name} is set to "{word}".'

    def wrong(self, text: str, detail: str = "") -> None:
        self.problems.append(error("state.backend_setting", text, detail))

    def compute(self, what: Callable[[], str]) -> str:
        """A computed setting; "" if `what` raises ValueError, which is reported."""
        try:
            return what()
        except ValueError as bad:
            self.wrong(str(bad))
            return ""


_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))

"""Text encodings: Base64, gzip, URL, JSON, CSV."""

from __future__ import annotations

import binascii
import re
import zlib
from base64 import b64encode
from binascii import a2b_base64
from typing import Any

from planner.foundation.support.exact_json import dumps
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, ObjectType, Type
from planner.foundation.values.value import List, Refinement, Unknown, Value, is_wholly_known, mark, unmark
from planner.language.functions.arguments import kind, text, text_from_bytes
from planner.language.functions.protocol import Function, FunctionError, Param, function, unknown

FUNCTIONS: list[Function] = []


def base64_bytes(string: str) -> bytes | None:
    """The bytes that Base64 (RFC 4648 section 4) encodes, None when it is none. Line breaks do not count; bits that
    are left over may be anything."""
    plain = string.replace("\r", "").replace("\n", "")
    if len(plain) % 4 or not plain.isascii():
        return None
    try:
        return binascii.a2b_base64(plain, strict_mode=True)
    except binascii.Error:
        return _loose_base64(plain)


def _loose_base64(plain: str) -> bytes | None:
    # Strict mode is too strict about the bits left over in the last character.
    if re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", plain) is None:
        return None
    return a2b_base64(plain)


def base64_text(data: bytes) -> str:
    """Bytes in Base64."""
    return b64encode(data).decode()


@function(Param("str", STRING, allow_marked=True), result=STRING, into=FUNCTIONS)
def base64decode(string: Value) -> Value:
    """Decodes Base64; the bytes must be text in UTF-8."""
    string, marks = unmark(string)
    data = base64_bytes(string)
    if data is None:
        raise FunctionError("The string is not valid Base64.")
    try:
        return mark(text(data.decode("utf-8")), marks)
    except UnicodeDecodeError:
        raise FunctionError("The decoded bytes are not text in UTF-8.") from None


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def base64encode(string: str) -> Value:
    """Encodes a string, as bytes in UTF-8, in Base64."""
    return base64_text(string.encode("utf-8", "surrogateescape"))


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def base64gzip(string: str) -> Value:
    """Compresses a string with gzip and encodes the result in Base64: the very bytes that OpenTofu makes."""
    from planner.language.functions.deflate import gzip

    return base64_text(gzip(string.encode("utf-8", "surrogateescape")))


@function(Param("str", STRING, allow_marked=True), result=STRING, into=FUNCTIONS)
def base64gunzip(string: Value) -> Value:
    """Decodes Base64 and decompresses the result with gzip."""
    import gzip

    string, marks = unmark(string)
    data = base64_bytes(string)
    if data is None:
        raise FunctionError("The string is not valid Base64.")
    try:
        if not data:
            raise EOFError
        return mark(text_from_bytes(gzip.decompress(data)), marks)
    except (OSError, EOFError, zlib.error):
        raise FunctionError("The decoded bytes are not valid gzip data.") from None


@function(
    Param("string", STRING, "The text."),
    Param("encoding", STRING, "The name of a character encoding as registered by IANA."),
    result=STRING,
    into=FUNCTIONS,
)
def textencodebase64(string: str, encoding: str) -> Value:
    """Encodes a text in a character encoding, and that in Base64."""
    from planner.language.functions.charsets import CharsetError, encode

    try:
        return base64_text(encode(string, encoding))
    except CharsetError:
        raise FunctionError(f'"{encoding}" is not the name of a character encoding that is supported.', 1) from None
    except UnicodeError:
        raise FunctionError(f"The text has characters that do not exist in {encoding}.", 0) from None


@function(
    Param("source", STRING, "The encoded text in Base64."),
    Param("encoding", STRING, "The name of a character encoding as registered by IANA."),
    result=STRING,
    into=FUNCTIONS,
)
def textdecodebase64(source: str, encoding: str) -> Value:
    """Decodes Base64 and reads the bytes as text in a character encoding."""
    from planner.language.functions.charsets import CharsetError, decode, find

    try:
        find(encoding)
        data = base64_bytes(source)
        if data is None:
            raise FunctionError("The string is not valid Base64.", 0)
        return text(decode(data, encoding))
    except CharsetError:
        raise FunctionError(f'"{encoding}" is not the name of a character encoding that is supported.', 1) from None
    except UnicodeError:
        raise FunctionError(f"The bytes are not text in {encoding}.", 0) from None


_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def urlencode(string: str) -> Value:
    """Encodes a string for the query part of a URL: other than letters, digits and - _ . ~ as %XX, a space as +."""
    return "".join(
        chr(b) if b in _UNRESERVED else "+" if b == 32 else f"%{b:02X}"
        for b in string.encode("utf-8", "surrogateescape")
    )


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def urldecode(string: str) -> Value:
    """Decodes a string from the query part of a URL."""
    first, *escaped = string.replace("+", " ").encode("utf-8", "surrogateescape").split(b"%")
    out = bytearray(first)
    for part in escaped:
        if len(part) < 2 or any(b not in b"0123456789abcdefABCDEF" for b in part[:2]):
            raise FunctionError("After % there must be two hexadecimal digits.")
        out.append(int(part[:2], 16))
        out += part[2:]
    return text_from_bytes(bytes(out))


@function(
    Param("val", DYNAMIC, allow_null=True, allow_unknown=True, allow_dynamic=True),
    result=STRING,
    into=FUNCTIONS,
)
def jsonencode(value: Value) -> Value:
    """Writes a value as JSON."""
    if not is_wholly_known(value):
        return _unknown_json(value)
    try:
        return text(json_text(value))
    except ValueError as problem:
        raise FunctionError(f"The value cannot be written as JSON: {problem}.") from None


def json_text(value: Value) -> str:
    """A known value as JSON. Raises ValueError for infinite numbers."""
    return dumps(simple_json(value)).decode()


def _unknown_json(value: Value) -> Value:
    """JSON that is not known yet; its first character tells what it is, unless it may be null."""
    if value.__class__ is Unknown and (value.refinement is None or not value.refinement.not_null):
        return unknown(STRING)
    brackets = {"string": '"', "object": "{", "map": "{", "tuple": "[", "list": "[", "set": "["}
    refinement = Refinement(prefix=brackets.get(kind(value), ""))
    return unknown(STRING, refinement) if value.__class__ is Unknown else Unknown(STRING, refinement, value)


@function(
    Param("str", STRING, "The JSON text."),
    result=lambda string: _json_type(string),
    not_null=False,
    into=FUNCTIONS,
)
def jsondecode(string: str) -> Value:
    """Reads JSON: objects become objects, arrays become tuples."""
    from planner.language.functions.json_reader import read

    try:
        return read(string)
    except (ValueError, RecursionError) as problem:
        raise FunctionError(f"It is not valid JSON: {problem}.") from None


def _json_type(string: Value) -> Type:
    if string.__class__ is not Unknown:
        return DYNAMIC  # as what it is read
    prefix = string.refinement.prefix.strip() if string.refinement is not None else ""
    first = prefix[:1]
    if not first or first in "{[n":
        return DYNAMIC
    if first == '"':
        return STRING
    if first in "tf":
        return BOOL
    if first in "-.0123456789":
        return NUMBER
    raise FunctionError(f'JSON cannot begin with "{first}".', 0)


@function(
    Param("str", STRING, "The table; its first line holds the names of the columns."),
    result=lambda string: DYNAMIC if string.__class__ is Unknown else _csv_type(string),
    into=FUNCTIONS,
)
def csvdecode(string: str, *, result_type: ListType) -> Value:
    """Reads comma-separated values (RFC 4180): a list with an object for each line."""
    from planner.language.functions.csv_reader import CsvError, records

    columns = len(result_type.element.attributes)  # type: ignore[union-attr]
    try:
        rows = records(string)
        header = next(rows)
        found: list[Value] = []
        for line, row in rows:
            if len(row) != columns:
                raise FunctionError(f"Line {line} has {len(row)} fields, where {columns} are expected.")
            found.append({text(name): text(value) for name, value in zip(header[1], row, strict=True)})
    except CsvError as problem:
        raise FunctionError(str(problem)) from None
    return List(result_type.element, tuple(found))


def _csv_type(string: str) -> Type:
    from planner.language.functions.csv_reader import CsvError, records

    try:
        first: Any = next(records(string), None)
    except CsvError as problem:
        raise FunctionError(str(problem)) from None
    if first is None:
        raise FunctionError("There is no line with the names of the columns.")
    names = first[1]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FunctionError(f'Two columns have the name "{twice}".')
    return ListType(ObjectType({text(name): STRING for name in names}))

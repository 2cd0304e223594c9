"""Functions for encodings of text: Base64, gzip, URL, JSON, CSV and character encodings."""

from __future__ import annotations

import binascii
import codecs
import re
import zlib
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Iterator
from functools import cache
from typing import Any

from planner.foundation.support.exact_json import dumps
from planner.foundation.values.json_codec import simple_json
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, ObjectType, Type
from planner.foundation.values.value import List, Refinement, Unknown, Value, is_wholly_known, mark, unmark
from planner.foundation.vocabulary.release import follows_next
from planner.language.functions.protocol import (
    Function,
    FunctionError,
    Param,
    function,
    kind,
    text,
    text_from_bytes,
    unknown,
)

FUNCTIONS: list[Function] = []


def base64_bytes(string: str) -> bytes | None:
    """Decode Base64 (RFC 4648, section 4); None if it is invalid. Line breaks, and the unused bits of the last
    character, are ignored."""
    plain = string.replace("\r", "").replace("\n", "")
    if len(plain) % 4 or not plain.isascii():
        return None
    try:
        return binascii.a2b_base64(plain, strict_mode=True)
    except binascii.Error:
        return _loose_base64(plain)


def _loose_base64(plain: str) -> bytes | None:
    # strict mode rejects a last character whose unused bits are not zero
    if re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", plain) is None:
        return None
    return a2b_base64(plain)


def base64_text(data: bytes) -> str:
    return b64encode(data).decode()


@function(Param("str", STRING, allow_marked=True), result=STRING, into=FUNCTIONS)
def base64decode(string: Value) -> Value:
    """Decodes Base64. The decoded bytes must be text in UTF-8."""
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
    """Encodes the UTF-8 bytes of a string in Base64."""
    return base64_text(string.encode("utf-8", "surrogateescape"))


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def base64gzip(string: str) -> Value:
    """Compresses a string with gzip and encodes the result in Base64. The result is identical to that of OpenTofu."""
    if follows_next():
        from planner.language.functions.deflate_next import gzip
    else:
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
    """Encodes a string in a character encoding, and the resulting bytes in Base64."""
    try:
        return base64_text(encode(string, encoding))
    except CharsetError:
        raise FunctionError(f'"{encoding}" is not a supported character encoding.', 1) from None
    except UnicodeError:
        raise FunctionError(f"The text has characters that do not exist in {encoding}.", 0) from None


@function(
    Param("source", STRING, "The encoded text in Base64."),
    Param("encoding", STRING, "The name of a character encoding as registered by IANA."),
    result=STRING,
    into=FUNCTIONS,
)
def textdecodebase64(source: str, encoding: str) -> Value:
    """Decodes Base64, and decodes the resulting bytes as text in a character encoding."""
    try:
        find(encoding)
        data = base64_bytes(source)
        if data is None:
            raise FunctionError("The string is not valid Base64.", 0)
        return text(decode(data, encoding))
    except CharsetError:
        raise FunctionError(f'"{encoding}" is not a supported character encoding.', 1) from None
    except UnicodeError:
        raise FunctionError(f"The bytes are not text in {encoding}.", 0) from None


_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def urlencode(string: str) -> Value:
    """Encodes a string for the query part of a URL: letters, digits and - _ . ~ are unchanged, a space becomes +, and
    every other byte becomes %XX."""
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
    """A value as JSON text. Raises ValueError for infinite numbers."""
    return dumps(simple_json(value)).decode()


def _unknown_json(value: Value) -> Value:
    """An unknown string in place of the JSON of a value that is unknown or has unknown parts. Its first character is
    known if the value is a string or a container and cannot be null."""
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
    """Parses JSON: objects become objects, arrays become tuples."""
    from planner.language.functions.json_reader import read

    try:
        return read(string)
    except (ValueError, RecursionError) as problem:
        raise FunctionError(f"It is not valid JSON: {problem}.") from None


def _json_type(string: Value) -> Type:
    if string.__class__ is not Unknown:
        return DYNAMIC  # the type depends on the content
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
    Param("str", STRING, "The CSV table; its first line contains the names of the columns."),
    result=lambda string: DYNAMIC if string.__class__ is Unknown else _csv_type(string),
    into=FUNCTIONS,
)
def csvdecode(string: str, *, result_type: ListType) -> Value:
    """Parses comma-separated values (RFC 4180). The first line contains the names of the columns. Returns a list with
    an object for each of the other lines."""
    columns = len(result_type.element.attributes)  # type: ignore[union-attr]
    try:
        rows = records(string)
        header = next(rows)
        items: list[Value] = []
        for line, row in rows:
            if len(row) != columns:
                raise FunctionError(f"The number of fields in line {line} is {len(row)}, but must be {columns}.")
            items.append({text(name): text(value) for name, value in zip(header[1], row, strict=True)})
    except CsvError as problem:
        raise FunctionError(str(problem)) from None
    return List(result_type.element, tuple(items))


def _csv_type(string: str) -> Type:
    try:
        first: Any = next(records(string), None)
    except CsvError as problem:
        raise FunctionError(str(problem)) from None
    if first is None:
        raise FunctionError("The line with the names of the columns is missing.")
    names = first[1]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FunctionError(f'Two columns have the name "{twice}".')
    return ListType(ObjectType({text(name): STRING for name in names}))


# Character encodings by their IANA names.
#
# Single-byte encodings are exact. For some rare characters of East Asian encodings, Python's tables differ from those
# of the WHATWG, which OpenTofu uses.


# Python codec: registered names in lower case
_CODECS = """
ascii: ansi_x3.4-1968 ansi_x3.4-1986 cp367 csascii ibm367 iso-ir-6 iso646-us iso_646.irv:1991 us us-ascii
big5hkscs: big5 csbig5
cp037: cp037 csibm037 ebcdic-cp-ca ebcdic-cp-nl ebcdic-cp-us ebcdic-cp-wt ibm037
cp1047: csibm1047 ibm-1047 ibm1047
cp1140: ccsid01140 cp01140 csibm01140 ebcdic-us-37+euro ibm01140
cp1250: cswindows1250 windows-1250
cp1251: cswindows1251 windows-1251
cp1252: cswindows1252 windows-1252
cp1253: cswindows1253 windows-1253
cp1254: cswindows1254 windows-1254
cp1255: cswindows1255 windows-1255
cp1256: cswindows1256 windows-1256
cp1257: cswindows1257 windows-1257
cp1258: cswindows1258 windows-1258
cp437: 437 cp437 cspc8codepage437 ibm437
cp850: 850 cp850 cspc850multilingual ibm850
cp852: 852 cp852 cspcp852 ibm852
cp855: 855 cp855 csibm855 ibm855
cp858: ccsid00858 cp00858 csibm00858 ibm00858 pc-multilingual-850+euro
cp860: 860 cp860 csibm860 ibm860
cp862: 862 cp862 cspc862latinhebrew ibm862
cp863: 863 cp863 csibm863 ibm863
cp865: 865 cp865 csibm865 ibm865
cp866: 866 cp866 csibm866 ibm866
cp874: cswindows874 windows-874
cp932: csshiftjis ms_kanji shift_jis
cp949: cseuckr euc-kr
euc_jp: cseucpkdfmtjapanese euc-jp extended_unix_code_packed_format_for_japanese
gb18030: csgb18030 gb18030
gbk: cp936 csgbk gbk ms936 windows-936
hz: hz-gb-2312
iso2022_jp: csiso2022jp iso-2022-jp
iso8859_1: cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso_8859-1 iso_8859-1:1987 l1 latin1
iso8859_10: csisolatin6 iso-8859-10 iso-ir-157 iso_8859-10:1992 l6 latin6
iso8859_13: csiso885913 iso-8859-13
iso8859_14: csiso885914 iso-8859-14 iso-celtic iso-ir-199 iso_8859-14 iso_8859-14:1998 l8 latin8
iso8859_15: csiso885915 iso-8859-15 iso_8859-15 latin-9
iso8859_16: csiso885916 iso-8859-16 iso-ir-226 iso_8859-16 iso_8859-16:2001 l10 latin10
iso8859_2: csisolatin2 iso-8859-2 iso-ir-101 iso_8859-2 iso_8859-2:1987 l2 latin2
iso8859_3: csisolatin3 iso-8859-3 iso-ir-109 iso_8859-3 iso_8859-3:1988 l3 latin3
iso8859_4: csisolatin4 iso-8859-4 iso-ir-110 iso_8859-4 iso_8859-4:1988 l4 latin4
iso8859_5: csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso_8859-5 iso_8859-5:1988
iso8859_6: csiso88596e iso-8859-6-e iso_8859-6-e csiso88596i iso-8859-6-i iso_8859-6-i arabic asmo-708
    csisolatinarabic ecma-114 iso-8859-6 iso-ir-127 iso_8859-6 iso_8859-6:1987
iso8859_7: csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso_8859-7 iso_8859-7:1987
iso8859_8: csiso88598e iso-8859-8-e iso_8859-8-e csiso88598i iso-8859-8-i iso_8859-8-i csisolatinhebrew hebrew
    iso-8859-8 iso-ir-138 iso_8859-8 iso_8859-8:1988
iso8859_9: csisolatin5 iso-8859-9 iso-ir-148 iso_8859-9 iso_8859-9:1989 l5 latin5
koi8_r: cskoi8r koi8-r
koi8_u: cskoi8u koi8-u
mac_roman: csmacintosh mac macintosh
utf-16: csutf16 utf-16
utf_16_be: csutf16be utf-16be
utf_16_le: csutf16le utf-16le
utf_8: csutf8 utf-8
"""
_CHANGED: dict[str, tuple[str, dict[int, str]]] = {
    "cp1047": ("cp037", {95: "^", 173: "[", 176: "\u00ac", 186: "\u00dd", 187: "\u00a8", 189: "]"}),
    "koi8_u": ("koi8_u", {174: "\u045e", 190: "\u040e"}),
    "cp1255": ("cp1255", {202: "\u05ba"}),
}
_WITH_CONTROLS = ("iso8859_1", "iso8859_9")  # in other ISO 8859 encodings, 0x80 to 0x9f are undefined
_PRIVATE = range(0xE000, 0xF900)


class CharsetError(LookupError):
    """There is no character encoding of this name."""


@cache
def _names() -> dict[str, str]:
    codecs: dict[str, str] = {}
    codec = ""
    for word in _CODECS.split():
        if word.endswith(":"):
            codec = word[:-1]
        else:
            codecs[word] = codec
    return codecs


def find(name: str) -> str:
    """Python's codec for the registered name of a character encoding. The case of the name does not matter. Raises
    CharsetError."""
    codec = _names().get(name.strip().lower())
    if codec is None:
        raise CharsetError(name)
    return codec


@cache
def _table(codec: str) -> str:
    base, changes = _CHANGED[codec]
    plain = [bytes([b]).decode(base, "replace") for b in range(256)]
    return "".join(changes.get(b, character) for b, character in enumerate(plain)).replace("\ufffd", "\ufffe")


def encode(string: str, name: str) -> bytes:
    """The bytes of a string in a character encoding. Raises CharsetError, and UnicodeError for characters that the
    encoding does not have."""
    codec = find(name)
    if codec == "utf-16":
        return codecs.BOM_UTF16_BE + string.encode("utf_16_be")
    if codec in _CHANGED:
        return codecs.charmap_encode(string, "strict", codecs.charmap_build(_table(codec)))[0]
    data = string.encode(codec)
    if codec not in ("utf_8", "utf_16_le", "utf_16_be") and decode(data, name) != string:
        raise UnicodeError("ambiguous")
    return data


def decode(data: bytes, name: str) -> str:
    """The text of bytes in a character encoding. Raises CharsetError, and UnicodeError for invalid bytes."""
    codec = find(name)
    if codec == "utf-16":
        little = data.startswith(codecs.BOM_UTF16_LE)
        marked = little or data.startswith(codecs.BOM_UTF16_BE)
        string = data[2 if marked else 0 :].decode("utf_16_le" if little else "utf_16_be")
    elif codec in _CHANGED:
        string = codecs.charmap_decode(data, "strict", _table(codec))[0]
    else:
        string = data.decode(codec)
    controls = codec.startswith("iso8859") and codec not in _WITH_CONTROLS
    if "\ufffd" in string or (controls and any("\x80" <= c <= "\x9f" for c in string)):
        raise UnicodeError("undefined")
    if codec == "cp932" and any(ord(c) in _PRIVATE for c in string):
        raise UnicodeError("undefined")
    return string


# Comma-separated values (RFC 4180), with the rules of Go's encoding/csv: quotation marks enclose whole fields and are
# doubled inside; empty lines are ignored; \r\n becomes \n, also inside a field.


class CsvError(ValueError):
    """The text is not valid CSV."""


def records(source: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV text as (number of the row's first line, fields); empty lines are skipped. Raises CsvError."""
    lines = _lines(source)
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        start = number
        if line in ("", "\n"):
            continue
        fields: list[str] = []
        rest: str | None = line
        while rest is not None:
            if rest.startswith('"'):
                field, rest, number = _read_quoted(rest[1:], lines, number)
            else:
                field, comma, after = rest.partition(",")
                rest = after if comma else None
                if not comma:
                    field = field.removesuffix("\n")
                if '"' in field:
                    raise CsvError(f"Line {number} has a quotation mark inside a field that is not quoted.")
            fields.append(field)
        yield start, fields


def _lines(source: str) -> list[str]:
    parts = source.split("\n")
    lines = [part.removesuffix("\r") + "\n" for part in parts[:-1]]
    last = parts[-1]
    return [*lines, last.removesuffix("\r")] if last else lines


def _read_quoted(rest: str, lines: list[str], number: int) -> tuple[str, str | None, int]:
    """Read a field from the text after its opening quotation mark. Returns the field, the text after the next comma
    (None: the row is complete), and the number of the line in which the field ends. Raises CsvError."""
    out: list[str] = []
    while True:
        before, mark, after = rest.partition('"')
        out.append(before)
        if not mark:
            if number == len(lines):
                raise CsvError(f"The quoted field that begins on or before line {number} is not closed.")
            rest = lines[number]
            number += 1
        elif after.startswith('"'):
            out.append('"')
            rest = after[1:]
        elif after.startswith(","):
            return "".join(out), after[1:], number
        elif after in ("", "\n"):
            return "".join(out), None, number
        else:
            raise CsvError(f"Line {number} has text after the closing quotation mark of a field.")

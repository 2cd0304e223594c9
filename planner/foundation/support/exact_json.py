"""Reads and writes JSON exactly, and fast if possible.

A whole number within 64 bits is read as an int. Other numbers with at most 15 significant digits and without exponent
are read as a float, whose shortest notation is the original number. All remaining numbers are read as a Decimal, whole
numbers beyond 64 bits as an int. If a text has such numbers, none of its numbers is read as a float. Thus no digits are
lost by reading and writing."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal

    import orjson as orjson


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay interrupts until the end of the block."""
    if current_thread() is not main_thread():  # signal handlers run only on the main thread
        yield
        return
    arrived: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGURG):
            before[number] = signal.signal(number, remember)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    for late in arrived:
        handler = before[late]
        # call the handler instead of sending the signal again, because the signal has already been counted
        if callable(handler):
            handler(late, None)
        else:
            signal.raise_signal(late)


class _Orjson:
    """Loads orjson on first use, because loading takes longer than reading most files. All other modules import orjson
    from here: a KeyboardInterrupt while orjson imports modules of the standard library would crash the process."""

    def __getattr__(self, name: str) -> Any:
        with uninterrupted():
            import orjson
        self.__dict__.update(vars(orjson))
        return getattr(orjson, name)


if not TYPE_CHECKING:
    orjson = _Orjson()


class _NoUtf8(dict[int, int]):
    """A table for str.translate that replaces surrogates, which UTF-8 cannot encode, with U+FFFD."""

    def __missing__(self, code: int) -> int:
        return 0xFFFD if 0xD800 <= code < 0xE000 else code


_LARGE = 1 << 20
_PIECE = 200  # the number of nesting levels that one call of the fast writer writes; it supports 254
_DEEPEST = 4 * _PIECE  # the deepest nesting level at which such a call begins; the fast reader supports 1024 levels
_HTML = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))
_LINES = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))
_NO_UTF8 = _NoUtf8()


class JsonError(ValueError):
    """Invalid JSON: the reason, and the offset of the error in bytes."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(f"{reason} (byte offset {offset})")
        self.reason = reason
        self.offset = offset


def loads(data: bytes) -> Any:
    """The value of a JSON text. Of duplicate keys, the last one is used. Raises JsonError."""
    if not has_wide_numbers(data):
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as e:
            raise JsonError(e.msg, len(e.doc[: e.pos].encode("utf-8", "surrogatepass"))) from None
    return _loads_exactly(data)


def reader() -> Callable[[bytes], Any]:
    """The fast reader. It is exact only for texts for which `has_wide_numbers` returns False. It raises ValueError for
    invalid JSON."""
    read: Callable[[bytes], Any] = orjson.loads
    return read


def _loads_exactly(data: bytes) -> Any:
    import json

    try:
        text = data.decode("utf-8")
        return json.loads(text, parse_float=_decimal, parse_constant=_no_constant)
    except UnicodeDecodeError as e:
        raise JsonError("not UTF-8", e.start) from None
    except json.JSONDecodeError as e:
        raise JsonError(e.msg, len(text[: e.pos].encode("utf-8", "surrogatepass"))) from None
    except RecursionError:
        raise JsonError("nested too deeply", 0) from None
    except ValueError as e:
        raise JsonError(str(e), 0) from None


def _decimal(text: str) -> Decimal:
    from decimal import Decimal

    try:
        return Decimal(text)
    except ArithmeticError:
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        raise ValueError(f"the exponent of {shown} is out of range") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def has_wide_numbers(data: bytes) -> bool:
    """Whether the text may contain a number that the fast reader would round. Can be a false positive, never a false
    negative."""
    if data[:1] not in (b"{", b"[", b'"'):
        return True
    return (_wide() if len(data) < _LARGE else _wide_in_much()).search(data) is not None


@cache
def _wide_in_much() -> Any:
    """The pattern of wide numbers, compiled with re2, which is five times as fast, but slow to load."""
    import re2

    return re2.compile(rb"[:\[,][ \t\r\n]*-?(?:[0-9][0-9.]{15}|[0-9.]+[eE])")


@cache
def _wide() -> re.Pattern[bytes]:
    return re.compile(rb"[:\[,][ \t\r\n]*+-?(?:[0-9][0-9.]{15}|[0-9.]++[eE])")


def dumps(value: Any, *, indent: bool = False, escape_html: bool = True, sort_keys: bool = False) -> bytes:
    """The JSON text of a value: compact, or indented by two spaces; keys of objects keep their order, or are sorted
    with `sort_keys`.

    With `escape_html` the characters < > & and the two Unicode line separators are escaped, as Go's encoder does.
    Decimals are written without an exponent unless this would require thousands of digits. Parts nested more than 200
    levels deep may be written compactly, even in indented text. Raises TypeError for values that JSON cannot represent,
    and RecursionError for values nested more than 1000 levels deep."""
    option = (orjson.OPT_INDENT_2 if indent else 0) | (orjson.OPT_SORT_KEYS if sort_keys else 0)
    try:
        data = orjson.dumps(value, default=_plain, option=option)
    except (TypeError, orjson.JSONEncodeError):
        data = orjson.dumps(_fragments(value), default=_plain, option=option)
    if escape_html:
        for raw, escaped in _HTML:
            if raw in data:
                data = data.replace(raw, escaped)
        if b"\xe2\x80" in data:
            for raw, escaped in _LINES:
                data = data.replace(raw, escaped)
    return data


def _plain(value: Any) -> Any:
    from decimal import Decimal

    if value.__class__ is Decimal:
        return orjson.Fragment(format(value, "f") if -5000 < value.adjusted() < 5000 else str(value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _fragments(value: Any, depth: int = 0) -> Any:
    """A copy of a value for the fast writer: U+FFFD replaces characters that UTF-8 cannot encode (surrogates for bytes
    that were not UTF-8, PEP 383). Whole numbers beyond 64 bits, and parts that are nested too deeply for the fast
    writer, are replaced with their JSON text. Raises RecursionError if such a part is nested more than _DEEPEST levels
    deep."""
    if value.__class__ is str:
        return value.translate(_NO_UTF8)
    if value.__class__ is int and not -(1 << 63) <= value < 1 << 64:
        from decimal import Decimal

        return _fragment(str(Decimal(value)))
    inner: Any
    if value.__class__ is dict:
        inner = {_fragments(k): _fragments(v, depth + 1) for k, v in value.items()}
    elif value.__class__ in (list, tuple):
        inner = [_fragments(v, depth + 1) for v in value]
    else:
        return value
    if depth == 0 or depth % _PIECE:
        return inner
    if depth > _DEEPEST:
        raise RecursionError
    return _fragment(orjson.dumps(inner, default=_plain))


def _fragment(text: str | bytes) -> Any:
    return orjson.Fragment(text)

"""Profiles in the format of Go's pprof (github.com/google/pprof, profile.proto), for the file of TOFU_CPU_PROFILE."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from types import CodeType

Stacks = Mapping[str, Iterable[tuple[tuple[CodeType | str, ...], float]]]
"""by thread: stacks from the outside, with the seconds that each was seen for"""


def pprof(samples: Stacks, begin: float, duration: float, period: float) -> bytes:
    """A profile; `begin` in seconds since 1970, `duration` and `period` in seconds."""
    strings: dict[str, int] = {"": 0}
    functions: dict[CodeType, int] = {}
    out = bytearray()

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    def location(code: CodeType) -> int:
        if code not in functions:
            functions[code] = number = len(functions) + 1
            line = _field(1, number) + _field(2, code.co_firstlineno)
            out.extend(_message(4, _field(1, number) + _message(4, line)))
            name, file = text(code.co_qualname), text(code.co_filename)
            described = _field(1, number) + _field(2, name) + _field(4, file) + _field(5, code.co_firstlineno)
            out.extend(_message(5, described))
        return functions[code]

    value_type = _field(1, text("wall")) + _field(2, text("nanoseconds"))
    out.extend(_message(1, value_type))
    for stacks in samples.values():
        for stack, seconds in stacks:
            codes = [location(part) for part in reversed(stack) if isinstance(part, CodeType)]
            values = _packed(2, [int(seconds * 1e9)])
            out.extend(_message(2, _packed(1, codes) + values))
    out.extend(_field(9, int(begin * 1e9)) + _field(10, int(duration * 1e9)))
    out.extend(_message(11, value_type) + _field(12, int(period * 1e9)))
    out.extend(b"".join(_message(6, value.encode()) for value in strings))
    return gzip.compress(bytes(out))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _packed(number: int, values: Iterable[int]) -> bytes:
    return _message(number, b"".join(map(_varint, values)))

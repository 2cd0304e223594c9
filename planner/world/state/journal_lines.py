"""The lines of a journal. Each line has two checksums: its own, and one that continues the checksum of the previous
line. Together they distinguish changed lines, missing lines and an incomplete last line.

A line is `CHAIN OWN JSON`. Both checksums are CRC-32 in eight hexadecimal digits: OWN is the checksum of the JSON text,
and CHAIN continues the CHAIN of the previous line (0 before the first). The lines of old journals have only OWN; such
journals can still be read."""

from __future__ import annotations

import re
import zlib
from typing import Any

from planner.foundation.support.exact_json import JsonError, dumps, loads
from planner.foundation.vocabulary.records import field, frozen

_LINE = re.compile(rb"(?:([0-9a-f]{8}) )?([0-9a-f]{8}) (\{[^\x00-\x1f]*)")
_BEGINNING = re.compile(rb"[0-9a-f]{0,8}|[0-9a-f]{8} (?:[0-9a-f]{0,8}|(?:[0-9a-f]{8} )?\{[^\x00-\x1f]*|[0-9a-f]{8} )")


def text_of(entry: dict[str, Any]) -> bytes:
    """An entry as JSON. Raises TypeError for values that JSON cannot represent."""
    return dumps(entry, escape_html=False)


def line_of(text: bytes, chain: int) -> tuple[bytes, int]:
    """The line with this JSON text, and its CHAIN. `chain`: the CHAIN of the previous line."""
    chain = zlib.crc32(text, chain)
    return b"%08x %08x %s\n" % (chain, zlib.crc32(text), text), chain


@frozen
class JournalLines:
    """The readable lines. `chain`: the CHAIN of the last line; `size`: the number of bytes of all complete lines.
    `is_torn`: whether the last line is incomplete, as when a process is killed while it writes. `damage`: descriptions
    of all other problems."""

    entries: list[dict[str, Any]] = field(factory=list)
    chain: int = 0
    size: int = 0
    is_torn: bool = False
    damage: tuple[str, ...] = ()
    has_beginning: bool = True


def read_lines(data: bytes) -> JournalLines:
    """The entries of all intact lines, and descriptions of damaged and missing lines."""
    *lines, tail = data.split(b"\n")
    if _parse_line(tail)[0] is not None:  # only the line break at its end is missing
        lines.append(tail)
        tail = b""
    entries: list[dict[str, Any]] = []
    damaged: list[int] = []
    missing: list[int] = []
    chain: int | None = 0
    for number, line in enumerate(lines, 1):
        entry, sum, text = _parse_line(line)
        if entry is None:
            damaged.append(number)
            chain = None  # the next line is still checked by its own checksum
            continue
        if sum is not None and chain is not None and zlib.crc32(text, chain) != sum:
            missing.append(number)
        chain = sum if sum is not None else chain
        entries.append(entry)
    damage = [*_numbers_text(damaged, "Line {} is damaged", "Lines {} are damaged")]
    damage += _numbers_text(missing, "lines are missing before line {}", "lines are missing before each of lines {}")
    is_torn = bool(tail and _BEGINNING.fullmatch(tail))
    if tail and not is_torn:
        damage.append(f"the last {len(tail)} bytes are not a line of a journal")
    has_beginning = not (damaged[:1] == [1] or missing[:1] == [1]) and bool(entries or not damage)
    return JournalLines(entries, chain or 0, len(data) - len(tail), is_torn, tuple(damage), has_beginning)


def _parse_line(line: bytes) -> tuple[dict[str, Any] | None, int | None, bytes]:
    match = _LINE.fullmatch(line)
    if match is None or zlib.crc32(match[3]) != int(match[2], 16):
        return None, None, b""
    try:
        entry = loads(match[3])
    except JsonError:
        return None, None, b""
    return entry, int(match[1], 16) if match[1] else None, match[3]


def _numbers_text(numbers: list[int], one: str, several: str) -> list[str]:
    if not numbers:
        return []
    return [(one if len(numbers) == 1 else several).format(", ".join(map(str, numbers)))]

"""Comma-separated values (RFC 4180), with the strictness of Go's encoding/csv: a quotation mark only around a whole
field or doubled inside one; empty lines do not count; \\r\\n is \\n, also inside a field."""

from __future__ import annotations

from collections.abc import Iterator


class CsvError(ValueError):
    """Text that is no valid table."""


def records(source: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a table: number of the first line of each (from 1), and its fields. Raises CsvError."""
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
                field, rest, number = _quoted(rest[1:], lines, number)
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


def _quoted(rest: str, lines: list[str], number: int) -> tuple[str, str | None, int]:
    """The field after its opening mark, what follows it (None: the line is done), and the number of the line read."""
    out: list[str] = []
    while True:
        before, mark, after = rest.partition('"')
        out.append(before)
        if not mark:
            if number == len(lines):
                raise CsvError(f"The quoted field that begins before line {number} ends is not closed.")
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

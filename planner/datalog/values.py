"""Values of columns: `str` (symbol), `int` (number), and in columns of type any also truth values and fractions.

Python holds 1, True and 1.0 for equal, so a set of tuples would merge them. Inside the engine truth values and
fractions are therefore wrapped: `encode` on the way in, `decode` on the way out. Strings and whole numbers stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias


class Truth:
    """A truth value. There are two: TRUE and FALSE."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __reduce__(self) -> str:
        return "TRUE" if self.value else "FALSE"

    def __repr__(self) -> str:
        return "true" if self.value else "false"


TRUE = Truth(True)
FALSE = Truth(False)


class Fraction:
    """A number with a fraction part (binary floating point), apart from the whole number of the same size."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Fraction and other.value == self.value

    def __hash__(self) -> int:
        return hash((Fraction, self.value))

    def __repr__(self) -> str:
        return repr(self.value)


Value: TypeAlias = str | int | Truth | Fraction
Row: TypeAlias = tuple[Any, ...]

Rows: TypeAlias = dict[Row, None]
"""A relation: a set that gives its rows in the order in which they came. What came one after the other lies side by
side in memory, so that going through a million rows waits half as long for it as with a set."""


def encode(value: Any) -> Value:
    """The engine's form of a plain value. Raises TypeError for what cannot be in a column."""
    kind = type(value)
    if kind is str or kind is int or kind is Truth or kind is Fraction:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return TRUE if value else FALSE
    if kind is float and value == value:
        return Fraction(value)
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{value!r} ({kind.__name__}) cannot stand in a column")


def decode(value: Value) -> str | int | float | bool:
    """The plain Python value (and JSON value) of a column."""
    return value.value if type(value) is Truth or type(value) is Fraction else value  # type: ignore[return-value]


def sort_key(row: Row) -> tuple[Any, ...]:
    """A total order on rows: truth values, then numbers, then strings."""
    return tuple(_rank(value) for value in row)


def _rank(value: Value) -> tuple[Any, ...]:
    kind = type(value)
    if kind is str:
        return (2, value)
    if kind is int:
        return (1, value, 0)
    return (1, value.value, 1) if kind is Fraction else (0, value.value)  # type: ignore[union-attr]


def sorted_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows in that order."""
    rows = list(rows)
    try:
        return sorted(rows)  # agrees with sort_key wherever Python compares at all
    except TypeError:
        return sorted(rows, key=sort_key)

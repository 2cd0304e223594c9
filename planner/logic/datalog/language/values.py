"""Values of columns: `str` (symbol), and `int` or `Fraction` (number). Columns of type any may also contain bools. In
Python, 1, True and 1.0 are equal, so a set of tuples would contain only one of them. Therefore the engine wraps bools
and fractions, but not strings and integers. `encode` and `decode` convert values."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from decimal import Context, Decimal


class Truth:
    """A bool in a column. The only objects of this class are TRUE and FALSE."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __reduce__(self) -> str:
        return "TRUE" if self.value else "FALSE"

    def __repr__(self) -> str:
        return "true" if self.value else "false"


TRUE = Truth(True)
FALSE = Truth(False)


PRECISION = 200  # digits of a computed quotient; sums and products are exact up to this number of digits
LARGEST_EXPONENT = 10_000


class Fraction:
    """An exact decimal that is not an integer, or an integer that is written with a decimal point (in a rule, `1.0`
    differs from `1`). A computed number is an int if its value is an integer. A Fraction can be compared by order with
    ints, but is never equal to an int."""

    __slots__ = ("value",)
    value: Decimal

    def __init__(self, value: Decimal | str | float) -> None:
        from decimal import Decimal

        self.value = Decimal(repr(value)) if type(value) is float else Decimal(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Fraction, (str(self.value),)

    def __eq__(self, other: object) -> bool:
        return type(other) is Fraction and other.value == self.value

    def __hash__(self) -> int:
        return hash((Fraction, self.value))

    def __repr__(self) -> str:
        if abs(self.value.adjusted()) > LARGEST_EXPONENT:
            return str(self.value)
        text = format(self.value, "f")
        return text if "." in text else f"{text}.0"

    def __lt__(self, other: Number) -> bool:
        return bool(self.value < _decimal(other))

    def __le__(self, other: Number) -> bool:
        return bool(self.value <= _decimal(other))

    def __gt__(self, other: Number) -> bool:
        return bool(self.value > _decimal(other))

    def __ge__(self, other: Number) -> bool:
        return bool(self.value >= _decimal(other))

    def __add__(self, other: Number) -> Number:
        return number(_context().add(self.value, _decimal(other)))

    __radd__ = __add__

    def __sub__(self, other: Number) -> Number:
        return number(_context().subtract(self.value, _decimal(other)))

    def __rsub__(self, other: int) -> Number:
        return number(_context().subtract(_decimal(other), self.value))

    def __mul__(self, other: Number) -> Number:
        return number(_context().multiply(self.value, _decimal(other)))

    __rmul__ = __mul__


Number: TypeAlias = int | Fraction


def is_a_number(value: object) -> TypeGuard[Number]:
    return type(value) is int or type(value) is Fraction


def _decimal(value: Any) -> Any:
    return value.value if type(value) is Fraction else value


@cache
def _context() -> Context:
    from decimal import MAX_EMAX, MIN_EMIN, Context

    return Context(prec=PRECISION, Emax=MAX_EMAX, Emin=MIN_EMIN)


def number(value: Decimal) -> Number:
    """An int if the value is an integer, otherwise a Fraction."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), value
    if exponent >= 0:
        return int(value) if exponent <= LARGEST_EXPONENT else Fraction(value)
    return int(value) if value == value.to_integral_value() else Fraction(value)


def quotient(a: Number, b: Number) -> Number:
    """`a` divided by `b`, rounded to PRECISION digits. `b` must not be 0."""
    from decimal import Decimal

    return number(_context().divide(Decimal(_decimal(a)), Decimal(_decimal(b))))


Value: TypeAlias = str | int | Truth | Fraction
Row: TypeAlias = tuple[Any, ...]

Rows: TypeAlias = dict[Row, None]
"""a set of rows in the order in which they were added, as the keys of a dictionary. Rows that were added one after the
other are adjacent in memory, so an iteration over a million rows takes half as long as with a set"""


def encode(value: Any) -> Value:
    """The engine's representation of a Python value. Raises TypeError for a value that cannot be in a column."""
    kind = type(value)
    if kind is str or kind is int or kind is Truth or kind is Fraction:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return TRUE if value else FALSE
    if kind is float and value == value:
        return Fraction(value)
    if isinstance(value, str):
        return str(value)
    if kind.__name__ == "Decimal" and value.is_finite():
        return Fraction(value)
    raise TypeError(f"{value!r} ({kind.__name__}) cannot be stored in a column")


def decode(value: Value) -> str | int | float | bool | Decimal:
    """The Python (and JSON) value of a value in a column. A Fraction becomes a float if the float is printed with the
    same digits, otherwise a Decimal."""
    if type(value) is Truth:
        return value.value
    if type(value) is Fraction:
        text = repr(value)
        return float(text) if repr(float(text)) == text else value.value
    return value  # type: ignore[return-value]


def sort_key(row: Row) -> tuple[Any, ...]:
    """The sort key of a row. In a column, bools come first, then numbers, then strings."""
    return tuple(_rank(value) for value in row)


def _rank(value: Value) -> tuple[Any, ...]:
    kind = type(value)
    if kind is str:
        return (2, value)
    if kind is int:
        return (1, value, 0)
    return (1, value.value, 1) if kind is Fraction else (0, value.value)  # type: ignore[union-attr]


def sorted_rows(rows: Iterable[Row]) -> list[Row]:
    """The rows, sorted by `sort_key`."""
    rows = list(rows)
    if any(type(value) is Fraction for row in rows for value in row):
        return sorted(rows, key=sort_key)
    try:
        return sorted(rows)  # Python's order agrees with sort_key if the rows are comparable
    except TypeError:
        return sorted(rows, key=sort_key)


# Paths in values, as in configurations: `tags.Name`, `Statement[0].Effect`.


def member(path: str, name: str) -> str:
    """The path of the member `name` of the object at `path`: `tags.Name`, or `tags["a.b"]` if the name is not an
    identifier."""
    if name.isidentifier() or name.replace("-", "_").isidentifier():
        return f"{path}.{name}" if path else name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{escaped}"]'

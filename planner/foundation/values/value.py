"""Representation of the language's values: plain Python values where possible, otherwise instances of a few classes.

    string   str (NFC)                     tuple   Python tuple of values
    bool     bool                          object  Python dict (str -> value)
    number   int when whole, else mpfr     list    List(element type, items)
             (512-bit binary float)        map     Map(element type, dict)
    null     Null(type)                    set     Set(element type, items in the language's set order)
    unknown  Unknown(type, refinement)     marked  Marked(value, marks): around any of them, at any depth

Infinity is the mpfr infinity. A whole number is an int, except for the three kinds that the module
planner.foundation.values.numbers lists. Test classes with `is` and never with isinstance, because bool is a subclass of
int. Values are never changed in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from planner.foundation.values.numbers import parse_number, same_number
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
    Type,
)

Value: TypeAlias = Any
Mark: TypeAlias = Any

SENSITIVE: Mark = "sensitive"
EPHEMERAL: Mark = "ephemeral"  # deprecation marks are objects rather than strings


class Null:
    """A null value of a type. NULL, the literal `null`, has the dynamic type."""

    __slots__ = ("type",)

    def __init__(self, type: Type = DYNAMIC) -> None:
        self.type = type

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Null and self.type == other.type

    def __hash__(self) -> int:
        return hash(("null", self.type))

    def __repr__(self) -> str:
        return f"Null({self.type!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Null, (self.type,))


NULL = Null()


class Refinement:
    """Known properties of an unknown value; a property that is None, empty or False is not known. Bounds are (number,
    inclusive)."""

    __slots__ = ("lower", "max_length", "min_length", "not_null", "prefix", "upper")

    def __init__(
        self,
        not_null: bool = False,
        prefix: str = "",
        lower: tuple[Any, bool] | None = None,
        upper: tuple[Any, bool] | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
    ) -> None:
        self.not_null = not_null
        self.prefix = prefix
        self.lower = lower
        self.upper = upper
        self.min_length = min_length
        self.max_length = max_length

    def key(self) -> tuple[Any, ...]:
        return (self.not_null, self.prefix, self.lower, self.upper, self.min_length, self.max_length)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refinement) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __repr__(self) -> str:
        return f"Refinement{self.key()!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Refinement, self.key())


class Unknown:
    """A value that will be known later. `refinement` narrows it (None: only the type is known). `document`: for a
    string that is JSON with unknown parts, the value from which it is made, without marks. Policies use the document;
    comparisons ignore it."""

    __slots__ = ("document", "refinement", "type")

    def __init__(
        self, type: Type = DYNAMIC, refinement: Refinement | None = None, document: Value | None = None
    ) -> None:
        self.type = type
        self.refinement = refinement
        self.document = document

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Unknown and self.type == other.type and self.refinement == other.refinement

    def __hash__(self) -> int:
        return hash(("unknown", self.type, self.refinement))

    def __repr__(self) -> str:
        return f"Unknown({self.type!r}{f', {self.refinement!r}' if self.refinement else ''})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Unknown, (self.type, self.refinement, self.document))


UNKNOWN = Unknown()
NOT_NULL = Refinement(not_null=True)


class Marked:
    """A value with marks. A Marked never contains a Marked directly, but containers may have marked elements."""

    __slots__ = ("marks", "value")

    def __init__(self, value: Value, marks: frozenset[Mark]) -> None:
        self.value = value
        self.marks = marks

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Marked and self.marks == other.marks and self.value == other.value

    def __hash__(self) -> int:
        return hash((self.value, self.marks))

    def __repr__(self) -> str:
        return f"Marked({self.value!r}, {set(self.marks)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Marked, (self.value, self.marks))


class _Sequence:
    __slots__ = ("element", "items")

    def __init__(self, element: Type, items: tuple[Value, ...]) -> None:
        self.element = element
        self.items = items

    def __eq__(self, other: object) -> bool:
        return other.__class__ is self.__class__ and self.element == other.element and self.items == other.items

    def __hash__(self) -> int:
        return hash((self.__class__.__name__, self.items))

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.element!r}, {self.items!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.element, self.items))


class List(_Sequence):
    """list(element) with its items."""

    __slots__ = ()


class Set(_Sequence):
    """set(element): distinct items in the language's set order. Created by planner.foundation.values.sets.make_set."""

    __slots__ = ()


class Map:
    """map(element): items in no particular order. Sort the keys if the order is visible."""

    __slots__ = ("element", "items")

    def __init__(self, element: Type, items: dict[str, Value]) -> None:
        self.element = element
        self.items = items

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Map and self.element == other.element and self.items == other.items

    def __hash__(self) -> int:
        return hash(("map", frozenset(self.items)))

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"Map({self.element!r}, {self.items!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Map, (self.element, self.items))


NO_MARKS: frozenset[Mark] = frozenset()


def type_of(value: Value) -> Type:
    cls = value.__class__
    if cls is str:
        return STRING
    if cls is bool:
        return BOOL
    if cls is int:
        return NUMBER
    if cls is dict:
        return ObjectType({k: type_of(v) for k, v in value.items()})
    if cls is tuple:
        return TupleType(tuple(type_of(v) for v in value))
    if cls is Null or cls is Unknown:
        return value.type  # type: ignore[no-any-return]
    if cls is Marked:
        return type_of(value.value)
    if cls is List:
        return ListType(value.element)
    if cls is Map:
        return MapType(value.element)
    if cls is Set:
        return SetType(value.element)
    return NUMBER


def mark(value: Value, marks: frozenset[Mark]) -> Value:
    """Add marks to the value as a whole."""
    if not marks:
        return value
    if value.__class__ is Marked:
        return value if marks <= value.marks else Marked(value.value, value.marks | marks)
    return Marked(value, marks)


def unmark(value: Value) -> tuple[Value, frozenset[Mark]]:
    """Remove the value's own marks. Returns the value and the marks. Marks of nested values are kept."""
    if value.__class__ is Marked:
        return value.value, value.marks
    return value, NO_MARKS


_WITHOUT_PARTS = frozenset((str, bool, int, Null, Unknown))


def is_marked_deep(value: Value) -> bool:
    cls = value.__class__
    parts: Iterable[Value]
    if cls is dict:
        parts = value.values()
    elif cls is tuple:
        parts = value
    elif cls is List or cls is Set:
        parts = value.items
    elif cls is Map:
        parts = value.items.values()
    else:
        return cls is Marked
    for part in parts:  # noqa: SIM110 -- this runs several times for every value of every plan
        if part.__class__ not in _WITHOUT_PARTS and is_marked_deep(part):
            return True
    return False


def unmark_deep(value: Value) -> tuple[Value, frozenset[Mark]]:
    """Remove marks at any depth. Returns the value and the removed marks."""
    if not is_marked_deep(value):
        return value, NO_MARKS
    stripped: list[frozenset[Mark]] = []
    plain = _strip(value, stripped)
    return plain, frozenset().union(*stripped) if stripped else NO_MARKS


def _strip(value: Value, marks: list[frozenset[Mark]]) -> Value:
    cls = value.__class__
    if cls is Marked:
        marks.append(value.marks)
        return _strip(value.value, marks)
    if cls is tuple:
        items = tuple(_strip(v, marks) for v in value)
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if cls is dict:
        before = len(marks)
        items_ = {k: _strip(v, marks) for k, v in value.items()}
        return value if len(marks) == before else items_
    if cls is List or cls is Set:
        before = len(marks)
        stripped = tuple(_strip(v, marks) for v in value.items)
        return value if len(marks) == before else cls(value.element, stripped)
    if cls is Map:
        before = len(marks)
        mapped = {k: _strip(v, marks) for k, v in value.items.items()}
        return value if len(marks) == before else Map(value.element, mapped)
    return value


def is_wholly_known(value: Value) -> bool:
    cls = value.__class__
    if cls is str or cls is bool or cls is int:
        return True
    if cls is Unknown:
        return False
    if cls is Marked:
        return is_wholly_known(value.value)
    if cls is tuple:
        return all(map(is_wholly_known, value))
    if cls is dict:
        return all(map(is_wholly_known, value.values()))
    if cls is List or cls is Set:
        return all(map(is_wholly_known, value.items))
    if cls is Map:
        return all(map(is_wholly_known, value.items.values()))
    return True


def is_null(value: Value) -> bool:
    cls = value.__class__
    return cls is Null or (cls is Marked and value.value.__class__ is Null)


def number_from_text(text: str) -> Value:
    """A decimal number, rounded to 512 bits as in OpenTofu. Raises ValueError."""
    if text.isascii() and text.isdigit() and len(text) < 150:
        return int(text)
    return parse_number(text)


# Identity of values: equal types, values and marks, and equal refinements of unknown parts.
#
# Python's `==` is not suitable, because `(1,) == (True,)`. The language's `==` is different: its result is unknown for
# unknown operands and true for nulls of different types (planner.foundation.values.operations).


def identical(a: Value, b: Value) -> bool:
    """Whether two values have the same types, content, marks and refinements (go-cty's RawEquals)."""
    if a is b:
        return True
    cls = a.__class__
    if cls is not b.__class__:
        return _is_number(a) and _is_number(b) and _same_number(a, b)
    if cls is dict:
        return a.keys() == b.keys() and all(identical(v, b[k]) for k, v in a.items())
    if cls is tuple:
        return len(a) == len(b) and all(map(identical, a, b))
    if cls is List or cls is Set:
        return a.element == b.element and len(a.items) == len(b.items) and all(map(identical, a.items, b.items))
    if cls is Map:
        left, right = a.items, b.items
        return (
            a.element == b.element
            and left.keys() == right.keys()
            and all(identical(v, right[k]) for k, v in left.items())
        )
    if cls is Marked:
        return a.marks == b.marks and identical(a.value, b.value)
    if cls is int or cls is str or cls is bool:
        return bool(a == b)
    return _same_number(a, b) if _is_number(a) else bool(a == b)


def _is_number(value: Value) -> bool:
    return value.__class__ is int or value.__class__.__name__ == "mpfr"


def _same_number(a: Value, b: Value) -> bool:
    return same_number(a, b)


def with_parts(value: Value, change: Callable[[Value], Value]) -> Value:
    """Apply `change` to each direct part; the value's own marks are kept. A value without parts is returned
    unchanged."""
    cls = value.__class__
    if cls is dict:
        return {name: change(part) for name, part in value.items()}
    if cls is tuple:
        return tuple(map(change, value))
    if cls is List or cls is Set:
        return cls(value.element, tuple(map(change, value.items)))
    if cls is Map:
        return Map(value.element, {key: change(part) for key, part in value.items.items()})
    return mark(with_parts(value.value, change), value.marks) if cls is Marked else value


def without_refinements(value: Value) -> Value:
    """Reduce unknown parts to their types. The value must have no marks."""
    if value.__class__ is Unknown:
        return value if value.refinement is None else Unknown(value.type)
    return with_parts(value, without_refinements)


def same_but_refinements(a: Value, b: Value) -> bool:
    """`identical` without comparing refinements. The values must have no marks."""
    return identical(a, b) or identical(without_refinements(a), without_refinements(b))

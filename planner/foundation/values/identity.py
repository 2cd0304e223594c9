"""When two values are the same in every respect: type, value, marks, and what is known of unknown parts.

Python's `==` will not do: `(1,) == (True,)`. The language's `==` is another question still: it answers unknown for
unknown operands and true for nulls of different types (planner.foundation.values.operations).
"""

from __future__ import annotations

from planner.foundation.values.numbers import same_number
from planner.foundation.values.value import List, Map, Marked, Set, Unknown, Value


def identical(a: Value, b: Value) -> bool:
    """Whether two values are the same (go-cty's RawEquals)."""
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


def without_refinements(value: Value) -> Value:
    """The value with nothing known of its unknown parts but their types. Marks must be gone."""
    cls = value.__class__
    if cls is Unknown:
        return value if value.refinement is None else Unknown(value.type)
    if cls is dict:
        return {k: without_refinements(v) for k, v in value.items()}
    if cls is tuple:
        return tuple(map(without_refinements, value))
    if cls is List or cls is Set:
        return cls(value.element, tuple(map(without_refinements, value.items)))
    if cls is Map:
        return Map(value.element, {k: without_refinements(v) for k, v in value.items.items()})
    return value


def same_but_refinements(a: Value, b: Value) -> bool:
    """Whether two values are the same when what is known of unknown parts does not count. Marks must be gone."""
    return identical(a, b) or identical(without_refinements(a), without_refinements(b))

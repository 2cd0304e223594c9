"""The operators of the language: equality, order, arithmetic and logic. Operands may be unknown. Only equality accepts
null; only equality and the unary operators accept marked operands.

As in go-cty (value_ops.go and function/stdlib, which HCL's operators call)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from planner.foundation.values import numbers
from planner.foundation.values.numbers import same_number
from planner.foundation.values.refine import (
    UNKNOWN_BOOL,
    UNKNOWN_NUMBER,
    Bound,
    definitely_not_null,
    is_collection,
    length_bounds,
    number_bounds,
)
from planner.foundation.values.types import (
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    Primitive,
    SetType,
    TupleType,
    Type,
    has_dynamic,
)
from planner.foundation.values.value import (
    List,
    Map,
    Null,
    Set,
    Unknown,
    Value,
    mark,
    type_of,
    unmark,
    unmark_deep,
)


class OperationError(ValueError):
    """The operands are not valid for the operation. The message is the reason."""


# ---------------------------------------------------------------- equality


def equals(a: Value, b: Value) -> Value:
    """`a == b`. The result may be unknown or marked. Values of different types are unequal, but nulls are equal even if
    their types differ."""
    cls = a.__class__
    if cls is b.__class__ and (cls is str or cls is int or cls is bool):
        return a == b
    plain_a, marks_a = unmark_deep(a)
    plain_b, marks_b = unmark_deep(b)
    return mark(_bool(equal(plain_a, plain_b)), marks_a | marks_b)


def not_equals(a: Value, b: Value) -> Value:
    result, marks = unmark(equals(a, b))
    return mark(result if result.__class__ is Unknown else not result, marks)


def same_value(a: Value, b: Value) -> bool:
    return equal(a, b) is True


def _bool(result: bool | None) -> Value:
    return UNKNOWN_BOOL if result is None else result


def equal(a: Value, b: Value) -> bool | None:
    """Whether two values without marks are equal; None if this is unknown."""
    ca, cb = a.__class__, b.__class__
    if ca is Unknown or cb is Unknown:
        return _equal_unknown(a, b)
    if ca is Null or cb is Null:
        return ca is cb
    if ca is cb and (ca is str or ca is int or ca is bool):
        return bool(a == b)
    if not _is_compound(a) or not _is_compound(b):
        if ca is str or ca is bool or cb is str or cb is bool or _is_compound(a) or _is_compound(b):
            return False
        return same_number(a, b)
    ta, tb = type_of(a), type_of(b)
    if _has_unknown_type(a) or _has_unknown_type(b):
        return None if conforms(ta, tb) or conforms(tb, ta) else False
    return _equal_parts(a, b) if ta == tb else False


def _is_compound(value: Value) -> bool:
    cls = value.__class__
    return cls is dict or cls is tuple or cls is List or cls is Map or cls is Set


def _equal_unknown(a: Value, b: Value) -> bool | None:
    if (a.__class__ is Null and definitely_not_null(b)) or (b.__class__ is Null and definitely_not_null(a)):
        return False
    if a.__class__ is Unknown and b.__class__ is Unknown:
        return None
    unknown, known = (a, b) if a.__class__ is Unknown else (b, a)
    if _excludes(unknown, known):
        return False
    if known.__class__ is Null or has_dynamic(unknown.type) or type_of(known) == unknown.type:
        return None
    return False


def _excludes(unknown: Unknown, value: Value) -> bool:
    """Whether the refinements of an unknown value exclude a known value."""
    refinement = unknown.refinement
    if value.__class__ is Null:
        return refinement is not None and bool(refinement.not_null)
    if not conforms(type_of(value), unknown.type):
        return True
    if refinement is None:
        return False
    t = unknown.type
    if t is STRING:
        return not value.startswith(refinement.prefix)
    if t is NUMBER:
        return _outside(value, refinement.lower, refinement.upper)
    if is_collection(t):
        least, most = length_bounds(value)
        if value.__class__ is Set and most is None:
            least, most = 1, len(value.items)
        return (refinement.max_length is not None and least > refinement.max_length) or (
            most is not None and most < (refinement.min_length or 0)
        )
    return False


_INFINITY = float("inf")


def _outside(number: Any, lower: Bound, upper: Bound) -> bool:
    if number.__class__ is not int and (number == _INFINITY or number == -_INFINITY):
        return True  # an infinity is outside the range even if there are no bounds
    if lower is not None and (number < lower[0] or (number == lower[0] and not lower[1])):
        return True
    return upper is not None and bool(number > upper[0] or (number == upper[0] and not upper[1]))


def _equal_parts(a: Value, b: Value) -> bool | None:
    """The result of `equal` for compound values of the same type; None if it is unknown."""
    cls = a.__class__
    if cls is Set:
        return _equal_sets(a, b)
    if cls is dict or cls is Map:
        left, right = (a, b) if cls is dict else (a.items, b.items)
        if left.keys() != right.keys():
            return False
        pairs = [(left[k], right[k]) for k in sorted(left)]
    else:
        left, right = (a, b) if cls is tuple else (a.items, b.items)
        if len(left) != len(right):
            return False
        pairs = list(zip(left, right, strict=True))
    for x, y in pairs:
        result = equal(x, y)
        if result is not True:
            return result
    return True


def _equal_sets(a: Set, b: Set) -> bool | None:
    if any(item.__class__ is Unknown for item in a.items + b.items):
        return None
    if a.items == b.items:
        return True
    return all(map(membership(b.items), a.items)) and all(map(membership(a.items), b.items))


def membership(values: Iterable[Value]) -> Callable[[Value], bool]:
    """A function that returns whether a value equals one of `values`. It compares only values with the same
    `equality_key`."""
    by_key: dict[Hashable, list[Value]] = {}
    for value in values:
        by_key.setdefault(equality_key(value), []).append(value)
    return lambda value: any(same_value(value, other) for other in by_key.get(equality_key(value), ()))


def equality_key(value: Value) -> Hashable:
    """A key that equal values share. Different values may have the same key, for example all fractions."""
    cls = value.__class__
    if cls is str or cls is int or cls is bool:
        return value  # type: ignore[no-any-return]
    if cls is Unknown or cls is Null:
        return cls
    if cls is dict or cls is Map:
        entries = value if cls is dict else value.items
        return tuple([(name, equality_key(entries[name])) for name in sorted(entries)])
    if cls is Set:
        return frozenset(map(equality_key, value.items))
    if cls is tuple or cls is List:
        return tuple(map(equality_key, value if cls is tuple else value.items))
    return numbers.whole_hash(value)


def _has_unknown_type(value: Value) -> bool:
    cls = value.__class__
    if cls is Unknown:
        return value.type is DYNAMIC
    if cls is dict:
        return any(map(_has_unknown_type, value.values()))
    if cls is tuple:
        return any(map(_has_unknown_type, value))
    if cls is List or cls is Set:
        return any(map(_has_unknown_type, value.items))
    if cls is Map:
        return any(map(_has_unknown_type, value.items.values()))
    return False


def conforms(given: Type, wanted: Type) -> bool:
    """Whether the type `given` equals `wanted`. The dynamic type in `wanted` matches any type."""
    if wanted is DYNAMIC or given is wanted:
        return True
    if isinstance(given, Primitive) or isinstance(wanted, Primitive) or given.__class__ is not wanted.__class__:
        return False
    if isinstance(given, ObjectType) and isinstance(wanted, ObjectType):
        return given.attributes.keys() == wanted.attributes.keys() and all(
            conforms(t, wanted.attributes[k]) for k, t in given.attributes.items()
        )
    if isinstance(given, TupleType) and isinstance(wanted, TupleType):
        return len(given.elements) == len(wanted.elements) and all(map(conforms, given.elements, wanted.elements))
    assert isinstance(given, (ListType, SetType, MapType))
    assert isinstance(wanted, (ListType, SetType, MapType))
    return conforms(given.element, wanted.element)


# ---------------------------------------------------------------- logic


def logical_not(a: Value) -> Value:
    """`!a`. Raises OperationError for null."""
    if a.__class__ is bool:
        return not a
    plain, marks = unmark(a)
    if plain.__class__ is Null:
        raise OperationError("the operand is null")
    if plain.__class__ is Unknown:
        return UNKNOWN_BOOL  # go-cty forgets the marks of an unknown operand here
    return mark(not plain, marks)


# ---------------------------------------------------------------- arithmetic

Compute = Callable[[Any, Any], Any]


def _numeric(compute: Compute, a: Value, b: Value) -> Value:
    ca, cb = a.__class__, b.__class__
    if ca is Null or cb is Null:
        raise OperationError(f"the {'left' if ca is Null else 'right'} operand is null")
    if ca is Unknown or cb is Unknown:
        return UNKNOWN_NUMBER
    try:
        return compute(a, b)
    except ArithmeticError:
        raise OperationError("the result is not defined for these numbers") from None


def add(a: Value, b: Value) -> Value:
    """`a + b`. The operands have no marks. Raises OperationError for null and opposite infinities."""
    if a.__class__ is int and b.__class__ is int and -(1 << 500) < a < 1 << 500 and -(1 << 500) < b < 1 << 500:
        return a + b
    return _numeric(numbers.add, a, b)


def subtract(a: Value, b: Value) -> Value:
    """`a - b`. The operands have no marks. Raises OperationError for null and equal infinities."""
    if a.__class__ is int and b.__class__ is int and -(1 << 500) < a < 1 << 500 and -(1 << 500) < b < 1 << 500:
        return a - b
    return _numeric(numbers.subtract, a, b)


def multiply(a: Value, b: Value) -> Value:
    """`a * b`. The operands have no marks. Raises OperationError for null and zero times infinity."""
    return _numeric(numbers.multiply, a, b)


def divide(a: Value, b: Value) -> Value:
    """`a / b`. The operands have no marks. Raises OperationError for null, 0 / 0 and infinity / infinity."""
    return _numeric(numbers.divide, a, b)


def remainder(a: Value, b: Value) -> Value:
    """`a % b`. The operands have no marks. Raises OperationError for null and infinities."""
    return _numeric(numbers.remainder, a, b)


def negate(a: Value) -> Value:
    """`-a`. Raises OperationError for null."""
    plain, marks = unmark(a)
    if plain.__class__ is Null:
        raise OperationError("the operand is null")
    if plain.__class__ is Unknown:
        return UNKNOWN_NUMBER  # go-cty forgets the marks of an unknown operand here
    if plain.__class__ is int and plain:
        return mark(-plain, marks)
    return mark(numbers.negate(plain), marks)


# ---------------------------------------------------------------- order


def _less(a: Value, b: Value) -> bool | None:
    """Whether a < b; None if this is unknown. Bounds of unknown values are treated as exclusive, as in go-cty."""
    if a.__class__ is not Unknown and b.__class__ is not Unknown:
        return bool(a < b)
    if type_of(a) is not NUMBER or type_of(b) is not NUMBER:
        return None
    a_lower, a_upper = number_bounds(a)
    b_lower, b_upper = number_bounds(b)
    if a_upper is not None and b_lower is not None and a_upper[0] < b_lower[0]:
        return True
    if a_lower is not None and b_upper is not None and a_lower[0] > b_upper[0]:
        return False
    return None


def _check_order(a: Value, b: Value) -> None:
    if a.__class__ is Null or b.__class__ is Null:
        raise OperationError(f"the {'left' if a.__class__ is Null else 'right'} operand is null")


def less(a: Value, b: Value) -> Value:
    """`a < b`. The operands have no marks. Raises OperationError for null."""
    _check_order(a, b)
    return _bool(_less(a, b))


def greater(a: Value, b: Value) -> Value:
    """`a > b`. The operands have no marks. Raises OperationError for null."""
    _check_order(a, b)
    return _bool(_less(b, a))


def less_or_equal(a: Value, b: Value) -> Value:
    """`a <= b`. The operands have no marks. Raises OperationError for null."""
    _check_order(a, b)
    return _bool(_either(_less(a, b), equal(a, b)))


def greater_or_equal(a: Value, b: Value) -> Value:
    """`a >= b`. The operands have no marks. Raises OperationError for null."""
    _check_order(a, b)
    return _bool(_either(_less(b, a), equal(a, b)))


def _either(a: bool | None, b: bool | None) -> bool | None:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False

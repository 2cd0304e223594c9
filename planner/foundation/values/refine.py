"""Refinements: known properties of unknown values, such as bounds of a number.

As in go-cty (unknown_refinement.go, value_range.go): if the refinements allow only one value, the result is that value.
"""

from __future__ import annotations

from typing import Any
from unicodedata import combining, normalize

from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType, Primitive, SetType, Type
from planner.foundation.values.value import (
    NOT_NULL,
    UNKNOWN,
    List,
    Map,
    Marked,
    Null,
    Refinement,
    Set,
    Unknown,
    Value,
    is_wholly_known,
)
from planner.foundation.vocabulary.span import graphemes

UNKNOWN_BOOL = Unknown(BOOL, NOT_NULL)
UNKNOWN_NUMBER = Unknown(NUMBER, NOT_NULL)
UNKNOWN_STRING = Unknown(STRING, NOT_NULL)
NOTHING = Refinement()


def is_collection(t: Type) -> bool:
    return t.__class__ in (ListType, SetType, MapType)


def definitely_not_null(value: Value) -> bool:
    """Whether a value without marks is known not to be null."""
    cls = value.__class__
    if cls is Null:
        return False
    if cls is Unknown:
        return value.refinement is not None and bool(value.refinement.not_null)
    return True


def refine(t: Type, refinement: Refinement) -> Value:
    """An unknown value with a refinement. A value of the dynamic type gets no refinement. If the refinement allows only
    one number or length, the result is the number or, where possible, a collection of unknown elements."""
    if t is DYNAMIC:
        return UNKNOWN
    if refinement.not_null:
        if t is NUMBER:
            lower, upper = refinement.lower, refinement.upper
            if lower and upper and lower[1] and upper[1] and lower[0] == upper[0]:
                return lower[0]
        elif not isinstance(t, Primitive) and refinement.max_length is not None:
            length = refinement.max_length
            if (refinement.min_length or 0) == length and is_collection(t):
                return _of_length(t, length)
    return Unknown(t, refinement if refinement != NOTHING else None)


def _of_length(t: Any, length: int) -> Value:
    if t.__class__ is MapType:
        return Map(t.element, {}) if length == 0 else Unknown(t, Refinement(True, min_length=length, max_length=length))
    items = (Unknown(t.element),) * length
    if t.__class__ is ListType:
        return List(t.element, items)
    return Set(t.element, items) if length < 2 else Unknown(t, Refinement(True, min_length=length, max_length=length))


def not_null(value: Value) -> Value:
    if value.__class__ is Marked:
        inner = not_null(value.value)
        return value if inner is value.value else Marked(inner, value.marks)
    if value.__class__ is not Unknown or value.type is DYNAMIC:
        return value
    r = value.refinement
    if r is None:
        return Unknown(value.type, NOT_NULL)
    if r.not_null:
        return value
    narrower = Refinement(True, r.prefix, r.lower, r.upper, r.min_length, r.max_length)
    if value.document is not None:
        return Unknown(value.type, narrower, value.document)
    return refine(value.type, narrower)


Bound = tuple[Any, bool] | None


def number_bounds(value: Value) -> tuple[Bound, Bound]:
    """The lower and the upper bound of a number; None for a missing bound. Null has no bounds."""
    cls = value.__class__
    if cls is Unknown:
        return (value.refinement.lower, value.refinement.upper) if value.refinement else (None, None)
    if cls is Null:
        return None, None
    return (value, True), (value, True)


def length_bounds(value: Value) -> tuple[int, int | None]:
    """The minimum and the maximum length of a collection (None if the maximum is unknown). A null has the minimum 0."""
    cls = value.__class__
    if cls is Unknown:
        r = value.refinement
        return ((r.min_length or 0), r.max_length) if r else (0, None)
    if cls is Null:
        return 0, None
    if cls is Set and not length_is_known(value):
        return 0, None
    return len(value.items), len(value.items)


def length_is_known(value: Set) -> bool:
    """Whether the length of a set is known. A set with unknown items may turn out to be shorter, because these items
    may equal others."""
    return len(value.items) < 2 or all(map(is_wholly_known, value.items))


PREFIX_LIMIT = 128  # the maximum length of a known prefix, in bytes
_ENDS = frozenset("-_:;/\\,.(){}[]|?!~ \t@#$%^&*+\"'")  # characters that no following text can change


def safe_prefix(text: str) -> str:
    """The part of a known prefix that no following text can change. A combining mark, for example, would change the
    letter before it.

    As in go-cty, the known part ends at a line break, except if following text can change the last letter of the
    prefix.
    """
    if not text:
        return text
    if _may_change(text[-1]):
        return _without_combining(text)
    cut = min((i for i in (text.find("\n"), text.find("\r")) if i >= 0), default=-1)
    if cut >= 0:
        return text[:cut]
    if text[-1] in _ENDS:
        return text
    return text[: len(text) - len(graphemes(text)[-1])]


def _without_combining(text: str) -> str:
    at = len(text) - 1
    while at > 0 and combining(text[at]):
        at -= 1
    return text[:at]


def _may_change(char: str) -> bool:
    """Whether the character can be decomposed, or composed with a following one (normal form NFC)."""
    code = ord(char)
    if 0x1100 <= code <= 0x11FF or combining(char) or normalize("NFD", char) != char:
        return True
    return any(len(normalize("NFC", char + chr(m))) == 1 for m in range(0x300, 0x346))


# Restores `Unknown.document` after functions that do not preserve it.


_WITHOUT_PARTS = frozenset((str, bool, int, Null))


def with_documents(value: Value, other: Value) -> Value:
    """A copy of the unmarked `value` in which unknown strings have the documents of the corresponding strings in
    `other` (see Unknown). Elements of sets cannot be matched and stay unchanged."""
    cls = value.__class__
    if cls is Unknown:
        is_same = other.__class__ is Unknown and other.document is not None and value.type == other.type
        return Unknown(value.type, value.refinement, other.document) if is_same else value
    if cls is not other.__class__:
        return value
    if cls is dict:
        made = value
        for name, part in value.items():
            if part.__class__ in _WITHOUT_PARTS or name not in other:
                continue
            new = with_documents(part, other[name])
            if new is not part:
                made = {**made, name: new}
        return made
    if cls is Map:
        entries = with_documents(value.items, other.items)
        return value if entries is value.items else Map(value.element, entries)
    if cls is List:
        items = with_documents(value.items, other.items)
        return value if items is value.items else List(value.element, items)
    if cls is tuple and len(value) == len(other):
        parts = tuple(map(with_documents, value, other))
        return parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    return value

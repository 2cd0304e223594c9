"""What is known of JSON with unknown parts, where a value comes back from somebody who does not know of it."""

from __future__ import annotations

from planner.foundation.values.value import List, Map, Null, Unknown, Value

_WITHOUT_PARTS = frozenset((str, bool, int, Null))


def with_documents(value: Value, other: Value) -> Value:
    """The unmarked value; texts in it that are as unknown as they are in the other, which it was made from, have their
    documents (see Unknown). Elements of sets cannot be told from each other, and stay as they are."""
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

"""Compares two values, and builds a tree of differences for diff_text.

A null attribute of an object is treated as absent, but a null element of a list or map as present. Without a declared
type (`dynamic`), values are compared by structure, and lists by their longest common subsequence."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

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
from planner.foundation.values.value import (
    SENSITIVE,
    List,
    Map,
    Marked,
    Null,
    Set,
    Unknown,
    Value,
)
from planner.render.diff_model import (
    MISSING,
    NOWHERE,
    Diff,
    Digits,
    MappingDiff,
    PrimitiveDiff,
    SensitiveDiff,
    SequenceDiff,
    TypeChange,
    UnknownDiff,
    ValueChange,
)

# ---------------------------------------------------------------- actions


def merge(current: str, next: str) -> str:
    """The action of a container after the comparison of one more part. `current`: the action that follows from the
    parts compared so far. `next`: the action of the next part."""
    if next == "no-op":
        return current
    return current if current == next else "update"


def _absent(value: Value) -> bool:
    return value is MISSING or value.__class__ is Null


def starting_action(before: Value, after: Value) -> str:
    """The action with which the comparison of a container begins: create or delete if one side is absent, otherwise
    no-op."""
    gone, new = _absent(bare(after)), _absent(bare(before))
    if gone and new:
        return "no-op"
    return "create" if new else "delete" if gone else "no-op"


def own_action(before: Value, after: Value) -> str:
    """The action of a value that is compared as a whole."""
    if before is MISSING:
        return "no-op" if after is MISSING else "create"
    if after is MISSING:
        return "delete"
    return "no-op" if plain(before) == plain(after) else "update"


def bare(value: Value) -> Value:
    """The value without its own marks. Parts of the value keep their marks."""
    return value.value if value.__class__ is Marked else value


def is_sensitive(value: Value) -> bool:
    return value.__class__ is Marked and SENSITIVE in value.marks


def is_unknown(value: Value) -> bool:
    return bare(value).__class__ is Unknown


def plain(value: Value) -> Any:
    """A hashable form of a value without marks. Equal values have equal forms. Unknown attributes of objects are
    omitted; all other unknown values are treated as null."""
    cls = value.__class__
    if cls is str:
        return value
    if cls is Marked:
        return plain(value.value)
    if cls is bool:
        return ("bool", value)
    if cls is Null or cls is Unknown or value is MISSING:
        return None
    if cls is dict:
        return ("object", frozenset((k, plain(v)) for k, v in value.items() if not is_unknown(v)))
    if cls is Map:
        return ("object", frozenset((k, plain(v)) for k, v in value.items.items() if not is_unknown(v)))
    if cls is tuple:
        return ("array", tuple(map(plain, value)))
    if cls is List or cls is Set:
        return ("array", tuple(map(plain, value.items)))
    if cls is Digits:
        return ("number", str(value))
    return ("number", value)


def items_of(value: Value) -> Sequence[Value]:
    """The items of a sequence; () for other values."""
    value = bare(value)
    cls = value.__class__
    if cls is tuple:
        return value  # type: ignore[no-any-return]
    return value.items if cls is List or cls is Set else ()


def entries_of(value: Value) -> dict[str, Value]:
    """The entries of an object or map; {} for other values."""
    value = bare(value)
    cls = value.__class__
    if cls is dict:
        return value  # type: ignore[no-any-return]
    return value.items if cls is Map else {}


# ---------------------------------------------------------------- sensitive and unknown


def hidden(change: ValueChange, differ: Callable[[ValueChange], Diff], is_block: bool = False) -> Diff | None:
    """The difference in hidden form if the former or the new value is sensitive; otherwise None. `differ` compares the
    values without their marks."""
    was, is_now = is_sensitive(change.before), is_sensitive(change.after)
    if not was and not is_now:
        return None
    inner = differ(change.but(_reveal(change.before), _reveal(change.after)))
    action = inner.action
    both_missing = change.before is MISSING and change.after is MISSING
    if action == "no-op" and was != is_now and not both_missing:
        action = "update"
    return SensitiveDiff(action, change.replace.here, inner, was, is_now, is_block)


def _reveal(value: Value) -> Value:
    if value.__class__ is Marked and SENSITIVE in value.marks:
        rest = value.marks - {SENSITIVE}
        return Marked(value.value, rest) if rest else value.value
    return value


def not_yet_known(
    change: ValueChange, differ: Callable[[ValueChange], Diff], leaves: Iterable[str] = ()
) -> Diff | None:
    """The difference if the value is known only after apply, otherwise None. `leaves`: names of parts that are shown as
    unknown after the change, not as deleted."""
    if not is_unknown(change.after):
        return None
    if _absent(bare(change.before)):
        return UnknownDiff("create", change.replace.here, None)
    after = {name: Unknown() for name in leaves} or MISSING
    before = differ(ValueChange(change.before, after, NOWHERE, change.relevant))
    return UnknownDiff("update", change.replace.here, before)


# ---------------------------------------------------------------- by type


def diff_type(change: ValueChange, type: Type) -> Diff:
    if type is DYNAMIC:
        return diff_dynamic(change)
    covered = hidden(change, lambda c: diff_type(c, type)) or not_yet_known(change, lambda c: diff_type(c, type))
    if covered is not None:
        return covered
    if type is STRING or type is NUMBER or type is BOOL:
        before, after = bare(change.before), bare(change.after)
        return PrimitiveDiff(own_action(before, after), change.replace.here, before, after)
    if isinstance(type, ObjectType):
        return _object(change, {name: _of_type(t) for name, t in type.attributes.items()})
    if isinstance(type, MapType):
        return _map(change, lambda c: diff_type(c, type.element), quoted=True)
    if isinstance(type, ListType):
        pair = isinstance(type.element, ObjectType)
        return _list(change, lambda c: diff_type(c, type.element), lambda a, b: pair or _both_long(a, b))
    if isinstance(type, SetType):
        items = [diff_type(c, type.element) for c in set_changes(change)]
        return SequenceDiff(combined(change, items), change.replace.here, items, ordered=False)
    assert isinstance(type, TupleType)
    items = [diff_type(_position(change, i), t) for i, t in enumerate(type.elements)]
    return SequenceDiff(combined(change, items), change.replace.here, items, ordered=True)


def _of_type(type: Type) -> Callable[[ValueChange], Diff]:
    return lambda change: diff_type(change, type)


def combined(change: ValueChange, items: Iterable[Diff]) -> str:
    action = starting_action(change.before, change.after)
    for item in items:
        action = merge(action, item.action)
    return action


def _position(change: ValueChange, index: int) -> ValueChange:
    before, after = items_of(change.before), items_of(change.after)
    return change.child(
        index,
        before[index] if index < len(before) else MISSING,
        after[index] if index < len(after) else MISSING,
    )


def null_is_missing(value: Value) -> Value:
    """The value; MISSING for null, because a null attribute is treated as absent."""
    return MISSING if bare(value).__class__ is Null else value


def _object(change: ValueChange, attributes: dict[str, Callable[[ValueChange], Diff]], nested: bool = False) -> Diff:
    before, after = entries_of(change.before), entries_of(change.after)
    items: dict[str, Diff] = {}
    for name, differ in attributes.items():
        child = change.child(
            name, null_is_missing(before.get(name, MISSING)), null_is_missing(after.get(name, MISSING))
        )
        item = differ(child)
        if item.action == "no-op" and child.before is MISSING and child.after is MISSING:
            continue
        items[name] = item
    return MappingDiff(combined(change, items.values()), change.replace.here, items, quoted=False, nested=nested)


def _map(change: ValueChange, differ: Callable[[ValueChange], Diff], quoted: bool, nested: bool = False) -> Diff:
    items = map_diffs(change, differ)
    return MappingDiff(combined(change, items.values()), change.replace.here, items, quoted, nested)


def map_diffs(change: ValueChange, differ: Callable[[ValueChange], Diff]) -> dict[str, Diff]:
    """{key: difference} of two maps."""
    before, after = entries_of(change.before), entries_of(change.after)
    return {
        key: differ(change.child(key, before.get(key, MISSING), after.get(key, MISSING)))
        for key in sorted(before.keys() | after.keys())
    }


def _list(change: ValueChange, differ: Callable[[ValueChange], Diff], pair: Callable[[Value, Value], bool]) -> Diff:
    before, after = items_of(change.before), items_of(change.after)
    items = []
    for i, j in aligned([plain(v) for v in before], [plain(v) for v in after], lambda a, b: pair(before[a], after[b])):
        where = change.replace.child(i if i is not None else j)
        items.append(
            differ(
                ValueChange(
                    before[i] if i is not None else MISSING,
                    after[j] if j is not None else MISSING,
                    where,
                )
            )
        )
    return SequenceDiff(combined(change, items), change.replace.here, items, ordered=True)


def _both_long(a: Value, b: Value) -> bool:
    """Whether both values are strings of several lines. Such strings are compared line by line."""
    a, b = bare(a), bare(b)
    return a.__class__ is str and b.__class__ is str and "\n" in a and "\n" in b


def set_changes(change: ValueChange) -> list[ValueChange]:
    """The changes of the items of two sets: first the items of the former set in its order, each unchanged or removed,
    then added items."""
    before, after = items_of(change.before), items_of(change.after)
    left: dict[Any, list[int]] = {}
    for j, value in enumerate(after):
        if not is_unknown(value):
            left.setdefault((plain(value), is_sensitive(value)), []).append(j)
    changes, used = [], set()
    for i, value in enumerate(before):
        places = left.get((plain(value), is_sensitive(value)))
        if places:
            j = places.pop(0)
            used.add(j)
            changes.append(ValueChange(value, after[j], change.replace.child(i)))
        else:
            changes.append(ValueChange(value, MISSING, change.replace.child(i)))
    changes += [ValueChange(MISSING, value, change.replace.child(j)) for j, value in enumerate(after) if j not in used]
    return changes


# ---------------------------------------------------------------- by shape


def diff_dynamic(change: ValueChange) -> Diff:
    """The difference of values without a declared type: outputs, dynamic attributes, JSON strings."""
    covered = hidden(change, diff_dynamic) or not_yet_known(change, diff_dynamic)
    if covered is not None:
        return covered
    before, after = bare(change.before), bare(change.after)
    was, is_now = shape(before), shape(after)
    if before is MISSING or after is MISSING or was == is_now:
        return _shaped(change, was if was != "null" else is_now)
    old = _shaped(ValueChange(change.before, MISSING, NOWHERE, change.relevant), was)
    new = _shaped(change.but(MISSING, change.after), is_now)
    return TypeChange("update", change.replace.here, old, new)


def shape(value: Value) -> str:
    """The kind of a value: null, bool, string, number, object or array."""
    cls = value.__class__
    if value is MISSING or cls is Null:
        return "null"
    if cls is str:
        return "string"
    if cls is bool:
        return "bool"
    if cls is dict or cls is Map:
        return "object"
    return "array" if cls is tuple or cls is List or cls is Set else "number"


def _shaped(change: ValueChange, kind: str) -> Diff:
    if kind == "object":
        return _map(change, diff_dynamic, quoted=False)
    if kind == "array":
        return _list(change, diff_dynamic, _pairs)
    before, after = bare(change.before), bare(change.after)
    return PrimitiveDiff(own_action(before, after), change.replace.here, before, after)


def _pairs(a: Value, b: Value) -> bool:
    return (shape(bare(a)) == "object" and shape(bare(b)) == "object") or _both_long(a, b)


# pairs the items of two lists: the items of a longest common subsequence, and items in its gaps


LARGEST = 4_000_000
"""maximum number of cells of the table for a longest common subsequence; for larger tables, the differing part is shown
as replaced"""


def aligned(
    before: Sequence[Hashable], after: Sequence[Hashable], pair: Callable[[int, int], bool]
) -> list[tuple[int | None, int | None]]:
    """Positions (before, after) in display order: (i, None) for a removed item, (None, j) for an added item. A removed
    and an added item in the same gap become a pair if `pair` returns True; the items of a pair are compared with each
    other."""
    out: list[tuple[int | None, int | None]] = []
    i = j = 0
    for common_i, common_j in [*common(before, after), (len(before), len(after))]:
        while i < common_i:
            if j < common_j and pair(i, j):
                out.append((i, j))
                j += 1
            else:
                out.append((i, None))
            i += 1
        while j < common_j:
            out.append((None, j))
            j += 1
        if common_i < len(before):
            out.append((common_i, common_j))
            i, j = common_i + 1, common_j + 1
    return out


def common(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of positions in a longest common subsequence. The equal end is paired first; if the table for the other
    items would be larger than LARGEST, the equal beginning is also paired first. The items between them are paired only
    if their table has at most LARGEST cells."""
    low, high_a, high_b = 0, len(before), len(after)
    tail = []
    while high_a and high_b and before[high_a - 1] == after[high_b - 1]:
        high_a -= 1
        high_b -= 1
        tail.append((high_a, high_b))
    # cutting off an equal beginning may select a different one of several longest subsequences, so this is done only
    # for very large tables
    if high_a * high_b > LARGEST:
        while low < high_a and low < high_b and before[low] == after[low]:
            low += 1
    middle = _table([*before[low:high_a]], [*after[low:high_b]])
    return [(k, k) for k in range(low)] + [(low + a, low + b) for a, b in middle] + tail[::-1]


def _table(a: list[Hashable], b: list[Hashable]) -> list[tuple[int, int]]:
    if not a or not b or len(a) * len(b) > LARGEST:
        return []
    width = len(a) + 1
    rows = [[0] * width]
    for item in b:
        last, row = rows[-1], [0] * width
        for x, other in enumerate(a, 1):
            row[x] = last[x - 1] + 1 if item == other else max(row[x - 1], last[x])
        rows.append(row)
    pairs = []
    x, y = len(a), len(b)
    while x and y:
        if a[x - 1] == b[y - 1]:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        elif rows[y][x - 1] > rows[y - 1][x]:
            x -= 1
        else:
            y -= 1
    return pairs[::-1]

"""Paths into values: find marks and unknown parts, and read or change the part at a path.

A path is a tuple of steps: ("attr", name) into an object, ("index", key) into a map, list or tuple. For a set, the key
is the element itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from planner.foundation.values.numbers import has_inexact_numbers, is_infinite
from planner.foundation.values.types import ListType, Primitive, SetType, TupleType
from planner.foundation.values.value import (
    SENSITIVE,
    List,
    Map,
    Mark,
    Marked,
    Null,
    Set,
    Unknown,
    Value,
    is_marked_deep,
    mark,
)

Path = tuple[tuple[str, Any], ...]
PathMarks = tuple[Path, frozenset[Mark]]


def parts(value: Value) -> Iterator[tuple[tuple[str, Any], Value]]:
    """(step, value) of each direct part of a known object, map, list, tuple or set. Attributes and keys are sorted.
    Empty for other values."""
    cls = value.__class__
    if cls is dict:
        for name in sorted(value):
            yield ("attr", name), value[name]
    elif cls is Map:
        for key in sorted(value.items):
            yield ("index", key), value.items[key]
    elif cls is tuple or cls is List:
        for i, item in enumerate(value if cls is tuple else value.items):
            yield ("index", i), item
    elif cls is Set:
        for item in value.items:
            yield ("index", item), item


def part_by_key(value: Value, key: Any) -> Value:
    """The direct part of a known container at a map key, an attribute name or an index (for a set, the element itself);
    None if there is none."""
    cls = value.__class__
    if cls is dict or cls is Map:
        return (value if cls is dict else value.items).get(key)
    if cls is tuple or cls is List:
        items = value if cls is tuple else value.items
        return items[key] if key.__class__ is int and 0 <= key < len(items) else None
    return value.items[value.items.index(key)] if cls is Set and key in value.items else None


def marked_paths(value: Value) -> list[PathMarks]:
    """The path and the marks of each marked part; outer parts come before inner ones."""
    marked: list[PathMarks] = []
    if is_marked_deep(value):
        _mark(value, (), marked)
    return marked


def _mark(value: Value, path: Path, result: list[PathMarks]) -> None:
    if value.__class__ is Marked:
        result.append((path, value.marks))
        value = value.value
    for step, part in parts(value):
        _mark(part, (*path, step), result)


def unknown_paths(value: Value) -> list[Path]:
    paths: list[Path] = []
    _unknown(value, (), paths)
    return paths


def _unknown(value: Value, path: Path, paths: list[Path]) -> None:
    value = value.value if value.__class__ is Marked else value
    if value.__class__ is Unknown:
        paths.append(path)
    for step, part in parts(value):
        _unknown(part, (*path, step), paths)


def infinite_paths(value: Value) -> list[Path]:
    paths: list[Path] = []
    if has_inexact_numbers():
        _infinite(value, (), paths)
    return paths


def _infinite(value: Value, path: Path, paths: list[Path]) -> None:
    value = value.value if value.__class__ is Marked else value
    if value.__class__.__name__ == "mpfr" and is_infinite(value):
        paths.append(path)
    for step, part in parts(value):
        _infinite(part, (*path, step), paths)


def apply_marks(value: Value, marks: Iterable[PathMarks]) -> Value:
    """A copy with marks at paths. A path that does not exist is ignored; a path into a set marks the whole set."""
    for path, marks_here in marks:
        value = changed_at(value, path, partial(mark, marks=marks_here))
    return value


def changed_at(value: Value, path: Path, change: Callable[[Value], Value], depth: int = 0) -> Value:
    """A copy in which the part at a path is replaced with the result of `change`. A path that does not exist is
    ignored; for a path into a set, the whole set is replaced. `depth`: the number of steps of the path that lead to
    `value`."""
    cls = value.__class__
    if depth == len(path) or cls is Set:
        return change(value)
    if cls is Marked:
        return mark(changed_at(value.value, path, change, depth), value.marks)
    key = path[depth][1]
    items: Any = value if cls is dict or cls is tuple else value.items if cls is Map or cls is List else ()
    if (cls is dict or cls is Map) and key in items:
        changed = {**items, key: changed_at(items[key], path, change, depth + 1)}
        return changed if cls is dict else Map(value.element, changed)
    if (cls is tuple or cls is List) and key.__class__ is int and 0 <= key < len(items):
        replaced = (*items[:key], changed_at(items[key], path, change, depth + 1), *items[key + 1 :])
        return replaced if cls is tuple else List(value.element, replaced)
    return value


def get(value: Value, path: Path) -> Value:
    """The part at a path, with the marks of all parts that contain it. Raises KeyError if the path does not exist."""
    for kind, key in path:
        marks: frozenset[Mark] = frozenset()
        if value.__class__ is Marked:
            value, marks = value.value, value.marks
        cls = value.__class__
        try:
            if cls is dict:
                value = value[key]
            elif cls is Map:
                value = value.items[key]
            elif cls is tuple or cls is List:
                value = (value if cls is tuple else value.items)[key]
            elif cls is Set and kind == "index" and key in value.items:
                value = key
            else:
                raise KeyError(key)
        except (IndexError, TypeError):
            raise KeyError(key) from None
        value = mark(value, marks)
    return value


# ---------------------------------------------------------------- structures of true


def unknown_structure(value: Value) -> Any:
    """The value with True instead of unknown parts and False instead of known ones (`after_unknown` of plans). False is
    left out of objects and maps. Marks are ignored."""
    if value.__class__ is Marked:
        value = value.value
    cls = value.__class__
    if cls is Unknown:
        return True
    return _structure(value, unknown_structure) if cls is not Null else False


def sensitive_structure(value: Value, mark: Mark = SENSITIVE) -> Any:
    """Like `unknown_structure`, with True for parts that have the mark (`after_sensitive` of plans)."""
    if value.__class__ is Marked:
        if mark in value.marks:
            return True
        value = value.value
    cls = value.__class__
    if cls is Unknown:
        return _empty_structure(value.type)
    return _structure(value, lambda part: sensitive_structure(part, mark)) if cls is not Null else False


def _structure(value: Value, of: Any) -> Any:
    cls = value.__class__
    if cls is dict or cls is Map:
        structures = {k: of(v) for k, v in sorted((value if cls is dict else value.items).items())}
        return {k: v for k, v in structures.items() if v is not False}
    if cls is tuple:
        return [of(v) for v in value]
    if cls is List or cls is Set:
        return [of(v) for v in value.items]
    return False


def _empty_structure(t: Any) -> Any:
    if isinstance(t, Primitive):
        return False
    return [] if isinstance(t, (ListType, SetType, TupleType)) else {}


def without_unknown(value: Value) -> Value:
    """The value without unknown parts and marks, for JSON. Unknown parts become null in sequences and are left out of
    objects and maps. Sequences become tuples and maps become objects, because their parts may now have different types.
    If the value itself is unknown, it is returned unchanged."""
    if value.__class__ is Marked:
        value = value.value
    cls = value.__class__
    if cls is dict or cls is Map:
        kept = {k: without_unknown(v) for k, v in (value if cls is dict else value.items).items()}
        return {k: v for k, v in kept.items() if v.__class__ is not Unknown}
    if cls is tuple or cls is List or cls is Set:
        items = map(without_unknown, value if cls is tuple else value.items)
        return tuple(Null(v.type) if v.__class__ is Unknown else v for v in items)
    return value

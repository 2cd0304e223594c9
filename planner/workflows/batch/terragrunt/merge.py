"""Merges a Terragrunt file with the files that it includes. In a shallow merge, a value of the including file replaces
the value of the included file, and blocks with labels are combined. In a deep merge, objects are merged and lists are
concatenated. The including file takes precedence over included files, and a later include takes precedence over an
earlier one."""

from __future__ import annotations

from planner.foundation.values.paths import apply_marks, marked_paths
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import (
    SENSITIVE,
    List,
    Map,
    Unknown,
    Value,
    is_marked_deep,
    is_null,
    mark,
    unmark,
    unmark_deep,
)

NAMED = ("generate", "dependency", "feature")
"""blocks with labels"""
_UNITED = ("extra_arguments", "before_hook", "after_hook", "error_hook")
_WHOLE = ("remote_state", "generate", "dependency", "feature")
"""arguments and blocks that are never merged item by item"""


def open_marks(value: Value) -> Value:
    """The value with the marks of objects and lists moved to their elements, so that the elements can be accessed. The
    mark for sensitive values is removed, because the variable that receives the value may be declared as sensitive
    itself."""
    if not is_marked_deep(value):
        return value
    value = apply_marks(
        unmark_deep(value)[0], [(p, m - {SENSITIVE}) for p, m in marked_paths(value) if m - {SENSITIVE}]
    )
    inner, marks = unmark(value)
    if not marks or not (_is_object(inner) or _is_list(inner)):
        return value
    if _is_object(inner):
        return {name: mark(item, marks) for name, item in entries(inner).items()}
    return tuple(mark(item, marks) for item in _items(inner))


def merge_part(name: str, parent: Value, child: Value, is_deep: bool) -> Value:
    """Merge the value of the argument or block type `name` in a file (`child`) with its value in an included file
    (`parent`). The result is unknown if one of these values is unknown. `is_deep`: use a deep merge."""
    if is_null(child):
        return parent
    if is_null(parent):
        return child
    (bare, some), (other, more) = unmark(parent), unmark(child)
    if Unknown in (bare.__class__, other.__class__):
        return mark(Unknown(DYNAMIC), some | more)
    if name == "dependencies":
        return {"paths": (*_items(parent["paths"]), *_items(child["paths"]))}
    if name == "terraform":
        return _terraform(parent, child, is_deep)
    if name == "inputs" or name in NAMED:
        deep = is_deep and name not in _WHOLE
        return deep_merge(parent, child) if deep else {**entries(parent), **entries(child)}
    if is_deep and name not in _WHOLE:
        return deep_merge(parent, child)
    return child


def _terraform(parent: Value, child: Value, is_deep: bool) -> Value:
    result = {**parent, **child}
    for name in _UNITED:
        if name in parent or name in child:
            result[name] = {**parent.get(name, {}), **child.get(name, {})}
    for name in ("include_in_copy", "exclude_from_copy"):
        if is_deep and name in parent and name in child:
            result[name] = (*_items(child[name]), *_items(parent[name]))
        elif name in child and name in parent:
            result[name] = child[name]
    return result


def deep_merge(first: Value, second: Value) -> Value:
    first, second = open_marks(first), open_marks(second)
    if _is_object(first) and _is_object(second):
        result = dict(entries(first))
        for key, value in entries(second).items():
            result[key] = deep_merge(result[key], value) if key in result else value
        return result
    if _is_list(first) and _is_list(second):
        return (*_items(first), *_items(second))
    return second


def _is_object(value: Value) -> bool:
    return value.__class__ in (dict, Map)


def _is_list(value: Value) -> bool:
    return value.__class__ in (tuple, List)


def entries(value: Value) -> dict[str, Value]:
    """The entries of an object or map; empty for other values."""
    if value.__class__ is Map:
        return dict(value.items)
    return value if value.__class__ is dict else {}


def _items(value: Value) -> tuple[Value, ...]:
    if value.__class__ is tuple:
        return value
    return tuple(value.items) if hasattr(value, "items") and not _is_object(value) else ()

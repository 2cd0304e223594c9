"""Values as plain data, where a schema says what they are and nobody needs more."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.value import List, Map, Set, Value, is_null, unmark_deep


def plain(value: Value) -> Any:
    """A value as plain data, None for null. Marks go."""
    value, _ = unmark_deep(value)
    if is_null(value):
        return None
    if isinstance(value, List | Set):
        return [plain(item) for item in value.items]
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Map | dict):
        items = value.items if isinstance(value, Map) else value
        return {name: plain(item) for name, item in items.items()}
    return value if isinstance(value, str | bool | int) else float(value)

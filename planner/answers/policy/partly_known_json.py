"""Finds the known parts of JSON strings that have unknown parts, in the form of the relations that read JSON
strings."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from planner.answers.policy.planned_values import ValueRows
from planner.foundation.values.types import DYNAMIC, STRING, ListType, Primitive
from planner.foundation.values.value import NOT_NULL, List, Map, Set, Unknown, Value, is_wholly_known, with_parts
from planner.foundation.vocabulary.records import frozen
from planner.language.functions.encoding import json_text
from planner.logic.datalog.language.builtins import RELATIONS


@frozen(eq=False)
class KnownDocument:
    """The known parts of a JSON string. `values`: {path: value}. `parts`: {(path, key): path of the element}.
    `unknown`: {path: unknown part}. `open`: the paths of the unknown parts that may themselves have parts. `begin`: the
    known beginning of the text."""

    values: dict[str, Any]
    parts: dict[tuple[str, Any], str]
    unknown: dict[str, Unknown]
    open: tuple[str, ...]
    begin: str = ""

    @cached_property
    def elements(self) -> dict[str, list[tuple[Any, str]]]:
        """{path of a container: (key, path) of each of its elements}."""
        result: dict[str, list[tuple[Any, str]]] = {}
        for (path, key), part in self.parts.items():
            result.setdefault(path, []).append((key, part))
        return result

    def may_have(self, path: Any) -> bool:
        """Whether an unknown part may contain a value at `path`. A `path` that is not a string means any path."""
        if not isinstance(path, str):
            return bool(self.open)
        return any(path == at or path.startswith((f"{at}.", f"{at}[")) or not at for at in self.open)

    def may_equal(self, other: KnownDocument) -> bool:
        """Whether the two documents may be equal when all values are known."""
        return self._may_hold(other) and other._may_hold(self)

    def _may_hold(self, other: KnownDocument) -> bool:
        """Whether the known parts of `other` may occur in this document."""
        for path, value in other.values.items():
            if self.values.get(path, value) != value:
                return False
            if path not in self.values and path not in self.unknown and not self.may_have(path):
                return False
        return all(
            self.parts.get(key, part) == part and (key in self.parts or self.may_have(part))
            for key, part in other.parts.items()
        )


def document_of_text(text: str) -> KnownDocument | None:
    """The content of a known string; None if the string is not JSON."""
    values, parts = RELATIONS["json"].function(text), RELATIONS["json_element"].function(text)
    if values is None or parts is None:
        return None
    return KnownDocument(dict(values), {(path, key): inner for path, key, inner in parts}, {}, ())


def known_document(value: Value) -> KnownDocument:
    """The known parts of a value as JSON."""
    rows = ValueRows()
    rows.walk("", "", _without_order(value))
    unknown = {path: part for (_, path), part in rows.unknown.items()}
    is_open = {path for path, part in unknown.items() if not isinstance(part.type, Primitive) or part.type is DYNAMIC}
    return KnownDocument(
        {path: item for _, path, item in rows.values},
        {(path, key): inner for _, path, key, inner in rows.parts},
        unknown,
        tuple(sorted(is_open)),
        _beginning(value),
    )


def _without_order(value: Value) -> Value:
    """The value in which each set with unknown elements is replaced by an unknown list, because the order of its
    elements is unknown."""
    if value.__class__ is not Set:
        return with_parts(value, _without_order)
    return value if is_wholly_known(value) else Unknown(ListType(DYNAMIC), NOT_NULL)


_REST, _WHOLE = "\ue000", "\ue001"
"""two placeholders: _REST for the unknown rest of a string, and _WHOLE for an unknown value"""


def _beginning(value: Value) -> str:
    """The JSON text of a value up to its first unknown part."""
    text = json_text(_with_signs(_without_order(value)))
    return text.partition(_REST)[0].partition(f'"{_WHOLE}')[0]


def _with_signs(value: Value) -> Value:
    cls = value.__class__
    if cls is Unknown:
        known = value.refinement
        is_text = value.type is STRING and known is not None and known.not_null
        return f"{known.prefix}{_REST}" if is_text else _WHOLE
    if cls is dict:
        return {name: _with_signs(part) for name, part in value.items()}
    if cls is Map:
        return {name: _with_signs(part) for name, part in value.items.items()}
    if cls is tuple or cls is List:
        return tuple(map(_with_signs, value if cls is tuple else value.items))
    return value

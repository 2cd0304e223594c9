"""Converts values of planned objects to rows, one for each string, number and bool."""

from __future__ import annotations

from typing import Any

from planner.answers.policy.paths_read import EVERYTHING, Looked
from planner.foundation.values.json_codec import json_number
from planner.foundation.values.numbers import is_infinite, number_to_text
from planner.foundation.values.types import DYNAMIC, Primitive
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    List,
    Map,
    Marked,
    Null,
    Set,
    Unknown,
    Value,
    is_wholly_known,
)
from planner.logic.datalog.language.values import FALSE, TRUE, Row, member, number

_SECRET = frozenset((SENSITIVE, EPHEMERAL))
_FRONTS = ("", "unit_")
"""prefixes of the names of relations: "" for relations about one plan, and "unit_" for relations about all plans of a
fleet, whose first column is the unit"""
OTHERS = ("provider_argument", "data_value")
"""relations with values that do not belong to planned objects"""
VALUES = frozenset(
    f"{f}{n}" for f in _FRONTS for n in ("planned", "configured", "size_of", "part", "json_value", "json_part", *OTHERS)
)
"""relations about values that may be unknown"""
AT_PATHS = frozenset(f"{f}{n}" for f in _FRONTS for n in ("planned", "configured", "prior", *OTHERS))
"""relations whose last columns are a path and the value there"""
MAYBE = frozenset(f"{f}{n}" for f in _FRONTS for n in ("maybe", "maybe_exact", "maybe_open"))
"""relations that list unknown values"""

END = ".!"
"""the suffix that marks the end of a path when the path is compared with prefixes; no step of a path begins with it"""

LINKS = frozenset(("depends",))
"""relations between two objects of one plan that may be known only in part"""
THROUGH, REACHED = "maybe_through", "maybe_reached"
"""two relations that together list the pairs that may also be in a relation in LINKS"""


def relation_name(name: str, keys: int) -> str:
    """The name of the relation `name` about one plan (1 column before the path) or about all plans of a fleet (2
    columns)."""
    return f"{_FRONTS[keys - 1]}{name}"


class ValueRows:
    """Collects rows of values. `values`, `sizes`, `parts`: the relations planned (or prior), size_of and part.
    `unknown`: {(address, path): unknown part}. `exact`: (address, path) of each unknown part that may be a string, a
    number or a bool. `open`: (address, path) of each unknown value that may have parts, and of each set with unknown
    elements (see rules/policy/unknowns.dl). `hidden`: {(address, path) at or below a sensitive mark: path of the mark};
    keys below the mark are included, because they are secret, too. `structure`: whether sizes and parts are
    collected."""

    __slots__ = ("exact", "hidden", "open", "parts", "sizes", "structure", "unknown", "values")

    def __init__(self, structure: bool = True) -> None:
        self.structure = structure
        self.values: set[Row] = set()
        self.sizes: set[Row] = set()
        self.parts: set[Row] = set()
        self.unknown: dict[tuple[str, str], Unknown] = {}
        self.exact: set[Row] = set()
        self.open: set[Row] = set()
        self.hidden: dict[tuple[str, str], str] = {}

    def add_object(self, address: str, value: Value, looked: Looked = EVERYTHING) -> None:
        """Add the attributes of an object that policies read."""
        mark = None
        if value.__class__ is Marked:
            mark = "" if value.marks & _SECRET else None
            value = value.value
        if value.__class__ is dict:
            walk = self.walk
            for name in looked.names(value):
                below = looked.at(name)
                if below is not None:
                    walk(address, name, value[name], name if mark is not None else None, below)
        elif value.__class__ is Unknown:
            self._unknown(address, "", value)

    def walk(self, address: str, path: str, value: Value, mark: str | None = None, looked: Looked = EVERYTHING) -> None:
        """Add a value. `mark`: the path at which an enclosing value is marked as sensitive; None if there is none.
        `looked`: the parts that policies read."""
        cls = value.__class__
        if cls is Marked:
            if mark is None and value.marks & _SECRET:
                mark = path
            value = value.value
            cls = value.__class__
        if mark is not None:
            self.hidden[address, path] = mark
            looked = EVERYTHING
        if cls is str or cls is int:
            if looked.here:
                self.values.add((address, path, value))
        elif cls is bool:
            if looked.here:
                self.values.add((address, path, TRUE if value else FALSE))
        elif cls is Null:
            return
        elif cls is Unknown:
            self._unknown(address, path, value)
        elif cls is dict or cls is Map:
            items = value if cls is dict else value.items
            self._container(
                address, path, [(key, member(path, key), part) for key, part in items.items()], mark, looked
            )
        elif cls is tuple or cls is List or cls is Set:
            items = value if cls is tuple else value.items
            self._container(address, path, [(i, f"{path}[{i}]", part) for i, part in enumerate(items)], mark, looked)
            if cls is Set and not is_wholly_known(value):  # an unknown element may equal another element
                self.open.add((address, path))
                self.sizes.discard((address, path, len(items)))
        elif looked.here:
            self.values.add((address, path, _number(value)))

    def _container(
        self, address: str, path: str, items: list[tuple[Any, str, Value]], mark: str | None, looked: Looked
    ) -> None:
        if self.structure and looked.here and not looked.all and any(_is_secret(part) for _, _, part in items):
            looked = EVERYTHING  # the rows of `parts` name all parts, so secret parts must be recorded
        if self.structure and looked.here:
            self.sizes.add((address, path, len(items)))
            self.parts.update((address, path, key, inner) for key, inner, _ in items)
        for key, inner, part in items:
            below = looked.at(key)
            if below is not None:
                self.walk(address, inner, part, mark, below)

    def _unknown(self, address: str, path: str, value: Unknown) -> None:
        self.unknown[address, path] = value
        primitive = isinstance(value.type, Primitive)
        if primitive:
            self.exact.add((address, path))
        if not primitive or value.type is DYNAMIC:
            self.open.add((address, path))


def _is_secret(value: Value) -> bool:
    return value.__class__ is Marked and bool(value.marks & _SECRET)


def _number(value: Value) -> Any:
    """The number as an integer or a decimal; an infinite number as a string."""
    if is_infinite(value):
        return number_to_text(value)
    exact = json_number(value)
    return exact if exact.__class__ is int else number(exact)


def root_of(path: str) -> str:
    """The first name in a path."""
    ends = [at for at in (path.find("."), path.find("[")) if at >= 0]
    return path[: min(ends)] if ends else path

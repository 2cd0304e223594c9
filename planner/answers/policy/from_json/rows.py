"""Converts JSON values with their unknown and sensitive parts to rows."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from planner.answers.policy.from_json.document import Misshapen
from planner.answers.policy.paths_read import EVERYTHING, Looked
from planner.answers.policy.planned_values import ValueRows
from planner.foundation.values.value import Unknown
from planner.logic.datalog.language.values import FALSE, TRUE, member, number

_NOTHING: dict[str, Any] = {}
_SCALARS = (str, int, float, Decimal, bool)


class ShownRows(ValueRows):
    """Collects the facts for policies (rows, see ValueRows) from the values in JSON documents. The type of an unknown
    JSON value is not known, so the value may be anything. A list with unknown elements is treated as unknown, because
    it may be a set, in which an unknown element may be equal to another element."""

    __slots__ = ("_check",)

    def __init__(self, structure: bool = True, check: Callable[[], None] | None = None) -> None:
        """`check` is called for each number that may have been rounded."""
        super().__init__(structure)
        self._check = check

    def add_shown(self, address: str, value: Any, unknown: Any, sensitive: Any, looked: Looked = EVERYTHING) -> None:
        """Add the attributes of an object that policies read. `unknown`, `sensitive`: the corresponding parts of
        `after_unknown` and `after_sensitive`. Raises Misshapen."""
        if unknown is True:
            self._may_be_anything(address, "")
            return
        if value is None and not unknown:
            return
        mark = "" if sensitive is True else None
        values = _table(value, address, "an object")
        unknowns = _table(unknown, address, "an object with the unknown parts")
        secrets = _NOTHING if sensitive is True else _table(sensitive, address, "an object with the sensitive parts")
        walk, walk_known = self.walk_shown, self.walk_known
        for name, below in looked.within(values):
            unknown, sensitive = unknowns.get(name), secrets.get(name)
            if mark is None and is_nothing(unknown) and is_nothing(sensitive):
                walk_known(address, name, values[name], below)
            else:
                walk(address, name, values[name], unknown, sensitive, None if mark is None else name, below)
        for name, below in looked.within(unknowns) if unknowns else ():
            if name not in values and unknowns[name]:
                walk(address, name, None, unknowns[name], secrets.get(name), None if mark is None else name, below)

    def walk_shown(
        self,
        address: str,
        path: str,
        value: Any,
        unknown: Any,
        sensitive: Any,
        mark: str | None = None,
        looked: Looked = EVERYTHING,
    ) -> None:
        """Add a value with the corresponding parts of `after_unknown` and `after_sensitive`. `mark`: the path at which
        an enclosing value is marked as sensitive; None if there is none. Raises Misshapen."""
        if sensitive or mark is not None:
            looked = EVERYTHING  # the whole value is treated as sensitive, so that each secret part is hidden
        if sensitive is True:
            if mark is None:
                mark = path
            sensitive = None
        if mark is not None:
            self.hidden[address, path] = mark
        if unknown is True:
            self._may_be_anything(address, path)
            return
        cls = value.__class__
        if cls is str or cls is int:
            if looked.here:
                self.values.add((address, path, value))
        elif cls is bool:
            if looked.here:
                self.values.add((address, path, TRUE if value else FALSE))
        elif cls is dict or (value is None and unknown.__class__ is dict and unknown):
            self._members(address, path, value or _NOTHING, unknown, sensitive, mark, looked)
        elif cls is list or (value is None and unknown.__class__ is list and unknown):
            self._elements(address, path, value or [], unknown, sensitive, mark, looked)
        elif cls is float or cls is Decimal:
            if looked.here:
                if self._check is not None:
                    self._check()
                self.values.add((address, path, number(value if cls is Decimal else Decimal(repr(value)))))
        elif value is not None:
            raise Misshapen(f"{address}.{path}", "a JSON value expected")
        if unknown and unknown.__class__ not in (dict, list):
            raise Misshapen(f"{address}.{path}", "true, false, an object or a list with the unknown parts expected")

    def walk_known(self, address: str, path: str, value: Any, looked: Looked) -> None:
        """Add a value without unknown or sensitive parts. Raises Misshapen."""
        cls = value.__class__
        if cls is str or cls is int:
            if looked.here:
                self.values.add((address, path, value))
        elif cls is bool:
            if looked.here:
                self.values.add((address, path, TRUE if value else FALSE))
        elif cls is dict:
            if looked.here and self.structure:
                self.sizes.add((address, path, len(value)))
                self.parts.update([(address, path, name, member(path, name)) for name in value])
            for name, below in looked.within(value):
                self.walk_known(address, member(path, name), value[name], below)
        elif cls is list:
            if looked.here and self.structure:
                self.sizes.add((address, path, len(value)))
                self.parts.update([(address, path, i, f"{path}[{i}]") for i in range(len(value))])
            for i, below in looked.within_list(len(value)):
                self.walk_known(address, f"{path}[{i}]", value[i], below)
        elif value is not None:
            self.walk_shown(address, path, value, None, None, None, looked)

    def _members(
        self,
        address: str,
        path: str,
        value: dict[str, Any],
        unknown: Any,
        sensitive: Any,
        mark: str | None,
        looked: Looked,
    ) -> None:
        unknowns = _table(unknown, f"{address}.{path}", "an object with the unknown parts")
        secrets = _table(sensitive, f"{address}.{path}", "an object with the sensitive parts")
        names = list(value if looked.here else looked.names(value))
        if unknowns:
            names += [name for name in unknowns if name not in value and unknowns[name]]
        if self.structure and looked.here:
            self.sizes.add((address, path, len(names)))
            self.parts.update((address, path, name, member(path, name)) for name in names)
        walk = self.walk_shown
        for name in names:
            below = looked.at(name)
            if below is not None:
                walk(address, member(path, name), value.get(name), unknowns.get(name), secrets.get(name), mark, below)

    def _elements(
        self,
        address: str,
        path: str,
        value: list[Any],
        unknown: Any,
        sensitive: Any,
        mark: str | None,
        looked: Looked,
    ) -> None:
        unknowns = _list(unknown, f"{address}.{path}", "a list with the unknown parts")
        secrets = _list(sensitive, f"{address}.{path}", "a list with the sensitive parts")
        count = max(len(value), len(unknowns))
        is_open = bool(unknowns) and any(map(_has_unknown, unknowns))
        if is_open:
            self.open.add((address, path))
        if self.structure and looked.here:
            if not is_open:
                self.sizes.add((address, path, count))
            self.parts.update([(address, path, i, f"{path}[{i}]") for i in range(count)])
        walk = self.walk_shown
        for i in looked.names(range(count)):
            below = looked.at(i)
            if below is not None:
                walk(
                    address,
                    f"{path}[{i}]",
                    value[i] if i < len(value) else None,
                    unknowns[i] if i < len(unknowns) else None,
                    secrets[i] if i < len(secrets) else None,
                    mark,
                    below,
                )

    def _may_be_anything(self, address: str, path: str) -> None:
        self.unknown[address, path] = Unknown()
        self.exact.add((address, path))
        self.open.add((address, path))


def _has_unknown(unknown: Any) -> bool:
    if unknown.__class__ is dict:
        return any(map(_has_unknown, unknown.values()))
    if unknown.__class__ is list:
        return any(map(_has_unknown, unknown))
    return bool(unknown)


def is_nothing(value: Any) -> bool:
    """Whether `value`, a part of `after_unknown` or `after_sensitive`, marks nothing as unknown or sensitive."""
    return value is None or value is False or ((value.__class__ is dict or value.__class__ is list) and not value)


def _table(value: Any, path: str, what: str) -> dict[str, Any]:
    if value.__class__ is dict:
        return value
    if not value and value.__class__ not in _SCALARS[:4]:
        return _NOTHING
    raise Misshapen(path, f"{what} expected")


def _list(value: Any, path: str, what: str) -> list[Any]:
    if value.__class__ is list:
        return value
    if not value and value.__class__ not in _SCALARS[:4]:
        return []
    raise Misshapen(path, f"{what} expected")

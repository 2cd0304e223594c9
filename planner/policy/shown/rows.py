"""JSON values with what is unknown and sensitive in them, as rows."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from planner.datalog.front.paths import member
from planner.datalog.front.values import FALSE, TRUE, number
from planner.policy.shown.document import Misshapen
from planner.policy.values import ValueRows
from planner.values.value import Unknown

_NOTHING: dict[str, Any] = {}
_SCALARS = (str, int, float, Decimal, bool)


class ShownRows(ValueRows):
    """Collects the rows of values that stand in JSON. What is unknown there has no type: it may be anything. A list
    with unknown elements may be a set, whose elements may turn out to be equal: it counts as unknown, too."""

    __slots__ = ()

    def add_shown(
        self, address: str, value: Any, unknown: Any, sensitive: Any, roots: Collection[str] | None = None
    ) -> None:
        """The attributes of an object, those named in `roots` only. Raises Misshapen."""
        if unknown is True:
            self._may_be_anything(address, "")
            return
        if value is None and not unknown:
            return
        mark = "" if sensitive is True else None
        values = _table(value, address, "an object")
        unknowns = _table(unknown, address, "an object as what is unknown")
        secrets = _NOTHING if sensitive is True else _table(sensitive, address, "an object as what is sensitive")
        names = values.keys() if roots is None else [name for name in roots if name in values]
        walk = self.walk_shown
        for name in names:
            walk(address, name, values[name], unknowns.get(name), secrets.get(name), name if mark is not None else None)
        for name, inner in unknowns.items():
            if name not in values and inner and (roots is None or name in roots):
                walk(address, name, None, inner, secrets.get(name), name if mark is not None else None)

    def walk_shown(
        self, address: str, path: str, value: Any, unknown: Any, sensitive: Any, mark: str | None = None
    ) -> None:
        """A value at a path, as the members `after`, `after_unknown` and `after_sensitive` tell it. `mark` is the
        path of the sensitive mark that it stands under. Raises Misshapen."""
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
        if cls is str:
            self.values.add((address, path, value))
        elif cls is bool:
            self.values.add((address, path, TRUE if value else FALSE))
        elif cls is int:
            self.values.add((address, path, value))
        elif cls is dict or (value is None and unknown.__class__ is dict and unknown):
            self._members(address, path, value or _NOTHING, unknown, sensitive, mark)
        elif cls is list or (value is None and unknown.__class__ is list and unknown):
            self._elements(address, path, value or [], unknown, sensitive, mark)
        elif cls is float or cls is Decimal:
            self.values.add((address, path, number(value if cls is Decimal else Decimal(repr(value)))))
        elif value is not None:
            raise Misshapen(f"{address}.{path}", "a JSON value expected")
        if unknown and unknown.__class__ not in (dict, list):
            raise Misshapen(f"{address}.{path}", "true, false, an object or a list expected as what is unknown")

    def _members(
        self, address: str, path: str, value: dict[str, Any], unknown: Any, sensitive: Any, mark: str | None
    ) -> None:
        unknowns = _table(unknown, f"{address}.{path}", "an object as what is unknown")
        secrets = _table(sensitive, f"{address}.{path}", "an object as what is sensitive")
        names = list(value)
        if unknowns:
            names += [name for name in unknowns if name not in value and unknowns[name]]
        inner = [member(path, name) for name in names]
        if self.structure:
            self.sizes.add((address, path, len(names)))
            self.parts.update((address, path, name, at) for name, at in zip(names, inner, strict=True))
        walk = self.walk_shown
        for name, at in zip(names, inner, strict=True):
            walk(address, at, value.get(name), unknowns.get(name), secrets.get(name), mark)

    def _elements(
        self, address: str, path: str, value: list[Any], unknown: Any, sensitive: Any, mark: str | None
    ) -> None:
        unknowns = _list(unknown, f"{address}.{path}", "a list as what is unknown")
        secrets = _list(sensitive, f"{address}.{path}", "a list as what is sensitive")
        count = max(len(value), len(unknowns))
        is_open = bool(unknowns) and any(map(_has_unknown, unknowns))
        if is_open:
            self.open.add((address, path))
        if self.structure:
            if not is_open:
                self.sizes.add((address, path, count))
            self.parts.update((address, path, i, f"{path}[{i}]") for i in range(count))
        walk = self.walk_shown
        for i in range(count):
            walk(
                address,
                f"{path}[{i}]",
                value[i] if i < len(value) else None,
                unknowns[i] if i < len(unknowns) else None,
                secrets[i] if i < len(secrets) else None,
                mark,
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

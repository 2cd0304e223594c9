"""Objects of states from before version 4: texts in one flat map, `tags.%`, `tags.Name`, `rules.#`, `rules.0.port`.

Only the type says what they mean. After OpenTofu's hcl2shim (flatmap.go).
"""

from __future__ import annotations

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import (
    DYNAMIC,
    ListType,
    MapType,
    ObjectType,
    Primitive,
    SetType,
    TupleType,
    Type,
    friendly_name,
)
from planner.foundation.values.value import List, Map, Null, Unknown, Value

UNKNOWN_TEXT = "74D93920-ED26-11E3-AC10-0800200C9A66"
"""what stood for an unknown value"""


def from_flat(flat: dict[str, str], wanted: ObjectType) -> Value:
    """The object that a flat map describes. Raises ValueError."""
    return _FlatReader(flat).object("", wanted)


class _FlatReader:
    def __init__(self, flat: dict[str, str]) -> None:
        self.flat = flat

    def value(self, key: str, wanted: Type) -> Value:
        """The value under a key, which ends with a dot where it was found in a set of collections."""
        if isinstance(wanted, Primitive) and wanted is not DYNAMIC:
            return self.primitive(key, wanted)
        prefix = f"{key.rstrip('.')}."
        if isinstance(wanted, ObjectType):
            return self.object(prefix, wanted)
        if not isinstance(wanted, ListType | SetType | MapType | TupleType):
            raise ValueError(f"{key} can be of any type, which a flat map cannot tell")
        count = self.flat.get(prefix + ("%" if isinstance(wanted, MapType) else "#"))
        if UNKNOWN_TEXT in (count, self.flat.get(key)):
            return Unknown(wanted)
        if count is None:
            return Null(wanted)
        if isinstance(wanted, MapType):
            return Map(wanted.element, {name: self.value(prefix + name, wanted.element) for name in self.names(prefix)})
        if isinstance(wanted, SetType):
            return self.set(prefix, wanted, count)
        types = wanted.elements if isinstance(wanted, TupleType) else (wanted.element,) * _number(prefix, count)
        if len(types) != _number(prefix, count):
            raise ValueError(f"{key} has {count} elements, but {len(types)} are needed")
        items = tuple(self.value(f"{prefix}{i}", type_) for i, type_ in enumerate(types))
        return List(wanted.element, items) if isinstance(wanted, ListType) else items

    def primitive(self, key: str, wanted: Type) -> Value:
        text = self.flat.get(key)
        if text is None:
            return Null(wanted)
        if text == UNKNOWN_TEXT:
            return Unknown(wanted)
        try:
            return convert(text, wanted)
        except ConversionError as bad:
            raise ValueError(f'{key} is "{text}", but a {friendly_name(wanted)} is needed') from bad

    def object(self, prefix: str, wanted: ObjectType) -> Value:
        return {name: self.value(prefix + name, type_) for name, type_ in wanted.attributes.items()}

    def set(self, prefix: str, wanted: SetType, count: str) -> Value:
        """Elements are named by hashes. One that is empty left nothing but the count."""
        keys = {name.partition(".")[0] for name in self.names(prefix)}
        items = [self.value(prefix + key, wanted.element) for key in sorted(keys)]
        if not items and count == "1":
            items = [_empty(wanted.element)]
        return make_set(wanted.element, items)

    def names(self, prefix: str) -> list[str]:
        """What stands below a prefix, without the counts."""
        found = (key[len(prefix) :] for key in self.flat if key.startswith(prefix))
        return sorted(name for name in found if name not in ("%", "#"))


def _number(prefix: str, count: str) -> int:
    try:
        return int(count)
    except ValueError:
        raise ValueError(f'{prefix}# is "{count}", which is not a number') from None


def _empty(wanted: Type) -> Value:
    if isinstance(wanted, MapType):
        return Map(wanted.element, {})
    if isinstance(wanted, ListType):
        return List(wanted.element, ())
    if isinstance(wanted, SetType):
        return make_set(wanted.element, [])
    if isinstance(wanted, ObjectType):
        return {name: Null(type_) for name, type_ in wanted.attributes.items()}
    return Null(wanted)

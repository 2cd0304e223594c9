"""The types of the language (OpenTofu's type system, from go-cty), frozen and hashable.

The primitive types are singletons: STRING, NUMBER, BOOL, and DYNAMIC for values whose type is unknown."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias


class Primitive:
    """A primitive type: string, number, bool or dynamic; compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name.upper()


STRING = Primitive("string")
NUMBER = Primitive("number")
BOOL = Primitive("bool")
DYNAMIC = Primitive("dynamic")
PRIMITIVES = {p.name: p for p in (STRING, NUMBER, BOOL, DYNAMIC)}


class _Collection:
    __slots__ = ("_hash", "element")
    kind = ""

    def __init__(self, element: Type) -> None:
        self.element = element
        self._hash = hash((self.kind, element))

    def __eq__(self, other: object) -> bool:
        return self is other or (other.__class__ is self.__class__ and self.element == other.element)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self.kind}({self.element!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.element,))


class ListType(_Collection):
    """The type `list(element)`."""

    __slots__ = ()
    kind = "list"


class SetType(_Collection):
    """The type `set(element)`."""

    __slots__ = ()
    kind = "set"


class MapType(_Collection):
    """The type `map(element)`."""

    __slots__ = ()
    kind = "map"


class TupleType:
    """The type `tuple([a, b, ...])`."""

    __slots__ = ("_hash", "elements")

    def __init__(self, elements: tuple[Type, ...]) -> None:
        self.elements = elements
        self._hash = hash(("tuple", elements))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, TupleType) and self.elements == other.elements)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"tuple([{', '.join(map(repr, self.elements))}])"

    def __reduce__(self) -> tuple[Any, ...]:
        return (TupleType, (self.elements,))


class ObjectType:
    """The type `object({name = type, ...})`. In type constraints, `optional` names the attributes that a value need not
    have."""

    __slots__ = ("_hash", "attributes", "optional")

    def __init__(self, attributes: dict[str, Type], optional: frozenset[str] = frozenset()) -> None:
        self.attributes = {name: attributes[name] for name in sorted(attributes)}
        self.optional = optional
        self._hash = hash(("object", tuple(self.attributes.items()), optional))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ObjectType) and self.attributes == other.attributes and self.optional == other.optional
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}={'optional ' * (k in self.optional)}{v!r}" for k, v in self.attributes.items())
        return f"object({{{inner}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (ObjectType, (self.attributes, self.optional))


def collection_type(kind: str, element: Type) -> ListType | SetType | MapType:
    if kind == "list":
        return ListType(element)
    return SetType(element) if kind == "set" else MapType(element)


Type: TypeAlias = Primitive | ListType | SetType | MapType | TupleType | ObjectType

EMPTY_OBJECT = ObjectType({})


@lru_cache(4096)
def without_optional(t: Type) -> Type:
    """The type with all attributes required, at any depth: the type of values that a type constraint allows."""
    if isinstance(t, Primitive):
        return t
    if isinstance(t, ObjectType):
        attributes = {k: without_optional(v) for k, v in t.attributes.items()}
        same = not t.optional and all(attributes[k] is v for k, v in t.attributes.items())
        return t if same else ObjectType(attributes)
    if isinstance(t, TupleType):
        elements = tuple(without_optional(e) for e in t.elements)
        return t if all(a is b for a, b in zip(elements, t.elements, strict=True)) else TupleType(elements)
    element = without_optional(t.element)
    return t if element is t.element else collection_type(t.kind, element)


@lru_cache(4096)
def has_dynamic(t: Type) -> bool:
    if isinstance(t, Primitive):
        return t is DYNAMIC
    if isinstance(t, ObjectType):
        return any(map(has_dynamic, t.attributes.values()))
    if isinstance(t, TupleType):
        return any(map(has_dynamic, t.elements))
    return has_dynamic(t.element)


def friendly_name(t: Type) -> str:
    """The name of a type in messages: `list of string`, `object`, `tuple`."""
    if isinstance(t, ObjectType):
        return "object"
    if isinstance(t, TupleType):
        return "tuple"
    if isinstance(t, Primitive):
        return t.name
    element = "any single type" if t.element is DYNAMIC else friendly_name(t.element)
    return f"{t.kind} of {element}"


def type_to_json(t: Type) -> Any:
    """The type in the ecosystem's JSON: "string", ["list", T], ["object", {...}], ["tuple", [...]]."""
    if isinstance(t, Primitive):
        return t.name
    if isinstance(t, TupleType):
        return ["tuple", [type_to_json(e) for e in t.elements]]
    if isinstance(t, ObjectType):
        attributes = {k: type_to_json(v) for k, v in t.attributes.items()}
        return ["object", attributes, sorted(t.optional)] if t.optional else ["object", attributes]
    return [t.kind, type_to_json(t.element)]


def type_from_json(j: Any) -> Type:
    """The type of a value from the ecosystem's JSON, with all attributes required. Raises ValueError."""
    return without_optional(constraint_from_json(j))


def constraint_from_json(j: Any) -> Type:
    """The type of an argument from the ecosystem's JSON; the third item of an object type lists its optional
    attributes. Raises ValueError."""
    if isinstance(j, str) and j in PRIMITIVES:
        return PRIMITIVES[j]
    if isinstance(j, list) and len(j) >= 2:
        kind, arg = j[0], j[1]
        if kind in ("list", "set", "map"):
            return collection_type(kind, constraint_from_json(arg))
        if kind == "tuple" and isinstance(arg, list):
            return TupleType(tuple(constraint_from_json(e) for e in arg))
        optional = j[2] if len(j) > 2 else []
        if kind == "object" and isinstance(arg, dict) and _are_names(optional):
            return ObjectType({k: constraint_from_json(v) for k, v in arg.items()}, frozenset(optional))
    raise ValueError(f"not a type: {j!r}")


def _are_names(data: Any) -> bool:
    return isinstance(data, list) and all(isinstance(name, str) for name in data)


# Types as text: as type constraints, and as printed by the console's `type()`.


def constraint_text(t: Type) -> str:
    """The type in one line, in the syntax of a variable's `type` argument."""
    if isinstance(t, Primitive):
        return "any" if t is DYNAMIC else t.name
    if isinstance(t, ObjectType):
        texts = {name: constraint_text(a) for name, a in t.attributes.items()}
        inner = ", ".join(f"{k} = {f'optional({v})' if k in t.optional else v}" for k, v in texts.items())
        return f"object({{ {inner} }})" if inner else "object({})"
    if isinstance(t, TupleType):
        return f"tuple([{', '.join(map(constraint_text, t.elements))}])"
    return f"{t.kind}({constraint_text(t.element)})"


def type_text(t: Type, depth: int = 0) -> str:
    """The type in several lines, as printed by `type()`."""
    pad, end = "    " * (depth + 1), "    " * depth
    if isinstance(t, Primitive):
        return t.name
    if isinstance(t, ObjectType):
        lines = "".join(f"{pad}{name}: {type_text(a, depth + 1)},\n" for name, a in t.attributes.items())
        return f"object({{\n{lines}{end}}})" if lines else "object({})"
    if isinstance(t, TupleType):
        lines = "".join(f"{pad}{type_text(e, depth + 1)},\n" for e in t.elements)
        return f"tuple([\n{lines}{end}])" if lines else "tuple([])"
    if isinstance(t.element, (ObjectType, TupleType)):
        return f"{t.kind}(\n{pad}{type_text(t.element, depth + 1)},\n{end})"
    return f"{t.kind}({type_text(t.element, depth)})"

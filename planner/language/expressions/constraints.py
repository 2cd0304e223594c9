"""Parses type constraints: `list(object({ name = string, size = optional(number, 1) }))` becomes a type and default
values.

As in HCL (ext/typeexpr): a type expression is read as syntax; only defaults are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.refine import definitely_not_null, not_null
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ObjectType,
    TupleType,
    Type,
    collection_type,
    without_optional,
)
from planner.foundation.values.unify import unify
from planner.foundation.values.value import UNKNOWN, List, Map, Null, Set, Value, mark, type_of, unmark
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.nearest import nearest
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.expressions import environment
from planner.language.expressions.scope import ConstantScope
from planner.language.syntax import nodes

SUMMARY = "Invalid type specification"
PRIMITIVES = {"bool": BOOL, "string": STRING, "number": NUMBER}


# ---------------------------------------------------------------- defaults


@frozen
class Defaults:
    """Default values of optional attributes in a type. `values`: defaults of an object's own attributes. `children`:
    defaults of nested types, by attribute name, tuple index, or "" for the elements of a collection."""

    type: Type
    values: dict[str, Value] = field(factory=dict)
    children: dict[Any, Defaults] = field(factory=dict)

    def apply(self, value: Value) -> Value:
        """Set defaults of attributes that are missing or null. The result must still be converted to the type."""
        plain, marks = unmark(value)
        cls = plain.__class__
        if cls is dict or cls is Map:
            return mark(self._apply_named(plain), marks)
        if cls is tuple or cls is List or cls is Set:
            items = plain if cls is tuple else plain.items
            applied = [self._apply_child(i, item) for i, item in enumerate(items)]
            return mark(_rebuild(plain, applied), marks)
        return value

    def _apply_named(self, value: Value) -> Value:
        items = value if value.__class__ is dict else value.items
        applied = {k: self._apply_child(k, v) for k, v in items.items()}
        for name, default in self.values.items():
            own = applied.get(name)
            if own is None or unmark(own)[0].__class__ is Null:
                child = self.children.get(name)
                applied[name] = child.apply(default) if child is not None else default
            elif definitely_not_null(default):
                applied[name] = not_null(own)
        if value.__class__ is dict:
            return applied
        if not applied:
            return value
        common = _unify(list(applied.values()))
        return applied if common is None else Map(common[0], dict(zip(applied, common[1], strict=True)))

    def _apply_child(self, key: Any, value: Value) -> Value:
        own_key = key if isinstance(self.type, TupleType if key.__class__ is int else ObjectType) else ""
        child = self.children.get(own_key)
        return child.apply(value) if child is not None else value


def _rebuild(value: Value, items: list[Value]) -> Value:
    """The items as a collection of the same kind as `value`; a tuple if they have no common type."""
    if value.__class__ is tuple:
        return tuple(items)
    if not items:
        return value
    common = _unify(items)
    if common is None:
        return tuple(items)
    element, converted = common
    return List(element, tuple(converted)) if value.__class__ is List else make_set(element, converted)


def _unify(items: Sequence[Value]) -> tuple[Type, list[Value]] | None:
    common = unify([type_of(v) for v in items])
    if common is None:
        return None
    if common is DYNAMIC and any(type_of(v) is not DYNAMIC for v in items):
        return DYNAMIC, [UNKNOWN for _ in items]  # go-cty does not convert to types that contain `any`
    try:
        return common, [convert(v, common) for v in items]
    except ConversionError:
        return None


@frozen
class TypeConstraint:
    """The type of a variable, and the defaults that are applied before conversion. `written`: the type as it is
    written, possibly with optional attributes. `type`: the type of converted values, which have all attributes."""

    written: Type
    defaults: Defaults | None = None

    @property
    def type(self) -> Type:
        return without_optional(self.written)

    def convert(self, value: Value) -> Value:
        """Apply the defaults and convert. Raises ConversionError."""
        if self.defaults is not None:
            value = self.defaults.apply(value)
        return convert(value, self.written)


# ---------------------------------------------------------------- parsing


def parse_type_constraint(node: nodes.Expression, source: Source) -> tuple[TypeConstraint | None, list[Diagnostic]]:
    """The type constraint (None if there are errors) and its problems."""
    parser = _Parser(source)
    t, defaults = parser.parse(node)
    return (None if parser.diagnostics else TypeConstraint(t, defaults)), parser.diagnostics


environment.parse_type = parse_type_constraint


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    def report(self, detail: str, start: int, end: int, summary: str = SUMMARY) -> None:
        self.diagnostics.append(error("language.type_constraint", summary, detail, Span(self.source, start, end)))

    def parse(self, node: Any) -> tuple[Type, Defaults | None]:
        word = keyword(node)
        if word is not None:
            return self._keyword(word, node), None
        if node.__class__ is not nodes.Call:
            detail = "A type is string, number, bool, any, or constructed by list(), set(), map(), object() or tuple()."
            self.report(detail, node.start, node.end)
            return DYNAMIC, None
        if not self._arity(node):
            return DYNAMIC, None
        argument = node.arguments[0] if node.arguments else None
        if node.name in ("list", "set", "map"):
            element, defaults = self.parse(argument)
            t = collection_type(node.name, element)
            return t, (Defaults(t, children={"": defaults}) if defaults is not None else None)
        if node.name == "object":
            return self._object(node, argument)
        if node.name == "tuple":
            return self._tuple(argument)
        if node.name == "optional":
            detail = "optional(...) marks attributes of an object type; it is not a type by itself."
            self.report(detail, node.start, node.name_end)
        else:
            self.report(f'"{node.name}" is not a type constructor.', node.start, node.end)
        return DYNAMIC, None

    def _keyword(self, word: str, node: Any) -> Type:
        if word in PRIMITIVES:
            return PRIMITIVES[word]
        if word == "any":
            return DYNAMIC
        if word in NEEDS:
            self.report(f"{word} needs {NEEDS[word]} in parentheses.", node.start, node.end)
        else:
            known = ("string", "number", "bool", "any", *NEEDS)
            alike = next((name for name in known if name.startswith(word)), None) or nearest(word, known)
            hint = f'Did you mean "{alike}"?' if alike else f"The types are {', '.join(known)}."
            self.report(f'"{word}" is not a type. {hint}', node.start, node.end)
        return DYNAMIC

    def _arity(self, node: nodes.Call) -> bool:
        start, end = node.open, node.close + 1
        if node.name in PRIMITIVES or node.name == "any":
            self.report(f"The type {node.name} takes no arguments.", start, end)
            return False
        if node.name in NEEDS and len(node.arguments) != 1:
            if len(node.arguments) > 1:
                start, end = node.arguments[1].start, node.arguments[-1].end
            self.report(f"{node.name} needs one argument: {NEEDS[node.name]}.", start, end)
            return False
        return True

    def _object(self, node: nodes.Call, argument: Any) -> tuple[Type, Defaults | None]:
        if argument.__class__ is not nodes.Object:
            detail = "An object type lists its attributes in braces, each with a type: object({ name = string })."
            self.report(detail, argument.start, argument.end)
            return DYNAMIC, None
        attributes: dict[str, Type] = {}
        optional: set[str] = set()
        values: dict[str, Value] = {}
        children: dict[Any, Defaults] = {}
        for item in argument.items:
            name = _key_word(item)
            if name is None:
                self.report("The attributes of an object type must be plain names.", item.key.start, item.key.end)
                continue
            if name in attributes:
                self.report(f'The attribute "{name}" is set twice.', item.key.start, item.key.end)
                continue
            type_node, default_node = item.value, None
            if type_node.__class__ is nodes.Call and type_node.name == "optional":
                call = type_node
                if not call.arguments:
                    self.report("optional() needs the type of the attribute.", call.open, call.close + 1)
                    continue
                if len(call.arguments) > 2:
                    detail = "optional() takes a type and, if needed, a default value."
                    self.report(detail, call.open, call.close + 1)
                else:
                    optional.add(name)
                    default_node = call.arguments[1] if len(call.arguments) == 2 else None
                type_node = call.arguments[0]
            default = self._default(default_node) if default_node is not None else None
            if default_node is not None and default is None:
                optional.discard(name)
            attributes[name], inner = self.parse(type_node)
            if default is not None:
                self._add_default(values, name, default, attributes[name], default_node)
            if inner is not None:
                children[name] = inner
        t = ObjectType(attributes, frozenset(optional))
        return t, (Defaults(t, values, children) if values or children else None)

    def _default(self, node: Any) -> Value | None:
        from planner.language.expressions.evaluate import try_evaluate

        value, diagnostics = try_evaluate(node, ConstantScope(), self.source)
        self.diagnostics += diagnostics
        return None if diagnostics else value

    def _add_default(self, values: dict[str, Value], name: str, default: Value, t: Type, node: Any) -> None:
        try:
            values[name] = convert(default, t)
        except ConversionError as e:
            detail = f"The default value does not match the type of the attribute: {e}."
            self.report(detail, node.start, node.end, "Invalid default value for optional attribute")

    def _tuple(self, argument: Any) -> tuple[Type, Defaults | None]:
        if argument.__class__ is not nodes.Tuple:
            detail = "A tuple type lists the types of its elements in brackets: tuple([string, number])."
            self.report(detail, argument.start, argument.end)
            return DYNAMIC, None
        elements = [self.parse(item) for item in argument.items]
        t = TupleType(tuple(e for e, _ in elements))
        children: dict[Any, Defaults] = {i: d for i, (_, d) in enumerate(elements) if d is not None}
        return t, (Defaults(t, children=children) if children else None)


NEEDS = {
    "list": "the type of its elements",
    "set": "the type of its elements",
    "map": "the type of its elements",
    "object": "its attributes and their types in braces",
    "tuple": "the types of its elements in brackets",
}


def keyword(node: Any) -> str | None:
    """The name, if the expression is a single name, `true`, `false` or `null`; otherwise None."""
    if node.__class__ is nodes.Variable:
        return str(node.name)
    if node.__class__ is nodes.Literal:
        if node.value.__class__ is bool:
            return "true" if node.value else "false"
        if node.value.__class__ is Null:
            return "null"
    return None


def _key_word(item: nodes.ObjectItem) -> str | None:
    if item.bare and isinstance(item.key, nodes.Literal):
        return str(item.key.value)
    return keyword(item.key)

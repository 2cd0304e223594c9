"""Compiles `for` expressions, splats, and `%{ for }` in templates.

The behaviour is the same as in HCL (hclsyntax/expression.go: ForExpr, SplatExpr; expression_template.go:
TemplateJoinExpr)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from planner.foundation.values.convert import ConversionError, convert, with_element_type
from planner.foundation.values.refine import is_collection, length_bounds, refine
from planner.foundation.values.types import BOOL, DYNAMIC, STRING, ListType, SetType, TupleType, Type, friendly_name
from planner.foundation.values.value import (
    NO_MARKS,
    NOT_NULL,
    UNKNOWN,
    List,
    Marked,
    Null,
    Refinement,
    Set,
    Unknown,
    Value,
    mark,
    type_of,
)
from planner.language.expressions.environment import Compiler, Environment, Run
from planner.language.expressions.traverse import can_iterate, elements
from planner.language.syntax import nodes

INVALID_CONDITION = "Invalid 'for' condition"
INVALID_KEY = "Invalid object key"


class _Loop:
    """A compiled `for`: its collection, the slots of its variables, and its parts."""

    __slots__ = ("collection", "condition", "key", "key_slot", "node", "value", "value_slot")

    def __init__(self, compiler: Compiler, node: Any, key: Any, value: Any, condition: Any) -> None:
        self.node = node
        self.collection = compiler.compile(node.collection)
        with _local_names(compiler, [node.key, node.value]) as slots:
            self.key_slot, self.value_slot = slots
            own = {n: slot for n, slot in zip((node.key, node.value), slots, strict=True) if n}
            compiler.local_names.append((node.collection.end, node.end, own))
            self.key: Run | None = compiler.compile(key) if key is not None else None
            self.value: Run = compiler.compile(value)
            self.condition: Run | None = compiler.compile(condition) if condition is not None else None

    def source(self, env: Environment) -> tuple[Value, frozenset[Any]]:
        """The collection without its marks, and the marks. UNKNOWN if it cannot be iterated over (reported)."""
        node = self.node.collection
        value = self.collection(env)
        marks = NO_MARKS
        if value.__class__ is Marked:
            value, marks = value.value, value.marks
        if value.__class__ is Null:
            detail = "The collection is null; there are no elements to iterate over."
            env.report("iteration_null", "Iteration over null value", detail, node.start, node.end)
            return UNKNOWN, NO_MARKS
        if value.__class__ is Unknown and value.type is DYNAMIC:
            return UNKNOWN, NO_MARKS
        if not can_iterate(value):
            detail = f"A {friendly_name(type_of(value))} has no elements to iterate over."
            env.report("iteration_type", "Iteration over non-iterable value", detail, node.start, node.end)
            return UNKNOWN, NO_MARKS
        return value, marks

    def bind(self, env: Environment, key: Value, value: Value) -> None:
        if self.key_slot >= 0:
            env.slots[self.key_slot] = key
        env.slots[self.value_slot] = value

    def check_condition(self, env: Environment) -> frozenset[Any] | None:
        """Evaluate the condition once with unknown variables, so that errors which do not depend on an element are
        reported only once. Returns the marks of the condition; None if it is invalid (reported)."""
        if self.condition is None:
            return NO_MARKS
        before = len(env.errors)
        self.bind(env, UNKNOWN, UNKNOWN)
        value = self.condition(env)
        if self.decision(env, value, True) is None or len(env.errors) > before:
            return None
        return value.marks if value.__class__ is Marked else NO_MARKS

    def decision(self, env: Environment, value: Value, report: bool) -> Value:
        """The condition as a bool without marks, or as an unknown bool; None if it is invalid (reported if `report` is
        set)."""
        if value.__class__ is bool:
            return value
        node = self.node.condition
        value = value.value if value.__class__ is Marked else value
        if value.__class__ is Null:
            if report:
                detail = "The condition is null; it must be true or false."
                env.report("for_condition", INVALID_CONDITION, detail, node.start, node.end)
            return None
        try:
            return convert(value, BOOL)
        except ConversionError as e:
            if report:
                detail = f"The condition must be true or false: {e}."
                env.report("for_condition", INVALID_CONDITION, detail, node.start, node.end)
            return None


@contextmanager
def _local_names(compiler: Compiler, names: list[str | None]) -> Iterator[list[int]]:
    """Make local names known to the compiler while their scope is compiled. Yields their slots; -1 for a missing
    name."""
    outer = compiler.locals
    compiler.locals = dict(outer)
    compiler.laziness += 1
    slots = []
    for name in names:
        slots.append(compiler.new_slot() if name else -1)
        if name:
            compiler.locals[name] = slots[-1]
    if len(slots) == 2:
        compiler.index_slots.add(slots[0])
    try:
        yield slots
    finally:
        compiler.locals = outer
        compiler.laziness -= 1


def compile_for(compiler: Compiler, node: nodes.For) -> Run:
    loop = _Loop(compiler, node, node.key_expr, node.value_expr, node.condition)

    def run(env: Environment) -> Value:
        collection, marks = loop.source(env)
        if collection is UNKNOWN:
            return UNKNOWN
        condition_marks = loop.check_condition(env)
        if condition_marks is None:
            return UNKNOWN
        if collection.__class__ is Unknown:
            return mark(UNKNOWN, marks | condition_marks)
        return _tuple(env, loop, collection, marks) if loop.key is None else _object(env, loop, collection, marks)

    return run


def _tuple(env: Environment, loop: _Loop, collection: Value, marks: frozenset[Any]) -> Value:
    known, items = True, []
    slots, value_slot, key_slot = env.slots, loop.value_slot, loop.key_slot
    condition, value_run = loop.condition, loop.value
    for key, value in elements(collection):
        if key_slot >= 0:
            slots[key_slot] = key
        slots[value_slot] = value
        if condition is not None:
            include = condition(env)
            if include.__class__ is Marked:
                marks |= include.marks
                include = include.value
            if include.__class__ is not Unknown:  # an unknown condition may have any type
                include = loop.decision(env, include, known)
            if include.__class__ is not bool:
                known = False
                continue
            if not include:
                continue
        items.append(value_run(env))
    return mark(tuple(items) if known else UNKNOWN, marks)


def _object(env: Environment, loop: _Loop, collection: Value, marks: frozenset[Any]) -> Value:
    known = True
    result: dict[str, Value] = {}
    groups: dict[str, list[Value]] = {}
    node = loop.node
    assert loop.key is not None
    for element_key, value in elements(collection):
        loop.bind(env, element_key, value)
        if loop.condition is not None:
            include = loop.condition(env)
            if include.__class__ is Marked:
                marks |= include.marks
            include = loop.decision(env, include, known)
            if include.__class__ is not bool:
                known = False
                continue
            if not include:
                continue
        key = loop.key(env)
        if key.__class__ is Marked:
            marks |= key.marks
            key = key.value
        if key.__class__ is not str:
            key = _object_key(env, node.key_expr, key, known)
            if key is None:
                known = False
                continue
        item = loop.value(env)
        if node.group:
            groups.setdefault(key, []).append(item)
        elif key in result:
            detail = f'Two elements have the key "{key}". Write ... after the value to collect them all in a list.'
            env.report("duplicate_key", "Duplicate object key", detail, node.key_expr.start, node.key_expr.end)
        else:
            result[key] = item
    if not known:
        return mark(UNKNOWN, marks)
    return mark({k: tuple(v) for k, v in groups.items()} if node.group else result, marks)


def _object_key(env: Environment, node: Any, key: Value, report: bool) -> str | None:
    """The key as a string; None if it is unknown, or invalid (reported if `report` is set)."""
    if key.__class__ is Unknown:
        return None
    try:
        if key.__class__ is Null:
            raise ConversionError("it is null")
        return convert(key, STRING)  # type: ignore[no-any-return]
    except ConversionError as e:
        if report:
            env.report("for_key", INVALID_KEY, f"Invalid key: {e}.", node.start, node.end)
        return None


# ---------------------------------------------------------------- templates


def compile_template_for(compiler: Compiler, node: nodes.TemplateFor) -> Run:
    loop = _Loop(compiler, node, None, node.body, None)

    def run(env: Environment) -> Value:
        collection, marks = loop.source(env)
        if collection.__class__ is Unknown:
            return Unknown(STRING)  # as in HCL, the marks of an unknown collection are dropped here
        texts: list[str] = []
        body = _tuple(env, loop, collection, marks)
        items, all_marks = (body.value, body.marks) if body.__class__ is Marked else (body, NO_MARKS)
        outer = all_marks
        for item in items:
            if item.__class__ is Marked:
                all_marks |= item.marks
                item = item.value
            if item.__class__ is Unknown:
                return mark(Unknown(STRING), outer)
            texts.append(item)
        whole = "".join(texts)
        return mark(whole if whole.isascii() else unicodedata.normalize("NFC", whole), all_marks)

    return run


# ---------------------------------------------------------------- splat


def compile_splat(compiler: Compiler, node: nodes.Splat) -> Run:
    source = compiler.compile(node.source)
    outer, slot = compiler.element, compiler.new_slot()
    compiler.element = slot
    compiler.laziness += 1  # the collection may have no elements
    each = compiler.compile(node.each)
    compiler.laziness -= 1
    compiler.element = outer

    def run(env: Environment) -> Value:
        before = len(env.errors)
        value = source(env)
        if len(env.errors) > before:
            return UNKNOWN
        marks = NO_MARKS
        if value.__class__ is Marked:
            value, marks = value.value, value.marks
        single = not _is_sequence(value)
        if value.__class__ is Null:
            if single:
                return mark((), marks)
            detail = "The list is null, so a splat cannot iterate over it."
            env.report("splat_null", "Splat of null value", detail, node.source.start, node.source.end)
            return UNKNOWN
        if value.__class__ is Unknown and value.type is DYNAMIC:
            return mark(UNKNOWN, marks)
        could_be_null = False
        if single:
            if value.__class__ is Unknown:
                could_be_null = value.refinement is None or not value.refinement.not_null
            value = (mark(value, marks),)
        if value.__class__ is Unknown:
            return mark(_of_unknown(env, value, each, slot), marks)
        return mark(_of_known(env, value, each, slot, node, could_be_null), marks)

    return run


def _is_sequence(value: Value) -> bool:
    """Whether a splat iterates over the elements of a value, because it is a list, set or tuple. This depends only on
    the type of the container, so types of elements are not computed."""
    cls = value.__class__
    if cls is Null or cls is Unknown:
        return isinstance(value.type, (TupleType, ListType, SetType))
    return cls is tuple or cls is List or cls is Set


def _of_known(env: Environment, value: Value, each: Run, slot: int, node: nodes.Splat, could_be_null: bool) -> Value:
    before = len(env.errors)
    items: list[Value] = []
    source = value if value.__class__ is tuple else value.items
    for item in source:
        env.slots[slot] = item
        items.append(each(env))
    if could_be_null:
        return UNKNOWN
    if len(env.errors) > before:
        errors = env.take(before)
        result = Unknown(_result_type(env, type_of(value), each, slot))
        env.take(before)
        env.errors += errors
        return result
    if value.__class__ is tuple:
        return tuple(items)
    if not items:
        element = _result_type(env, type_of(value), each, slot)
        return List(element.element if isinstance(element, ListType) else DYNAMIC, ())
    element_type: Type = DYNAMIC
    for item in items:
        t = type_of(item)
        if element_type is DYNAMIC:
            element_type = t
        elif t is not DYNAMIC and t != element_type:
            detail = (
                "The inner splat returns elements of different types, which a list cannot contain. "
                "A for expression returns a tuple instead."
            )
            env.report("nested_splat", "Invalid nested splat expressions", detail, node.each.start, node.each.end)
            return UNKNOWN
    return List(element_type, tuple([with_element_type(item, element_type) for item in items]))


def _of_unknown(env: Environment, value: Unknown, each: Run, slot: int) -> Value:
    t = _result_type(env, value.type, each, slot)
    if t is DYNAMIC:
        return UNKNOWN
    if isinstance(t, ListType) and is_collection(value.type):
        least, most = length_bounds(value)
        return refine(t, Refinement(True, min_length=least or None, max_length=most))
    return Unknown(t, NOT_NULL)


def _result_type(env: Environment, source: Type, each: Run, slot: int) -> Type:
    def of(element: Type) -> Type:
        env.slots[slot] = Unknown(element)
        return type_of(each(env))

    if isinstance(source, TupleType):
        return TupleType(tuple(map(of, source.elements)))
    assert isinstance(source, (ListType, SetType))
    return ListType(of(source.element))

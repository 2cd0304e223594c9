"""`condition ? a : b`, and `%{ if }` in templates: both results are evaluated, their types unified, one returned.

After HCL (hclsyntax/expression.go, ConditionalExpr): errors of the branch not taken are dropped, marks of both branches
and of the condition stay on the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.numbers import is_infinite
from planner.foundation.values.refine import (
    Bound,
    definitely_not_null,
    is_collection,
    length_bounds,
    number_bounds,
    refined,
)
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    ObjectType,
    TupleType,
    Type,
    friendly_name,
)
from planner.foundation.values.unify import unify, way_to_common
from planner.foundation.values.value import (
    NO_MARKS,
    NOT_NULL,
    UNKNOWN,
    List,
    Map,
    Marked,
    Null,
    Refinement,
    Unknown,
    Value,
    mark,
    type_of,
)
from planner.language.expressions.environment import Environment, Run
from planner.language.syntax import nodes

if TYPE_CHECKING:
    from planner.language.expressions.compiler import Compiler

INCONSISTENT = "Inconsistent conditional result types"


def compile_conditional(compiler: Compiler, node: nodes.Conditional | nodes.TemplateIf) -> Run:
    condition = compiler.compile(node.condition)
    then, otherwise = compiler.compile(node.then), _otherwise(compiler, node)
    result_end = node.otherwise.end if node.otherwise is not None else node.then.end

    def run(env: Environment) -> Value:
        before = len(env.errors)
        yes = then(env)
        yes_errors = env.take(before)
        no = otherwise(env)
        no_errors = env.take(before)
        if yes.__class__ is no.__class__ and yes.__class__ in (str, bool, int):
            wanted: Type | None = None
        else:
            wanted = _result_type(yes, no)
            if wanted is None:
                env.visit(condition)
                detail = f"Both results must have one type. {_difference(type_of(yes), type_of(no))}."
                env.report("conditional_types", INCONSISTENT, detail, node.then.start, result_end)
                return UNKNOWN
        choice = condition(env)
        marks = NO_MARKS
        if choice.__class__ is not bool:
            if choice.__class__ is Marked:
                choice, marks = choice.value, choice.marks
            if choice.__class__ is Null:
                detail = "The condition is null; it must be true or false."
                env.report("null_condition", "Null condition", detail, node.condition.start, node.condition.end)
                return Unknown(wanted or type_of(yes))
        if yes.__class__ is Marked:
            yes, marks = yes.value, marks | yes.marks
        if no.__class__ is Marked:
            no, marks = no.value, marks | no.marks
        if choice.__class__ is Unknown:
            return mark(_undecided(yes, no, wanted or type_of(yes)), marks)
        if choice.__class__ is not bool:
            try:
                choice = convert(choice, BOOL)
            except ConversionError as e:
                detail = f"The condition must be true or false: {e}."
                env.report(
                    "condition_type", "Incorrect condition type", detail, node.condition.start, node.condition.end
                )
                return Unknown(wanted or type_of(yes))
        value, errors, side = (yes, yes_errors, node.then) if choice else (no, no_errors, node.otherwise)
        if errors:
            env.errors += errors
        if wanted is not None and wanted is not DYNAMIC:
            try:
                value = _to_common(value, type_of(no if choice else yes), wanted)
            except ConversionError as e:
                place: Any = side or node
                detail = f"The {'first' if choice else 'second'} result does not fit: {e}."
                env.report("conditional_types", INCONSISTENT, detail, place.start, place.end)
                value = Unknown(wanted)
        return mark(value, marks) if marks else value

    return run


def _otherwise(compiler: Compiler, node: nodes.Conditional | nodes.TemplateIf) -> Run:
    if node.otherwise is None:
        return lambda env: ""
    return compiler.compile(node.otherwise)


def _result_type(yes: Value, no: Value) -> Type | None:
    """The type of the result; None when the two have none in common."""
    if yes.__class__ is Null and yes.type is DYNAMIC:
        return type_of(no)
    if no.__class__ is Null and no.type is DYNAMIC:
        return type_of(yes)
    first, second = type_of(yes), type_of(no)
    if first is DYNAMIC or second is DYNAMIC:
        return DYNAMIC
    return unify([first, second])


def _to_common(value: Value, other: Type, wanted: Type) -> Value:
    """A result as a value of the type that it shares with the other result."""
    way = way_to_common(type_of(value), other) if value.__class__ is dict or value.__class__ is tuple else None
    if way is None:
        return convert(value, wanted)
    first = convert(value, way)
    if way == wanted:
        return first
    # go-cty only tries the first step, and takes the second with what went into it
    return convert(Map(way.element, value) if value.__class__ is dict else List(way.element, value), wanted)


def _undecided(yes: Value, no: Value, wanted: Type) -> Value:
    """What is known of the result while the condition is unknown."""
    if yes.__class__ is Null and no.__class__ is Null:
        return Null(wanted)
    first, second = type_of(yes), type_of(no)
    never_null = definitely_not_null(yes) and definitely_not_null(no)
    if first is NUMBER and second is NUMBER:
        (low_a, high_a), (low_b, high_b) = number_bounds(yes), number_bounds(no)
        low, high = _widest(low_a, low_b, -1), _widest(high_a, high_b, 1)
        if low is None or high is None or low[0] != high[0]:  # an infinite bound says nothing
            low = None if low is not None and is_infinite(low[0]) else low
            high = None if high is not None and is_infinite(high[0]) else high
        return refined(NUMBER, Refinement(never_null, lower=low, upper=high))
    if first == second and is_collection(first):
        (least_a, most_a), (least_b, most_b) = length_bounds(yes), length_bounds(no)
        most = None if most_a is None or most_b is None else max(most_a, most_b)
        return refined(wanted, Refinement(never_null, min_length=min(least_a, least_b) or None, max_length=most))
    return Unknown(wanted, NOT_NULL) if never_null and wanted is not DYNAMIC else Unknown(wanted)


def _widest(a: Bound, b: Bound, sign: int) -> Bound:
    if a is None or b is None:
        return None
    if a[0] == b[0]:
        return b[0], a[1] or b[1]
    return a if (a[0] > b[0]) == (sign > 0) else b


def _difference(yes: Type, no: Type) -> str:
    """In words, how two types without a common one differ."""
    if isinstance(yes, ObjectType) and isinstance(no, ObjectType):
        for name in yes.attributes:
            if name not in no.attributes:
                return f'The first has an attribute "{name}", the second has not'
            a, b = yes.attributes[name], no.attributes[name]
            if a != b:
                return f'They differ in the attribute "{name}": {_lower(_difference(a, b))}'
        for name in no.attributes:
            if name not in yes.attributes:
                return f'The second has an attribute "{name}", the first has not'
    if isinstance(yes, TupleType) and isinstance(no, TupleType):
        if len(yes.elements) != len(no.elements):
            return f"The first has {len(yes.elements)} elements, the second {len(no.elements)}"
        for i, (c, d) in enumerate(zip(yes.elements, no.elements, strict=True)):
            if c != d:
                return f"They differ in the element {i}: {_lower(_difference(c, d))}"
    first, second = friendly_name(yes), friendly_name(no)
    if first == second:
        return "They differ somewhere deep inside"
    return f"The first is of type {first}, the second of type {second}"


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]

"""Compiles operators: arithmetic, order, equality, logic and conditionals.

As in HCL (hclsyntax/expression_ops.go): operands are converted first. `&&` and `||` evaluate both operands; either
operand alone may determine the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.numbers import is_infinite
from planner.foundation.values.operations import (
    OperationError,
    add,
    divide,
    equals,
    greater,
    greater_or_equal,
    less,
    less_or_equal,
    logical_not,
    multiply,
    negate,
    not_equals,
    remainder,
    subtract,
)
from planner.foundation.values.refine import (
    UNKNOWN_BOOL,
    Bound,
    definitely_not_null,
    is_collection,
    length_bounds,
    number_bounds,
    refine,
)
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, ObjectType, Primitive, TupleType, Type, friendly_name
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
from planner.language.expressions.environment import Compiler, Environment, Run, constant, constants
from planner.language.syntax import nodes

_ARITHMETIC = {"+": add, "-": subtract, "*": multiply, "/": divide, "%": remainder}
_ORDER = {"<": less, ">": greater, "<=": less_or_equal, ">=": greater_or_equal}
_EQUALITY = {"==": equals, "!=": not_equals}


def compile_binary(compiler: Compiler, node: nodes.Binary) -> Run:
    left, right = compiler.compile(node.left), compiler.compile(node.right)
    operator = node.operator
    if operator in _EQUALITY:
        return _equality(left, right, _EQUALITY[operator])
    if operator in ("&&", "||"):
        return _logical(left, right, node)
    if operator in _ARITHMETIC:
        compute: Callable[[Value, Value], Value] = _ARITHMETIC[operator]
        if operator == "/" or operator == "%":
            compute = narrowed(compute, precision(compiler, node.left), precision(compiler, node.right))
        return _numeric(left, right, node, compute, NUMBER)
    return _numeric(left, right, node, _ORDER[operator], BOOL)


def _equality(left: Run, right: Run, compute: Callable[[Value, Value], Value]) -> Run:
    def run(env: Environment) -> Value:
        before = len(env.errors)
        a, b = left(env), right(env)
        if len(env.errors) > before:
            return mark(Unknown(BOOL), _top_marks(a, b))
        return compute(a, b)

    return run


def _top_marks(a: Value, b: Value) -> frozenset[Any]:
    marks = a.marks if a.__class__ is Marked else NO_MARKS
    return marks | b.marks if b.__class__ is Marked else marks


def _numeric(
    left: Run, right: Run, node: nodes.Binary, compute: Callable[[Value, Value], Value], result: Primitive
) -> Run:
    def run(env: Environment) -> Value:
        before = len(env.errors)
        a, b = left(env), right(env)
        if a.__class__ is int and b.__class__ is int:
            marks = NO_MARKS
        else:
            a = _operand(env, a, NUMBER, "left", node.left)
            b = _operand(env, b, NUMBER, "right", node.right)
            if a is None or b is None:
                return Unknown(result)
            marks = _top_marks(a, b)
            a = a.value if a.__class__ is Marked else a
            b = b.value if b.__class__ is Marked else b
        if len(env.errors) > before:
            return mark(Unknown(result), marks)
        try:
            return mark(compute(a, b), marks)
        except OperationError as problem:
            _operation_failed(env, node, problem)
            return Unknown(result)

    return run


def _operand(env: Environment, value: Value, wanted: Primitive, side: str, node: Any) -> Value:
    """The converted operand; None if it cannot be converted (reported)."""
    try:
        return convert(value, wanted)
    except ConversionError as e:
        env.report("operand", "Invalid operand", f"The {side} operand has the wrong type: {e}.", node.start, node.end)
        return None


def _operation_failed(env: Environment, node: Any, problem: OperationError) -> None:
    detail = f"The operation {node.operator} is not possible: {problem}."
    env.report("operation", "Operation failed", detail, node.start, node.end)


def _logical(left: Run, right: Run, node: nodes.Binary) -> Run:
    decisive = node.operator == "||"

    def run(env: Environment) -> Value:
        before = len(env.errors)
        a = left(env)
        left_errors = env.take(before)
        b = right(env)
        right_errors = env.take(before)
        if a.__class__ is bool and b.__class__ is bool and not left_errors and not right_errors:
            return (a or b) if decisive else (a and b)
        a = _operand(env, a, BOOL, "left", node.left)
        b = _operand(env, b, BOOL, "right", node.right)
        if a is None or b is None:
            env.errors += left_errors + right_errors
            return Unknown(BOOL)
        marks = _top_marks(a, b)
        a = a.value if a.__class__ is Marked else a
        b = b.value if b.__class__ is Marked else b
        forced, errors = _short_circuit(a, b, decisive, left_errors, right_errors)
        env.errors += errors
        if forced is not None:
            return mark(forced, marks)
        if errors:
            return mark(Unknown(BOOL), marks)
        if a.__class__ is Null or b.__class__ is Null:
            side = "left" if a.__class__ is Null else "right"
            _operation_failed(env, node, OperationError(f"the {side} operand is null"))
            return Unknown(BOOL)
        return mark((a or b) if decisive else (a and b), marks)

    return run


def _short_circuit(a: Value, b: Value, decisive: bool, of_a: list[Any], of_b: list[Any]) -> tuple[Value, list[Any]]:
    """(result, errors) if one operand determines the result, otherwise (None, all errors). `decisive`: the operand's
    value that determines the result: false for `&&`, true for `||`. If neither operand has this value and one is
    unknown, the result is unknown. `of_a`, `of_b`: the errors of the operands."""
    unknown_a, unknown_b = a.__class__ is Unknown, b.__class__ is Unknown
    if unknown_a and unknown_b:
        return (None, of_a + of_b) if of_a else (UNKNOWN_BOOL, [])
    # null counts as false here: `true && null` is false, but `false || null` needs both operands and fails
    if not unknown_a and (a is True) is decisive:
        return decisive, of_a
    if not unknown_b and (b is True) is decisive:
        return decisive, of_b
    if unknown_a:
        return UNKNOWN_BOOL, of_a
    if unknown_b:
        return UNKNOWN_BOOL, of_b
    return None, of_a + of_b


def compile_unary(compiler: Compiler, node: nodes.Unary) -> Run:
    operand = compiler.compile(node.operand)
    compute, wanted = (negate, NUMBER) if node.operator == "-" else (logical_not, BOOL)

    def run(env: Environment) -> Value:
        before = len(env.errors)
        value = _operand(env, operand(env), wanted, "only", node.operand)
        if len(env.errors) > before:
            return Unknown(wanted)
        try:
            return compute(value)
        except OperationError as problem:
            _operation_failed(env, node, problem)
            return Unknown(wanted)

    known = constants([operand])
    if known is not None and node.operator == "-" and known[0].__class__ is int:
        return constant(negate(known[0]))
    return run


# The precision of whole numbers, derived from the expression.
#
# Numbers are 512-bit floats, but Go counts with 64-bit integers, and computes `pow` and `log` with float64. The results
# keep this precision, and a quotient of two such numbers is rounded to it: `length(a) / length(b)` has 20 digits,
# `length(a) / 3` has all 155. planner represents whole numbers by ints, which have no precision, so division and
# remainder derive the precision from the expressions of their operands. The precision of local values and list elements
# is unknown; the full precision is used for them.


FULL, COUNTED, FLOAT64 = 512, 64, 53
_OF_FUNCTION = {
    **dict.fromkeys(("length", "index", "parseint", "signum", "timecmp"), COUNTED),
    **dict.fromkeys(("pow", "log"), FLOAT64),
}


def precision(compiler: Compiler, node: Any) -> int:
    """The number of bits with which OpenTofu represents the value of the expression, if this is a whole number."""
    cls = node.__class__
    if cls is nodes.Call:
        if node.name == "abs" and len(node.arguments) == 1:
            return precision(compiler, node.arguments[0])
        return _OF_FUNCTION.get(node.name.removeprefix("core::"), FULL)
    if cls is nodes.Parens or cls is nodes.Wrap:
        return precision(compiler, node.expr)
    if cls is nodes.Unary:
        return precision(compiler, node.operand)
    if cls is nodes.Binary:
        return max(precision(compiler, node.left), precision(compiler, node.right))
    if cls is nodes.Variable:
        return COUNTED if compiler.locals.get(node.name) in compiler.index_slots else FULL
    if cls is nodes.Traversal and node.root == "count":
        return COUNTED
    return FULL


def narrowed(compute: Callable[[Value, Value], Value], left: int, right: int) -> Callable[[Value, Value], Value]:
    """The operation `compute` for operands with these precisions, in bits. Whole numbers become floats with the
    precision of their operand, or with a higher one if the number does not fit."""
    if left == FULL and right == FULL:
        return compute
    return lambda a, b: compute(_narrow(a, left), _narrow(b, right))


def _narrow(number: Value, bits: int) -> Value:
    if bits == FULL or number.__class__ is not int:
        return number
    import gmpy2

    return gmpy2.mpfr(number, max(bits, number.bit_length()))


# `condition ? a : b`, and `%{ if }` in templates: both branches are evaluated, their types are unified, and one is
# returned.
#
# As in HCL (hclsyntax/expression.go, ConditionalExpr): errors of the branch that is not taken are dropped; the result
# has the marks of the condition and of both branches.


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
                detail = f"Both results must have the same type. {_difference(type_of(yes), type_of(no))}."
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
            return mark(_unknown_result(yes, no, wanted or type_of(yes)), marks)
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
                value = _to_common_type(value, type_of(no if choice else yes), wanted)
            except ConversionError as e:
                place: Any = side or node
                detail = f"The {'first' if choice else 'second'} result has the wrong type: {e}."
                env.report("conditional_types", INCONSISTENT, detail, place.start, place.end)
                value = Unknown(wanted)
        return mark(value, marks) if marks else value

    return run


def _otherwise(compiler: Compiler, node: nodes.Conditional | nodes.TemplateIf) -> Run:
    if node.otherwise is None:
        return lambda env: ""
    return compiler.compile(node.otherwise)


def _result_type(yes: Value, no: Value) -> Type | None:
    """The type of a conditional's result; None if the types of the two branches cannot be unified."""
    if yes.__class__ is Null and yes.type is DYNAMIC:
        return type_of(no)
    if no.__class__ is Null and no.type is DYNAMIC:
        return type_of(yes)
    first, second = type_of(yes), type_of(no)
    if first is DYNAMIC or second is DYNAMIC:
        return DYNAMIC
    return unify([first, second])


def _to_common_type(value: Value, other: Type, wanted: Type) -> Value:
    way = way_to_common(type_of(value), other) if value.__class__ is dict or value.__class__ is tuple else None
    if way is None:
        return convert(value, wanted)
    first = convert(value, way)
    if way == wanted:
        return first
    # go-cty uses the first conversion only as a check; the second one starts from the original value
    return convert(Map(way.element, value) if value.__class__ is dict else List(way.element, value), wanted)


def _unknown_result(yes: Value, no: Value, wanted: Type) -> Value:
    """The result of a conditional if the condition is unknown: an unknown value with the properties that both branches
    have; null if both are null."""
    if yes.__class__ is Null and no.__class__ is Null:
        return Null(wanted)
    first, second = type_of(yes), type_of(no)
    never_null = definitely_not_null(yes) and definitely_not_null(no)
    if first is NUMBER and second is NUMBER:
        (low_a, high_a), (low_b, high_b) = number_bounds(yes), number_bounds(no)
        low, high = _widest(low_a, low_b, -1), _widest(high_a, high_b, 1)
        if low is None or high is None or low[0] != high[0]:  # an infinite bound is no information
            low = None if low is not None and is_infinite(low[0]) else low
            high = None if high is not None and is_infinite(high[0]) else high
        return refine(NUMBER, Refinement(never_null, lower=low, upper=high))
    if first == second and is_collection(first):
        (least_a, most_a), (least_b, most_b) = length_bounds(yes), length_bounds(no)
        most = None if most_a is None or most_b is None else max(most_a, most_b)
        return refine(wanted, Refinement(never_null, min_length=min(least_a, least_b) or None, max_length=most))
    return Unknown(wanted, NOT_NULL) if never_null and wanted is not DYNAMIC else Unknown(wanted)


def _widest(a: Bound, b: Bound, sign: int) -> Bound:
    if a is None or b is None:
        return None
    if a[0] == b[0]:
        return b[0], a[1] or b[1]
    return a if (a[0] > b[0]) == (sign > 0) else b


def _difference(yes: Type, no: Type) -> str:
    """A description of why two types have no common type."""
    if isinstance(yes, ObjectType) and isinstance(no, ObjectType):
        for name in yes.attributes:
            if name not in no.attributes:
                return f'The first has an attribute "{name}", the second does not'
            a, b = yes.attributes[name], no.attributes[name]
            if a != b:
                return f'They differ in the attribute "{name}": {_lower(_difference(a, b))}'
        for name in no.attributes:
            if name not in yes.attributes:
                return f'The second has an attribute "{name}", the first does not'
    if isinstance(yes, TupleType) and isinstance(no, TupleType):
        if len(yes.elements) != len(no.elements):
            return f"They differ in the number of elements: {len(yes.elements)} and {len(no.elements)}"
        for i, (c, d) in enumerate(zip(yes.elements, no.elements, strict=True)):
            if c != d:
                return f"They differ in the element {i}: {_lower(_difference(c, d))}"
    first, second = friendly_name(yes), friendly_name(no)
    if first == second:
        return "They differ in a nested type"
    return f"The first is of type {first}, the second of type {second}"


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]

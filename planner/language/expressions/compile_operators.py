"""Operators: arithmetic, order, equality and logic.

After HCL (hclsyntax/expression_ops.go): operands are converted first; `&&` and `||` look at both operands and let the
one that decides win.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planner.foundation.values.convert import ConversionError, convert
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
from planner.foundation.values.refine import UNKNOWN_BOOL
from planner.foundation.values.types import BOOL, NUMBER, Primitive
from planner.foundation.values.value import NO_MARKS, Marked, Null, Unknown, Value, mark
from planner.language.expressions.environment import Environment, Run, constant, constants
from planner.language.syntax import nodes

if TYPE_CHECKING:
    from planner.language.expressions.compiler import Compiler

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
    """The operand converted; None (reported) when it does not convert."""
    try:
        return convert(value, wanted)
    except ConversionError as e:
        env.report("operand", "Invalid operand", f"The {side} operand does not fit: {e}.", node.start, node.end)
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
    """The result that one operand decides, with the errors that count; None when both are needed.

    The decisive value wins on either side; an unknown operand wins over the other value."""
    unknown_a, unknown_b = a.__class__ is Unknown, b.__class__ is Unknown
    if unknown_a and unknown_b:
        return (None, of_a + of_b) if of_a else (UNKNOWN_BOOL, [])
    # Null counts as false here: `true && null` is false, while `false || null` needs both operands and fails.
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


# How precise the whole numbers of an expression are, as far as its text tells.
#
# Numbers are 512-bit floats, but Go counts in 64-bit integers and computes `pow` and `log` in float64; a number made of
# such a result keeps that precision, and a quotient of two of them is rounded to it: `length(a) / length(b)` has 20
# digits, `length(a) / 3` all 155. A whole number is a plain int here and cannot remember where it came from, so
# division and remainder look at the expressions that their operands are written as. Through a local value or a list
# element the precision is lost (such a quotient is then the more exact one).


FULL, COUNTED, FLOAT64 = 512, 64, 53
_OF_FUNCTION = {
    **dict.fromkeys(("length", "index", "parseint", "signum", "timecmp"), COUNTED),
    **dict.fromkeys(("pow", "log"), FLOAT64),
}


def precision(compiler: Compiler, node: Any) -> int:
    """The precision of an expression's whole numbers in bits."""
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
    """An operation on operands of these precisions."""
    if left == FULL and right == FULL:
        return compute
    return lambda a, b: compute(_narrow(a, left), _narrow(b, right))


def _narrow(number: Value, bits: int) -> Value:
    if bits == FULL or number.__class__ is not int:
        return number
    import gmpy2

    return gmpy2.mpfr(number, max(bits, number.bit_length()))

"""How precise the whole numbers of an expression are, as far as its text tells.

Numbers are 512-bit floats, but Go counts in 64-bit integers and computes `pow` and `log` in float64; a number made of
such a result keeps that precision, and a quotient of two of them is rounded to it: `length(a) / length(b)` has 20
digits, `length(a) / 3` all 155. A whole number is a plain int here and cannot remember where it came from, so division
and remainder look at the expressions that their operands are written as. Through a local value or a list element the
precision is lost (such a quotient is then the more exact one).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from planner.foundation.values.value import Value
from planner.language.syntax import nodes

if TYPE_CHECKING:
    from planner.language.expressions.compiler import Compiler

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
    return _rounded(number, bits)


def _rounded(number: Value, bits: int) -> Value:
    import gmpy2

    return gmpy2.mpfr(number, max(bits, number.bit_length()))

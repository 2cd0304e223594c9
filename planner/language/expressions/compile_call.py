"""Compiles function calls: number of arguments, expansion of the last argument, lazy arguments, and positions of
errors.

The behaviour is the same as in HCL (hclsyntax/expression.go, FunctionCallExpr)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import DYNAMIC, ListType, SetType, TupleType
from planner.foundation.values.value import UNKNOWN, List, Null, Set, Unknown, Value, mark, unmark
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.release import has_next_functions
from planner.foundation.vocabulary.span import Span
from planner.language.expressions import environment
from planner.language.expressions.environment import Compiler, Environment, Run, constant, start_range
from planner.language.functions import CORE, NEXT, Function, FunctionError, call, names
from planner.language.functions.protocol import misfit
from planner.language.syntax import nodes

CONVERT = ("convert", "core::convert")
LAZY = ("try", "can", "core::try", "core::can")


class EvaluationError(Failure):
    """An expression cannot be evaluated. `diagnostics` are the reasons with their positions."""


def compile_call(compiler: Compiler, node: nodes.Call) -> Run:
    if node.name in CONVERT and len(node.arguments) == 2 and not node.expand:
        conversion, usual = _compile_conversion(compiler, node), _compile_usual(compiler, node)
        return lambda env: conversion(env) if has_next_functions() else usual(env)
    return _compile_usual(compiler, node)


def _compile_usual(compiler: Compiler, node: nodes.Call) -> Run:
    lazy = node.name in LAZY
    compiler.laziness += lazy
    arguments = [compiler.compile(a) for a in node.arguments]
    compiler.laziness -= lazy

    def run(env: Environment) -> Value:
        function = env.scope.function(node.name)
        if function is None:
            env.visit(*arguments)
            _report_unknown(env, node)
            return UNKNOWN
        runs, places = arguments, list(node.arguments)
        if node.expand:
            expanded = _expand(env, node, arguments)
            if expanded is None:
                env.visit(*arguments[:-1])
                return UNKNOWN
            runs, places = expanded
        problem = _arity(function, len(runs))
        if problem is not None:
            env.visit(*arguments)
            _report(env, node, places, problem)
            return UNKNOWN
        if function.lazy:
            return _call(env, node, function, [_thunk(env, r) for r in runs], places)
        before = len(env.errors)
        values = [r(env) for r in runs]
        if len(env.errors) > before:
            _check_arguments(env, node, function, values, places)
            return UNKNOWN
        return _call(env, node, function, values, places)

    return run


def _compile_conversion(compiler: Compiler, node: nodes.Call) -> Run:
    """Compile a call of `convert`, whose second argument is a type."""
    argument, type_node = compiler.compile(node.arguments[0]), node.arguments[1]

    def run(env: Environment) -> Value:
        before = len(env.errors)
        value = argument(env)
        assert environment.parse_type is not None
        constraint, problems = environment.parse_type(type_node, env.source)
        env.errors.extend(problems)
        if env.scope.function(node.name) is None:
            _report_unknown(env, node)
        if constraint is None or len(env.errors) > before:
            return UNKNOWN
        try:
            return constraint.convert(value)
        except ConversionError as problem:
            start, end = start_range(node.arguments[0], env.source)
            _argument_error(env, node.name, "value", str(problem), start, end)
            return UNKNOWN

    return run


def _call(env: Environment, node: nodes.Call, function: Function, arguments: list[Any], places: Sequence[Any]) -> Value:
    context = env.scope.context
    if context.evaluate_template is None:
        context.evaluate_template = env.evaluate_template
    try:
        return call(function, arguments, context)
    except FunctionError as problem:
        for one in (problem, *problem.also):
            _report(env, node, places, one)
    except Failure as failure:
        env.errors.extend(failure.diagnostics)
    return UNKNOWN


def _thunk(env: Environment, run: Run) -> Callable[[], Value]:
    def evaluate() -> Value:
        before = len(env.errors)
        value = run(env)
        if len(env.errors) > before:
            raise EvaluationError(env.take(before))
        return value

    return evaluate


def _expand(env: Environment, node: nodes.Call, arguments: list[Run]) -> tuple[list[Run], list[Any]] | None:
    """The closures and the positions of the arguments of a call with `...`: the last argument is replaced by its
    elements. None if the last argument is unknown, or invalid (reported)."""
    last = node.arguments[-1]
    before = len(env.errors)
    value = arguments[-1](env)
    if len(env.errors) > before:
        return None
    inner: Any
    inner, marks = unmark(value)
    if inner.__class__ in (tuple, List, Set):
        items: tuple[Value, ...] = inner if isinstance(inner, tuple) else inner.items
        place = Span(env.source, last.start, last.end)
        runs = [constant(mark(v, marks)) for v in items]
        return [*arguments[:-1], *runs], [*node.arguments[:-1], *(place for _ in items)]
    t = inner.type if inner.__class__ is Unknown else None
    if t is DYNAMIC or isinstance(t, (ListType, SetType, TupleType)):
        return None
    what = "is null" if inner.__class__ is Null else "must be a list, a set or a tuple"
    detail = f"The argument before the dots {what}."
    env.report("expansion", "Invalid expanding argument value", detail, last.start, last.end, node.name)
    return None


def _arity(function: Function, count: int) -> Any:
    """The FunctionError for a call with `count` arguments; None if the number is right."""
    required = len(function.params)
    if count >= required and (function.variadic is not None or count == required):
        return None
    try:
        call(function, [UNKNOWN] * count, None)  # type: ignore[arg-type]
    except FunctionError as problem:
        return problem
    return None


def _check_arguments(
    env: Environment, node: nodes.Call, function: Function, values: list[Value], places: Sequence[Any]
) -> None:
    """Report arguments that cannot be converted, in addition to errors that were already found."""
    for i, value in enumerate(values):
        param = function.param(i)
        try:
            if param is not None:
                convert(value, param.type)
        except ConversionError as e:
            start, end = start_range(places[i], env.source)
            _argument_error(env, node.name, param.name if param else "", misfit(function, i, values[i], e), start, end)


def _argument_error(env: Environment, name: str, parameter: str, message: str, start: int, end: int) -> None:
    detail = f"The argument {parameter} of {name} is not valid: {_clause(message)}"
    env.report("function_argument", "Invalid function argument", detail, start, end, name)


def _clause(message: str) -> str:
    return message if message.endswith((".", "!", "?")) else message + "."


def _report(env: Environment, node: nodes.Call, places: Sequence[Any], problem: Any) -> None:
    """Report a failed call at the position that HCL reports."""
    kind, i = problem.kind, problem.argument
    if kind == "missing":
        where = (node.close, node.close + 1)
        env.report("too_few_arguments", "Not enough function arguments", problem.message, *where, node.name)
    elif kind == "surplus":
        start, end = start_range(places[i], env.source)
        env.report("too_many_arguments", "Too many function arguments", problem.message, start, end, node.name)
    elif kind == "argument" and i is not None:
        start, end = start_range(places[i], env.source) if i < len(places) else (node.start, node.end)
        function = env.scope.function(node.name)
        param = function.param(i) if function is not None else None
        _argument_error(env, node.name, param.name if param else "", problem.message, start, end)
    else:
        detail = f"The call of {node.name} failed: {_clause(problem.message)}"
        env.report("function_call", "Error in function call", detail, node.start, node.open + 1, node.name)


def _report_unknown(env: Environment, node: nodes.Call) -> None:
    if not env.scope.functions_allowed:
        detail = "No function may be called here."
        env.report("functions_not_allowed", "Function calls not allowed", detail, node.start, node.end)
        return
    _report_no_function(env, node)


def _report_no_function(env: Environment, node: nodes.Call) -> None:
    from difflib import get_close_matches

    close = next(iter(get_close_matches(node.name, names(), 1, 0.75)), "")
    hint = f' Did you mean "{close}"?' if close else ""
    if close == node.name:
        hint = " It can only be called while a plan is created."
    if node.name.removeprefix(CORE) in NEXT:
        hint = " OpenTofu 1.13 has it: set PLANNER_COMPATIBILITY=1.13, or require this version in the configuration."
    env.errors.append(
        error(
            "language.unknown_function",
            "Call to unknown function",
            f'There is no function named "{node.name}".{hint}',
            Span(env.source, node.start, node.name_end),
            context=Span(env.source, node.start, node.end),
        )
    )

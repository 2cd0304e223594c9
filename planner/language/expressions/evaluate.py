"""Evaluates expressions: evaluate(node, scope, source) returns a value or raises EvaluationError with all problems.

An expression is compiled on first evaluation, and the program is stored in the node. Spans of errors refer to `source`,
the file that contains the node."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.refine import PREFIX_LIMIT, UNKNOWN_STRING, safe_prefix
from planner.foundation.values.types import STRING
from planner.foundation.values.value import NO_MARKS, UNKNOWN, Marked, Null, Refinement, Unknown, Value, mark
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.span import Source, Span
from planner.language.expressions.compile_call import EvaluationError, compile_call
from planner.language.expressions.compile_for import compile_for, compile_splat, compile_template_for
from planner.language.expressions.compile_operators import compile_binary, compile_conditional, compile_unary
from planner.language.expressions.environment import (
    COMPILERS,
    NO_SOURCE,
    Compiler,
    Environment,
    Program,
    Reference,
    Run,
    constant,
    constants,
)
from planner.language.expressions.scope import MappingScope, Scope
from planner.language.expressions.traverse import TraversalError, get_attr, index
from planner.language.functions import CallContext
from planner.language.syntax import nodes
from planner.language.syntax.nodes import Expression

__all__ = [
    "EvaluationError",
    "MappingScope",
    "Program",
    "Scope",
    "compile_expression",
    "evaluate",
    "evaluate_parts",
    "evaluate_template",
    "try_evaluate",
]


def evaluate(node: Expression, scope: Scope, source: Source | None = None) -> Value:
    """The value of an expression. Raises EvaluationError. All references are resolved, even in parts that are not
    evaluated, such as the body of a `for` over an empty collection. If there are invalid references, only these are
    reported.
    """
    try:
        try:
            program: Program = node.compiled
        except AttributeError:
            program = compile_expression(node)
        env = Environment(node, program, scope, source, evaluate_template)
        value = program.run(env)
    except RecursionError:
        raise EvaluationError(_too_deep(node, source)) from None
    if program.lazy:
        _resolve_rest(env, program)
    if env.refused or env.errors:
        raise EvaluationError(_distinct(env.refused) if env.refused else env.errors)
    return _without_deprecations(value, node, env)[0] if scope.deprecations else value


def try_evaluate(node: Expression, scope: Scope, source: Source | None = None) -> tuple[Value, list[Diagnostic]]:
    """Like `evaluate`, but returns a value and the problems. An expression with an invalid reference is UNKNOWN."""
    value, errors, refused = evaluate_parts(node, scope, source)
    return (UNKNOWN, refused) if refused else (value, errors)


def evaluate_parts(
    node: Expression, scope: Scope, source: Source | None = None, marks_deprecated: bool = False
) -> tuple[Value, list[Diagnostic], list[Diagnostic]]:
    """Like `try_evaluate`, with the errors of invalid references as a separate list. `marks_deprecated`: whether values
    from deprecated sources keep their marks, because the caller warns about the whole expression."""
    program = compile_expression(node)
    env = Environment(node, program, scope, source, evaluate_template)
    value = program.run(env)
    if program.lazy:
        _resolve_rest(env, program)
    if scope.deprecations and not marks_deprecated:
        value, warnings = _without_deprecations(value, node, env)
        env.errors.extend(warnings)
    return value, env.errors, _distinct(env.refused) if env.refused else env.refused


def _without_deprecations(value: Value, node: Expression, env: Environment) -> tuple[Value, list[Diagnostic]]:
    from planner.language.expressions.deprecations import take_deprecations

    return take_deprecations(value, Span(env.source, node.start, node.end))


def evaluate_template(text: str, filename: str, variables: dict[str, Value], context: CallContext) -> Value:
    """Render a template for a function such as `templatefile`. The template can use only `variables`. Raises
    Failure."""
    from planner.language.syntax.parse import parse_template

    source = Source(filename, text)
    node, diagnostics = parse_template(source)
    if node is None or has_errors(diagnostics):
        raise Failure(diagnostics)
    return evaluate(node, MappingScope(variables, context=context), source)


def _too_deep(node: Expression, source: Source | None) -> Diagnostic:
    detail = "This expression is nested too deeply to be evaluated."
    return error("language.too_deep", "Nested too deeply", detail, Span(source or NO_SOURCE, node.start, node.start))


def _resolve_rest(env: Environment, program: Program) -> None:
    """Resolve the references that the evaluation may have skipped, to find invalid ones."""
    for node in program.lazy:
        try:
            env.scope.resolve(node, env.source)
        except Failure as failure:
            env.refused.extend(failure.diagnostics)


def _distinct(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics sorted by position, without duplicates (a reference in a loop is resolved many times)."""
    seen: dict[Any, Diagnostic] = {}
    for d in diagnostics:
        place = (d.subject.filename, d.subject.start, d.subject.end) if d.subject else None
        seen.setdefault((place, d.summary, d.detail), d)
    return sorted(seen.values(), key=lambda d: (d.subject.filename, d.subject.start) if d.subject else ("", -1))


# Expressions are compiled to Python closures, so that kinds of nodes are distinguished only once.
#
# Semantics as in HCL (hclsyntax/expression.go, expression_ops.go, expression_template.go).


# Templates: strings with interpolations.
#
# As in HCL (hclsyntax/expression_template.go): if a part is unknown, the string is unknown, and the text before this
# part is its known prefix. The string has the marks of all its parts.


def compile_template(compiler: Compiler, node: nodes.Template) -> Run:
    parts = [(compiler.compile(part), part) for part in node.parts]

    def run(env: Environment) -> Value:
        texts: list[str] = []
        marks, known = NO_MARKS, True
        before = len(env.errors)
        for part, part_node in parts:
            value = part(env)
            if value.__class__ is not str:
                if value.__class__ is Marked:
                    if value.value.__class__ is not Null:
                        marks |= value.marks
                    value = value.value
                if value.__class__ is Unknown:
                    known = False
                    continue
                text = _part_text(env, value, part_node)
                if text is None:
                    continue
                value = text
            if known and len(env.errors) == before:
                texts.append(value)
        whole = "".join(texts)
        if not whole.isascii():
            whole = unicodedata.normalize("NFC", whole)
        if known:
            return mark(whole, marks) if marks else whole
        return mark(_unknown_text(whole if len(env.errors) == before else ""), marks)

    return run


def _part_text(env: Environment, value: Value, node: Any) -> str | None:
    summary = "Invalid template interpolation value"
    if value.__class__ is Null:
        env.report("template_null", summary, "The value is null and cannot be part of a string.", node.start, node.end)
        return None
    try:
        return convert(value, STRING)  # type: ignore[no-any-return]
    except ConversionError as e:
        env.report("template_part", summary, f"The value cannot be part of a string: {e}.", node.start, node.end)
        return None


def _unknown_text(prefix: str) -> Value:
    """An unknown string that begins with the known `prefix`. Characters at the end of the prefix are left out if the
    unknown text after them could change them (for example a combining character)."""
    if not prefix:
        return UNKNOWN_STRING
    if len(prefix) > PREFIX_LIMIT or not prefix.isascii():
        prefix = prefix.encode("utf-8", "surrogatepass")[:PREFIX_LIMIT].decode("utf-8", "ignore")
    return Unknown(STRING, Refinement(True, safe_prefix(prefix)))


def compile_expression(node: nodes.Expression) -> Program:
    """The program of an expression, compiled on first use and stored in the node."""
    try:
        return node.compiled  # type: ignore[no-any-return]
    except AttributeError:
        compiler = Compiler()
        run = compiler.compile(node)
        program = Program(run, compiler.slots, compiler.references, compiler.lazy, compiler.local_names)
        node.compiled = program
        return program


def compile_literal(compiler: Compiler, node: nodes.Literal) -> Run:
    return constant(node.value)


def compile_inner(compiler: Compiler, node: nodes.Parens | nodes.Wrap) -> Run:
    return compiler.compile(node.expr)


# ---------------------------------------------------------------- names and steps


def compile_variable(compiler: Compiler, node: nodes.Variable) -> Run:
    slot = compiler.locals.get(node.name)
    if slot is not None:
        return _local(slot)
    compiler.note_reference(node)
    return _from_scope(node, [])


def compile_traversal(compiler: Compiler, node: nodes.Traversal) -> Run:
    steps = [_step(s) for s in node.steps]
    slot = compiler.locals.get(node.root)
    if slot is not None:
        return _steps_after(_local(slot), steps)
    compiler.note_reference(node)
    return _from_scope(node, steps)


def compile_element(compiler: Compiler, node: nodes.Element) -> Run:
    return _local(compiler.element)


def _local(slot: int) -> Run:
    return lambda env: env.slots[slot]


def _from_scope(node: Reference, steps: list[_Step]) -> Run:
    def run(env: Environment) -> Value:
        try:
            value, used = env.scope.resolve(node, env.source)
        except Failure as failure:
            env.refused.extend(failure.diagnostics)
            return UNKNOWN
        for take, key, start, end in steps[used:] if used else steps:
            try:
                value = take(value, key)
            except TraversalError as problem:
                env.report("traversal", problem.summary, problem.detail, start, end)
                return UNKNOWN
        return value

    return run


_Step = tuple[Callable[[Value, Any], Value], Any, int, int]


def _step(step: nodes.Step) -> _Step:
    if isinstance(step, nodes.GetAttr):
        return get_attr, step.name, step.start, step.end
    return index, step.key, step.start, step.end


def compile_relative(compiler: Compiler, node: nodes.Relative) -> Run:
    return _steps_after(compiler.compile(node.source), [_step(s) for s in node.steps])


def _steps_after(source: Run, steps: list[_Step]) -> Run:
    def run(env: Environment) -> Value:
        value = source(env)
        for take, key, start, end in steps:
            try:
                value = take(value, key)
            except TraversalError as problem:
                env.report("traversal", problem.summary, problem.detail, start, end)
                return UNKNOWN
        return value

    return run


def compile_index(compiler: Compiler, node: nodes.Index) -> Run:
    collection, key = compiler.compile(node.collection), compiler.compile(node.key)
    start, end = node.bracket, node.end

    def run(env: Environment) -> Value:
        value, at = collection(env), key(env)
        try:
            return index(value, at)
        except TraversalError as problem:
            env.report("traversal", problem.summary, problem.detail, start, end)
            return UNKNOWN

    return run


# ---------------------------------------------------------------- constructors


def compile_tuple(compiler: Compiler, node: nodes.Tuple) -> Run:
    items = [compiler.compile(item) for item in node.items]
    known = constants(items)
    if known is not None:
        return constant(tuple(known))
    return lambda env: tuple([item(env) for item in items])


def compile_object(compiler: Compiler, node: nodes.Object) -> Run:
    if all(
        item.bare or (item.key.__class__ is nodes.Literal and _key_value(item).__class__ is str) for item in node.items
    ):
        fixed = [(str(_key_value(item)), compiler.compile(item.value)) for item in node.items]
        known = constants([value for _, value in fixed])
        if known is not None:
            return constant(dict(zip((key for key, _ in fixed), known, strict=True)))
        return lambda env: {key: value(env) for key, value in fixed}
    items = [(_compile_key(compiler, item), compiler.compile(item.value), item) for item in node.items]

    def run(env: Environment) -> Value:
        result: dict[str, Value] = {}
        marks, complete = NO_MARKS, True
        for key_run, value_run, item in items:
            before = len(env.errors)
            key = key_run(env)
            failed = len(env.errors) > before
            value = value_run(env)
            name, key_marks = (None, NO_MARKS) if failed else _object_key(env, key, item)
            marks |= key_marks
            if name is None:
                complete = False
            else:
                result[name] = value
        return mark(result, marks) if complete else UNKNOWN

    return run


def _key_value(item: nodes.ObjectItem) -> Any:
    assert isinstance(item.key, nodes.Literal)
    return item.key.value


def _compile_key(compiler: Compiler, item: nodes.ObjectItem) -> Run:
    if item.bare:
        return constant(_key_value(item))
    if isinstance(item.key, nodes.Traversal):
        start, end = item.key.start, item.key.end
        detail = "Write it in parentheses if it is a reference, in quotes if it is a name with dots."

        def ambiguous(env: Environment) -> Value:
            env.report("ambiguous_key", "Ambiguous attribute key", detail, start, end)
            return UNKNOWN

        return ambiguous
    return compiler.compile(item.key)


def _object_key(env: Environment, key: Value, item: nodes.ObjectItem) -> tuple[str | None, frozenset[Any]]:
    """The key of an object's item as a string, and its marks. The string is None if the key is unknown, or invalid
    (reported)."""
    marks = NO_MARKS
    if key.__class__ is Marked:
        key, marks = key.value, key.marks
    if key.__class__ is Null:
        env.report("null_key", "Null value as key", "The key is null.", item.value.start, item.value.end)
        return None, marks
    try:
        name = convert(key, STRING)
    except ConversionError as e:
        env.report("key_type", "Incorrect key type", f"Invalid key: {e}.", item.key.start, item.key.end)
        return None, marks
    return (None if name.__class__ is Unknown else name), marks


COMPILERS.update(
    {
        nodes.Literal: compile_literal,
        nodes.Parens: compile_inner,
        nodes.Wrap: compile_inner,
        nodes.Variable: compile_variable,
        nodes.Traversal: compile_traversal,
        nodes.Element: compile_element,
        nodes.Relative: compile_relative,
        nodes.Index: compile_index,
        nodes.Tuple: compile_tuple,
        nodes.Object: compile_object,
        nodes.Binary: compile_binary,
        nodes.Unary: compile_unary,
        nodes.Conditional: compile_conditional,
        nodes.Template: compile_template,
        nodes.TemplateIf: compile_conditional,
        nodes.TemplateFor: compile_template_for,
        nodes.For: compile_for,
        nodes.Splat: compile_splat,
        nodes.Call: compile_call,
    }
)

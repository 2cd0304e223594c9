"""Variables of child modules, validation rules of all variables, local values, and output values."""

from __future__ import annotations

import re

from planner.engine.evaluation.conditions import CheckState, check_validation, infinite_number
from planner.engine.evaluation.context import ModuleInstance, declared_marks, unknown_output
from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.values.convert import ConversionError
from planner.foundation.values.paths import infinite_paths
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    Marked,
    Unknown,
    Value,
    is_wholly_known,
    mark,
    unmark_deep,
)
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import Deprecation, Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Config, Expr, ModuleConfig, OutputDecl, Reference, VariableDecl
from planner.language.config.reading import Problems
from planner.language.config.references import BadReference, Ref, parse_reference
from planner.language.config.variables import RootVariable, finalize
from planner.language.expressions.evaluate import try_evaluate
from planner.language.syntax.body import variables
from planner.language.syntax.nodes import GetAttr, Traversal, Variable

UNFIT = frozenset(("config.variable_does_not_fit", "config.null_variable", "config.ephemeral_variable"))
"""the codes of problems that `value_problems` returns and after which planning can continue without the objects that
need the variable"""

_LOCAL = re.compile(r"\blocal\b(?:\s*\.\s*([\w-]+))?")  # group 1: the name of the local value, if it follows directly


def value_problems(config: Config, name: str, given: RootVariable | None) -> list[Diagnostic]:
    """The reasons why the value of a root variable is not valid. Objects that depend on an invalid variable are not
    planned."""
    if given is None or given.raw is None:
        return []
    problems = Problems()
    finalize(given.raw, config.root.variables[name], given.span, problems, given.giver)
    return list(problems)


def evaluate_argument(module: ModuleInstance, name: str) -> list[Diagnostic]:
    """Set a variable of a child module instance to the value in the call, or to its default. If the call sets no value
    and there is no default, or after another error, the variable is not set. Returns the problems."""
    decl = module.config.variables[name]
    call, parent = module.config.call, module.parent
    assert call is not None
    assert parent is not None
    argument = call.inputs.get(name)
    if argument is None:
        value = decl.default
        if value is None:
            detail = f"The module call {call.name} must set a value for {name}."
            return [error("plan.required_variable", "Required variable not set", detail, decl.span)]
        module.variables[name] = mark(value, declared_marks(decl.sensitive, decl.ephemeral))
        return []
    given, diagnostics = try_evaluate(argument.expr, parent.with_repetition(module.repetition), argument.source)
    if has_errors(diagnostics):
        return diagnostics
    problems = Problems()
    value = finalize(given, decl, argument.expr_span, problems)
    if not has_errors(problems):
        module.variables[name] = mark(value, declared_marks(decl.sensitive, decl.ephemeral))
    return list(problems)


def validate_variable(module: ModuleInstance, name: str, checks: CheckState, config_address: str) -> list[Diagnostic]:
    """Check the validation rules of a variable in a module instance. Returns the problems, including a warning if the
    module call sets a deprecated variable."""
    decl = module.config.variables[name]
    argument = module.config.call.inputs.get(name) if module.config.call is not None else None
    problems: list[Diagnostic] = []
    if decl.validations:
        value = module.variables.get(name, Unknown(decl.constraint.type))
        subject = argument.expr_span if argument is not None else decl.span
        problems += check_validations(module, decl, value, subject, checks, config_address)
    return problems + deprecated_argument(module.config, name)


def deprecated_argument(module: ModuleConfig, name: str) -> list[Diagnostic]:
    decl, call = module.variables[name], module.call
    argument = call.inputs.get(name) if call is not None else None
    if not decl.deprecated or argument is None or call is None:
        return []
    title = "Variable marked as deprecated by the module author"
    detail = f"Message of the module author about {name}: {decl.deprecated}"
    cause, where = Deprecation(name, decl.deprecated, module.is_remote), argument.expr_span
    return [warning("plan.deprecated_variable", title, detail, where, deprecation=cause, group=detail)]


def check_validations(
    module: ModuleInstance,
    decl: VariableDecl,
    value: Value,
    subject: Span,
    checks: CheckState | None = None,
    config_address: str = "",
) -> list[Diagnostic]:
    """Check the validation rules of a variable until one fails, and return the problems. `subject`: the span to which a
    diagnostic about an invalid value refers. The results are reported to `checks` under `config_address`."""
    scope = _ValidationScope(module, decl.name, value)
    address = join(module.text, f"var.{decl.name}")
    problems: list[Diagnostic] = []
    for i, rule in enumerate(decl.validations):
        if has_errors(problems):
            break
        result = check_validation(rule, scope, subject)
        if checks is not None:
            checks.report("input_variable", config_address, address, "validation", i, result)
        problems += result.about("input_variable", address, "validation")
    return problems


class _ValidationScope(ModuleScope):
    """A module scope in which one variable has a value that other scopes do not see yet."""

    def __init__(self, module: ModuleInstance, name: str, value: Value) -> None:
        super().__init__(module)
        self.name = name
        self.value = value

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        if isinstance(node, Traversal) and node.root == "var":
            first = node.steps[0]
            if isinstance(first, GetAttr) and first.name == self.name:
                return self.value, 1
        return super().resolve(node, source)


def evaluate_local(module: ModuleInstance, name: str) -> list[Diagnostic]:
    decl = module.config.locals[name]
    problems = _self_references(decl.expr, name)
    if problems:
        return problems
    value, problems = try_evaluate(decl.expr.node, module.scope, decl.expr.source)
    if not has_errors(problems):
        module.locals[name] = value
    return problems


def _self_references(expr: Expr, name: str) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    if not _may_name_local(expr, name):
        return problems
    for node in variables(expr.node):
        ref = parse_reference(node)
        if isinstance(ref, Ref) and ref.kind == "local" and ref.name == name:
            detail = f"local.{name} refers to itself."
            span = Span(expr.source, ref.start, ref.end)
            summary = "Self-referencing local value"
            problems.append(error("plan.self_reference", summary, detail, span, context=expr.span))
    return problems


def _may_name_local(expr: Expr, name: str) -> bool:
    """Whether an expression may refer to the local value. Always true in JSON. In native syntax, false if each `local`
    in the text is followed by the name of another local value. (Searching the text is much faster than walking over a
    large expression.)"""
    source = expr.source
    if source.filename.endswith(".json"):
        return True
    mentions = _LOCAL.finditer(source.text, expr.node.start, expr.node.end)
    return any(mention[1] in (None, name) for mention in mentions)


# Output values of modules.


def evaluate_output(module: ModuleInstance, decl: OutputDecl) -> tuple[Value, list[Diagnostic]]:
    """The value of an output, and problems of the value, of `depends_on`, and of its use as an output (ephemeral,
    sensitive or infinite values)."""
    value, problems = output_value(module, decl)
    problems = problems + depends_on_problems(decl.depends_on, module.scope)
    is_root = module.parent is None
    marks = unmark_deep(value)[1]
    if decl.ephemeral and is_root:
        detail = "Outputs of the root module are stored, so they cannot be ephemeral."
        problems.append(error("plan.ephemeral_output", "Invalid output configuration", detail, decl.span))
    if (is_wholly_known(value) or value.__class__ is Marked) and EPHEMERAL in marks and not decl.ephemeral:
        detail = f"The value is ephemeral, so the output {decl.name} must be declared with ephemeral = true."
        summary = "Output does not allow ephemeral value"
        problems.append(error("plan.ephemeral_output", summary, detail, decl.value.span))
    elif is_root and SENSITIVE in marks and not decl.sensitive:
        detail = (
            f"The output {decl.name} contains sensitive data. Declare it with sensitive = true, to confirm that you "
            "intend to export it."
        )
        problems.append(error("plan.sensitive_output", "Output refers to sensitive values", detail, decl.span))
    if is_root and not problems:
        where = [f"A number in output.{decl.name}" if path else f"output.{decl.name}" for path in infinite_paths(value)]
        problems = [infinite_number(what, decl.value.span) for what in where[:1]]
    return value, problems


def output_value(module: ModuleInstance, decl: OutputDecl) -> tuple[Value, list[Diagnostic]]:
    """The value of an output, converted to its declared type, and the problems of its expression and its type. A value
    that does not match the type becomes unknown."""
    value, problems = try_evaluate(decl.value.node, module.scope, decl.value.source)
    if decl.type is None or has_errors(problems):
        return value, problems
    try:
        return decl.type.convert(value), problems
    except ConversionError as bad:
        detail = f"The value of output.{decl.name} does not match its type: {bad.about(value)}."
        mismatch = error("plan.output_type", "Invalid output value", detail, decl.value.span)
        return unknown_output(decl), [*problems, mismatch]


def depends_on_problems(references: tuple[Reference, ...], scope: ModuleScope) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    for reference in references:
        ref = parse_reference(reference.node)
        if isinstance(ref, BadReference):
            span = Span(reference.source, ref.start, ref.end)
            problems.append(error("plan.bad_reference", ref.summary, ref.detail, span))
            continue
        rest = ref.rest
        if rest:
            span = Span(reference.source, rest[0].start, rest[-1].end)
            detail = "depends_on must name whole objects, not their attributes."
            problems.append(error("plan.depends_on", "Invalid depends_on reference", detail, span))
        if not problems:  # after the first mistake, objects are not looked up
            problems += _resolve(reference, scope)
    return problems


def _resolve(reference: Reference, scope: ModuleScope) -> list[Diagnostic]:
    try:
        scope.resolve(reference.node, reference.source)
    except Failure as failure:
        return failure.diagnostics
    return []

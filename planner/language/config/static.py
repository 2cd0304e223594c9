"""Static evaluation of values that must be known before planning: module sources, backends, for_each of providers.

Expressions may refer only to input variables, local values, `path` and `terraform.workspace`. The same applies to the
local values and variables to which they refer. A failure is reported at its cause and at each declaration that depends
on the failed value, so that the diagnostics show the path from the use to the cause."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING

from planner.foundation.support.disk import working_directory
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.types import STRING
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, UNKNOWN, Unknown, Value, is_null, mark, unmark_deep
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr, LocalDecl, VariableDecl
from planner.language.config.reading import ExpressionPiece, Problems
from planner.language.config.references import BadReference, Ref, parse_reference
from planner.language.syntax.body import variables
from planner.language.syntax.nodes import Traversal, Variable

if TYPE_CHECKING:
    from planner.language.functions import CallContext

Repetition = Mapping[str, Mapping[str, Value]]  # the values of each and count in one instance
Given = Callable[[VariableDecl, Problems], "Value | None"]
"""Returns the raw value of a module's variable: the value passed by the caller, otherwise the default; None if there is
neither (reported)."""


_NOTHING: Mapping[str, Value] = {}


@frozen
class StaticSubject:
    """The object for which an expression is evaluated, such as `var.x`: for messages, and to detect cycles."""

    name: str
    span: Span


class StaticScope:
    def __init__(
        self,
        variables: dict[str, VariableDecl],
        locals_: dict[str, LocalDecl],
        given: Given,
        directory: str,
        root_directory: str = ".",
        workspace: str = "default",
        context: CallContext | None = None,
    ) -> None:
        self.variables = variables
        self.locals = locals_
        self.given = given
        self.directory = directory
        self.root_directory = root_directory
        self.workspace = workspace
        self.context = context
        self.repetition: Repetition = {}

    def repeated(self, repetition: Repetition) -> StaticScope:
        """A copy of this scope in which `each` or `count` has the given values."""
        scope = copy(self)
        scope.repetition = repetition
        return scope

    def evaluate(
        self, expr: Expr, name: str, span: Span, problems: Problems, known: Mapping[str, Value] = _NOTHING
    ) -> Value | None:
        """The value of an expression of this module; None if it cannot be evaluated (reported). `name` and `span`: the
        object for which it is evaluated. `known`: values of other root names that the expression may use."""
        return self._evaluate(expr, (StaticSubject(name, span),), problems, known)

    def text(self, expr: Expr, name: str, problems: Problems) -> str | None:
        """The value of an expression as a string. None if it is not a string, or is sensitive or ephemeral
        (reported)."""
        value = self.evaluate(expr, name, expr.span, problems)
        if value is None:
            return None
        value, marks = unmark_deep(value)
        if value.__class__ is Unknown:
            # the parser inserts this name in place of a malformed part, which is already reported
            return None
        for secret, word in ((SENSITIVE, "Sensitive"), (EPHEMERAL, "Ephemeral")):
            if secret in marks:
                detail = f"{word} values cannot be used here: {name} is shown and stored."
                problems.error("secret_in_static", f"{word} value not allowed", detail, expr.span)
                return None
        try:
            value = convert(value, STRING)
        except ConversionError as bad:
            reason = str(bad)
        else:
            if value.__class__ is str:
                return str(value)
            reason = "a string is required"
        where = ExpressionPiece(expr.node, expr.source).start_span
        problems.error("unsuitable_value", "Unsuitable value type", f"{name}: {reason}.", where, context=expr.span)
        return None

    def root_value(self, name: str, problems: Problems) -> Value | None:
        """The value of an input variable of this module; None if it cannot be evaluated (reported)."""
        variable = self.variables[name]
        return self._variable(variable, (StaticSubject(f"var.{name}", variable.span),), problems)

    # ------------------------------------------------------------ evaluation

    def _evaluate(
        self, expr: Expr, stack: tuple[StaticSubject, ...], problems: Problems, known: Mapping[str, Value] = _NOTHING
    ) -> Value | None:
        from planner.language.expressions.evaluate import MappingScope, try_evaluate

        mine = Problems()
        refs = []
        for node in variables(expr.node):
            if known and _root(node) in known:
                continue
            ref = parse_reference(node)
            if isinstance(ref, BadReference):
                where = Span(expr.source, ref.start, ref.end)
                mine.error("invalid_reference", ref.summary, ref.detail, where)
            else:
                refs.append(ref)
        for ref in refs:
            self._check_static(ref, expr, stack[-1], mine)
        roots: dict[str, dict[str, Value]] = {}
        if not mine.has_errors:
            for ref in refs:
                members = roots.setdefault(ref.kind, {})
                if ref.name not in members:
                    members[ref.name] = self._value(ref, expr, stack, mine)
        problems.extend(mine)
        if mine.has_errors:
            return None
        if "terraform" in roots:
            roots["tofu"] = roots["terraform"]
        names: Mapping[str, Value] = {**roots, **known}
        value, diagnostics = try_evaluate(expr.node, MappingScope(names, context=self.context), expr.source)
        problems.extend(diagnostics)
        return None if has_errors(diagnostics) else value

    def _check_static(self, ref: Ref, expr: Expr, top: StaticSubject, problems: Problems) -> None:
        if ref.kind in ("local", "var", "path", "terraform") or ref.name in self.repetition.get(ref.kind, ()):
            return
        where = Span(expr.source, ref.start, ref.end)
        what = "a module output" if ref.kind == "output" else ref.name
        title = (
            "Module output not supported in static context"
            if ref.kind == "output"
            else "Dynamic value in static context"
        )
        detail = f"Unable to use {what} in static context, which is required by {top.name}"
        problems.error("dynamic_in_static", title, detail, where)

    def _value(self, ref: Ref, expr: Expr, stack: tuple[StaticSubject, ...], problems: Problems) -> Value:
        where = Span(expr.source, ref.start, ref.end)
        value: Value | None = UNKNOWN
        if ref.kind == "local":
            value = self._local(ref.name, where, stack, problems)
        elif ref.kind == "var":
            variable = self.variables.get(ref.name)
            if variable is None:
                detail = f"No variable is named {ref.name}."
                problems.error("undeclared_variable", "Undefined variable", detail, where)
            elif variable.const is False:
                detail = f"The variable {ref.name} is declared with const = false."
                problems.error("not_constant", "Unable to use variable in static context", detail, where)
            else:
                value = self._variable(variable, stack, problems)
        elif ref.kind == "path":
            paths = {
                "cwd": working_directory().replace(os.sep, "/"),
                "module": self.directory,
                "root": self.root_directory,
            }
            if ref.name not in paths:
                detail = f'"path" has no attribute {ref.name}.{did_you_mean(ref.name, paths)}'
                problems.error("invalid_path_attribute", 'Invalid "path" attribute', detail, where)
            value = paths.get(ref.name, UNKNOWN)
        elif ref.kind in self.repetition:
            value = self.repetition[ref.kind][ref.name]
        elif ref.name == "workspace":
            value = self.workspace
        else:
            title = 'Invalid "terraform" attribute'
            if ref.name == "applying":
                title = "Invalid attribute in static context"
            detail = f"terraform.{ref.name} cannot be used here; terraform.workspace can."
            problems.error("invalid_terraform_attribute", title, detail, where)
        return UNKNOWN if value is None else value

    def _local(self, name: str, where: Span, stack: tuple[StaticSubject, ...], problems: Problems) -> Value | None:
        local = self.locals.get(name)
        if local is None:
            problems.error("undeclared_local", "Undefined local", f"No local value is named {name}.", where)
            return None
        subject = StaticSubject(f"local.{name}", local.span)
        if any(s.name == subject.name for s in stack):
            detail = f"{subject.name} depends on itself."
            problems.error("static_circle", "Circular reference", detail, local.span)
            return None
        mine = Problems()
        value = self._evaluate(local.expr, (*stack, subject), mine)
        self._pass_problems_on(subject, stack, mine, problems)
        return value

    def _variable(self, variable: VariableDecl, stack: tuple[StaticSubject, ...], problems: Problems) -> Value | None:
        subject = StaticSubject(f"var.{variable.name}", variable.span)
        mine = Problems()
        raw = self.given(variable, mine)
        value = None if raw is None or mine.has_errors else _declared_value(raw, variable, mine)
        self._pass_problems_on(subject, stack, mine, problems)
        return value

    def _pass_problems_on(
        self, subject: StaticSubject, stack: tuple[StaticSubject, ...], mine: Problems, problems: Problems
    ) -> None:
        problems.extend(mine)
        if mine.has_errors:
            top = stack[-1]
            detail = f"{top.name} depends on {subject.name} which is not available"
            problems.error("static_unavailable", "Unable to compute static value", detail, top.span)


def _root(node: Traversal | Variable) -> str:
    return node.name if isinstance(node, Variable) else node.root


def _declared_value(raw: Value, variable: VariableDecl, problems: Problems) -> Value:
    """The value of a variable inside the module: converted, with defaults and marks. It is unknown if it cannot be
    converted (reported)."""
    try:
        value = variable.constraint.convert(raw)
    except ConversionError as bad:
        detail = f"The value of var.{variable.name} (declared at {variable.span}) is not valid: {bad}."
        problems.error("variable_does_not_fit", "Invalid value for input variable", detail)
        return Unknown(variable.constraint.type)
    if is_null(value) and not variable.nullable:
        if variable.default is not None:
            value = variable.default
        else:
            detail = f"var.{variable.name} must not be null."
            problems.error("null_variable", "Required variable not set", detail, variable.span)
    return with_declared_marks(value, variable)


def with_declared_marks(value: Value, variable: VariableDecl) -> Value:
    """Add the marks required by the variable's declaration."""
    marks = {m for m, wanted in ((SENSITIVE, variable.sensitive), (EPHEMERAL, variable.ephemeral)) if wanted}
    return mark(value, frozenset(marks))

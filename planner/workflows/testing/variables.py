"""The values of a run's variables, and the names that expressions in a test file can use."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

from planner.foundation.values.convert import ConversionError
from planner.foundation.values.value import EPHEMERAL, Unknown, Value, is_null, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.address import Address, AddressError, ResourceAddress, address_of
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.foundation.vocabulary.limits import Limits
from planner.foundation.vocabulary.records import define, field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr, Reference, VariableDecl
from planner.language.config.reading import Problems, steps_of
from planner.language.config.static import with_declared_marks
from planner.language.config.test_files.model import TestFile, TestRun
from planner.language.config.variables import RawVariables, RootVariable, add_automatic_files
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import MappingScope
from planner.language.syntax.body import Body, NativeBody, variables
from planner.language.syntax.nodes import GetAttr, Variable


@define(eq=False)
class Outputs:
    """The outputs of finished runs. `by_run`: {index of a run: (its name, its outputs)}."""

    by_run: dict[int, tuple[str, dict[str, Value]]] = field(factory=dict)

    def of(self, runs: Collection[int]) -> dict[str, dict[str, Value]]:
        """{name of a run: its outputs} for the runs with these indexes, without runs that have no outputs. If several
        runs have the same name, the last of them is used."""
        return dict(self.by_run[index] for index in sorted(runs) if index in self.by_run)


def global_values(directory: str, test_directory: str, given: RawVariables) -> tuple[RawVariables, list[Diagnostic]]:
    """The supplied values of root variables (from the command line, the environment and automatically loaded files),
    and diagnostics. If the test directory is not the module's directory, the values in the test directory's
    automatically loaded files take precedence."""
    if os.path.normpath(test_directory) == ".":
        return given, []
    return add_automatic_files(directory, test_directory, given)


@frozen(eq=False)
class RunValues:
    """The values of a run. `root`: the values of the module's variables. `known`: the attributes of `var` in
    assertions; these include values for variables that the module does not declare. `scope`: the names that expressions
    in the test file can use."""

    root: Mapping[str, RootVariable]
    known: Mapping[str, Value]
    scope: MappingScope


def run_values(
    declared: Mapping[str, VariableDecl],
    file: TestFile,
    run: TestRun,
    given: RawVariables,
    outputs: Mapping[str, Mapping[str, Value]],
) -> tuple[RunValues | None, list[Diagnostic]]:
    """The values of a run's variables (None if there are errors), and diagnostics. `outputs`: {name of an earlier run:
    its outputs}."""
    problems = Problems()
    general = _general(declared, given, problems)
    runs = {name: dict(values) for name, values in outputs.items()}
    scope = MappingScope({"run": runs, "var": general})
    written = {**file.variables, **run.variables}
    values: dict[str, Value] = {}
    for name in sorted(written):
        if name in declared:
            values[name] = _evaluated(written[name], scope, problems)
    root: dict[str, RootVariable] = {}
    for name in sorted(declared):
        decl = declared[name]
        if name in values:
            where = written[name].span
            root[name] = _root(decl, values[name], where, f"{where}", problems)
        elif name in given:
            raw = given[name].value(decl.verbatim, problems)
            root[name] = _root(decl, raw, given[name].span, given[name].source, problems)
        else:
            root[name] = _root(decl, None, None, "", problems)
    if has_errors(problems):
        return None, problems
    for name in sorted(written):
        if name not in declared:
            values[name] = _evaluated(written[name], scope, problems)
    known = {**general, **values, **{name: variable.value for name, variable in root.items()}}
    everything = {**general, **{name: v.value for name, v in root.items() if not is_null(v.value)}}
    return RunValues(root, known, MappingScope({"run": runs, "var": everything})), problems


def _general(declared: Mapping[str, VariableDecl], given: RawVariables, problems: Problems) -> dict[str, Value]:
    """The attributes of `var` for expressions in the test file: the supplied values of root variables, and the defaults
    of the module's other variables."""
    result: dict[str, Value] = {}
    for name in sorted(declared.keys() | given.keys()):
        decl, raw = declared.get(name), given.get(name)
        if raw is not None:
            value = raw.value(decl is None or decl.verbatim, problems)
            if value is not None:
                result[name] = _fitted(decl, value)
        elif decl is not None and decl.default is not None:
            result[name] = with_declared_marks(decl.default, decl)
    return result


def _fitted(decl: VariableDecl | None, value: Value) -> Value:
    if decl is None:
        return value
    try:
        return with_declared_marks(decl.constraint.convert(value), decl)
    except ConversionError:
        return value  # the run that passes the value to the module reports the problem


def _evaluated(expr: Expr, scope: MappingScope, problems: Problems) -> Value:
    value, item = try_evaluate(expr.node, scope, expr.source)
    problems.extend(item)
    if not has_errors(item) and not is_wholly_known(value):
        detail = (
            "This is not known: a run that was only planned has the planned values, but not the values after apply."
        )
        problems.error("unknown_test_value", "Unknown value for variable", detail, expr.span)
    return value


def _root(decl: VariableDecl, raw: Value | None, where: Span | None, giver: str, problems: Problems) -> RootVariable:
    """The value of a module's variable: the value `raw`, converted to the variable's type, or the default if there is
    no value. The result is unknown if `raw` is unknown or after an error."""
    nothing = RootVariable(Unknown(decl.constraint.type), None, "default", decl.span)
    if raw is None or (is_null(raw) and not decl.nullable and decl.default is not None):
        if decl.default is None:
            detail = (
                f'The root module input variable "{decl.name}" is not set, and has no default value. Use a -var or '
                "-var-file command line argument to provide a value for this variable."
            )
            problems.error("missing_variable", "No value for required variable", detail, decl.span)
            return nothing
        return RootVariable(with_declared_marks(decl.default, decl), None, "default", decl.span)
    if raw.__class__ is Unknown:
        return nothing
    if EPHEMERAL in unmark_deep(raw)[1] and not decl.ephemeral:
        detail = f"The value is ephemeral, so the variable {decl.name} must be declared with ephemeral = true."
        problems.error("ephemeral_variable", "Variable does not allow ephemeral value", detail, where or decl.span)
        return nothing
    try:
        value = decl.constraint.convert(raw)
    except ConversionError as bad:
        detail = f"The given value is not suitable for var.{decl.name} declared at {decl.span.place}: {bad}."
        problems.error("variable_does_not_fit", "Invalid value for input variable", detail, decl.span)
        return nothing
    if is_null(value) and not decl.nullable:
        detail = (
            f"The given value is not suitable for var.{decl.name} defined at {decl.span.place}: required variable may "
            "not be set to null."
        )
        problems.error("null_variable", "Required variable not set", detail, decl.span)
        return nothing
    return RootVariable(with_declared_marks(value, decl), raw, "named file", where or decl.span, giver)


def names_of(expr: Expr) -> Iterator[str]:
    for node in variables(expr.node):
        yield node.name if isinstance(node, Variable) else node.root


def mentioned_runs(file: TestFile, run: TestRun) -> frozenset[str]:
    """The names of the runs whose outputs a run uses; "" means any run."""
    exprs = [*file.variables.values(), *run.variables.values()]
    for provider in (*file.providers.values(), *file.mocks.values()):
        exprs += [provider.for_each] if provider.for_each is not None else []
        exprs += _expressions(provider.body)
    return frozenset(name for expr in exprs for name in _runs_in(expr))


def _runs_in(expr: Expr) -> Iterator[str]:
    for node in variables(expr.node):
        if isinstance(node, Variable):
            if node.name == "run":
                yield ""
        elif node.root == "run":
            step = node.steps[0]
            yield step.name if isinstance(step, GetAttr) else ""


def _expressions(body: Body) -> Iterator[Expr]:
    if isinstance(body, NativeBody):
        for attribute in body.attributes.values():
            yield Expr(attribute.expr, attribute.source)
        for block in body.blocks:
            yield from _expressions(block.body)


# `plan_options`: addresses, and the effects of limiting a plan to these


def is_limited(run: TestRun) -> bool:
    """Whether `plan_options` of a run limit its plan (targets, or a mode other than normal), so that the plan may not
    show all errors of the configuration."""
    return run.settings.mode != "normal" or bool(run.settings.targets)


def limits_of(run: TestRun) -> tuple[Limits, list[Diagnostic]]:
    """The limits that `plan_options` of a run sets, and errors for invalid addresses."""
    problems: list[Diagnostic] = []
    targets = [_address(reference, problems) for reference in run.settings.targets]
    replace = []
    for reference in run.settings.replace:
        address = _address(reference, problems)
        if address is None:
            continue
        if not isinstance(address, ResourceAddress):
            detail = "A resource instance must follow the module path."
            problems.append(error("test.replace", "Invalid address", detail, reference.span))
        elif address.mode != "managed":
            title = "Can only target managed resources for forced replacements."
            problems.append(error("test.replace", title, str(address), reference.span))
        else:
            replace.append(address)
    return Limits(tuple(a for a in targets if a is not None), (), tuple(replace)), problems


def _address(reference: Reference, problems: list[Diagnostic]) -> Address | None:
    try:
        return address_of(steps_of(reference.node))
    except AddressError as bad:
        problems.append(error("test.address", bad.summary, bad.detail, reference.span))
        return None

"""Reports the root module's variables: their values, the sources of the values, and the objects that use the variables.
Also provides the values for `console`."""

from __future__ import annotations

from collections.abc import Mapping

from planner.engine.evaluation.eval_walk import eval_walk
from planner.engine.walk.hooks import Hooks
from planner.foundation.values.types import constraint_text
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import VariableDecl
from planner.language.config.reading import Problems
from planner.language.config.static import with_declared_marks
from planner.language.config.variables import RawValue, RootVariable, finalize, root_variables
from planner.language.expressions.scope import Scope
from planner.operations.graphs import build, configuration_facts
from planner.operations.load import Loaded, read_configuration
from planner.operations.options import OperationOptions, Options
from planner.operations.plan import Start, Variables, plan_options
from planner.operations.state_access import load_with_values

_READERS = ("reference", "validation_reference", "destroy_reference", "import_reference", "action_reference")


@frozen(eq=False)
class GivenValue:
    """A value of a variable from one source. `value`: the value, with a mark if it is sensitive; None if it cannot be
    read. An invalid value is replaced by an unknown value, or by None if a value from another source overrides it.
    `source`: a description of the source."""

    value: Value | None
    source: str


@frozen(eq=False)
class VariableReport:
    """A variable with its value and its uses. `given`: the value that is used; None if there is no value. `overridden`:
    the values that `given` overrides, from the highest to the lowest precedence. `readers`: (object, place of the
    reference) of the objects in the root module that read the variable."""

    name: str
    type: str
    description: str
    sensitive: bool
    given: GivenValue | None
    overridden: tuple[GivenValue, ...]
    readers: tuple[tuple[str, str], ...]


def report_variables(options: Options) -> tuple[list[VariableReport], list[Diagnostic]]:
    """Reports about all variables of the root module, sorted by name, and diagnostics. Raises Failure if the
    configuration cannot be read."""
    reading = read_configuration(options)
    if reading.config is None:
        raise Failure(reading.problems)
    declared = reading.config.root.variables
    values, problems = root_variables(declared, reading.begun.given)
    diagnostics = Diagnostics((*reading.problems, *problems))
    readers: Mapping[str, list[tuple[str, str]]] = {}
    with diagnostics.until_an_error():
        readers = _readers(reading.loaded())
    return [
        _report(declared[name], values[name], reading.begun.given.get(name), readers.get(name, []))
        for name in sorted(declared)
    ], list(dict.fromkeys(diagnostics))


def _report(
    decl: VariableDecl, final: RootVariable, raw: RawValue | None, readers: list[tuple[str, str]]
) -> VariableReport:
    default = None if decl.default is None else with_declared_marks(decl.default, decl)
    given = [] if default is None else [GivenValue(default, f"default, {decl.default_span or decl.span}")]
    supplied = list[GivenValue]()
    while raw is not None:
        value = final.value if not supplied and final.raw is not None else _converted(raw, decl)
        supplied.append(GivenValue(value, raw.source))
        raw = raw.overridden
    supplied += given
    return VariableReport(
        decl.name,
        constraint_text(decl.constraint.type),
        decl.description,
        decl.sensitive,
        supplied[0] if supplied else None,
        tuple(supplied[1:]),
        tuple(readers),
    )


def _converted(raw: RawValue, decl: VariableDecl) -> Value | None:
    problems = Problems()
    value = raw.value(decl.verbatim, problems)
    final = None if value is None else finalize(value, decl, raw.span, problems)
    return None if final is None or problems.has_errors else with_declared_marks(final, decl)


def _readers(loaded: Loaded[Options]) -> dict[str, list[tuple[str, str]]]:
    """{variable: [(object, place of the reference)]}. Each object that reads the variable is listed once."""
    facts = configuration_facts(loaded)
    readers: dict[str, dict[str, str]] = {}
    for predicate in _READERS:
        for row in facts.rows(predicate):
            object, target = row[0], row[1]
            name = target.removeprefix("var.")
            if name == target or object == target:
                continue
            source = facts.source(predicate, row)
            readers.setdefault(name, {}).setdefault(object, f"{source}" if isinstance(source, Span) else "")
    return {name: sorted(objects.items()) for name, objects in readers.items()}


# `console`: current or planned values of names in the root module.


def console_scope(options: OperationOptions, planning: bool = False) -> tuple[Scope | None, list[Diagnostic]]:
    """A scope in which expressions can refer to the names in the root module, and diagnostics. The scope is None on
    errors. Objects have their values in the state or, with `planning`, their planned values."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        start, variables = load_with_values(options, diagnostics)
        scope, problems = (_planned_scope if planning else _present_scope)(start, variables)
        diagnostics += problems
        return scope, diagnostics
    return None, diagnostics


def _present_scope(start: Start, variables: Variables) -> tuple[Scope, list[Diagnostic]]:
    graph = build("eval", start, start.state)
    context, problems = eval_walk(graph, start.config, start.state, variables, start.schemas, start.workspace)
    return context.root.scope, problems


def _planned_scope(start: Start, variables: Variables) -> tuple[Scope, list[Diagnostic]]:
    from planner.engine.plan.moves import apply_moves
    from planner.engine.plan.walk import PlanWalk

    moves = apply_moves(start.config, start.state)
    graph = build("plan", start, moves.state)
    walk = PlanWalk(graph, start.config, moves, variables, start.schemas, plan_options(start), Hooks())
    _, problems = walk.plan()
    return walk.context.root.scope, problems

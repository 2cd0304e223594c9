"""Output values: those of child modules for their callers, those of the root module as planned changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.config.model import OutputDecl, Reference
from planner.config.references import BadReference, parse_reference
from planner.evaluation.conditions import check_rule
from planner.evaluation.context import ModuleInstance, output_marks
from planner.evaluation.scope import ModuleScope
from planner.language.evaluate import try_evaluate
from planner.model.plan import Action, OutputChange
from planner.plan.record import PlanRecord
from planner.state.model import OutputState, State
from planner.values.operations import same_value
from planner.values.value import (
    EPHEMERAL,
    SENSITIVE,
    Marked,
    Null,
    Value,
    is_wholly_known,
    mark,
    type_of,
    unmark,
    unmark_deep,
)
from planner.vocabulary.address import join
from planner.vocabulary.diagnostic import Diagnostic, Failure, Severity, error, has_errors
from planner.vocabulary.span import Span

if TYPE_CHECKING:
    from planner.plan.walk import PlanWalk


def plan_output(walk: PlanWalk, module: ModuleInstance, name: str, config_address: str) -> list[Diagnostic]:
    """Evaluate an output of one module instance; in the root module plan its change."""
    decl = module.config.outputs[name]
    address = join(module.text, f"output.{name}")
    severity: Severity = "warning" if walk.options.mode == "refresh-only" else "error"
    problems: list[Diagnostic] = []
    for i, rule in enumerate(decl.preconditions):
        result = check_rule(rule, "output", module.scope, severity)
        walk.checks.report("output_value", config_address, address, "output", i, result)
        problems += [d.at(address) for d in result.diagnostics]
    if has_errors(problems):
        return problems
    value, found = evaluate_output(module, decl)
    problems += found
    if has_errors(problems):
        return problems
    if module.parent is not None:
        module.set_output(name, mark(value, output_marks(module, decl)))
    else:
        _plan_root(walk.record, walk.state, decl, value)
    return problems


def evaluate_output(module: ModuleInstance, decl: OutputDecl) -> tuple[Value, list[Diagnostic]]:
    """The value of an output, and what is wrong with it or with handing it out."""
    value, problems = try_evaluate(decl.value.node, module.scope, decl.value.source)
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
            f"The output {decl.name} contains sensitive data. Declare it with sensitive = true, to confirm that it is "
            "to be exported."
        )
        problems.append(error("plan.sensitive_output", "Output refers to sensitive values", detail, decl.span))
    return value, problems


def depends_on_problems(references: tuple[Reference, ...], scope: ModuleScope) -> list[Diagnostic]:
    """What is wrong with the elements of a depends_on argument."""
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
            detail = "depends_on names whole objects, not their attributes."
            problems.append(error("plan.depends_on", "Invalid depends_on reference", detail, span))
        if not problems:  # whether there is such an object is asked until the first mistake
            problems += _resolve(reference, scope)
    return problems


def _resolve(reference: Reference, scope: ModuleScope) -> list[Diagnostic]:
    try:
        scope.resolve(reference.node, reference.source)
    except Failure as failure:
        return failure.diagnostics
    return []


# ---------------------------------------------------------------- root outputs


def _plan_root(record: PlanRecord, state: State, decl: OutputDecl, value: Value) -> None:
    recorded = state.outputs.get(decl.name)
    before: Value = recorded.value if recorded is not None else Null()
    plain = unmark_deep(value)[0]
    action = _action(decl, recorded, before, plain)
    sensitive = decl.sensitive or (recorded is not None and recorded.sensitive)
    # nothing to nothing: the type of the null that the expression gives is not told
    after = before if action == "no-op" and plain.__class__ is Null else value
    record.outputs[decl.name] = OutputChange(decl.name, action, before, after, sensitive)
    if is_wholly_known(plain):
        if plain.__class__ is Null:
            record.refreshed.remove_output(decl.name)
        else:
            record.refreshed.set_output(decl.name, OutputState(plain, type_of(plain), decl.sensitive, decl.deprecated))


def _action(decl: OutputDecl, recorded: OutputState | None, before: Value, plain: Value) -> Action:
    deprecated = recorded.deprecated if recorded is not None else None
    same_words = (decl.deprecated or "") == (deprecated or "")
    if plain.__class__ is Null and unmark(before)[0].__class__ is Null and same_words:
        return "no-op"
    if recorded is None:
        return "create"
    if is_wholly_known(plain) and same_value(plain, before) and decl.sensitive == recorded.sensitive and same_words:
        return "no-op"
    return "update"


def plan_destroyed_output(record: PlanRecord, state: State, name: str) -> list[Diagnostic]:
    """A root output that nothing declares any more, or that goes with everything else."""
    recorded = state.outputs.get(name)
    if recorded is not None:
        record.outputs[name] = OutputChange(name, "delete", recorded.value, Null(), recorded.sensitive)
    return []

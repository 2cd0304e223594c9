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
from planner.plan.decide import Facts, derive, rows
from planner.plan.record import PlanRecord
from planner.programs.actions import NO_OP, does
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
    facts = _facts(decl, recorded, before, plain)
    action = output_action(facts)
    sensitive = decl.sensitive or (recorded is not None and recorded.sensitive)
    # nothing to nothing: the type of the null that the expression gives is not told
    after = before if not does(action, "changes") and plain.__class__ is Null else value
    told = rows(f"output.{decl.name}", facts)
    record.outputs[decl.name] = OutputChange(decl.name, action, before, after, sensitive, told)
    if is_wholly_known(plain):
        if plain.__class__ is Null:
            record.refreshed.remove_output(decl.name)
        else:
            record.refreshed.set_output(decl.name, OutputState(plain, type_of(plain), decl.sensitive, decl.deprecated))


def _facts(decl: OutputDecl, recorded: OutputState | None, before: Value, plain: Value) -> Facts:
    """What rules/plan/outputs.dl asks about an output that the configuration has."""
    facts: Facts = {"output_declared": ()}
    if recorded is not None:
        facts["output_recorded"] = ()
    gone = (("before", unmark(before)[0]), ("after", plain))
    nulls = tuple(when for when, v in gone if v.__class__ is Null)
    if nulls:
        facts["output_null"] = nulls
    different = {
        "value": not is_wholly_known(plain) or not same_value(plain, before),
        "sensitivity": recorded is not None and decl.sensitive != recorded.sensitive,
        "deprecation": (decl.deprecated or "") != ((recorded.deprecated if recorded is not None else None) or ""),
    }
    if any(different.values()):
        facts["output_differs"] = tuple(what for what, differs in different.items() if differs)
    return facts


def output_action(facts: Facts) -> Action:
    """The action of an output of which these facts hold; no-op when the rules say nothing."""
    for (action,) in derive(facts, "output_action"):
        return str(action)
    return NO_OP


def plan_destroyed_output(record: PlanRecord, state: State, name: str, facts: Facts) -> list[Diagnostic]:
    """A root output that nothing declares any more, or that goes with everything else, as the facts say."""
    recorded = state.outputs.get(name)
    if recorded is not None:
        facts = {"output_recorded": (), **facts}
        action, told = output_action(facts), rows(f"output.{name}", facts)
        record.outputs[name] = OutputChange(name, action, recorded.value, Null(), recorded.sensitive, told)
    return []

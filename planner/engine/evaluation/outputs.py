"""Output values as their modules hand them out."""

from __future__ import annotations

from planner.engine.evaluation.body_rules import infinite_number
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.values.paths import infinite_paths
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Marked, Value, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import OutputDecl, Reference
from planner.language.config.references import BadReference, parse_reference
from planner.language.expressions.evaluate import try_evaluate


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
    if is_root and not problems:
        where = [f"A number in output.{decl.name}" if path else f"output.{decl.name}" for path in infinite_paths(value)]
        problems = [infinite_number(what, decl.value.span) for what in where[:1]]
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

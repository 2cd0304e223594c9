"""lifecycle.replace_triggered_by: does something that an instance watches change?"""

from __future__ import annotations

from collections.abc import Sequence

from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.static_references import traversal_problems
from planner.foundation.values.identity import identical
from planner.foundation.values.paths import get
from planner.foundation.values.value import unmark_deep
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.language.config.model import Expr
from planner.language.config.references import Ref
from planner.language.syntax.nodes import GetAttr
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.actions import does


def seen(expr: Expr, ref: Ref, module: ModuleInstance, changes: Sequence[ResourceChange]) -> set[tuple[str, str, str]]:
    """The facts (columns of `watched`) about what an element names; `changes` are those planned for the resource or
    instance. Raises Failure."""
    text = expr.span.text
    decl = module.config.resources.get(ref.name)
    place = module.text or "the root module"
    if decl is None:
        detail = f"No resource {ref.name} is declared in {place}."
        raise Failure(error("plan.undeclared_resource", "Reference to undeclared resource", detail, expr.span))
    if not changes:
        detail = f"replace_triggered_by names {ref.name}, of which there is no instance in {place}."
        raise Failure(error("plan.trigger_without_change", "Nothing to be triggered by", detail))
    if not ref.rest:
        return {(text, change.action, "whole") for change in changes}
    change = changes[0]
    if not does(change.action, "stirs"):
        return {(text, change.action, "same")}
    object_type = module.context.schemas.object_type(module.config, decl)
    problems = traversal_problems(object_type, ref.rest, expr.source)
    if problems:
        raise Failure(problems)
    path = tuple(("attr", s.name) if isinstance(s, GetAttr) else ("index", s.key) for s in ref.rest)
    found = []
    for value in (change.before, change.after):
        try:
            found.append(get(unmark_deep(value)[0], path))
        except KeyError:
            found.append(None)
    before, after = found
    is_same = before is after if before is None or after is None else identical(before, after)
    return {(text, change.action, "same" if is_same else "differs")}

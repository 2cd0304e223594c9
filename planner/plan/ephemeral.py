"""Planning ephemeral resources: opened as soon as everything that they need is known."""

from __future__ import annotations

from planner.evaluation.data import data_configuration
from planner.evaluation.ephemeral import open_resource, opened
from planner.evaluation.instance import Instance
from planner.evaluation.schema_marks import marked_by_schema
from planner.plan.data import readiness
from planner.plan.decide import derive
from planner.plan.work import PlanWork
from planner.provider.propose import planned_unknown_object
from planner.values.paths import apply_marks, marked_paths
from planner.values.value import Null, Value, unmark_deep
from planner.vocabulary.diagnostic import Diagnostic, has_errors


def plan_ephemeral(walk: PlanWork, it: Instance) -> list[Diagnostic]:
    """Open an ephemeral resource, or leave that to the apply. Raises Failure."""
    assert it.objects is not None
    problems = walk.self_references(it) or walk.conditions(it, "precondition")
    if has_errors(problems):
        return problems
    config = data_configuration(it, problems)
    if not derive({"ephemeral_resource": (), **readiness(walk, it, config)}, "read_now"):
        if walk.options.mode == "refresh-only":
            value: Value = Null(it.object_type)
        else:
            known = planned_unknown_object(it.schema.block, unmark_deep(config)[0])
            value = apply_marks(known, marked_paths(config))
    else:
        given, found = open_resource(walk, it, config)
        problems += found
        if given is None:
            return problems
        value = marked_by_schema(given, it.schema.block)
    return problems + opened(walk, it, value)

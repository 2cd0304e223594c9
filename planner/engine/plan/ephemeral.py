"""Planning ephemeral resources: opened as soon as everything that they need is known."""

from __future__ import annotations

from planner.engine.evaluation.data import data_configuration
from planner.engine.evaluation.ephemeral import open_resource, opened
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.schema_marks import marked_by_schema
from planner.engine.plan.action import derive
from planner.engine.plan.data import readiness
from planner.engine.plan.shared_work import PlanWork
from planner.foundation.values.paths import apply_marks, marked_paths
from planner.foundation.values.value import Null, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.world.provider.propose import planned_unknown_object


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

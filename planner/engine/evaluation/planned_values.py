"""The values of a finished plan: everything that has a name, evaluated once more over the planned objects.

A plan keeps the planned objects and root outputs. Other values for explanations (locals, variables and outputs of
modules) follow from these and from the configuration, so they are not stored but evaluated again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from planner.engine.evaluation.context import EvaluationContext, ModuleInstance
from planner.engine.evaluation.eval_walk import EvalWalk
from planner.engine.evaluation.objects import StateObjects
from planner.engine.evaluation.schemas import Schemas
from planner.foundation.values.value import SENSITIVE, Null, Value, mark
from planner.foundation.vocabulary.address import format_resource
from planner.language.config.model import Config, ResourceDecl
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan, ResourceChange
from planner.world.state.model import InstanceKey


def planned_values(
    graph: Graph,
    config: Config,
    plan: Plan,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    workspace: str = "default",
) -> EvaluationContext:
    """The context with the planned values of all names. `graph` is that of the walk `eval`."""
    objects = PlannedObjects(plan, schemas)
    context = EvaluationContext(config, "plan", schemas, objects, workspace, plan.timestamp or None)
    EvalWalk(graph, context, variables).run_all()
    return context


def with_outputs(context: EvaluationContext, plan: Plan) -> None:
    """Put the root outputs among the values that a plan was made with: planning only compares them."""
    for output in plan.outputs:
        if output.after.__class__ is not Null or output.name in context.config.root.outputs:
            value = mark(output.after, frozenset((SENSITIVE,))) if output.sensitive else output.after
            context.root.outputs.setdefault(output.name, value)


class PlannedObjects:
    """The objects as they will be: planner.engine.evaluation.context.ObjectSource."""

    def __init__(self, plan: Plan, schemas: Schemas) -> None:
        self._state = StateObjects(plan.prior_state, schemas)
        self._changes: dict[str, dict[InstanceKey, ResourceChange]] = {}
        for change in plan.changes:
            if not change.deposed:
                self._changes.setdefault(change.resource_address, {})[change.key] = change

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        changes = self._changes.get(_address(module, resource))
        recorded = self._state.keys(module, resource)
        if changes is None:
            return recorded
        kept = {key for key in recorded or () if key not in changes}
        return kept | {key for key, change in changes.items() if change.after.__class__ is not Null}

    def between(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey]:
        changes = self._changes.get(_address(module, resource), {})
        return [key for key in self._state.between(module, resource) if key not in changes]

    def object(self, module: ModuleInstance, resource: ResourceDecl, key: InstanceKey) -> Value:
        change = self._changes.get(_address(module, resource), {}).get(key)
        return self._state.object(module, resource, key) if change is None else change.after


def _address(module: ModuleInstance, resource: ResourceDecl) -> str:
    return format_resource(module.text, resource.mode, resource.type, resource.name)

"""The evaluation walk. It evaluates variables, local values and outputs, with the objects in the state. The console and
other commands that evaluate values without planning use it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar

from planner.engine.evaluation.configuration_walk import ValueWalk
from planner.engine.evaluation.context import EvaluationContext, ModuleInstance, declared_marks
from planner.engine.evaluation.objects import StateObjects, resource_text
from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.variables import evaluate_output
from planner.foundation.values.value import SENSITIVE, Null, Value, mark
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.language.config.model import Config, ResourceDecl
from planner.language.config.variables import RootVariable
from planner.logic.model.graph import Graph, Node
from planner.logic.model.plan import Plan, ResourceChange
from planner.world.state.model import InstanceKey, State


def eval_walk(
    graph: Graph,
    config: Config,
    state: State,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    workspace: str = "default",
) -> tuple[EvaluationContext, list[Diagnostic]]:
    """A context with all values that can be evaluated, and problems. `context.root.scope` resolves names in the root
    module."""
    context = EvaluationContext(config, "eval", schemas, StateObjects(state, schemas), workspace)
    return context, EvalWalk(graph, context, variables).run_all()


class EvalWalk(ValueWalk):
    """Does the work on vertices that only evaluate values. `known`: outputs of called modules that need not be
    evaluated, because the plan contains them, as {address: value}."""

    known: Mapping[str, Value] = {}

    def output(self, node: Node) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for module in self.context.instances_at(node.module):
            decl = module.config.outputs[node.object]
            known = self.known.get(join(module.text, f"output.{decl.name}"))
            value, item = evaluate_output(module, decl) if known is None else (known, [])
            problems += item
            if not has_errors(item):
                module.set_output(decl.name, mark(value, declared_marks(decl.sensitive, decl.ephemeral)))
        return problems

    def warnings_of(self, warnings: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        return ()  # warnings of a plan do not apply, because nothing is planned

    WORK: ClassVar[Mapping[str, str]] = {**ValueWalk.WORK, "output": "output"}


# Evaluates the values of a finished plan: all named values are evaluated again with the planned objects. A plan stores
# the planned objects and root outputs. Other values for explanations (locals, variables and outputs of modules) follow
# from these and from the configuration, so they are evaluated again instead of stored.


def planned_values(
    graph: Graph,
    config: Config,
    plan: Plan,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    workspace: str = "default",
) -> EvaluationContext:
    """A context with the planned values of all names. Values that cannot be evaluated are missing, and problems are
    ignored. `graph`: the graph of the walk `eval`."""
    objects = PlannedObjects(plan, schemas)
    context = EvaluationContext(config, "plan", schemas, objects, workspace, plan.timestamp or None)
    EvalWalk(graph, context, variables).run_all()
    return context


def with_outputs(context: EvaluationContext, plan: Plan) -> None:
    """Add the planned root outputs to a context. The plan walk itself compares root outputs, but does not set their
    values."""
    for output in plan.outputs:
        if output.after.__class__ is not Null or output.name in context.config.root.outputs:
            value = mark(output.after, frozenset((SENSITIVE,))) if output.sensitive else output.after
            context.root.outputs.setdefault(output.name, value)


class PlannedObjects:
    """The objects of a plan, as an ObjectSource (planner.engine.evaluation.context)."""

    def __init__(self, plan: Plan, schemas: Schemas) -> None:
        self._state = StateObjects(plan.prior_state, schemas)
        self._changes: dict[str, dict[InstanceKey, ResourceChange]] = {}
        for change in plan.changes:
            if not change.deposed:
                self._changes.setdefault(change.resource_address, {})[change.key] = change

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        changes = self._changes.get(resource_text(module, resource))
        recorded = self._state.keys(module, resource)
        if changes is None:
            return recorded
        kept = {key for key in recorded or () if key not in changes}
        return kept | {key for key, change in changes.items() if change.after.__class__ is not Null}

    def between(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey]:
        changes = self._changes.get(resource_text(module, resource), {})
        return [key for key in self._state.between(module, resource) if key not in changes]

    def object(self, module: ModuleInstance, resource: ResourceDecl, key: InstanceKey) -> Value:
        change = self._changes.get(resource_text(module, resource), {}).get(key)
        return self._state.object(module, resource, key) if change is None else change.after

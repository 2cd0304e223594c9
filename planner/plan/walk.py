"""The plan walk: the work of every vertex of a plan graph, and the plan that comes of it.

    plan_walk(graph, config, moves, variables, schemas, options, hooks)  ->  (Plan, diagnostics)

The graph says what waits for what; this module says what to do when a vertex's turn comes. Which action an object
gets is not decided here but by the rules of rules/plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.config.model import Config, ResourceDecl
from planner.config.variables import RootVariable
from planner.evaluation.configuration_walk import ConfigurationWalk, module_path, provider_configurations, relation
from planner.evaluation.imports import Imports
from planner.evaluation.instance import Instance
from planner.evaluation.objects import StateObjects
from planner.evaluation.schemas import Schemas
from planner.evaluation.scope import Operation
from planner.model.graph import Graph, Node
from planner.model.plan import Plan, ResourceChange
from planner.plan.decide import Facts
from planner.plan.moves import MoveResults, blocked_warning, check_moves
from planner.plan.options import PlanOptions
from planner.plan.outputs import plan_destroyed_output, plan_output
from planner.plan.record import PlanRecord
from planner.plan.resources import InstanceTask, ResourceVertices
from planner.plan.unmatched import unmatched
from planner.state.model import InstanceKey
from planner.support.collector import collector_paused
from planner.support.later import Later
from planner.values.value import Null, Value
from planner.vocabulary.address import AddressError, join, parse_resource_instance
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.vocabulary.provider_address import parse_provider_configuration
from planner.walk.hooks import Hooks
from planner.walk.machine import Machine
from planner.walk.pool import walk_pool
from planner.walk.sequential import walk_sequentially
from planner.walk.slots import Limits
from planner.walk.work import NOTHING, WorkResult


def plan_walk(
    graph: Graph,
    config: Config,
    moves: MoveResults,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    options: PlanOptions,
    hooks: Hooks | None = None,
) -> tuple[Plan | None, list[Diagnostic]]:
    """Walk a plan graph. `moves` has the state after moving, which the plan starts from. With errors the plan says
    what was planned before and is marked as errored; None when not even that makes sense."""
    with collector_paused():
        walk = PlanWalk(graph, config, moves, variables, schemas, options, hooks or Hooks())
        try:
            return walk.plan()
        finally:
            walk.take_apart()


class PlanWalk(ConfigurationWalk):
    """Everything that the work on vertices shares."""

    def __init__(
        self,
        graph: Graph,
        config: Config,
        moves: MoveResults,
        variables: Mapping[str, RootVariable],
        schemas: Schemas,
        options: PlanOptions,
        hooks: Hooks,
    ) -> None:
        operation: Operation = "plan-destroy" if options.mode == "destroy" else "plan"
        self.timestamp = options.timestamp or _now()
        objects = StateObjects(moves.state, schemas)
        super().__init__(
            graph, config, operation, variables, schemas, objects, options.workspace, self.timestamp, hooks
        )
        self.options = options
        self.is_lenient = options.is_lenient
        self.state = moves.state
        self.record = PlanRecord(moves)
        self.imports = Imports(self.context)
        self.replace = frozenset(options.replace)
        self.self_references: dict[ResourceDecl, list[tuple[InstanceKey, Diagnostic]]] = {}
        self.tasks: dict[str, InstanceTask] = {}
        self.configurations = provider_configurations(graph)
        self.own_references: dict[str, list[str]] = {}
        for resource, target in sorted(relation(graph, "mentions_itself")):
            self.own_references.setdefault(resource, []).append(target)
        self.replacement_first = {row[0] for row in relation(graph, "replacement_first")}
        self._waits: dict[str, list[str]] = {}
        for resource, dependency in sorted(relation(graph, "data_waits")):
            self._waits.setdefault(resource, []).append(dependency)
        self.resources = ResourceVertices(self)

    # ---------------------------------------------------------------- the whole

    def plan(self) -> tuple[Plan | None, list[Diagnostic]]:
        machine = Machine(self.graph.reduced or self.graph.edges)
        self.options.stop.listen(self.providers.stop)
        try:
            if self.options.sequential:
                result = walk_sequentially(machine, self, self.options.stop)
            else:
                self.hooks.walk_start("plan", machine.size)
                progress = self.hooks.walk_progress
                limits = Limits(self.options.provider_limits, self.provider_of)
                result = walk_pool(machine, self, self.options.parallelism, self.options.stop, progress, limits)
        finally:
            self.hooks.walk_complete()
            self.options.stop.forget(self.providers.stop)
            left_open = self.opened.close_all()
            self.providers.close_all()
        problems = [*result.diagnostics, *left_open]
        if result.on_cycle:
            detail = f"These wait for one another: {', '.join(result.on_cycle)}."
            problems.append(error("plan.cycle", "Cycle", detail))
        if result.stopped:
            problems.append(error("plan.interrupted", "Execution halted", "Planning was interrupted before its end."))
        missing = self.imports.missing()
        if missing:
            return None, missing
        misplaced = check_moves(self.record.moves, self.context, self.options.mode == "destroy")
        if misplaced:
            return None, misplaced
        if not has_errors(problems):
            problems += blocked_warning(self.record.moves)
            problems += unmatched(self)
        return self._plan(has_errors(problems)), problems

    def take_apart(self) -> None:
        super().take_apart()
        del self.resources

    def _plan(self, errored: bool) -> Plan:
        options = self.options
        changes = self.record.changes()
        return Plan(
            options.mode,
            changes,
            self.record.drift(),
            tuple(self.record.outputs[name] for name in sorted(self.record.outputs)),
            self.record.prior_state,
            self.record.previous_state,
            None,
            recorded_variables(self.config, self.variables),
            self.checks.results(),
            self.checks.configs(),
            self._relevant_attributes(changes),
            targets=options.targets,
            excludes=options.excludes,
            replace=options.replace,
            timestamp=self.timestamp,
            errored=errored,
            facts=self.record.facts(),
        )

    def _relevant_attributes(self, changes: tuple[ResourceChange, ...]) -> Later[tuple[str, tuple[Any, ...]]]:
        """What the changes rest on: of resources, of root outputs that change and of all outputs of child modules. Few
        plans are asked for it."""
        from planner.plan.relevant import block_lookup, changed_outputs, relevant_attributes

        config, block_of = self.config, block_lookup(self.schemas)
        changed = changed_outputs(self.record.outputs.values(), self.context)
        return Later(lambda: relevant_attributes(config, block_of, changes, changed))

    # ---------------------------------------------------------------- work on vertices (planner.walk.work.Work)

    def is_inline(self, node: str) -> bool:
        if self.opened.has(node):
            return False
        task = self.tasks.get(node)
        if task is not None:
            return task.instance.provider.is_inline
        if self.graph.nodes[node].kind not in _ASKS_PROVIDER:
            return True
        source = self.provider_of(node)
        try:
            return not source or self.schemas.provider(source).is_inline
        except Failure:
            return True

    def provider_of(self, node: str) -> str:
        """The source address of the provider that the work on a vertex asks, "" for none."""
        task = self.tasks.get(node)
        if task is None and self.graph.nodes[node].kind not in _ASKS_PROVIDER:
            return ""
        configuration = task.instance.configuration if task is not None else self.configurations.get(node, node)
        try:
            return parse_provider_configuration(configuration).source
        except AddressError:
            return ""

    def run(self, node: str) -> WorkResult:
        task = self.tasks.get(node)
        if task is not None:
            return WorkResult(tuple(task.run(self, task.instance)))
        vertex = self.graph.nodes[node]
        work = _WORK.get(vertex.kind)
        answer = work(self, vertex) if work is not None else NOTHING
        if isinstance(answer, WorkResult):
            return answer
        return WorkResult(tuple(answer)) if answer else NOTHING

    # ---------------------------------------------------------------- outputs

    def output(self, node: Node) -> list[Diagnostic]:
        path = module_path(node.module)
        config_address = join(node.module, f"output.{node.object}")
        modules = self.context.instances(path)
        self.checks.announce("output_value", config_address, (join(m.text, f"output.{node.object}") for m in modules))
        if not path and self.options.mode == "destroy":
            return self.output_destroy(node)
        problems: list[Diagnostic] = []
        for module in modules:
            problems += plan_output(self, module, node.object, config_address)
        return problems

    def output_destroy(self, node: Node) -> list[Diagnostic]:
        facts: Facts = {"output_declared": ()} if node.object in self.config.root.outputs else {}
        if self.options.mode == "destroy":
            facts["everything_ends"] = ()
        return plan_destroyed_output(self.record, self.state, node.object, facts)

    # ---------------------------------------------------------------- resources

    def resource(self, node: Node) -> WorkResult:
        return self.resources.resource(node)

    def departing(self, node: Node) -> list[Diagnostic]:
        return self.resources.departing(node)

    def may_mention_itself(self, resource: str) -> bool:
        """Whether anything that a resource says, even in depends_on, names the resource itself."""
        return resource in self.own_references or self.graph.database is None

    def changes_before(self, it: Instance) -> tuple[tuple[str, str, str], ...]:
        """What is planned for resources that a data source has to wait for: (resource, action, where)."""
        own = parse_resource_instance(it.config_address).module
        found = set()
        for resource in self._waits.get(it.config_address, ()):
            is_near = parse_resource_instance(resource).module == own
            for action, module in self.record.pending(resource):
                place = "here" if module == it.module_text else "beside" if is_near else "elsewhere"
                found.add((resource, action, place))
        return tuple(sorted(found))


# ---------------------------------------------------------------- helpers


def recorded_variables(config: Config, variables: Mapping[str, RootVariable]) -> dict[str, Value]:
    """What a plan keeps of the root variables: values as given or defaulted, of ephemeral ones only the name."""
    found: dict[str, Value] = {}
    for name, decl in sorted(config.root.variables.items()):
        given = variables.get(name)
        if given is None:
            continue
        if decl.ephemeral:
            found[name] = None
        else:
            found[name] = given.raw if given.raw is not None else (Null() if decl.default is None else decl.default)
    return found


def _now() -> str:
    from time import gmtime, strftime

    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())


_ASKS_PROVIDER = frozenset(("orphan", "deposed", "plan_destroy", "provider"))
"""kinds of vertices, apart from resource instances, whose work may ask a provider"""

_WORK: dict[str, Callable[[PlanWalk, Node], WorkResult | list[Diagnostic]]] = {
    "root_variable": PlanWalk.root_variable,
    "module_variable": PlanWalk.module_variable,
    "variable_reference": PlanWalk.variable_reference,
    "local": PlanWalk.local,
    "output": PlanWalk.output,
    "output_destroy": PlanWalk.output_destroy,
    "module_expand": PlanWalk.module_expand,
    "provider": PlanWalk.provider,
    "provider_close": PlanWalk.provider_close,
    "check_report": PlanWalk.check_report,
    "check_expand": PlanWalk.check_expand,
    "resource": PlanWalk.resource,
    "resource_close": PlanWalk.resource_close,
    "orphan": PlanWalk.departing,
    "deposed": PlanWalk.departing,
    "plan_destroy": PlanWalk.departing,
}
"""what to do at each kind of vertex; at the others there is nothing to do"""

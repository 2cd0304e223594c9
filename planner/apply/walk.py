"""The apply walk: the work of every vertex of an apply graph, and the state that comes of it.

    apply_walk(graph, plan, config, variables, schemas, options, hooks)  ->  Outcome

What is to be done was decided while planning; the graph says in which order. Here everything that the plan left unknown
is evaluated, providers do their work, and the state is kept up to date after each operation, so that whatever happens
it tells what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from threading import Event
from typing import Protocol

from attrs import field, frozen

from planner.apply.changes import apply_data, apply_managed
from planner.apply.departures import destroy_current, destroy_deposed, forget_deposed, forget_instance
from planner.apply.outputs import apply_output
from planner.apply.record import ApplyRecord
from planner.config.model import Config, ResourceDecl
from planner.config.variables import RootVariable
from planner.evaluation.configuration_walk import ConfigurationWalk, module_path, provider_configurations, relation
from planner.evaluation.context import ModuleInstance
from planner.evaluation.ephemeral import apply_ephemeral
from planner.evaluation.imports import import_text
from planner.evaluation.instance import Instance
from planner.evaluation.objects import StateObjects
from planner.evaluation.repetition import NO_REPETITION, Repetition, expand
from planner.evaluation.schemas import Schemas
from planner.model.check_results import check_results, groups
from planner.model.graph import Graph, Node
from planner.model.plan import Plan, ResourceChange
from planner.programs.actions import does
from planner.provider.interface import ResourceSchema
from planner.state.journal import Journal
from planner.state.model import InstanceKey, State
from planner.support.collector import collector_paused
from planner.values.value import Value
from planner.vocabulary.address import AddressError, ResourceAddress, join, parse_resource_instance
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.vocabulary.provider_address import parse_provider_configuration
from planner.walk.hooks import Hooks
from planner.walk.machine import Machine
from planner.walk.pool import walk_pool
from planner.walk.sequential import walk_sequentially
from planner.walk.slots import Limits
from planner.walk.work import StopSignal, WorkResult

INSTANCE_KINDS = frozenset(
    ("instance_apply", "instance_destroy", "deposed_destroy", "instance_forget", "deposed_forget")
)


class Guard(Protocol):
    """Has the last word on an object when its values are known."""

    def decide(self, address: str, value: Value) -> list[Diagnostic]:
        """Why an object must not become this: asked before anything is done to it."""

    def done(self, address: str, value: Value) -> None:
        """What has become of the object; Null when there is none."""


@frozen(eq=False)
class ApplyOptions:
    """`parallelism`: how many provider calls at a time, `provider_limits`: how many of one provider (by its address).
    `journal`: where every change is written down at once.
    `suppress_forget_errors`: it is no error when a plan that destroys everything leaves forgotten objects behind."""

    parallelism: int = 10
    workspace: str = "default"
    stop: StopSignal = field(factory=StopSignal)
    suppress_forget_errors: bool = False
    journal: Journal | None = None
    guard: Guard | None = None
    """policies that wait for values"""
    provider_limits: Mapping[str, int] = field(factory=dict)
    sequential: bool = False
    """one thing at a time on one thread, for debugging"""


@frozen(eq=False)
class Outcome:
    """The state after an apply, as far as it came, what there is to say, and how many objects were created, changed,
    destroyed, imported and forgotten."""

    state: State
    diagnostics: tuple[Diagnostic, ...]
    add: int = 0
    change: int = 0
    remove: int = 0
    imports: int = 0
    forget: int = 0


def apply_walk(
    graph: Graph,
    plan: Plan,
    config: Config,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    options: ApplyOptions,
    hooks: Hooks | None = None,
) -> Outcome:
    """Walk an apply graph. `variables` are the values that the plan was made with."""
    with collector_paused():
        walk = ApplyWalk(graph, plan, config, variables, schemas, options, hooks or Hooks())
        try:
            return walk.apply()
        finally:
            walk.take_apart()


class ApplyWalk(ConfigurationWalk):
    """Everything that the work on vertices shares (planner.walk.work.Work)."""

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        config: Config,
        variables: Mapping[str, RootVariable],
        schemas: Schemas,
        options: ApplyOptions,
        hooks: Hooks,
    ) -> None:
        self.plan, self.options = plan, options
        self.destroys = plan.mode == "destroy"
        self.changes = {(change.address, change.deposed): change for change in plan.changes}
        leaving = [] if self.destroys else [c for c in plan.changes if not c.deposed and does(c.action, "removes")]
        super().__init__(
            graph,
            config,
            "destroy" if self.destroys else "apply",
            variables,
            schemas,
            RemainingObjects(plan.prior_state, schemas, leaving),
            options.workspace,
            plan.timestamp,
            hooks,
        )
        self.record = ApplyRecord(plan.prior_state, options.journal)
        self.planned_outputs = {output.name: output for output in plan.outputs}
        self.stopping = Event()
        self.configurations = provider_configurations(graph)
        self._opening: dict[str, Instance] = {}
        self.deposed_keys = {row[0]: row[1] for row in relation(graph, "new_deposed")}
        self.replacement_first = {row[0] for row in relation(graph, "replacement_first")}

    # ---------------------------------------------------------------- the whole

    def apply(self) -> Outcome:
        self._announce()
        machine = Machine(self.graph.reduced or self.graph.edges)
        stop = self.options.stop
        stop.listen(self.providers.stop)
        stop.listen(self.stopping.set)
        try:
            if self.options.sequential:
                result = walk_sequentially(machine, self, stop)
            else:
                self.hooks.walk_start("apply", machine.size)
                limits = Limits(self.options.provider_limits, self.provider_of)
                result = walk_pool(machine, self, self.options.parallelism, stop, self.hooks.walk_progress, limits)
        finally:
            self.hooks.walk_complete()
            stop.forget(self.stopping.set)
            stop.forget(self.providers.stop)
            left_open = self.opened.close_all()
            self.providers.close_all()
        problems = [*result.diagnostics, *left_open]
        if result.on_cycle:
            detail = f"These wait for one another: {', '.join(result.on_cycle)}."
            problems.append(error("plan.cycle", "Cycle", detail))
        if result.stopped:
            detail = "The apply was interrupted. What was done so far is saved."
            problems.append(error("apply.interrupted", "Execution halted", detail))
        return self._outcome(problems)

    def _announce(self) -> None:
        """Say which objects with conditions there are, and what happens without any work: imports."""
        found: dict[tuple[str, str], list[str]] = {}
        for result in self.plan.checks:
            addresses = found.setdefault((result.kind, result.config_address), [])
            addresses += [result.address] if result.address else []
        for (kind, config_address), addresses in found.items():
            self.checks.announce(kind, config_address, addresses)
        for change in self.plan.changes:
            if change.importing is not None:
                shown = change.importing.id or import_text(change.importing.identity)
                self.hooks.import_start(change.address, shown)
                self.hooks.import_complete(change.address, shown)

    def _outcome(self, problems: list[Diagnostic]) -> Outcome:
        forgotten = sum(does(c.action, "releases") for c in self.plan.changes)
        if self.destroys and forgotten and not has_errors(problems) and not self.options.suppress_forget_errors:
            detail = (
                "Everything else is destroyed, but as the configuration asks, some objects were only forgotten: they "
                "still exist. With -suppress-forget-errors this is no error."
            )
            summary = "Destroy was successful but left behind forgotten instances"
            problems.append(error("apply.forgotten_left", summary, detail))
        if self.plan.targets or self.plan.excludes:
            detail = (
                "-target or -exclude left things out of the plan, so there may be more to do. An ordinary plan shows "
                "whether that is so."
            )
            problems.append(warning("apply.targeting", "Applied changes may be incomplete", detail))
        checks = self.plan.checks if self.plan.mode == "refresh-only" else self.checks.results()
        self.record.state.check_results = check_results(groups(checks, self.checks.configs()))
        counts = self.record.counts
        return Outcome(
            self.record.state.snapshot(),
            tuple(problems),
            counts["create"],
            counts["update"],
            counts["delete"],
            sum(change.importing is not None for change in self.plan.changes),
            forgotten,
        )

    # ---------------------------------------------------------------- work on vertices

    def is_inline(self, node: str) -> bool:
        if node in self._opening or self.opened.has(node):
            return False
        vertex = self.graph.nodes[node]
        if vertex.kind in INSTANCE_KINDS and self._has_provisioners(vertex):
            return False
        source = self.provider_of(node)
        try:
            return not source or self.schemas.provider(source).is_inline
        except Failure:
            return True

    def provider_of(self, node: str) -> str:
        """The source address of the provider that the work on a vertex asks, "" for none."""
        vertex = self.graph.nodes[node]
        if vertex.kind not in INSTANCE_KINDS and vertex.kind != "provider":
            return ""
        configuration = vertex.object if vertex.kind == "provider" else self._change(vertex).provider
        try:
            return parse_provider_configuration(configuration).source
        except AddressError:
            return ""

    def run(self, node: str) -> WorkResult:
        opening = self._opening.get(node)
        if opening is not None:
            return WorkResult(tuple(apply_ephemeral(self, opening)))
        vertex = self.graph.nodes[node]
        work = _WORK.get(vertex.kind)
        if work is None:
            return WorkResult()
        answer = work(self, vertex)
        return answer if isinstance(answer, WorkResult) else WorkResult(tuple(answer))

    def output(self, node: Node) -> list[Diagnostic]:
        if self.destroys and not node.module:
            return self.output_destroy(node)
        config_address = join(node.module, f"output.{node.object}")
        problems: list[Diagnostic] = []
        for module in self.context.instances(module_path(node.module)):
            problems += apply_output(self, module, node.object, config_address)
        return problems

    def output_destroy(self, node: Node) -> list[Diagnostic]:
        self.record.state.remove_output(node.object)
        return []

    def resource(self, node: Node) -> WorkResult:
        """Say which instances a resource has; ephemeral ones are opened."""
        path = module_path(node.module)
        config = self.config.root.descendant(path)
        decl = config.resources.get(node.object) if config is not None else None
        problems: list[Diagnostic] = []
        for module in self.context.instances(path) if decl is not None else ():
            try:
                problems += self._expand(module, decl)
                self._record(node, module, decl)
            except Failure as failure:
                problems += failure.diagnostics
        if decl is None or decl.mode != "ephemeral" or has_errors(problems):
            return WorkResult(tuple(problems))
        children: dict[str, tuple[str, ...]] = {}
        for module in self.context.instances(path):
            expansion = module.resource(decl.key).expansion
            for key, repetition in expansion.instances.items() if expansion is not None else ():
                try:
                    it = self._ephemeral(node, decl, module, key, repetition)
                except Failure as failure:
                    problems += failure.diagnostics
                    continue
                self._opening[it.address] = it
                children[it.address] = ()
        return WorkResult(tuple(problems), None if has_errors(problems) else children or None)

    def _ephemeral(
        self, node: Node, decl: ResourceDecl, module: ModuleInstance, key: InstanceKey, repetition: Repetition
    ) -> Instance:
        configuration = self.configurations.get(node.name, "")
        address = module.instance_address(decl, key)
        provider_key = self.providers.key_of(module, decl, repetition, address)
        return Instance(
            node.name,
            module.text,
            decl.mode,
            decl.type,
            decl.name,
            key,
            configuration,
            provider_key,
            self.providers.instance(configuration, provider_key, address),
            self.schemas.of(module.config, decl),
            join(node.module, decl.key),
            module,
            decl,
            repetition=repetition,
        )

    def _expand(self, module: ModuleInstance, decl: ResourceDecl | None) -> tuple[Diagnostic, ...]:
        assert decl is not None
        what = str(ResourceAddress(module.address, decl.mode, decl.type, decl.name))
        expansion = module.resource(decl.key).expansion = expand(decl, module.scope, what)
        return expansion.warnings

    def _record(self, node: Node, module: ModuleInstance, decl: ResourceDecl | None) -> None:
        """From now on the state knows the resource, even if none of its instances comes into being."""
        configuration = self.configurations.get(node.name)
        if decl is not None and decl.mode != "ephemeral" and configuration is not None:
            self.record.state.declare(module.text, decl.mode, decl.type, decl.name, configuration)

    def instance_apply(self, node: Node) -> list[Diagnostic]:
        change = self._change(node)
        it = self._declared(node, change)
        return apply_managed(self, it, change) if it.mode == "managed" else apply_data(self, it, change)

    def instance_destroy(self, node: Node) -> list[Diagnostic]:
        return destroy_current(self, self._recorded(node), self._change(node))

    def deposed_destroy(self, node: Node) -> list[Diagnostic]:
        return destroy_deposed(self, self._recorded(node))

    def instance_forget(self, node: Node) -> list[Diagnostic]:
        return forget_instance(self, self._recorded(node))

    def deposed_forget(self, node: Node) -> list[Diagnostic]:
        return forget_deposed(self, self._recorded(node))

    def root(self, node: Node) -> list[Diagnostic]:
        """All went well: what has no instances need not be remembered."""
        self.record.state.remove_empty()
        return []

    # ---------------------------------------------------------------- instances

    def depose(self, it: Instance) -> str:
        """Set the current object aside under the key that the graph expects; that key, "" without an object."""
        return self.record.state.depose(it.resource_address, it.key, self.deposed_keys.get(it.address, ""))

    def _change(self, node: Node) -> ResourceChange:
        """The planned change that a vertex carries out."""
        return self.changes.get((node.object, node.extra)) or self.changes[node.object, ""]

    def _has_provisioners(self, node: Node) -> bool:
        try:
            address = parse_resource_instance(node.object)
        except AddressError:
            return False
        decl = self._declaration(address)
        if decl is not None:
            return bool(decl.provisioners)
        removal = self.removal(str(address.config))
        return removal is not None and bool(removal.provisioners)

    def _declaration(self, address: ResourceAddress) -> ResourceDecl | None:
        config = self.config.root.descendant(address.path)
        return config.resources.get(address.config.relative) if config is not None else None

    def _declared(self, node: Node, change: ResourceChange) -> Instance:
        """The instance of a vertex that applies. Raises Failure when the configuration does not declare it."""
        address = parse_resource_instance(node.object)
        decl, module = self._declaration(address), self.context.module(address.module)
        repetition: Repetition | None = None
        if decl is not None and module is not None:
            objects = module.resource(decl.key)
            if objects.expansion is None:
                self._expand(module, decl)
            repetition = objects.expansion.instances.get(address.key) if objects.expansion is not None else None
        if decl is None or module is None or repetition is None:
            detail = f"The plan has changes of {address}, but the configuration does not declare it any more."
            raise Failure(error("apply.undeclared_instance", "Resource instance not declared", detail))
        key = self.providers.key_of(module, decl, repetition, str(address))
        it = self._instance(node, address, change, key, module, decl, repetition)
        it.created_first = node.name in self.replacement_first
        return it

    def _recorded(self, node: Node) -> Instance:
        """The instance of a vertex that takes an object away, as the state knows it. Raises Failure."""
        address = parse_resource_instance(node.object)
        resource = self.plan.prior_state.resources.get(str(address.resource))
        known = resource.instances.get(address.key) if resource is not None else None
        key = known.provider_key if known is not None else None
        return self._instance(
            node, address, self._change(node), key, self.context.module(address.module), self._declaration(address)
        )

    def _instance(
        self,
        node: Node,
        address: ResourceAddress,
        change: ResourceChange,
        provider_key: InstanceKey,
        module: ModuleInstance | None,
        decl: ResourceDecl | None,
        repetition: Repetition = NO_REPETITION,
    ) -> Instance:
        source = parse_provider_configuration(change.provider).source
        schema: ResourceSchema | None = self.schemas.resource(source, address.mode, address.type)
        if schema is None:
            detail = f"The provider {source} does not know the type {address.type} of {address}."
            raise Failure(error("plan.invalid_resource_type", "Invalid resource type", detail))
        if node.kind == "instance_apply" or (address.mode == "managed" and node.kind.endswith("destroy")):
            provider = self.providers.instance(change.provider, provider_key, str(address))
        else:
            provider = self.schemas.provider(source)
        return Instance(
            node.name,
            str(address.module),
            address.mode,
            address.type,
            address.name,
            address.key,
            change.provider,
            provider_key,
            provider,
            schema,
            str(address.config),
            module,
            decl,
            node.extra,
            repetition,
        )


class RemainingObjects(StateObjects):
    """The objects of the state before the apply, without those that are going to be destroyed: when the walk is over
    they are gone, so nothing may be made of them. What the walk changes it sets itself."""

    def __init__(self, state: State, schemas: Schemas, leaving: Collection[ResourceChange]) -> None:
        super().__init__(state, schemas)
        self._leaving: dict[str, set[InstanceKey]] = {}
        for change in leaving:
            self._leaving.setdefault(change.resource_address, set()).add(change.key)

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        found = super().keys(module, resource)
        leaving = self._leaving.get(str(ResourceAddress(module.address, resource.mode, resource.type, resource.name)))
        return found if found is None or leaving is None else [key for key in found if key not in leaving]


_WORK: dict[str, Callable[[ApplyWalk, Node], WorkResult | list[Diagnostic]]] = {
    "root_variable": ApplyWalk.root_variable,
    "module_variable": ApplyWalk.module_variable,
    "variable_reference": ApplyWalk.variable_reference,
    "local": ApplyWalk.local,
    "output": ApplyWalk.output,
    "output_destroy": ApplyWalk.output_destroy,
    "module_expand": ApplyWalk.module_expand,
    "provider": ApplyWalk.provider,
    "provider_close": ApplyWalk.provider_close,
    "check_expand": ApplyWalk.check_expand,
    "resource": ApplyWalk.resource,
    "resource_close": ApplyWalk.resource_close,
    "instance_apply": ApplyWalk.instance_apply,
    "instance_destroy": ApplyWalk.instance_destroy,
    "deposed_destroy": ApplyWalk.deposed_destroy,
    "instance_forget": ApplyWalk.instance_forget,
    "deposed_forget": ApplyWalk.deposed_forget,
    "root": ApplyWalk.root,
}
"""what to do at each kind of vertex; at the others there is nothing to do"""

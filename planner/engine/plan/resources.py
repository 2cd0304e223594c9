"""Expands resources to instances, and starts the planning of each instance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

from planner.engine.evaluation.conditions import forget_compiled
from planner.engine.evaluation.configuration_walk import relation
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.data import data_configuration, open_resource, register_opened
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.repetition import NO_REPETITION, Expansion, Repetition, expand
from planner.engine.evaluation.schemas import marked_by_schema
from planner.engine.plan.action import derive
from planner.engine.plan.data import plan_data, readiness
from planner.engine.plan.destroy import plan_deposed, plan_destroy, plan_orphan
from planner.engine.plan.managed import plan_managed
from planner.engine.plan.options import InstanceLimits, Settled, command_line
from planner.engine.plan.shared_work import PlanWork
from planner.engine.walk.machine import NOTHING, WorkResult
from planner.foundation.values.paths import apply_marks, marked_paths
from planner.foundation.values.value import Null, Value, unmark_deep
from planner.foundation.vocabulary.address import (
    ResourceAddress,
    format_key,
    join,
    parse_module,
    parse_resource_instance,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.nearest import option
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import frozen
from planner.language.config.model import ResourceDecl
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.facts.from_state import declared_instance, recorded_instance
from planner.logic.model.graph import Node
from planner.logic.programs.rule_programs import product_program
from planner.world.provider.propose import planned_unknown_object
from planner.world.state.model import InstanceKey, ResourceState

# Ephemeral resources are opened if everything that they need is known.


def plan_ephemeral(walk: PlanWork, it: Instance) -> list[Diagnostic]:
    """Open an ephemeral resource if this is already possible while planning. Otherwise only the apply opens it, and its
    value has unknown parts, or is null in a refresh-only plan. Raises Failure."""
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
        given, item = open_resource(walk, it, config)
        problems += item
        if given is None:
            return problems
        value = marked_by_schema(given, it.schema.block)
    return problems + register_opened(walk, it, value)


def run_search(walk: PlanWork, it: Instance) -> list[Diagnostic]:
    """Run a list block. The module `discover` is imported here, because few commands need it. Raises Failure."""
    from planner.engine.plan import discover

    return discover.run_search(walk, it)


InstanceWork = Callable[["PlanWork", Instance], list[Diagnostic]]


@frozen(eq=False)
class InstanceTask:
    instance: Instance
    run: InstanceWork


def _declared_addresses(decl: ResourceDecl, modules: Iterable[ModuleInstance]) -> list[str]:
    expansions = ((module, module.resource(decl.key).expansion) for module in modules)
    return [module.instance_address(decl, key) for module, made in expansions if made for key in made.instances]


class ResourceVertices:
    """Processes the resource vertices of a plan walk."""

    def __init__(self, walk: PlanWork) -> None:
        self.walk = walk
        self.tasks: dict[str, InstanceTask] = {}
        """{vertex: task} for the instances that are separate vertices"""
        command = command_line("plan", walk.options.limits)
        in_part = None
        if walk.graph.database is not None:
            in_part = {row[0] for row in relation(walk.graph, "named_in_part")}
        self._limits = InstanceLimits(command, in_part)
        self._in_state: dict[str, list[ResourceState]] = {}
        for recorded in walk.state.resources.values():
            self._in_state.setdefault(_config_address(recorded), []).append(recorded)

    def resource(self, node: Node) -> WorkResult:
        """Expand a resource, and plan every instance that is declared or in the state. For an action, plan the
        invocations that the command line requests. A resource in the option `settled` is not planned again."""
        path = parse_module(node.module).path
        module_config = self.walk.config.root.descendant(path)
        assert module_config is not None
        decl = module_config.resources[node.object]
        config_address = join(node.module, node.object)
        settled = self.walk.options.settled.get(config_address)
        if settled is not None:
            return self._take_settled(decl, settled)
        modules = self.walk.context.instances(path)
        problems: list[Diagnostic] = []
        if not self.walk.options.before_destroy and self.walk.options.mode == "normal":
            problems += self.walk.imports.resolve(config_address)
        for module in modules:
            try:
                what = join(module.text, decl.key)
                expansion = module.resource(decl.key).expansion = expand(decl, module.scope, what)
                problems += expansion.warnings
            except Failure as failure:
                problems += failure.diagnostics
        if has_errors(problems):
            return WorkResult(tuple(problems))
        if decl.mode == "action":
            from planner.engine.plan.invocations import plan_requested

            return WorkResult((*problems, *plan_requested(self.walk, decl, modules)))
        problems += self._incomplete_requests(decl, modules)
        tasks: list[InstanceTask] = []
        left_out = self._left_out(node.name, config_address, decl, modules)
        for module in modules:
            self._add_instances(node, decl, module, config_address, left_out, tasks, problems)
        declared = {module.text for module in modules}
        for resource in self._in_state.get(config_address, ()):
            if resource.module not in declared:
                for key in resource.instances:
                    self._add_orphan(node, resource, key, decl, None, left_out, tasks, problems)
        self.walk.checks.announce("resource", config_address, _declared_addresses(decl, modules))
        result = self._start(tasks, problems, self.walk.own_references.get(config_address, ()))
        # This is done only in the root module, because all calls of a called module share its compiled expressions.
        if self.walk.options.evaluates_once and not path and result.children is None:
            forget_compiled(decl.body)
        return result

    def _take_settled(self, decl: ResourceDecl, settled: Settled) -> WorkResult:
        objects = self.walk.context.root.resource(decl.key)
        objects.expansion = Expansion(objects.argument, dict.fromkeys(settled, NO_REPETITION))
        for key, value in settled.items():
            objects.set(key, value)
        return NOTHING

    def _start(
        self, tasks: list[InstanceTask], problems: list[Diagnostic], own_references: Iterable[str] = ()
    ) -> WorkResult:
        """Run the tasks that make no provider calls. The other tasks become vertices, unless there is an error. An
        instance that waits for a failed instance is skipped. If instances wait for each other, this is an error."""
        waits: Waits = {}
        order: dict[str, int] | None = {}
        if own_references:
            waits, order = waiting_instances(_own_instances(tasks, own_references))
        if order is None:
            names = ", ".join(sorted(waits))
            problems.append(
                error("plan.cycle", f"Cycle: {names}", "These instances of one resource wait for each other.")
            )
            return WorkResult(tuple(problems))
        failed: set[str] = set()
        children: dict[str, Iterable[str]] = {}
        for task in sorted(tasks, key=lambda task: order.get(task.instance.address, 0)):
            it = task.instance
            if not failed.isdisjoint(waits.get(it.address, ())):
                failed.add(it.address)
            elif it.provider.is_inline and not (it.decl and it.decl.lifecycle.action_triggers):
                try:
                    result = task.run(self.walk, it)
                except Failure as failure:
                    result = failure.diagnostics
                problems += result
                if has_errors(result):
                    failed.add(it.address)
            else:
                name = f"{it.address} (orphan)" if it.is_orphan else it.address
                self.tasks[name] = task
                children[name] = waits.get(it.address, ())
        if children and has_errors(problems):
            children = {}
        return WorkResult(tuple(problems), children or None)

    def _add_instances(
        self,
        node: Node,
        decl: ResourceDecl,
        module: ModuleInstance,
        config_address: str,
        left_out: Collection[str],
        tasks: list[InstanceTask],
        problems: list[Diagnostic],
    ) -> None:
        objects = module.resource(decl.key)
        assert objects.expansion is not None
        for key, repetition in objects.expansion.instances.items():
            address = module.instance_address(decl, key)
            if address in left_out:
                continue
            try:
                it = self.instance(node.name, decl, module, key, repetition, config_address)
            except Failure as failure:
                problems += failure.diagnostics
                continue
            tasks.append(InstanceTask(it, _PLANNERS[decl.mode]))
        # decided in Python: which instances of a resource exist only in the state -- rules would make plans 10 % slower
        resource = self.walk.state.resources.get(join(module.text, decl.key))
        if resource is not None:
            for key, instance in resource.instances.items():
                if key not in objects.expansion.instances and instance.current is not None:
                    self._add_orphan(node, resource, key, decl, module, left_out, tasks, problems)

    def _add_orphan(
        self,
        node: Node,
        resource: ResourceState,
        key: InstanceKey,
        decl: ResourceDecl,
        module: ModuleInstance | None,
        left_out: Collection[str],
        tasks: list[InstanceTask],
        problems: list[Diagnostic],
    ) -> None:
        if resource.instances[key].current is None:
            return
        try:
            it = self.recorded_instance(node.name, resource, key, decl, module, key_scope=module)
        except Failure as failure:
            problems += failure.diagnostics
            return
        it.is_orphan = True
        if it.address not in left_out:
            tasks.append(InstanceTask(it, plan_orphan))

    def instance(
        self,
        node: str,
        decl: ResourceDecl,
        module: ModuleInstance,
        key: InstanceKey,
        repetition: Repetition,
        config_address: str,
    ) -> Instance:
        """An instance that the configuration declares. Raises Failure if it has no schema or no provider."""
        it = self.walk.declared_instance(node, self._configuration(node), module, decl, key, repetition, config_address)
        it.created_first = node in self.walk.replacement_first
        return it

    def recorded_instance(
        self,
        node: str,
        resource: ResourceState,
        key: InstanceKey,
        decl: ResourceDecl | None,
        module: ModuleInstance | None,
        deposed: str = "",
        key_scope: ModuleInstance | None = None,
    ) -> Instance:
        """An instance in the state. `key_scope`: the module instance in which the key of its provider instance is
        evaluated. Raises Failure if the instance has no schema or no provider."""
        configuration = self._configuration(node, resource.provider)
        parsed = parse_provider_configuration(configuration)
        schema = self.walk.schemas.resource(parsed.source, resource.mode, resource.type)
        address = ResourceAddress(parse_module(resource.module), resource.mode, resource.type, resource.name, key)
        if schema is None:
            detail = f"The provider {parsed.source} does not have the type {resource.type} of {address}."
            raise Failure(error("plan.invalid_resource_type", "Invalid resource type", detail))
        provider_key = resource.instances[key].provider_key
        if resource.mode == "managed":
            provider_key = self.walk.providers.recorded_key(address.path, key_scope, decl, provider_key, str(address))
            provider = self.walk.providers.of_resource(
                configuration, provider_key, str(address), resource.mode, resource.type, str(address.config), decl
            )
        else:
            provider = self.walk.schemas.provider(parsed.source)
        return Instance(
            node,
            resource.module,
            resource.mode,
            resource.type,
            resource.name,
            key,
            configuration,
            provider_key,
            provider,
            schema,
            str(address.config),
            module,
            decl,
            deposed,
        )

    def departing(self, node: Node) -> list[Diagnostic]:
        """Plan to destroy or forget an object of the state that has its own vertex. This is an object that is no longer
        declared, a deposed object, or any object in a destroy plan."""
        address = parse_resource_instance(node.object)
        resource = self.walk.state.resources[str(address.resource)]
        config = self.walk.config.root.descendant(address.path)
        decl = config.resources.get(address.config.relative) if config is not None else None
        module = self.walk.context.module(address.module)
        it = self.recorded_instance(node.name, resource, address.key, decl, module, node.extra)
        it.is_orphan = True
        return _DEPARTURES[node.kind](self.walk, it)

    def _configuration(self, node: str, recorded: str = "") -> str:
        result = self.walk.configurations.get(node) or recorded
        if not result:
            raise Failure(error("plan.no_provider", "Provider configuration not present", f"{node} has no provider."))
        return result

    def _left_out(
        self, node: str, config_address: str, decl: ResourceDecl, modules: list[ModuleInstance]
    ) -> Collection[str]:
        """The instances that -target or -exclude leaves out although other instances of their resource may be
        selected."""
        if not self._limits.concern(node):
            return ()
        facts = self._limits.facts()
        declared = set()
        for module in modules:
            expansion = module.resource(decl.key).expansion
            for key in expansion.instances if expansion is not None else ():
                address = module.instance_address(decl, key)
                declared.add(address)
                declared_instance(facts, address, config_address, module.text, format_key(key), decl.span)
        present = {module.text for module in modules}
        for resource in self._in_state.get(config_address, ()):
            for key in resource.instances:
                address = resource.address + format_key(key)
                if address not in declared:
                    recorded_instance(facts, address, config_address, resource.module not in present)
        return self._limits.left_out(facts)

    def _incomplete_requests(self, decl: ResourceDecl, modules: list[ModuleInstance]) -> list[Diagnostic]:
        """Warnings for addresses of -replace that have no key although all instances of the resource have keys."""
        problems = []
        named = sorted(set(self.walk.options.limits.replace), key=str)
        # decided in Python: whether -replace lacks an instance key -- a comparison of mode, type and name
        # The module is not compared, so an address in another module counts for this one, too.
        without_key = [
            a for a in named if a.key is None and (a.mode, a.type, a.name) == (decl.mode, decl.type, decl.name)
        ]
        for module, address in ((module, address) for module in modules for address in without_key):
            expansion = module.resource(decl.key).expansion
            if expansion is None or list(expansion.instances) == [None]:
                continue
            lines = "".join(
                f"\n  {option('replace', module.instance_address(decl, key))}" for key in expansion.instances
            )
            hint = f" Name an instance:{lines}" if lines else " The resource has no instances."
            detail = f"-replace={address} matches no instance, because every instance has a key.{hint}"
            summary = "Incompletely-matched force-replace resource instance"
            problems.append(warning("plan.incomplete_replace", summary, detail))
        return problems


def _own_instances(tasks: Iterable[InstanceTask], mentioned: Iterable[str]) -> FactBase:
    """Facts about the declared instances of a resource, and about references in its block to its own instances."""
    facts = FactBuilder()
    for it in (task.instance for task in tasks):
        if it.is_orphan or it.decl is None:
            continue
        declared_instance(facts, it.address, it.config_address, it.module_text, format_key(it.key), it.decl.span)
        for target in mentioned:
            facts.add("mentions_itself", it.config_address, target)
    return facts.build()


def _config_address(resource: ResourceState) -> str:
    if "[" not in resource.module:
        return resource.address
    module = parse_module(resource.module)
    return str(ResourceAddress(module.config, resource.mode, resource.type, resource.name))


_PLANNERS: dict[str, InstanceWork] = {
    "managed": plan_managed,
    "data": plan_data,
    "ephemeral": plan_ephemeral,
    "list": run_search,
}
_DEPARTURES: dict[str, InstanceWork] = {"orphan": plan_orphan, "deposed": plan_deposed, "plan_destroy": plan_destroy}


# References of a resource to itself: instances wait for other instances of the resource, as
# rules/graph/own_references.dl derives.


Waits: TypeAlias = dict[str, list[str]]  # {instance: the other instances of the resource for which it waits}


def waiting_instances(facts: FactBase) -> tuple[Waits, dict[str, int] | None]:
    """({instance: the instances for which it waits}, {instance: its position}). The positions are an order in which no
    instance waits for a later one. If there is a cycle, the second result is None. `facts`: the facts `expanded` and
    `mentions_itself` about one resource."""
    derived = evaluate(product_program("limits"), facts, ["instance_waits", "instance_level", "instance_cycle"])
    waits: Waits = {row[0]: [] for row in facts.relation("expanded")}
    for address, other in derived.sorted("instance_waits"):
        waits[address].append(other)
    if derived["instance_cycle"]:
        return waits, None
    levels: dict[str, int] = dict(derived["instance_level"])
    order = sorted(waits, key=lambda address: levels.get(address, 0))
    return waits, {address: place for place, address in enumerate(order)}

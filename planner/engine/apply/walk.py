"""The apply walk: the work of every vertex of an apply graph, and the new state.

 apply_walk(graph, plan, config, variables, schemas, options, hooks)  ->  ApplyResult

The plan has the actions; the graph determines the order. The walk evaluates the values that were unknown in the plan,
and lets providers run the operations. It updates the state after each operation, so that the state always contains the
existing objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from planner.engine.apply.changes import (
    apply_data,
    apply_ephemeral,
    apply_managed,
    destroy_current,
    destroy_deposed,
    forget_deposed,
    forget_instance,
)
from planner.engine.apply.invocations import invoke_requested
from planner.engine.apply.outcomes import STEPS, Outcome, outcomes
from planner.engine.apply.shared_work import ApplyOptions, ApplyWork
from planner.engine.evaluation.conditions import check_rule
from planner.engine.evaluation.configuration_walk import ConfigurationWalk, module_path
from planner.engine.evaluation.context import ModuleInstance, output_marks
from planner.engine.evaluation.imports import import_text
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.repetition import NO_REPETITION, Repetition, expand
from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.variables import evaluate_output
from planner.engine.walk.hooks import Hooks
from planner.engine.walk.machine import WorkResult
from planner.foundation.support.disk import collector_paused
from planner.foundation.support.trace import as_step
from planner.foundation.values.sets import unknown_as_null
from planner.foundation.values.value import Null, Value, is_wholly_known, mark, type_of, unmark_deep
from planner.foundation.vocabulary.address import AddressError, ResourceAddress, join, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.model import Config, ResourceDecl
from planner.language.config.variables import RootVariable
from planner.logic.model.check_results import check_results, groups
from planner.logic.model.graph import Graph, Node
from planner.logic.model.plan import Plan, ResourceChange
from planner.logic.programs.actions import Counts, does
from planner.world.provider.interface import ResourceSchema
from planner.world.state.model import InstanceKey, OutputState, State
from planner.world.state.taint_record import TaintOrigin


@frozen(eq=False)
class ApplyResult:
    """The state after a complete or partial apply, and the number of objects by operation. `has_begun`: whether an
    operation began or an instance changed. `taints`: for each object that became tainted, by address, the step that
    failed. `outcomes`: the outcome of each change, by the name of the change; empty if there were no errors."""

    state: State
    diagnostics: tuple[Diagnostic, ...]
    counts: Counts = Counts()
    has_begun: bool = True
    taints: Mapping[str, TaintOrigin] = field(factory=dict)
    outcomes: Mapping[str, Outcome] = field(factory=dict)


@as_step("walk apply")
def apply_walk(
    graph: Graph,
    plan: Plan,
    config: Config,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    options: ApplyOptions,
    hooks: Hooks | None = None,
) -> ApplyResult:
    """Apply a plan. `variables`: the values of root variables that the plan contains."""
    with collector_paused():
        walk = ApplyWalk(graph, plan, config, variables, schemas, options, hooks or Hooks())
        try:
            return walk.apply()
        finally:
            walk.take_apart()


class ApplyWalk(ApplyWork):
    WORK: ClassVar[Mapping[str, str]] = {
        **ConfigurationWalk.WORK,
        **{
            kind: kind
            for kind in (
                "instance_apply",
                "instance_destroy",
                "deposed_destroy",
                "instance_forget",
                "deposed_forget",
                "output",
                "output_destroy",
                "resource",
                "root",
            )
        },
    }

    _opening: dict[str, Instance]  # the instances of ephemeral resources, by vertex

    # ---------------------------------------------------------------- the walk as a whole

    def apply(self) -> ApplyResult:
        self._opening = {}
        self._announce()
        detail = "The apply was interrupted. All changes so far are saved."
        return self._outcome(
            self.drive("apply", error("apply.interrupted", "Execution halted", detail), self.stopping.set)
        )

    def _announce(self) -> None:
        """Announce objects with conditions to the check state, and report imports to the hooks. No vertex of the graph
        does this work."""
        table: dict[tuple[str, str], list[str]] = {}
        for result in self.plan.checks:
            addresses = table.setdefault((result.kind, result.config_address), [])
            addresses += [result.address] if result.address else []
        for (kind, config_address), addresses in table.items():
            self.checks.announce(kind, config_address, addresses)
        for change in self.plan.changes:
            if change.importing is not None:
                shown = change.importing.id or import_text(change.importing.identity)
                self.hooks.import_start(change.address, shown)
                self.hooks.import_complete(change.address, shown)

    def _outcome(self, problems: list[Diagnostic]) -> ApplyResult:
        forgotten = sum(does(c.action, "releases") for c in self.plan.changes)
        if self.destroys and forgotten and not has_errors(problems) and not self.options.suppress_forget_errors:
            detail = (
                "All other objects were destroyed, but some objects were only forgotten, as configured: they still "
                "exist. With -suppress-forget-errors this is not an error."
            )
            summary = "Destroy was successful but left behind forgotten instances"
            problems.append(error("apply.forgotten_left", summary, detail))
        left = {block for block, _, _ in self.plan.deferred}
        if left:
            detail = (
                f"These blocks and all objects that depend on them were deferred to a later plan, so plan again: "
                f"{', '.join(sorted(left))}."
            )
            problems.append(warning("apply.deferred", "Some objects were deferred", detail))
        if self.plan.limits.including(left).is_partial:
            detail = (
                "The plan was created with the -target or the -exclude option in effect, so some changes requested in "
                "the configuration may have been ignored and the output values may not be fully updated. Run the "
                "following command to verify that no other changes are pending:\n    planner plan\n\t\nNote that the "
                "-target and -exclude options are not suitable for routine use, and are provided only for exceptional "
                "situations such as recovering from errors or mistakes, or when planner specifically suggests to use "
                "it as part of an error message."
            )
            problems.append(warning("apply.targeting", "Applied changes may be incomplete", detail))
        checks = self.plan.checks if self.plan.mode == "refresh-only" else self.checks.results()
        self.record.state.check_results = check_results(groups(checks, self.checks.configs()))
        counts = self.record.counts
        imports = sum(change.importing is not None for change in self.plan.changes)
        return ApplyResult(
            self.record.state.snapshot(),
            tuple(problems),
            Counts(
                counts["create"],
                counts["update"],
                counts["delete"],
                imports,
                forgotten,
                counts["invoke"],
                counts["failed"],
            ),
            self.record.has_begun,
            self.record.taints,
            outcomes(self) if has_errors(problems) else {},
        )

    # ---------------------------------------------------------------- work on vertices

    def is_inline(self, node: str) -> bool:
        if node in self._opening or self.opened.has(node):
            return False
        vertex = self.graph.nodes[node]
        if node in self.asking and self._runs_programs(vertex):
            return False
        source = self.provider_of(node)
        try:
            return not source or self.schemas.provider(source).is_inline
        except Failure:
            return True

    def provider_of(self, node: str) -> str:
        if node not in self.asking:
            return ""
        vertex = self.graph.nodes[node]
        configuration = vertex.object if vertex.kind == "provider" else self._change(vertex).provider
        try:
            return parse_provider_configuration(configuration).source
        except AddressError:
            return ""

    def run(self, node: str) -> WorkResult:
        if (opening := self._opening.get(node)) is not None:
            return WorkResult(tuple(apply_ephemeral(self, opening)))
        if self.graph.nodes[node].kind not in STEPS:
            return super().run(node)
        try:
            result = super().run(node)
        except Failure as failure:
            self.record.ends[node] = failure.diagnostics
            raise
        self.record.ends[node] = result.diagnostics
        return result

    def output(self, node: Node) -> list[Diagnostic]:
        if self.destroys and not node.module:
            return self.output_destroy(node)
        config_address = join(node.module, f"output.{node.object}")
        problems: list[Diagnostic] = []
        for module in self.context.instances_at(node.module):
            problems += apply_output(self, module, node.object, config_address)
        return problems

    def output_destroy(self, node: Node) -> list[Diagnostic]:
        self.record.state.remove_output(node.object)
        return []

    def resource(self, node: Node) -> WorkResult:
        """Expand a resource in all module instances, and record it in the state. For an action, make the invocations
        that the command line requests. For an ephemeral resource, add a child vertex for each instance, which opens the
        instance."""
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
        if decl is not None and decl.mode == "action" and not has_errors(problems):
            problems += invoke_requested(self, decl, join(node.module, node.object))
        if decl is None or decl.mode != "ephemeral" or has_errors(problems):
            return WorkResult(tuple(problems))
        children: dict[str, tuple[str, ...]] = {}
        for module in self.context.instances(path):
            expansion = module.resource(decl.key).expansion
            for key, repetition in expansion.instances.items() if expansion is not None else ():
                try:
                    configuration, address = self.configurations.get(node.name, ""), join(node.module, decl.key)
                    it = self.declared_instance(node.name, configuration, module, decl, key, repetition, address)
                except Failure as failure:
                    problems += failure.diagnostics
                    continue
                self._opening[it.address] = it
                children[it.address] = ()
        return WorkResult(tuple(problems), None if has_errors(problems) else children or None)

    def _expand(self, module: ModuleInstance, decl: ResourceDecl | None) -> tuple[Diagnostic, ...]:
        assert decl is not None
        what = str(ResourceAddress(module.address, decl.mode, decl.type, decl.name))
        expansion = module.resource(decl.key).expansion = expand(decl, module.scope, what)
        return expansion.warnings

    def _record(self, node: Node, module: ModuleInstance, decl: ResourceDecl | None) -> None:
        """Record the resource in the state, even if no instance is created."""
        configuration = self.configurations.get(node.name)
        if decl is not None and decl.mode in ("managed", "data") and configuration is not None:
            self.record.state.declare(module.text, decl.mode, decl.type, decl.name, configuration)

    def instance_apply(self, node: Node) -> list[Diagnostic]:
        change = self._change(node)
        it = self._declared_instance(node, change)
        return apply_managed(self, it, change) if it.mode == "managed" else apply_data(self, it, change)

    def instance_destroy(self, node: Node) -> list[Diagnostic]:
        return destroy_current(self, self._recorded_instance(node), self._change(node))

    def deposed_destroy(self, node: Node) -> list[Diagnostic]:
        return destroy_deposed(self, self._recorded_instance(node))

    def instance_forget(self, node: Node) -> list[Diagnostic]:
        return forget_instance(self, self._recorded_instance(node))

    def deposed_forget(self, node: Node) -> list[Diagnostic]:
        return forget_deposed(self, self._recorded_instance(node))

    def root(self, node: Node) -> list[Diagnostic]:
        """After success, remove resources without instances from the state."""
        self.record.state.remove_empty()
        return []

    # ---------------------------------------------------------------- instances

    def _change(self, node: Node) -> ResourceChange:
        return self.changes.get((node.object, node.extra)) or self.changes[node.object, ""]

    def _runs_programs(self, node: Node) -> bool:
        try:
            address = parse_resource_instance(node.object)
        except AddressError:
            return False
        decl = self._declaration(address)
        if decl is not None:
            return bool(decl.provisioners or decl.lifecycle.action_triggers)
        removal = self.removal(str(address.config))
        return removal is not None and bool(removal.provisioners)

    def _declaration(self, address: ResourceAddress) -> ResourceDecl | None:
        config = self.config.root.descendant(address.path)
        return config.resources.get(address.config.relative) if config is not None else None

    def _declared_instance(self, node: Node, change: ResourceChange) -> Instance:
        """An instance whose object is created, updated or read. Raises Failure if the configuration does not declare
        it."""
        address = parse_resource_instance(node.object)
        decl, module = self._declaration(address), self.context.module(address.module)
        repetition: Repetition | None = None
        if decl is not None and module is not None:
            objects = module.resource(decl.key)
            if objects.expansion is None:
                self._expand(module, decl)
            repetition = objects.expansion.instances.get(address.key) if objects.expansion is not None else None
        if decl is None or module is None or repetition is None:
            detail = f"The plan has changes to {address}, but the configuration no longer declares it."
            raise Failure(error("apply.undeclared_instance", "Resource instance not declared", detail))
        key = self.providers.key_of(module, decl, repetition, str(address))
        it = self._instance(node, address, change, key, module, decl, repetition)
        it.created_first = node.name in self.replacement_first
        return it

    def _recorded_instance(self, node: Node) -> Instance:
        """An instance whose object is destroyed or forgotten. It is created from the planned change, because the
        configuration may no longer declare it. Raises Failure."""
        address = parse_resource_instance(node.object)
        change, module = self._change(node), self.context.module(address.module)
        return self._instance(node, address, change, change.provider_key, module, self._declaration(address))

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
            detail = f"The provider {source} does not have the type {address.type} of {address}."
            raise Failure(error("plan.invalid_resource_type", "Invalid resource type", detail))
        if node.name in self.asking_configured:
            provider = self.providers.of_resource(
                change.provider, provider_key, str(address), address.mode, address.type, str(address.config), decl
            )
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


# Output values during an apply.


def apply_output(walk: ApplyWork, module: ModuleInstance, name: str, config_address: str) -> list[Diagnostic]:
    """Check the preconditions of an output of a module instance, and evaluate the output unless the plan contains its
    value. An output of the root module is written to the state; if it is null, it is removed from the state. If the
    plan destroys all objects, preconditions are not checked, and the outputs of the root module are removed."""
    if walk.destroys and module.parent is None:
        walk.record.state.remove_output(name)
        return []
    decl = module.config.outputs[name]
    address = join(module.text, f"output.{name}")
    problems: list[Diagnostic] = []
    for i, rule in enumerate(() if walk.destroys else decl.preconditions):
        result = check_rule(rule, "output", module.scope)
        walk.checks.report("output_value", config_address, address, "output", i, result)
        problems += result.about("output_value", address, "output")
    if has_errors(problems):
        return problems
    value = _planned_output(walk, name) if module.parent is None else walk.plan.module_outputs.get(address)
    if value is None:
        value, item = evaluate_output(module, decl)
        problems += item
        if has_errors(problems):
            return problems
    if module.parent is not None:
        module.set_output(name, mark(value, output_marks(module, decl)))
        return problems
    plain = unmark_deep(value)[0]
    if plain.__class__ is Null:
        walk.record.state.remove_output(name)
    else:
        plain = unknown_as_null(plain)
        walk.record.state.set_output(name, OutputState(plain, type_of(plain), decl.sensitive, decl.deprecated))
    return problems


def _planned_output(walk: ApplyWork, name: str) -> Value:
    """The value of a root output in the plan; None if it is not wholly known there."""
    planned = walk.planned_outputs.get(name)
    if planned is None or not is_wholly_known(planned.after):
        return None
    return planned.after

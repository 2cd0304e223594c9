"""The plan walk: the work of every vertex of a plan graph, and the plan.

 plan_walk(graph, config, moves, variables, schemas, options, hooks)  ->  (Plan, diagnostics)

The graph determines the order; this module does the work of each vertex. The rules in rules/plan decide the action of
each object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from planner.engine.evaluation.conditions import check_rule
from planner.engine.evaluation.configuration_walk import ConfigurationWalk
from planner.engine.evaluation.context import ModuleInstance, output_marks
from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.variables import evaluate_output
from planner.engine.plan.action import Facts, derive, rows
from planner.engine.plan.findings import PlanRecord, block_lookup, changed_outputs, relevant_attributes
from planner.engine.plan.moves import MoveResults, blocked_warning, check_moves
from planner.engine.plan.options import PlanOptions, command_line
from planner.engine.plan.resources import ResourceVertices
from planner.engine.plan.shared_work import PlanWork
from planner.engine.walk.hooks import Hooks
from planner.engine.walk.machine import WorkResult
from planner.foundation.support.disk import collector_paused, files_read
from planner.foundation.support.lazy import Later
from planner.foundation.values.operations import same_value
from planner.foundation.values.value import Null, Value, is_wholly_known, mark, type_of, unmark, unmark_deep
from planner.foundation.vocabulary.address import (
    Address,
    AddressError,
    ModuleAddress,
    ResourceAddress,
    format_key,
    join,
    parse_resource_instance,
)
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, Severity, error, has_errors, warning
from planner.foundation.vocabulary.nearest import nearest, option
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.language.config.model import Config, OutputDecl
from planner.language.config.variables import RootVariable
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts.from_state import declared_instance, recorded_instance
from planner.logic.model.graph import Graph, Node
from planner.logic.model.plan import Action, OutputChange, Plan, ResourceChange
from planner.logic.programs.actions import NO_OP, does
from planner.logic.programs.rule_programs import product_program
from planner.world.state.model import OutputState, State


def plan_walk(
    graph: Graph,
    config: Config,
    moves: MoveResults,
    variables: Mapping[str, RootVariable],
    schemas: Schemas,
    options: PlanOptions,
    hooks: Hooks | None = None,
) -> tuple[Plan | None, list[Diagnostic]]:
    """Plan, and return the plan and problems. `moves`: the results of the moves; the plan starts from the state after
    the moves. After errors, the plan is None, or it is marked as errored and contains the changes planned so far."""
    with collector_paused():
        walk = PlanWalk(graph, config, moves, variables, schemas, options, hooks or Hooks())
        try:
            made = walk.plan()
            if options.keep is not None:
                options.keep(walk.context)
                walk.keeps = True
            return made
        finally:
            walk.take_apart()


class PlanWalk(PlanWork):
    WORK: ClassVar[Mapping[str, str]] = {
        **ConfigurationWalk.WORK,
        **{kind: kind for kind in ("output", "output_destroy", "check_report", "resource")},
        **dict.fromkeys(("orphan", "deposed", "plan_destroy"), "departing"),
    }

    resources: ResourceVertices

    keeps = False  # whether a receiver uses the values, so that they must not be freed

    def take_apart(self) -> None:
        if self.keeps:
            self._work.clear()
        else:
            super().take_apart()
        del self.resources

    # ---------------------------------------------------------------- the walk as a whole

    def plan(self) -> tuple[Plan | None, list[Diagnostic]]:
        self.resources = ResourceVertices(self)
        interrupted = error("plan.interrupted", "Execution halted", "Planning was interrupted.")
        problems = self.drive("plan", interrupted)
        missing = self.imports.missing()
        if missing:
            return None, missing
        misplaced = check_moves(self.record.moves, self.context, self.options.mode == "destroy")
        if misplaced:
            return None, misplaced
        if not has_errors(problems):
            problems += blocked_warning(self.record.moves)
            problems += unmatched_addresses(self)
        return self._plan(has_errors(problems)), problems

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
            limits=options.limits,
            timestamp=self.timestamp,
            errored=errored,
            facts=self.record.facts(),
            files=files_read(),
            origins=variable_origins(self.variables),
            providers=self.providers.values(),
            module_outputs=self.record.module_outputs,
            invocations=self.record.invocations(),
            deferred_changes=self.record.deferrals(),
        )

    def _relevant_attributes(self, changes: tuple[ResourceChange, ...]) -> Later[tuple[str, tuple[Any, ...]]]:
        """The attributes of resources on which changes of resources, changes of root outputs, or outputs of child
        modules depend. They are computed on first use, because few callers need them."""
        config, block_of = self.config, block_lookup(self.schemas)
        changed = changed_outputs(self.record.outputs.values(), self.context)
        return Later(lambda: relevant_attributes(config, block_of, changes, changed))

    # ---------------------------------------------------------------- work on vertices (walk.machine.Work)

    def is_inline(self, node: str) -> bool:
        if self.opened.has(node):
            return False
        task = self.resources.tasks.get(node)
        if task is not None:
            return task.instance.provider.is_inline
        if node not in self.asking:
            return True
        source = self.provider_of(node)
        try:
            return not source or self.schemas.provider(source).is_inline
        except Failure:
            return True

    def provider_of(self, node: str) -> str:
        task = self.resources.tasks.get(node)
        if task is None and node not in self.asking:
            return ""
        configuration = task.instance.configuration if task is not None else self.configurations.get(node, node)
        try:
            return parse_provider_configuration(configuration).source
        except AddressError:
            return ""

    def run(self, node: str) -> WorkResult:
        task = self.resources.tasks.get(node)
        return super().run(node) if task is None else WorkResult(tuple(task.run(self, task.instance)))

    # ---------------------------------------------------------------- outputs

    def output(self, node: Node) -> list[Diagnostic]:
        config_address = join(node.module, f"output.{node.object}")
        modules = self.context.instances_at(node.module)
        self.checks.announce("output_value", config_address, (join(m.text, f"output.{node.object}") for m in modules))
        if not node.module and self.options.mode == "destroy":
            return self.output_destroy(node)
        settled = self.options.settled.get(config_address)
        if settled is not None:
            for module in modules:
                module.set_output(node.object, settled[module.key])
            return []
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


# ---------------------------------------------------------------- helpers


def recorded_variables(config: Config, variables: Mapping[str, RootVariable]) -> dict[str, Value]:
    """The root variables as a plan stores them: {name: the value that was set, or the default}. The value of an
    ephemeral variable is None."""
    result: dict[str, Value] = {}
    for name, decl in sorted(config.root.variables.items()):
        given = variables.get(name)
        if given is None:
            continue
        if decl.ephemeral:
            result[name] = None
        else:
            result[name] = given.raw if given.raw is not None else (Null() if decl.default is None else decl.default)
    return result


def variable_origins(variables: Mapping[str, RootVariable]) -> tuple[tuple[str, str], ...]:
    """(name, origin) of the variables whose values do not come from a file, sorted by name."""
    named = ("command line", "environment", "input", "default")
    return tuple((name, one.origin) for name, one in sorted(variables.items()) if one.origin in named)


# Output values; for the root module, also their changes.


def plan_output(walk: PlanWork, module: ModuleInstance, name: str, config_address: str) -> list[Diagnostic]:
    """Evaluate an output of a module instance. For an output of the root module, also plan its change."""
    decl = module.config.outputs[name]
    address = join(module.text, f"output.{name}")
    severity: Severity = "warning" if walk.options.mode == "refresh-only" else "error"
    problems: list[Diagnostic] = []
    for i, rule in enumerate(decl.preconditions):
        result = check_rule(rule, "output", module.scope, severity)
        walk.checks.report("output_value", config_address, address, "output", i, result)
        problems += result.about("output_value", address, "output")
    if has_errors(problems):
        return problems
    value, item = evaluate_output(module, decl)
    problems += item
    if has_errors(problems):
        return problems
    if module.parent is not None:
        module.set_output(name, mark(value, output_marks(module, decl)))
        if is_wholly_known(unmark_deep(value)[0]):
            walk.record.module_outputs[address] = value
    else:
        _plan_root(walk.record, walk.state, decl, value)
    return problems


# ---------------------------------------------------------------- root outputs


def _plan_root(record: PlanRecord, state: State, decl: OutputDecl, value: Value) -> None:
    recorded = state.outputs.get(decl.name)
    before: Value = recorded.value if recorded is not None else Null()
    plain = unmark_deep(value)[0]
    facts = _facts(decl, recorded, before, plain)
    action = output_action(facts)
    sensitive = decl.sensitive or (recorded is not None and recorded.sensitive)
    # an output that remains null keeps the recorded null, even if the expression's null has a different type
    after = before if not does(action, "changes") and plain.__class__ is Null else value
    origins = rows(f"output.{decl.name}", facts)
    record.outputs[decl.name] = OutputChange(decl.name, action, before, after, sensitive, origins)
    if is_wholly_known(plain):
        if plain.__class__ is Null:
            record.refreshed.remove_output(decl.name)
        else:
            record.refreshed.set_output(decl.name, OutputState(plain, type_of(plain), decl.sensitive, decl.deprecated))


def _facts(decl: OutputDecl, recorded: OutputState | None, before: Value, plain: Value) -> Facts:
    """The facts about a declared output for rules/plan/outputs.dl."""
    facts: Facts = {"output_declared": ()}
    if recorded is not None:
        facts["output_recorded"] = ()
    gone = (("before", unmark(before)[0]), ("after", plain))
    nulls = tuple(when for when, v in gone if v.__class__ is Null)
    if nulls:
        facts["output_null"] = nulls
    different = {
        "value": not is_wholly_known(plain) or not same_value(plain, before),
        "sensitivity": recorded is not None and decl.sensitive != recorded.sensitive,
        "deprecation": (decl.deprecated or "") != ((recorded.deprecated if recorded is not None else None) or ""),
    }
    if any(different.values()):
        facts["output_differs"] = tuple(what for what, differs in different.items() if differs)
    return facts


def output_action(facts: Facts) -> Action:
    """The action of an output; no-op if the rules derive none."""
    for (action,) in derive(facts, "output_action"):
        return str(action)
    return NO_OP


def plan_destroyed_output(record: PlanRecord, state: State, name: str, facts: Facts) -> list[Diagnostic]:
    """Plan to remove a root output, because it is no longer declared, or because the plan destroys all objects."""
    recorded = state.outputs.get(name)
    if recorded is not None:
        facts = {"output_recorded": (), **facts}
        action, origins = output_action(facts), rows(f"output.{name}", facts)
        record.outputs[name] = OutputChange(name, action, recorded.value, Null(), recorded.sensitive, origins)
    return []


# Warns about addresses on the command line that match nothing. Without a warning, such an address would silently change
# a plan. This module provides the facts for rules/graph/instances.dl, and suggests similar names.


def unmatched_addresses(walk: PlanWork) -> list[Diagnostic]:
    """Warnings for addresses of -target, -exclude and -replace that match no instance in the configuration or the
    state. If a block was not expanded, its instances are not known, and there is no warning for an address that may
    match one of them. There are no warnings in the plan that refreshes the state before a destroy plan."""
    options = walk.options
    named = dict.fromkeys(options.limits.options())
    if not named or options.before_destroy:
        return []
    facts = FactBuilder(command_line(options.walk, options.limits))
    _configuration_facts(walk, facts)
    _state_instance_facts(walk, facts)
    derived = evaluate(product_program("limits"), facts.build(), ["unmatched", "walked", "unexpanded"])
    problems = []
    for name, address in named:
        text = str(address)
        if (name, text) not in derived["unmatched"]:
            continue
        known = {row[0] for relation in ("walked", "unexpanded") for row in derived[relation]}
        hit = nearest(text, _suggestions(address, map(parse_resource_instance, known)), 3)
        detail = f"{option(name, text)} matches no object in the configuration or the state."
        if hit:
            detail += f" Did you mean {option(name, hit)}?"
        problems.append(warning("plan.unmatched_address", "Address matches nothing", detail))
    return problems


def _configuration_facts(walk: PlanWork, facts: FactBuilder) -> None:
    """Add facts about the instances in the configuration, and about the blocks whose instances are not all known."""
    for config in walk.config.root.walk():
        modules = walk.context.instances(config.path)
        base = ".".join(f"module.{name}" for name in config.path)
        for decl in config.resources.values():
            object = join(base, decl.key)
            expansions = [(module, module.resource(decl.key).expansion) for module in modules]
            for module, expansion in expansions:
                for key in expansion.instances if expansion is not None else ():
                    address = module.instance_address(decl, key)
                    declared_instance(facts, address, object, module.text, format_key(key), decl.span)
            if not expansions or any(expansion is None for _, expansion in expansions):
                facts.add("unexpanded", object, source=decl.span)


def _state_instance_facts(walk: PlanWork, facts: FactBuilder) -> None:
    for resource, instance in walk.state.instances():
        address = parse_resource_instance(resource.address + format_key(instance.key))
        recorded_instance(facts, str(address), str(address.config))


def _suggestions(address: Address, known: Iterable[ResourceAddress]) -> list[str]:
    """The addresses that may be suggested instead of `address`: modules for a module address, otherwise resource
    instances and, for an address without a key, also resources."""
    if isinstance(address, ModuleAddress):
        return sorted(
            {str(ModuleAddress(one.module.steps[: i + 1])) for one in known for i in range(len(one.module.steps))}
        )
    return sorted({str(form) for one in known for form in ((one, one.resource) if address.key is None else (one,))})

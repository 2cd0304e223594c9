"""The common parts of walks over a configuration: values, modules, providers, checks, and the instances of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, TypeAlias

from planner.engine.evaluation.conditions import CheckState, RuleKind, check_rule
from planner.engine.evaluation.configure import ConfiguredProviders
from planner.engine.evaluation.context import EvaluationContext, ModuleInstance, ObjectSource
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.open_resources import OpenResources
from planner.engine.evaluation.repetition import NO_REPETITION, Repetition, expand
from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.scope import ModuleScope
from planner.engine.evaluation.variables import evaluate_argument, evaluate_local, validate_variable, value_problems
from planner.engine.walk.hooks import Hooks
from planner.engine.walk.machine import NOTHING, Machine, SlotLimits, StopSignal, WorkResult
from planner.engine.walk.pool import walk_pool, walk_sequentially, walk_straight
from planner.foundation.support import trace
from planner.foundation.values.value import Value, unmark_deep
from planner.foundation.vocabulary.address import InstanceKey, join, parse_module
from planner.foundation.vocabulary.address_set import NO_ADDRESSES, AddressSet
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, Severity, error, has_errors
from planner.foundation.vocabulary.limits import Walk
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.model import Config, ModulePath, RemovedDecl, ResourceDecl
from planner.language.config.statements import removed_blocks
from planner.language.config.variables import RootVariable
from planner.language.expressions.decode import decode_block
from planner.language.functions import Function
from planner.logic.graph.build import ResourceDependencies, missing_function
from planner.logic.model.graph import Graph, Node
from planner.world.state.build import StateBuilder
from planner.world.state.model import ObjectState

# A table names the method for each kind of vertex; the methods are called in the order of the graph.


VertexWork: TypeAlias = Callable[[Node], "WorkResult | list[Diagnostic]"]  # does the work of a vertex


@frozen(eq=False, kw_only=True)
class WalkOptions:
    """Options of every walk that may call providers. `parallelism`: the maximum number of concurrent provider calls.
    `provider_limits`: the maximum number of concurrent calls of one provider, by its source address. `sequential`:
    whether one thread does all work, for debugging."""

    parallelism: int = 10
    provider_limits: Mapping[str, int] = field(factory=dict)
    workspace: str = "default"
    stop: StopSignal = field(factory=StopSignal)
    sequential: bool = False


class VertexWalk:
    """Does the work on the vertices of a graph (see planner.engine.walk.machine.Work). `WORK` is {kind of vertex: name
    of the method}. Vertices of other kinds need no work."""

    WORK: ClassVar[Mapping[str, str]] = {}

    def __init__(self, graph: Graph, context: EvaluationContext) -> None:
        self.graph, self.context = graph, context
        self._work: dict[str, VertexWork] = {kind: getattr(self, name) for kind, name in self.WORK.items()}

    def is_inline(self, node: str) -> bool:
        return True

    def idle(self) -> bytes:
        """A byte for each vertex, in the order of the names: 1 if the vertex is skipped, because there is nothing to do
        for it. While a trace is recorded, no vertex is skipped."""
        nodes, names = self.graph.nodes, self.graph.numbered.names
        if trace.RECORDER is not None:  # a trace has a span for each vertex
            return bytes(len(names))
        used = {
            (".".join(f"module.{step}" for step in module.path), name)
            for module in self.context.config.root.walk()
            for name, decl in module.variables.items()
            if decl.validations or decl.deprecated
        }
        work, vertices = self._work, map(nodes.__getitem__, names)
        return bytes(
            [
                (vertex.module, vertex.object) not in used
                if vertex.kind == "variable_reference"
                else vertex.kind not in work
                for vertex in vertices
            ]
        )

    def run(self, node: str) -> WorkResult:
        vertex = self.graph.nodes[node]
        work = self._work.get(vertex.kind)
        answer = work(vertex) if work is not None else NOTHING
        if isinstance(answer, WorkResult):
            return answer
        return WorkResult(tuple(answer)) if answer else NOTHING

    def take_apart(self) -> None:
        self._work.clear()
        self.context.take_apart()

    def run_all(self) -> list[Diagnostic]:
        problems = walk_straight(self.graph.numbered, self, self.idle())
        self._work.clear()  # the table contains methods of this object, so it forms a reference cycle
        return list(problems)


class ValueWalk(VertexWalk):
    """Does the work on vertices that only evaluate values: variables, local values, and module calls."""

    def __init__(self, graph: Graph, context: EvaluationContext, variables: Mapping[str, RootVariable]) -> None:
        super().__init__(graph, context)
        self.variables = variables

    def root_variable(self, node: Node) -> list[Diagnostic]:
        given = self.variables.get(node.object)
        if given is not None:
            self.context.root.variables[node.object] = given.value
        return []

    def module_variable(self, node: Node) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for module in self.context.instances_at(node.module):
            problems += evaluate_argument(module, node.object)
        return problems

    def local(self, node: Node) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        for module in self.context.instances_at(node.module):
            problems += evaluate_local(module, node.object)
        return problems

    def module_expand(self, node: Node) -> list[Diagnostic]:
        *above, name = module_path(node.module)
        problems: list[Diagnostic] = []
        for parent in self.context.instances(tuple(above)):
            try:
                address = str(parent.address.child(name))
                expansion = expand(parent.config.calls[name], parent.scope, address)
                self.context.expand_module(parent, name, expansion)
                problems += self.warnings_of(expansion.warnings)
            except Failure as failure:
                problems += failure.diagnostics
        return problems

    def warnings_of(self, warnings: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        """The warnings of an expansion that this walk reports: all of them, unless a subclass overrides this method."""
        return warnings

    WORK: ClassVar[Mapping[str, str]] = {
        kind: kind for kind in ("root_variable", "module_variable", "local", "module_expand")
    }


def module_path(module: str) -> ModulePath:
    return parse_module(module).path


class ConfigurationWalk(ValueWalk):
    """The common part of walks that call providers: the work on vertices, and the data that vertices share."""

    configurations: dict[str, str]  # the provider configuration of each vertex, in walks that call configured providers
    is_lenient = False  # whether failed conditions are only warnings, because nothing is changed

    def __init__(
        self,
        graph: Graph,
        config: Config,
        operation: Walk,
        variables: Mapping[str, RootVariable],
        schemas: Schemas,
        objects: ObjectSource,
        options: WalkOptions,
        timestamp: str,
        hooks: Hooks,
    ) -> None:
        context = EvaluationContext(config, operation, schemas, objects, options.workspace, timestamp)
        super().__init__(graph, context, variables)
        self.config, self.schemas, self.hooks = config, schemas, hooks
        self.driving = options
        self.providers = ConfiguredProviders(self.context)
        self.opened = OpenResources(hooks)
        self._unconfigured = {row[0] for row in relation(graph, "needs_no_configuration")}
        self._functions_of = {row[:3]: row[3] for row in relation(graph, "function_configuration")}
        self._awaited: dict[str, list[tuple[str, ...]]] = {}
        for node, *call in relation(graph, "function_awaited"):
            self._awaited.setdefault(node, []).append(tuple(call))
        if self._functions_of:
            context.configured_function = self._function
        self.asking = {row[0] for row in relation(graph, "asks_provider")}
        self.checks = CheckState(config)
        self._dependencies: ResourceDependencies | None = None
        self._detached: dict[str, ModuleInstance] = {}
        blocks = removed_blocks(config)
        self._removals = {row[0]: blocks[int(row[1])][1] for row in relation(graph, "removed_by")}

    def declared_instance(
        self,
        node: str,
        configuration: str,
        module: ModuleInstance,
        decl: ResourceDecl,
        key: InstanceKey,
        repetition: Repetition,
        config_address: str,
    ) -> Instance:
        """An instance that the configuration declares. Raises Failure if it has no schema or no provider."""
        schema, address = self.schemas.of(module.config, decl), module.instance_address(decl, key)
        provider_key = self.providers.key_of(module, decl, repetition, address)
        provider = self.providers.of_resource(
            configuration, provider_key, address, decl.mode, decl.type, config_address, decl
        )
        return Instance(
            node,
            module.text,
            decl.mode,
            decl.type,
            decl.name,
            key,
            configuration,
            provider_key,
            provider,
            schema,
            config_address,
            module,
            decl,
            repetition=repetition,
        )

    # ---------------------------------------------------------------- the walk as a whole

    def drive(self, verb: str, interrupted: Diagnostic, *listeners: Callable[[], None]) -> list[Diagnostic]:
        """Walk the graph, and return all problems. `verb`: the name of the walk, for the hooks. `interrupted`: the
        diagnostic to add if the walk was stopped. `listeners`: functions to call when a stop is requested."""
        machine, options = Machine(self.graph.numbered, idle=self.idle()), self.driving
        heard = (self.providers.stop, *listeners)
        for listener in heard:
            options.stop.listen(listener)
        try:
            if options.sequential:
                result = walk_sequentially(machine, self, options.stop)
            else:
                self.hooks.walk_start(verb, machine.size)
                limits = SlotLimits(options.provider_limits, self.provider_of)
                progress = self.hooks.walk_progress if self.hooks.shows_progress() else None
                result = walk_pool(machine, self, options.parallelism, options.stop, progress, limits)
        finally:
            self.hooks.walk_complete()
            for listener in reversed(heard):
                options.stop.forget(listener)
            left_open = self.opened.close_all()
            self.providers.close_all()
        problems = [*result.diagnostics, *left_open]
        if result.on_cycle:
            detail = f"These objects depend on each other: {', '.join(result.on_cycle)}."
            problems.append(error("plan.cycle", "Cycle", detail))
        return [*problems, interrupted] if result.stopped else problems

    def provider_of(self, node: str) -> str:
        """The source address of the provider that the work on a vertex calls; "" if the work calls no provider."""
        raise NotImplementedError

    # ---------------------------------------------------------------- values

    def root_variable(self, node: Node) -> list[Diagnostic]:
        given = self.variables.get(node.object)
        problems = value_problems(self.config, node.object, given)
        if given is not None and not has_errors(problems):
            self.context.root.variables[node.object] = given.value
        return problems

    def variable_reference(self, node: Node) -> list[Diagnostic]:
        modules = self.context.instances_at(node.module)
        config_address = join(node.module, f"var.{node.object}")
        self.checks.announce("input_variable", config_address, (join(m.text, f"var.{node.object}") for m in modules))
        problems: list[Diagnostic] = []
        for module in modules:
            problems += validate_variable(module, node.object, self.checks, config_address)
        return problems

    # ---------------------------------------------------------------- modules, providers, checks

    def idle(self) -> bytes:
        idle, numbers = bytearray(super().idle()), self.graph.numbered.numbers
        for node in self._awaited:
            idle[numbers[node]] = False
        return bytes(idle)

    def provider(self, node: Node) -> list[Diagnostic]:
        return [] if node.object in self._unconfigured else self.providers.configure(node.object)

    def run(self, node: str) -> WorkResult:
        if node in self._awaited and (problems := self._missing_functions(node)):
            return WorkResult(tuple(problems))
        return super().run(node)

    def _missing_functions(self, node: str) -> list[Diagnostic]:
        """Errors for calls of provider functions that do not exist at this vertex of the graph. The function `try` does
        not hide these errors."""
        problems: list[Diagnostic] = []
        for configuration, object, name, function in sorted(self._awaited[node]):
            source = parse_provider_configuration(configuration).source
            try:
                provider = self.providers.any_instance(configuration) or self.schemas.provider(source)
                result = provider.function(function)
            except Failure as failure:
                return [*problems, *failure.diagnostics]
            if result is None:
                problems += missing_function(self.graph, object, name)
        return problems

    def _function(self, module: ModuleInstance, name: str) -> Function | None:
        """The provider function with this name, from the provider configuration that the rules derive for the module;
        None if there is no such function. Raises Failure."""
        parts = name.split("::")
        if len(parts) not in (3, 4):
            return None
        address = ".".join(f"module.{step}" for step in module.config.path)
        alias = parts[2] if len(parts) == 4 else ""
        configuration = self._functions_of.get((address, module.config.provider_source(parts[1]), alias))
        if configuration is None or self.providers.any_instance(configuration) is None:
            return self.schemas.function(module.config, name)
        return self.providers.function(configuration, module, name)

    def provider_close(self, node: Node) -> list[Diagnostic]:
        self.providers.close(node.object)
        return []

    def resource_close(self, node: Node) -> list[Diagnostic]:
        return self.opened.close(node.name)

    def check_report(self, node: Node) -> list[Diagnostic]:
        modules = self.context.instances_at(node.module)
        addresses = [join(module.text, f"check.{node.object}") for module in modules]
        self.checks.announce("check", join(node.module, f"check.{node.object}"), addresses)
        return []

    def check_expand(self, node: Node) -> list[Diagnostic]:
        config_address = join(node.module, f"check.{node.object}")
        problems: list[Diagnostic] = []
        for module in self.context.instances_at(node.module):
            address = join(module.text, f"check.{node.object}")
            if self.checks.status("check", config_address, address) in ("fail", "error"):
                continue
            scope = module.scope.inside(check=node.object)
            for i, rule in enumerate(module.config.checks[node.object].assertions):
                result = check_rule(rule, "assertion", scope, "warning")
                self.checks.report("check", config_address, address, "assertion", i, result)
                problems += result.about("check", address, "assertion")
        return problems

    WORK: ClassVar[Mapping[str, str]] = {
        **ValueWalk.WORK,
        **{
            kind: kind
            for kind in ("variable_reference", "provider", "provider_close", "check_expand", "resource_close")
        },
    }

    # ---------------------------------------------------------------- services for work on instances

    def module_scope(self, it: Instance) -> ModuleScope:
        """The scope of the module instance of `it`, even if the configuration no longer declares this module
        instance."""
        if it.module is not None:
            return it.module.scope
        entry = self._detached.get(it.module_text)
        if entry is None:
            address = parse_module(it.module_text)
            config = self.config.root.descendant(address.path)
            entry = ModuleInstance(self.context, config or self.config.root, address, None, NO_REPETITION)
            self._detached[it.module_text] = entry
        return entry.scope

    def conditions(self, it: Instance, kind: RuleKind, self_value: Value = None) -> list[Diagnostic]:
        assert it.decl is not None
        lifecycle = it.decl.lifecycle
        rules = lifecycle.preconditions if kind == "precondition" else lifecycle.postconditions
        if not rules:
            return []
        if self_value is not None and it.objects is not None:
            self_value = it.objects.deprecated(self_value)
        scope = it.scope.inside(self_value=self_value)
        severity: Severity = "warning" if self.is_lenient else "error"
        problems: list[Diagnostic] = []
        for i, rule in enumerate(rules):
            result = check_rule(rule, kind, scope, severity)
            self.checks.report("resource", it.config_address, it.address, kind, i, result)
            problems += result.about("resource", it.address, kind)
        return problems

    def meta(self, it: Instance) -> Value:
        """The provider_meta value of the instance's module; None if there is none. Raises Failure."""
        return provider_meta(self.schemas, it)

    def write(self, state: StateBuilder, it: Instance, record: ObjectState) -> None:
        it.store(state, record, it.deposed)

    def dependencies(self, node: str) -> AddressSet:
        """The resources on which a vertex depends, as the state records them; none if the graph has no database."""
        if self.graph.database is None:
            return NO_ADDRESSES
        if self._dependencies is None:
            self._dependencies = ResourceDependencies(self.graph.database)
        return self._dependencies.of(node)

    def removal(self, config_address: str) -> RemovedDecl | None:
        return self._removals.get(config_address)


# ---------------------------------------------------------------- helpers


def relation(graph: Graph, name: str) -> set[tuple[str, ...]]:
    """The rows of a relation in the database of the graph; empty if there is no database or no such relation."""
    database = graph.database
    if database is None or name not in database:
        return set()
    rows: set[tuple[str, ...]] = database[name]
    return rows


def provider_configurations(graph: Graph) -> dict[str, str]:
    """{vertex: the address of the provider configuration that it uses}."""
    return dict(sorted(relation(graph, "uses_configuration")))  # type: ignore[arg-type]


# Evaluates `provider_meta` blocks, which contain data of modules for providers.


def provider_meta(schemas: Schemas, it: Instance) -> Value:
    """The value of the module's provider_meta block for the instance's provider; None if there is none. Raises
    Failure."""
    if it.module is None or not it.module.config.provider_metas:
        return None
    config = it.module.config
    source = parse_provider_configuration(it.configuration).source
    for name, body in config.provider_metas.items():
        if config.provider_source(name) != source:
            continue
        schema = schemas.schema(source).meta
        if schema is None:
            detail = f"The provider {source} of {it.address} does not accept metadata of modules: remove the block."
            summary = "Provider does not support provider_meta"
            raise Failure(error("plan.provider_meta", summary, detail, body.missing_span))
        value, problems = decode_block(body, schema, it.module.scope)
        if has_errors(problems):
            raise Failure(problems)
        return unmark_deep(value)[0]
    return None

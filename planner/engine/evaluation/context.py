"""The evaluation context of a walk: the values of all names in every module instance, as far as they are known.

The context is a tree of module instances, which have the values of variables, locals, outputs and resource instances.
Walks add values (`ModuleInstance.variables`, `ResourceObjects.set`, ...); expressions read them through a scope
(planner.engine.evaluation.scope). The values of whole resources and whole module calls are built on first use, and
cached until a part of them changes. A reference to a single instance does not build these values, so it is fast even if
there are ten thousand instances.

Planning, applying, validating (with everything unknown) and the console use the same context. `operation` is the name
of the walk. An `ObjectSource` contains the objects that the walk itself has not set."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import ClassVar, Protocol

from planner.engine.evaluation.repetition import NO_REPETITION, Argument, Expansion, Repetition, repetition_argument
from planner.engine.evaluation.schemas import Schemas, deprecation_marks
from planner.engine.evaluation.scope import ModuleScope, Resolver, ResolverKey
from planner.foundation.support.disk import working_directory
from planner.foundation.values.paths import apply_marks
from planner.foundation.values.types import DYNAMIC, ListType, MapType, ObjectType, Type
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, UNKNOWN, Mark, Null, Unknown, Value, mark
from planner.foundation.vocabulary.address import (
    ROOT,
    Address,
    InstanceKey,
    ModuleAddress,
    ResourceAddress,
    format_instance,
    format_module,
    parse_module,
)
from planner.foundation.vocabulary.diagnostic import Deprecation
from planner.foundation.vocabulary.limits import Walk
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, ModuleCall, ModuleConfig, ModulePath, OutputDecl, ResourceDecl
from planner.language.functions import CallContext, Function


class ObjectSource(Protocol):
    """Objects that the walk itself has not set, such as the objects in the state with which the walk began."""

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        """The keys of instances with a current object; None if nothing is known about the resource."""

    def between(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey]:
        """The keys of instances that have only deposed objects, because creating the replacing objects failed."""

    def object(self, module: ModuleInstance, resource: ResourceDecl, key: InstanceKey) -> Value:
        """The object of an instance, with marks."""


class NoObjects:
    """An ObjectSource without objects, for walks that set all objects themselves."""

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        return None

    def between(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey]:
        return ()

    def object(self, module: ModuleInstance, resource: ResourceDecl, key: InstanceKey) -> Value:
        raise KeyError(key)


class ResourceObjects:
    """The objects of a resource in one module instance, as expressions see them."""

    __slots__ = ("_objects", "_removed", "_whole", "argument", "context", "decl", "expansion", "module")

    def __init__(self, context: EvaluationContext, module: ModuleInstance, decl: ResourceDecl) -> None:
        self.context = context
        self.module = module
        self.decl = decl
        self.argument: Argument = repetition_argument(decl)
        self.expansion: Expansion | None = None
        self._objects: dict[InstanceKey, Value] = {}
        self._removed: set[InstanceKey] = set()
        self._whole: Value = None

    @property
    def planned(self) -> Mapping[InstanceKey, Value]:
        return self._objects

    def set(self, key: InstanceKey, value: Value) -> None:
        """Set the planned, read or applied object of an instance, with its marks."""
        self._objects[key] = self.deprecated(value)
        self._removed.discard(key)
        self._whole = None

    def remove(self, key: InstanceKey) -> None:
        """Hide an instance from expressions, because it does not exist or will be destroyed."""
        self._objects.pop(key, None)
        self._removed.add(key)
        self._whole = None

    def instance(self, key: InstanceKey) -> Value:
        """The object of an instance; None if there is none."""
        result = self._objects.get(key)
        if result is None and key not in self._removed:
            known = self.context.objects.keys(self.module, self.decl)
            if known and key in known:
                result = self.context.objects.object(self.module, self.decl, key)
                result = self._objects[key] = self.deprecated(result)
        return result

    def deprecated(self, value: Value) -> Value:
        """The value, with a mark on each part that is deprecated according to the schema."""
        # the schema describes the arguments of a list block, but not its value, which contains the results of the
        # search
        if self.decl.mode == "list":
            return value
        block = self.context.schemas.of(self.module.config, self.decl).block
        marks = deprecation_marks(block, value, Deprecation(self.decl.key, is_remote=self.module.config.is_remote))
        if not marks:
            return value
        self.context.deprecations = True
        return apply_marks(value, marks)

    @property
    def type(self) -> Type:
        return self.context.schemas.object_type(self.module.config, self.decl)

    def hide(self) -> None:
        """Treat the resource as a whole as unknown until an instance is set or removed."""
        self._whole = UNKNOWN

    def whole(self) -> Value:
        """The value of the reference `type.name`: an object, a tuple of objects (count) or a map-like object {key:
        object} (for_each). Null for a resource that is not enabled; unknown if nothing is known about the resource."""
        if self._whole is None:
            self._whole = self._build()
        return self._whole

    def _build(self) -> Value:
        if self.context.operation == "validate":
            return self._unknown()
        known = self.context.objects.keys(self.module, self.decl)
        if known is None and self.expansion is None and not self._objects:
            return self._nothing_known()
        keys = {key for key in (*(known or ()), *self._objects, *self._keys_between()) if key not in self._removed}
        if self.argument == "count":
            return self._tuple(keys)
        if self.argument == "for_each":
            return {key: self._object_or_unknown(key) for key in sorted(k for k in keys if isinstance(k, str))}
        if None in keys:
            return self._object_or_unknown(None)
        return Null(self.type) if self.argument == "enabled" else Unknown(self.type)

    def _tuple(self, keys: Collection[InstanceKey]) -> Value:
        length = max((k + 1 for k in keys if isinstance(k, int)), default=0)
        missing = Unknown(self.type) if len(keys) < length else None
        return tuple(self._object_or_unknown(i) if i in keys else missing for i in range(length))

    def _keys_between(self) -> list[InstanceKey]:
        """The keys of declared instances that have only deposed objects. (If it is not known which instances are
        declared, all count as declared.) In expressions, the objects of these instances are unknown."""
        result = self.context.objects.between(self.module, self.decl)
        return [key for key in result if self.expansion is None or key in self.expansion.instances]

    def _object_or_unknown(self, key: InstanceKey) -> Value:
        result = self.instance(key)
        return Unknown(self.type) if result is None else result

    def _nothing_known(self) -> Value:
        if self.context.operation in ("plan", "apply"):
            # the walk has already hidden all removed instances, so the resource has no instances
            if self.argument == "count":
                return ()
            if self.argument == "for_each":
                return {}
            return Null(self.type) if self.argument == "enabled" else UNKNOWN
        return self._unknown()

    def _unknown(self) -> Value:
        ephemeral: frozenset[Mark] = frozenset((EPHEMERAL,)) if self.decl.mode == "ephemeral" else frozenset()
        if self.argument in ("count", "for_each"):
            return mark(UNKNOWN, ephemeral)
        if self.argument == "enabled":
            return mark(Unknown(self.type), ephemeral)
        return mark(self.deprecated(self.context.schemas.unknown_object(self.module.config, self.decl)), ephemeral)


class ModuleInstance:
    """An instance of a module, with the values of its variables, local values, outputs and resources. The values have
    the marks that their declarations require. `repetition`: the values of count.index and each in the arguments of the
    module call."""

    __slots__ = (
        "_whole_calls",
        "address",
        "calls",
        "config",
        "context",
        "key",
        "locals",
        "outputs",
        "parent",
        "repetition",
        "resolvers",
        "resources",
        "scope",
        "text",
        "variables",
    )

    def __init__(
        self,
        context: EvaluationContext,
        config: ModuleConfig,
        address: ModuleAddress,
        parent: ModuleInstance | None,
        repetition: Repetition,
    ) -> None:
        self.context = context
        self.config = config
        self.address = address
        self.text = str(address)
        self.parent = parent
        self.key = address.key
        self.repetition = repetition
        self.variables: dict[str, Value] = {}
        self.locals: dict[str, Value] = {}
        self.outputs: dict[str, Value] = {}
        self.resources: dict[str, ResourceObjects] = {}
        self.calls: dict[str, dict[InstanceKey, ModuleInstance]] = {}
        self._whole_calls: dict[str, Value] = {}
        self.resolvers: dict[ResolverKey, Resolver] = context.schemas.resolvers.setdefault(config, {})
        self.scope: ModuleScope = ModuleScope(self)

    def resource(self, key: str) -> ResourceObjects:
        """The objects of the resource with this key (`ResourceDecl.key`). Raises KeyError if the module does not
        declare the resource."""
        result = self.resources.get(key)
        if result is None:
            result = self.resources[key] = ResourceObjects(self.context, self, self.config.resources[key])
        return result

    def instance_address(self, resource: ResourceDecl, key: InstanceKey) -> str:
        return format_instance(self.text, resource.mode, resource.type, resource.name, key)

    def with_repetition(self, repetition: Repetition) -> ModuleScope:
        return self.scope if repetition is NO_REPETITION else self.scope.inside(repetition)

    # ---------------------------------------------------------------- child modules

    def expand_call(self, name: str, expansion: Expansion) -> None:
        config = self.config.children[name]
        self.calls[name] = {
            key: self.__class__(self.context, config, self.address.child(name, key), self, repetition)
            for key, repetition in expansion.instances.items()
        }
        self._whole_calls.pop(name, None)

    def set_output(self, name: str, value: Value) -> None:
        """Set the value of an output for the calling module."""
        self.outputs[name] = value
        if self.parent is not None:
            self.parent._whole_calls.pop(self.address.steps[-1][0], None)

    def call(self, name: str) -> Value:
        """The value of `module.name`. Raises KeyError for a call that is not declared."""
        result = self._whole_calls.get(name)
        if result is None:
            result = self._whole_calls[name] = self._call(self.config.calls[name])
        return result

    def _call(self, call: ModuleCall) -> Value:
        outputs = self.config.children[call.name].outputs
        if self.context.operation == "validate":
            t: Type = ObjectType({name: o.type.type if o.type else DYNAMIC for name, o in outputs.items()})
            if call.count is not None:
                return Unknown(ListType(t))
            return Unknown(MapType(t) if call.for_each is not None else t)
        instances = self.calls.get(call.name, {})
        argument = repetition_argument(call)
        if argument == "count":
            items = [instances[i].output_object() for i in range(len(instances)) if i in instances]
            return tuple(items) if outputs else ()
        if argument == "for_each":
            return {k: m.output_object() for k, m in instances.items() if isinstance(k, str)} if outputs else {}
        if None in instances:
            return instances[None].output_object()
        return Null() if argument == "enabled" else {name: unknown_output(decl) for name, decl in outputs.items()}

    def output_object(self) -> Value:
        """The values of all outputs as an object. Outputs that are not evaluated yet are unknown."""
        return {name: self.outputs.get(name, unknown_output(decl)) for name, decl in self.config.outputs.items()}


class EvaluationContext:
    """All values to which expressions of one walk can refer. `may_lack_values`: whether the configuration comes from
    the input record of an earlier apply, which may lack some expressions."""

    module_type: ClassVar[type[ModuleInstance]] = ModuleInstance
    may_lack_values: bool = False

    def __init__(
        self,
        config: Config,
        operation: Walk,
        schemas: Schemas,
        objects: ObjectSource | None = None,
        workspace: str = "default",
        plan_timestamp: str | None = None,
        working_directory: str | None = None,
    ) -> None:
        self.config = config
        self.operation: Walk = operation
        self.schemas = schemas
        self.objects: ObjectSource = objects or NoObjects()
        self.workspace = workspace
        self.plan_timestamp = plan_timestamp
        self._working_directory = working_directory
        self._call_context: CallContext | None = None
        self.is_apart = False
        self.deprecations = any(o.deprecated for m in config.root.walk() if m.path for o in m.outputs.values())
        self.configured_function: Callable[[ModuleInstance, str], Function | None] | None = None
        """in walks that configure providers: returns the provider function with a name in a module, or None; may raise
        Failure"""
        self.root = self.module_type(self, config.root, ROOT, None, NO_REPETITION)
        self._instances: dict[ModulePath, list[ModuleInstance]] = {}
        self._instances_at: dict[str, list[ModuleInstance]] = {}

    def provider_function(self, module: ModuleInstance, name: str) -> Function | None:
        """The function that `provider::NAME::FUNCTION` denotes in a module; None if there is none. Raises Failure."""
        if self.configured_function is not None:
            return self.configured_function(module, name)
        return self.schemas.function(module.config, name, is_late=self.operation == "validate")

    # ---------------------------------------------------------------- modules

    def instances(self, path: ModulePath) -> list[ModuleInstance]:
        """All instances of a module, sorted by the keys of their parents, then by their own keys. Empty if a module
        call on the path is not expanded yet."""
        result = self._instances.get(path)
        if result is None:
            if not path:
                return [self.root]
            result = []
            for parent in self.instances(path[:-1]):
                result += parent.calls.get(path[-1], {}).values()
            self._instances[path] = result
        return result

    def instances_at(self, module: str) -> list[ModuleInstance]:
        """The instances of the module at the module address of a vertex. Raises AddressError."""
        result = self._instances_at.get(module)
        if result is None:
            result = self._instances_at[module] = self.instances(parse_module(module).path)
        return result

    def expand_module(self, parent: ModuleInstance, name: str, expansion: Expansion) -> None:
        """Create the module instances of the call `name` in one instance of the calling module."""
        parent.expand_call(name, expansion)
        self._instances.clear()
        self._instances_at.clear()

    def module(self, address: ModuleAddress) -> ModuleInstance | None:
        """The module instance at an address; None if it is not declared."""
        here: ModuleInstance | None = self.root
        for name, key in address.steps:
            here = here.calls.get(name, {}).get(key) if here else None
        return here

    def all_instances(self) -> Iterator[ModuleInstance]:
        """The instances of all modules, parents first."""
        for module in self.config.root.walk():
            yield from self.instances(module.path)

    def take_apart(self) -> None:
        """Break reference cycles after the last evaluation. The memory is then freed immediately, which matters in a
        process that plans many units and rarely runs the garbage collector."""
        self.is_apart = True
        for module in list(self.all_instances()):
            module.resources.clear()
            module.calls.clear()
            del module.scope, module.context
        self._instances.clear()
        self._instances_at.clear()

    # ------------------------------------------------- declarations (planner.engine.plan.moves.ExpandedDeclarations)

    def module_instances(self, path: ModulePath) -> list[ModuleAddress]:
        return [module.address for module in self.instances(path)]

    def declaration(self, kind: str, address: Address) -> Span | None:
        """The span of the declaration of the module call, module instance, resource or resource instance (`kind`) at an
        address; None if the expanded configuration does not contain it."""
        if isinstance(address, ModuleAddress):
            if kind == "module instance" and self.module(address) is None:
                return None
            parent = self.module(address.parent)
            call = parent.config.calls.get(address.steps[-1][0]) if parent is not None else None
            return call.span if call is not None else None
        if kind == "resource instance" and not self.declares_instance(address):
            return None
        module = self.module(address.module)
        resource = module.config.resources.get(address.relative) if module is not None else None
        return resource.span if resource is not None else None

    def declares_instance(self, address: ResourceAddress) -> bool:
        """Whether the expanded configuration has exactly this resource instance."""
        module = self.module(address.module)
        resource = module.resources.get(address.resource.relative) if module else None
        return resource is not None and resource.expansion is not None and address.key in resource.expansion.instances

    # ---------------------------------------------------------------- functions

    @property
    def is_planning(self) -> bool:
        """Whether functions that return a different result for each call, such as timestamp and uuid, return unknown
        values."""
        return self.operation not in ("apply", "destroy", "eval")

    @property
    def call_context(self) -> CallContext:
        if self._call_context is None:
            timestamp = None if self.operation == "validate" else self.plan_timestamp
            self._call_context = CallContext(".", self.is_planning, timestamp)
        return self._call_context

    @property
    def working_directory(self) -> str:
        """The absolute directory in which the program was started, with slashes."""
        if self._working_directory is None:
            self._working_directory = working_directory().replace(os.sep, "/")
        return self._working_directory


def unknown_output(decl: OutputDecl) -> Value:
    return UNKNOWN if decl.type is None else decl.type.convert(UNKNOWN)


def output_marks(module: ModuleInstance, decl: OutputDecl) -> frozenset[Mark]:
    """The marks that the output of a child module has in the calling module."""
    marks = declared_marks(decl.sensitive, decl.ephemeral)
    if not decl.deprecated:
        return marks
    name = f"{format_module(module.address.steps[-1:])}.{decl.name}"
    return marks | {Deprecation(name, decl.deprecated, module.config.is_remote)}


def declared_marks(sensitive: bool, ephemeral: bool) -> frozenset[Mark]:
    """The marks that the declaration of a variable or output adds to its value."""
    return _DECLARED[bool(sensitive), bool(ephemeral)]


_DECLARED: dict[tuple[bool, bool], frozenset[Mark]] = {
    (False, False): frozenset(),
    (True, False): frozenset((SENSITIVE,)),
    (False, True): frozenset((EPHEMERAL,)),
    (True, True): frozenset((SENSITIVE, EPHEMERAL)),
}

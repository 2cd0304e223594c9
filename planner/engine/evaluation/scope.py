"""The scope of a module instance. All expressions that walks evaluate use it to resolve references.

Each reference of a module is resolved once: it is parsed, checked against the declarations and the schema of its
resource, and converted to a resolver, a small function of the scope. Each use of an invalid reference raises
Failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from planner.engine.evaluation.repetition import NO_REPETITION, Argument, Repetition
from planner.engine.evaluation.schemas import KINDS, Schemas
from planner.foundation.values.types import Type
from planner.foundation.values.value import EPHEMERAL, UNKNOWN, Unknown, Value, mark
from planner.foundation.vocabulary.address import InstanceKey, ModuleAddress
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.limits import Walk
from planner.foundation.vocabulary.nearest import did_you_mean, nearest
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Expr, ModuleConfig, ResourceDecl
from planner.language.config.references import BadReference, Ref, parse_reference
from planner.language.expressions.scope import Scope
from planner.language.expressions.traverse import TraversalError, get_attr, index
from planner.language.functions import CallContext, Function
from planner.language.syntax.nodes import Expression, GetAttr, GetIndex, Index, Relative, Step, Traversal, Variable


class WalkScope(Protocol):
    """The interface of an evaluation context for expressions (see
    planner.engine.evaluation.context.EvaluationContext)."""

    operation: Walk
    schemas: Schemas
    workspace: str
    deprecations: bool
    may_lack_values: bool

    @property
    def root(self) -> ModuleValues: ...
    @property
    def working_directory(self) -> str: ...
    @property
    def call_context(self) -> CallContext: ...
    def provider_function(self, module: Any, name: str) -> Function | None:
        """The function that `provider::NAME::FUNCTION` denotes in a module (ModuleValues); None if there is none.
        Raises Failure."""


class ObjectValues(Protocol):
    """The interface of a resource in a module instance, for expressions."""

    argument: Argument

    def instance(self, key: InstanceKey) -> Value: ...
    def whole(self) -> Value: ...


class ModuleValues(Protocol):
    """The interface of a module instance for expressions (see planner.engine.evaluation.context.ModuleInstance)."""

    address: ModuleAddress
    config: ModuleConfig
    variables: dict[str, Value]
    locals: dict[str, Value]
    outputs: dict[str, Value]
    resolvers: dict[ResolverKey, Resolver]

    @property
    def context(self) -> WalkScope: ...
    @property
    def calls(self) -> Mapping[str, Mapping[InstanceKey, ModuleValues]]: ...
    def resource(self, key: str) -> ObjectValues: ...
    def call(self, name: str) -> Value: ...


ResolverKey: TypeAlias = "Traversal | Variable | tuple[str, str, InstanceKey, int]"
"""a reference, or (kind, name, key, number of steps) for the first steps that several references share"""
Resolver: TypeAlias = "Callable[[ModuleScope], tuple[Value, int]]"
"""a function of a scope that returns the value of a reference's first steps, and the number of these steps"""


class ModuleScope(Scope):
    """The names that expressions can use in a block instance of a module instance. `repetition`: the values of count
    and each. `self_value`: the value of `self` (None: not available). `check`: the name of the check block that
    contains the expression; only there may expressions refer to the block's data source."""

    def __init__(
        self,
        module: ModuleValues,
        repetition: Repetition = NO_REPETITION,
        self_value: Value = None,
        check: str | None = None,
    ) -> None:
        self.module = module
        self.repetition = repetition
        self.self_value = self_value
        self.check = check

    @property
    def deprecations(self) -> bool:  # type: ignore[override]
        """Whether names may have values that are marked as deprecated."""
        return self.module.context.deprecations

    def inside(
        self, repetition: Repetition | None = None, self_value: Value = None, check: str | None = None
    ) -> ModuleScope:
        """The scope of a block instance in the same module instance. For omitted arguments, the values of this scope
        are used."""
        return ModuleScope(
            self.module,
            repetition or self.repetition,
            self.self_value if self_value is None else self_value,
            check or self.check,
        )

    def resolve(self, node: Traversal | Variable, source: Source | None) -> tuple[Value, int]:
        try:
            resolver = self.module.resolvers[node]
        except KeyError:
            known = _shared_resolver(self.module, node) if self.module.config.path else None
            resolver = known or _resolver(self.module, node, source or Source("", ""))
            self.module.resolvers[node] = resolver
        return resolver(self)

    def function(self, name: str) -> Function | None:
        if name.startswith("provider::"):
            if name.split("::")[1] not in self.module.config.required_providers:
                return None  # only functions of required providers can be called
            return self.module.context.provider_function(self.module, name)
        if name.removeprefix("core::") == "plantimestamp" and self.module.context.operation == "eval":
            return None  # without a plan, there is no time of the plan
        return super().function(name)

    @property
    def context(self) -> CallContext:
        return self.module.context.call_context


# ---------------------------------------------------------------- resolvers


UNRECORDED = "unrecorded"  # the root name of references that replace expressions missing in an input record


def _resolver(module: ModuleValues, node: Traversal | Variable, source: Source) -> Resolver:
    if module.context.may_lack_values and is_unrecorded(node):
        return _unrecorded_value
    ref = parse_reference(node)
    if isinstance(ref, BadReference):
        return _refuse(Failure(error("plan.bad_reference", ref.summary, ref.detail, Span(source, ref.start, ref.end))))
    used = (len(node.steps) if isinstance(node, Traversal) else 0) - len(ref.rest)
    span = Span(source, ref.start, ref.end)
    if ref.kind not in ("resource", "var", "local"):
        return _MAKERS[ref.kind](module, ref, used, span)
    if ref.kind == "resource" and (wrong := check_reference(module.config, module.context.schemas, ref, span)):
        return _refuse(Failure(wrong))
    what = (ref.kind, ref.name, ref.key, used)
    shared = module.resolvers.get(what)
    if shared is None:
        shared = _MAKERS[ref.kind](module, ref, used, span)
        if not _depends_on_position(module, ref):
            module.resolvers[what] = shared
    if module.config.path and ref.kind != "resource" and ref.name in (declared := _declarations(module, ref.kind)):
        module.context.schemas.named[node] = (ref.kind, ref.name, declared[ref.name], shared)
    return shared


def is_unrecorded(node: Traversal | Variable) -> bool:
    """Whether a reference replaces an expression that an input record lacks."""
    return isinstance(node, Traversal) and node.root == UNRECORDED


def _unrecorded_value(scope: ModuleScope) -> tuple[Value, int]:
    return UNKNOWN, 1


def _shared_resolver(module: ModuleValues, node: Traversal | Variable) -> Resolver | None:
    """The resolver of a variable or local value that was created for another call of the same module; None if there is
    none."""
    known = module.context.schemas.named.get(node)
    if known is None:
        return None
    kind, name, decl, resolver = known
    return resolver if _declarations(module, kind).get(name) is decl else None


def _declarations(module: ModuleValues, kind: str) -> Mapping[str, object]:
    return module.config.variables if kind == "var" else module.config.locals


def _depends_on_position(module: ModuleValues, ref: Ref) -> bool:
    """Whether diagnostics of a reference depend on its position, so that its resolver cannot be shared."""
    if ref.kind == "resource":
        decl = module.config.resources.get(ref.name)
        return decl is not None and decl.check is not None
    return ref.name not in _declarations(module, ref.kind)


def _refuse(failure: Failure) -> Resolver:
    def resolve(scope: ModuleScope) -> tuple[Value, int]:
        raise failure

    return resolve


def _wrong(code: str, summary: str, detail: str, span: Span) -> Resolver:
    return _refuse(Failure(error(f"plan.{code}", summary, detail, span)))


def _variable(module: ModuleValues, ref: Ref, used: int, span: Span) -> Resolver:
    name, declared = ref.name, module.config.variables
    if name not in declared:
        hint = did_you_mean(name, declared) or f' This variable can be declared with a variable "{name}" {{}} block.'
        detail = f'An input variable with the name "{name}" has not been declared.{hint}'
        return _wrong("undeclared_variable", "Reference to undeclared input variable", detail, span)
    unknown = Unknown(declared[name].constraint.type)
    return lambda scope: (scope.module.variables.get(name, unknown), used)


def _local(module: ModuleValues, ref: Ref, used: int, span: Span) -> Resolver:
    name, declared = ref.name, module.config.locals
    if name not in declared:
        detail = f"There is no local value {name} here.{did_you_mean(name, declared)}"
        return _wrong("undeclared_local", "Reference to undeclared local value", detail, span)
    return lambda scope: (scope.module.locals.get(name, UNKNOWN), used)


def _resource(module: ModuleValues, ref: Ref, used: int, span: Span) -> Resolver:
    name, key = ref.name, ref.key
    decl = module.config.resources.get(name)
    check = decl.check if decl is not None else None
    scoped = None
    if decl is not None and check is not None:
        detail = f"The data source {name} belongs to the check {check} and can only be used in that check."
        scoped = Failure(error("plan.scoped_resource", "Reference to scoped resource", detail, span))
    whole_steps = used - (key is not None)

    def resolve(scope: ModuleScope) -> tuple[Value, int]:
        if scoped is not None and scope.check != check:
            raise scoped
        objects = scope.module.resource(name)
        if key is not None and scope.module.context.operation != "validate":
            result = objects.instance(key)
            if result is not None and (objects.argument == "count") == (key.__class__ is int):
                return result, used
        return objects.whole(), whole_steps

    return resolve


def _module(module: ModuleValues, ref: Ref, used: int, span: Span) -> Resolver:
    name, key, output = ref.name, ref.key, ref.output
    if name not in module.config.calls:
        detail = f"There is no module call {name} here.{did_you_mean(name, module.config.calls)}"
        return _wrong("undeclared_module", "Reference to undeclared module", detail, span)
    call = module.config.calls[name]
    fits = key.__class__ is (int if call.count is not None else str if call.for_each is not None else type(None))

    def resolve(scope: ModuleScope) -> tuple[Value, int]:
        here = scope.module
        if output and fits and here.context.operation != "validate":
            instance = here.calls.get(name, {}).get(key)
            if instance is not None and output in instance.outputs:
                return instance.outputs[output], used
        return here.call(name), 1

    return resolve


def _path(module: ModuleValues, ref: Ref, used: int, span: Span) -> Resolver:
    names = ("cwd", "module", "root")
    if ref.name not in names:
        detail = f'"path" has no attribute {ref.name}.{did_you_mean(ref.name, names)}'
        return _wrong("invalid_path_attribute", 'Invalid "path" attribute', detail, span)
    if ref.name == "cwd":
        return lambda scope: (scope.module.context.working_directory, used)
    if ref.name == "module":
        return lambda scope: (scope.module.config.directory, used)
    return lambda scope: (scope.module.context.root.config.directory, used)


def _terraform(module: ModuleValues, ref: Ref, used: int, span: Span) -> Resolver:
    if ref.name == "workspace":
        return lambda scope: (scope.module.context.workspace, used)
    if ref.name == "applying":
        ephemeral = frozenset((EPHEMERAL,))
        return lambda scope: (mark(scope.module.context.operation in ("apply", "destroy"), ephemeral), used)
    detail = (
        f"There is no attribute {ref.name}. The only one is workspace: terraform.workspace (or tofu.workspace) is the "
        "workspace's name."
    )
    return _wrong("invalid_terraform_attribute", 'Invalid "terraform" attribute', detail, span)


def _self(module: ModuleValues, ref: Ref, used: int, span: Span) -> Resolver:
    detail = '"self" can only be used in provisioner, connection and postcondition blocks of a resource.'
    failure = Failure(error("plan.invalid_self", 'Invalid "self" reference', detail, span))

    def resolve(scope: ModuleScope) -> tuple[Value, int]:
        if scope.self_value is None:
            raise failure
        return scope.self_value, used

    return resolve


def _count(module: ModuleValues, ref: Ref, used: int, span: Span) -> Resolver:
    if ref.name != "index":
        detail = f'"count" has no attribute {ref.name}. Its only attribute is count.index, the number of the instance.'
        return _wrong("invalid_count_attribute", 'Invalid "count" attribute', detail, span)
    detail = "count.index is available only in blocks with the argument count."
    failure = Failure(error("plan.count_not_set", 'Reference to "count" in non-counted context', detail, span))

    def resolve(scope: ModuleScope) -> tuple[Value, int]:
        if scope.repetition.count_index is None:
            raise failure
        return scope.repetition.count_index, used

    return resolve


def _each(module: ModuleValues, ref: Ref, used: int, span: Span) -> Resolver:
    if ref.name not in ("key", "value"):
        detail = f'"each" has no attribute {ref.name}. Its attributes are each.key and each.value.'
        return _wrong("invalid_each_attribute", 'Invalid "each" attribute', detail, span)
    is_key = ref.name == "key"
    detail = f"each.{ref.name} is available only in blocks with the argument for_each."
    failure = Failure(error("plan.for_each_not_set", 'Reference to "each" in context without for_each', detail, span))

    def resolve(scope: ModuleScope) -> tuple[Value, int]:
        value = scope.repetition.each_key if is_key else scope.repetition.each_value
        if value is None:
            raise failure
        return value, used

    return resolve


_MAKERS = {
    "resource": _resource,
    "module": _module,
    "output": _module,
    "var": _variable,
    "local": _local,
    "path": _path,
    "terraform": _terraform,
    "self": _self,
    "count": _count,
    "each": _each,
}


# Checks of references to resources, without values: whether the resource is declared, may have a key, and has the
# attribute. Each reference is checked once, so that mistakes are reported even if the value is not known yet.


def check_reference(module: ModuleConfig, schemas: Schemas, ref: Ref, span: Span) -> list[Diagnostic]:
    """Problems of a reference to a resource, a resource instance, or an attribute of one."""
    decl = module.resources.get(ref.name)
    if decl is None:
        return [_undeclared_resource(module, ref, span)]
    problems = _key_problems(decl, ref, span)
    object_type = schemas.find_object_type(module, decl)
    if object_type is None:
        detail = f"The provider has no {KINDS[decl.mode]} of the type {decl.type}."
        return [*problems, error("plan.invalid_resource_type", "Invalid resource type", detail, span)]
    if ref.rest and isinstance(ref.rest[0], GetAttr) and ref.rest[0].name == "count":
        detail = f"A resource has no attribute count. Write length({ref.name}) for the number of its instances."
        problems.append(error("plan.count_attribute", "Invalid resource count attribute", detail, span))
        return problems
    return problems + traversal_problems(object_type, ref.rest, span.source)


def traversal_problems(object_type: Type, steps: tuple[Step, ...], source: Source) -> list[Diagnostic]:
    """An error for the first step that no object of this type has; empty if there is no such step."""
    if steps and not isinstance(steps[0], GetAttr):
        detail = "Only attributes of an object can be used: write a dot and the name of the attribute."
        span = Span(source, steps[0].start, steps[0].end)
        return [error("plan.index_of_object", "Invalid index operation", detail, span)]
    value: Value = Unknown(object_type)
    for step in steps:
        try:
            value = get_attr(value, step.name) if isinstance(step, GetAttr) else index(value, step.key)
        except TraversalError as bad:
            return [error("plan.unsupported_attribute", bad.summary, bad.detail, Span(source, step.start, step.end))]
    return []


def _key_problems(decl: ResourceDecl, ref: Ref, span: Span) -> list[Diagnostic]:
    repeated = "count" if decl.count is not None else "for_each" if decl.for_each is not None else ""
    if ref.key is not None and not repeated:
        detail = f"{ref.name} has neither count nor for_each, so it has a single instance: remove the index."
        return [error("plan.unexpected_key", "Unexpected resource instance key", detail, span)]
    if ref.key is None and repeated and ref.rest:
        example, every = ("count.index", ref.name) if repeated == "count" else ("each.key", f"values({ref.name})")
        detail = (
            f"{ref.name} has {repeated}, so its attributes belong to instances: write {ref.name}[{example}] in a "
            f"block that also has {repeated}, use another index for one instance, or {every}[*] for all."
        )
        return [error("plan.missing_key", "Missing resource instance key", detail, span)]
    return []


_ROOTS = ("var", "local", "module", "data", "ephemeral", "each", "count", "path", "terraform", "self")
"""root names of references, except references to managed resources"""
_MISSPELT_ROOTS = {
    "locals": "local",
    "modules": "module",
    "variable": "var",
    "variables": "var",
    "vars": "var",
}
"""{misspelt root name, which parses as a resource type: the root name that the user probably meant}"""


def _undeclared_resource(module: ModuleConfig, ref: Ref, span: Span) -> Diagnostic:
    place = f"module {'.'.join(module.path)}" if module.path else "the root module"
    alike = [r for r in module.resources.values() if (r.mode, r.type) == (ref.mode, ref.type)]
    similar = nearest(ref.label, [r.name for r in alike]) or ""
    hint = f' Did you mean "{ref.name.removesuffix(ref.label)}{similar}"?' if similar else ""
    if not hint:
        hint = did_you_mean(ref.type, [r.type for r in module.resources.values() if r.name == ref.label])
    for other in KINDS:
        key = f"{ref.type}.{ref.label}" if other == "managed" else f"{other}.{ref.type}.{ref.label}"
        if other != ref.mode and key in module.resources:
            hint = f' Did you mean "{key}"?'
    if ref.type == "action":
        hint = " An action has no value: only triggers of resources can refer to it."
    root = _MISSPELT_ROOTS.get(ref.type) or ("" if hint or alike else nearest(ref.type, _ROOTS) or "")
    if ref.mode == "managed" and root:
        hint = f' Did you mean "{root}.{ref.label}"?'
    detail = f'There is no {ref.mode} resource "{ref.type}" "{ref.label}" definition in {place}.{hint}'
    return error("plan.undeclared_resource", "Reference to undeclared resource", detail, span)


# References in elements of lifecycle.replace_triggered_by.


def trigger_reference(expr: Expr, repetition: Repetition) -> Ref:
    """The reference in an element of replace_triggered_by, with `count.index` or `each.key` in it replaced by its value
    in `repetition`. Raises Failure."""
    ref = parse_reference(_with_constant_keys(expr, expr.node, repetition))
    if isinstance(ref, BadReference):
        raise Failure(error("plan.bad_trigger", ref.summary, ref.detail, Span(expr.source, ref.start, ref.end)))
    return ref


def _with_constant_keys(expr: Expr, node: Expression, repetition: Repetition) -> Traversal | Variable:
    if isinstance(node, Traversal | Variable):
        return node
    if isinstance(node, Relative):
        return _longer(_with_constant_keys(expr, node.source, repetition), node.steps, node.end)
    if isinstance(node, Index):
        before = _with_constant_keys(expr, node.collection, repetition)
        step = GetIndex(_key(expr, node.key, repetition), node.bracket, node.end)
        return _longer(before, (step,), node.end)
    detail = "Only references to resources, with count.index or each.key as index, are allowed here."
    span = Span(expr.source, node.start, node.end)
    raise Failure(error("plan.bad_trigger", "Invalid replace_triggered_by expression", detail, span))


def _longer(before: Traversal | Variable, steps: tuple[GetAttr | GetIndex, ...], end: int) -> Traversal:
    if isinstance(before, Variable):
        return Traversal(before.name, before.end, steps, before.start, end)
    return Traversal(before.root, before.root_end, (*before.steps, *steps), before.start, end)


def _key(expr: Expr, node: Expression, repetition: Repetition) -> Value:
    span = Span(expr.source, node.start, node.end)
    if isinstance(node, Traversal) and len(node.steps) == 1 and isinstance(node.steps[0], GetAttr):
        name = f"{node.root}.{node.steps[0].name}"
        value = {"count.index": repetition.count_index, "each.key": repetition.each_key}.get(name)
        if value is not None:
            return value
        if name in ("count.index", "each.key"):
            detail = f"{name} is not available, because the resource does not have the corresponding argument."
            raise Failure(error("plan.bad_trigger", f'Reference to "{node.root}" in wrong context', detail, span))
    detail = "Here, an index must be a constant, count.index or each.key."
    raise Failure(error("plan.bad_trigger", "Invalid index expression", detail, span))

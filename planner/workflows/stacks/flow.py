"""Evaluates the values, providers and component instances of one deployment on demand. There is no fixed order. A
component instance is evaluated when it is first used, and the values of its inputs, its providers and its dependencies
are evaluated before it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from planner.foundation.values.convert import ConversionError
from planner.foundation.values.paths import unknown_paths
from planner.foundation.values.types import STRING
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    UNKNOWN,
    List,
    Set,
    Unknown,
    Value,
    is_null,
    is_wholly_known,
    mark,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.address import InstanceKey
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.for_each import for_each_items
from planner.language.config.model import Config, Expr, OutputDecl, ProviderDecl, ProviderRef
from planner.language.config.reading import Problems
from planner.language.config.stack_files.model import (
    ComponentDecl,
    ProviderSource,
    StackCall,
    StackConfig,
    StackModule,
)
from planner.language.config.variables import RawValue, RootVariable, root_variables
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, Content, NativeBody, variables
from planner.language.syntax.nodes import Literal, Variable
from planner.workflows.stacks.names import Key, Path, PromiseName, Wild
from planner.workflows.stacks.promises import Promises


@frozen(eq=False)
class Configured:
    """A provider configuration that a component uses. `is_unknown`: whether it contains an unknown value."""

    name: PromiseName
    block: ProviderDecl
    is_unknown: bool


@frozen(eq=False)
class ComponentInstance:
    """A component instance before it is planned or applied."""

    name: PromiseName
    config: Config
    variables: dict[str, RootVariable]
    providers: tuple[Configured, ...]
    awaited: tuple[PromiseName, ...]
    """the component instances on which this instance depends, directly or through values"""
    span: Span
    follows: tuple[PromiseName, ...] = ()
    """the instances that depends_on names, in the component block or in the block of an enclosing child stack"""

    @property
    def unknown(self) -> list[str]:
        """Inputs with unknown values."""
        return [name for name, variable in sorted(self.variables.items()) if not is_wholly_known(variable.value)]


class ComponentWork(Protocol):
    def component(self, instance: ComponentInstance) -> Mapping[str, Value]:
        """Plan or apply an instance, and return its outputs; their values may be unknown. Raises Failure."""


class Flow:
    """One evaluation of a stack with a deployment's inputs."""

    def __init__(self, stack: StackConfig, inputs: Mapping[str, Value], work: ComponentWork) -> None:
        self.stack, self.inputs, self.work = stack, inputs, work
        self.promises: Promises[PromiseName] = Promises(self._make)
        self._makers = {
            "var": self._variable,
            "local": self._local,
            "output": self._output,
            "each": self._each,
            "component": self._component,
            "stack": self._stack,
            "provider": self._provider,
        }

    def _make(self, name: PromiseName) -> Any:
        return self._makers[name.kind](name)

    # ------------------------------------------------------------ the instances

    def module(self, path: Path) -> StackModule:
        module = self.stack.root
        for name, _ in path:
            module = module.children[name]
        return module

    def declaration(self, name: PromiseName) -> StackCall | None:
        """The component block of an instance; None if it is not in the configuration."""
        module: StackModule | None = self.stack.root
        for stack, _ in name.path:
            module = module.children.get(stack) if module is not None else None
        return module.components.get(f"component.{name.name}") if module is not None else None

    def evaluate(self, expr: Expr, scope: Scope) -> Value:
        """The value of an expression. Raises Failure."""
        value, problems = try_evaluate(expr.node, scope, expr.source)
        if has_errors(problems):
            raise Failure(problems)
        return value

    def scope(self, path: Path, key: Key = None, each: Value = UNKNOWN) -> StackScope:
        return StackScope(self, path, key, each)

    def each(self, name: PromiseName, span: Span | None = None) -> dict[str, Value] | Unknown | None:
        """The value of a block's for_each, as {key: value}; Unknown if it is unknown, None if the block has no
        for_each."""
        result: dict[str, Value] | Unknown | None = self.promises.ask(name, span)
        return result

    def keys(self, kind: str, name: str, path: Path, span: Span | None = None) -> dict[Key, Value]:
        """{instance key: element of for_each} for the instances of a block; {None: UNKNOWN} if it has no for_each,
        {Wild.ALL: UNKNOWN} if its for_each is unknown."""
        items = self.each(PromiseName("each", f"{kind}.{name}", path), span)
        if items is None:
            return {None: UNKNOWN}
        if isinstance(items, Unknown):
            return {Wild.ALL: UNKNOWN}
        result: dict[Key, Value] = {}
        result.update(items)
        return result

    def paths(self) -> list[Path]:
        """All stack instances, parents first. Raises Failure."""
        results: list[Path] = [()]
        for path in results:
            for component in sorted(self.module(path).components.values(), key=lambda c: c.name):
                if component.kind == "stack":
                    results += [(*path, (component.name, key)) for key in self.keys("stack", component.name, path)]
        return results

    def instances(self) -> tuple[list[PromiseName], list[Diagnostic]]:
        """All component instances of the stack and its child stacks, and errors. Instances are missing if a for_each
        cannot be evaluated."""
        names: list[PromiseName] = []
        problems: dict[int, Diagnostic] = {}
        waiting: list[Path] = [()]
        for path in waiting:
            for component in sorted(self.module(path).components.values(), key=lambda c: c.key):
                try:
                    keys = self.keys(component.kind, component.name, path)
                except Failure as failure:
                    problems |= {id(d): d for d in failure.diagnostics}
                    continue
                if component.kind == "stack":
                    waiting += [(*path, (component.name, key)) for key in keys]
                else:
                    names += [PromiseName("component", component.name, path, key) for key in keys]
        return names, list(problems.values())

    # ------------------------------------------------------------ values

    def _variable(self, name: PromiseName) -> Value:
        given: Value = self.inputs
        if name.path:
            (last, key), above = name.path[-1], name.path[:-1]
            given = self.promises.ask(PromiseName("stack", last, above, key))
        declared = self.module(name.path).variables[name.name]
        values = checked_inputs({name.name: declared}, given, f"input of {name}")
        return values[name.name].value

    def _local(self, name: PromiseName) -> Value:
        return self.evaluate(self.module(name.path).locals[name.name].expr, self.scope(name.path))

    def _output(self, name: PromiseName) -> Value:
        declared = self.module(name.path).outputs[name.name]
        value = self.evaluate(declared.value, self.scope(name.path))
        return output_value(declared, value)

    def _each(self, name: PromiseName) -> dict[str, Value] | Unknown | None:
        module = self.module(name.path)
        decl = module.providers[name.name] if name.name.startswith("provider.") else module.components[name.name]
        if decl.for_each is None:
            return None
        value = self.evaluate(decl.for_each, self.scope(name.path))
        return repeated(value, decl.for_each)

    def _stack(self, name: PromiseName) -> Value:
        component = self.module(name.path).components[f"stack.{name.name}"]
        return self._inputs(component, name)

    def _inputs(self, component: StackCall, name: PromiseName, each: Value = UNKNOWN) -> Value:
        if component.inputs is None:
            return {}
        if isinstance(component, ComponentDecl):
            each = self.keys(component.kind, component.name, name.path).get(name.key, UNKNOWN)
        return self.evaluate(component.inputs, self.scope(name.path, name.key, each))

    # ------------------------------------------------------------ providers

    def _provider(self, name: PromiseName) -> Configured:
        provider = self.module(name.path).providers[f"provider.{name.name}"]
        each = self.keys("provider", name.name, name.path).get(name.key, UNKNOWN)
        scope = self.scope(name.path, name.key, each)
        span = provider.span
        empty = NativeBody({}, [], span.source, span.start, span.end)
        if provider.config is None:
            return Configured(name, ProviderDecl(provider.type, None, None, empty, span), False)
        problems, is_unknown = problems_of(provider.config, scope, span.source)
        if has_errors(problems):
            raise Failure(problems)
        body = FilledBody(provider.config, scope)
        return Configured(name, ProviderDecl(provider.type, None, None, body, span), is_unknown)

    def given_provider(self, ref: ProviderRef, source: ProviderSource, path: Path, scope: Scope) -> Configured:
        """The provider configuration that a component passes to its module under the name `ref`. Raises Failure."""
        key: Key = None
        known = self.keys("provider", f"{source.type}.{source.alias}", path, source.span)
        if source.key is not None:
            value, _ = unmark(self.evaluate(source.key, scope))
            key = Wild.ALL if isinstance(value, Unknown) else _instance_key(value)
            if key not in known and Wild.ALL not in known:
                detail = f"{source.name} has no instance with the key {key!r}: its for_each does not contain the key."
                raise Failure(error("stack.provider_key", "No such provider configuration", detail, source.span))
            if Wild.ALL in known:
                key = Wild.ALL
        name = PromiseName("provider", f"{source.type}.{source.alias}", path, key)
        if isinstance(key, Wild):
            span = source.span
            empty = NativeBody({}, [], span.source, span.start, span.end)
            return Configured(name, ProviderDecl(ref.name, ref.alias, None, empty, span), True)
        item: Configured = self.promises.ask(name, source.span)
        return evolve(item, block=evolve(item.block, name=ref.name, alias=ref.alias))

    # ------------------------------------------------------------ components

    def _component(self, name: PromiseName) -> Mapping[str, Value]:
        component = self.module(name.path).components[f"component.{name.name}"]
        return self.work.component(self.asked(component, name))

    def asked(self, component: StackCall, name: PromiseName, each: Value = UNKNOWN) -> ComponentInstance:
        """Evaluate the inputs, providers and dependencies of a component instance. Raises Failure."""
        follows: list[PromiseName] = []
        if isinstance(component, ComponentDecl):
            each = self.keys("component", component.name, name.path).get(name.key, UNKNOWN)
            follows = self._follows(component, name.path)
            for depth, (stack, _) in enumerate(name.path):
                above = name.path[:depth]
                follows += self._follows(self.module(above).components[f"stack.{stack}"], above)
        scope = self.scope(name.path, name.key, each)
        given = self._inputs(component, name, each)
        providers = tuple(self.given_provider(ref, source, name.path, scope) for ref, source in component.providers)
        config = component.config
        assert config is not None, "only what could be loaded is evaluated"
        variables = checked_inputs(config.root.variables, given, f"input of {name}")
        blocks = {provider.block.key: provider.block for provider in providers}
        config = evolve(config, root=evolve(config.root, providers={**config.root.providers, **blocks}))
        ordered = tuple(sorted(set(follows), key=str))
        return ComponentInstance(name, config, variables, providers, self.awaited(name), component.span, ordered)

    def awaited(self, name: PromiseName) -> tuple[PromiseName, ...]:
        """The component instances on which the value or instance `name` depends, directly or through other values."""
        return tuple(sorted(self.promises.nearest(name, lambda other: other.is_component), key=str))

    def _follows(self, component: ComponentDecl, path: Path) -> list[PromiseName]:
        """Evaluate the instances that depends_on names, and return their names. Raises Failure."""
        return [n for ref in component.depends_on for n in self._wait_for(ref.node, path, ref.span)]

    def _wait_for(self, node: nodes.SyntaxNode, path: Path, span: Span) -> list[PromiseName]:
        """Evaluate the instances of a component, or of all components in a child stack, and return their names. A key
        in the reference selects one instance. Raises Failure."""
        assert isinstance(node, nodes.Traversal)
        first, *rest = node.steps
        kind, called = node.root, getattr(first, "name", "")
        keys = self.keys(kind, called, path, span)
        if rest and isinstance(rest[0], nodes.GetIndex):
            wanted = _instance_key(rest[0].key)
            keys = {key: value for key, value in keys.items() if key in (wanted, Wild.ALL)}
        results: list[PromiseName] = []
        for key in keys:
            if kind == "component":
                results.append(PromiseName("component", called, path, key))
                self.promises.ask(results[-1], span)
                continue
            inner = (*path, (called, key))
            for component in self.module(inner).components.values():
                fake = nodes.GetAttr(component.name, span.start, span.end)
                whole = nodes.Traversal(component.kind, span.end, (fake,), span.start, span.end)
                results += self._wait_for(whole, inner, span)
        return results


class StackScope(Scope):
    """The names that expressions of a stack can use. `key` and `each`: in a block with for_each, `each.key` and
    `each.value` of the instance."""

    def __init__(self, flow: Flow, path: Path, key: Key, each: Value) -> None:
        self.flow, self.path, self.key, self.value = flow, path, key, each

    def resolve(self, node: nodes.Traversal | nodes.Variable, source: Source | None) -> tuple[Value, int]:
        root = node.name if isinstance(node, nodes.Variable) else node.root
        steps = () if isinstance(node, nodes.Variable) else node.steps
        span = Span(source or Source("", ""), node.start, node.end)
        if root == "each":
            key: Value = Unknown(STRING) if isinstance(self.key, Wild) else self.key
            return {"key": key, "value": self.value}, 0
        if not steps or not isinstance(steps[0], nodes.GetAttr) or root not in ("var", "local", "component", "stack"):
            detail = f"{root} cannot be used alone in a stack. Use var.NAME, local.NAME or component.NAME."
            raise Failure(error("stack.reference", "Invalid reference", detail, span))
        name = steps[0].name
        ask = self.flow.promises.ask
        if root in ("var", "local"):
            return ask(PromiseName(root, name, self.path), span), 1
        keys = self.flow.keys(root, name, self.path, span)
        if Wild.ALL in keys:
            return UNKNOWN, len(steps)
        one = partial(self._outputs, root, name, span)
        if list(keys) == [None]:
            return one(None), 1
        if len(steps) > 1 and isinstance(steps[1], nodes.GetIndex) and _instance_key(steps[1].key) in keys:
            return one(_instance_key(steps[1].key)), 2
        return {str(key): one(key) for key in keys}, 1

    def _outputs(self, root: str, name: str, span: Span, key: Key) -> Value:
        if root == "component":
            item: Mapping[str, Value] = self.flow.promises.ask(PromiseName("component", name, self.path, key), span)
            return dict(item)
        path = (*self.path, (name, key))
        outputs = self.flow.module(path).outputs
        return {called: self.flow.promises.ask(PromiseName("output", called, path), span) for called in outputs}


# ---------------------------------------------------------------- values


def repeated(value: Value, expr: Expr) -> dict[str, Value] | Unknown:
    """The value of a for_each argument, as {key: value}; Unknown if it is unknown. A list of distinct strings is
    accepted as a set. Raises Failure."""
    plain, marks = unmark(value)
    if isinstance(plain, List | tuple):
        whole, within = unmark_deep(plain)
        items = list(whole.items if isinstance(whole, List) else whole)
        if all(item.__class__ is str for item in items) and len(set(items)) == len(items):
            plain, marks = Set(STRING, tuple(sorted(items))), marks | within
        elif any(isinstance(i, Unknown) for i in items) and all(isinstance(i, str | Unknown) for i in items):
            plain, marks = UNKNOWN, marks | within
        else:
            detail = "A list serves as a set here only if its elements are distinct strings."
            raise Failure(error("stack.for_each", "Invalid for_each argument", detail, expr.span))
    if marks and not is_wholly_known(plain):  # a sensitive value must stay hidden when it becomes known
        problems = Problems()
        if for_each_items(mark(Set(STRING, ()), marks), expr, problems) is None:
            raise Failure(problems)
    if isinstance(plain, Unknown):
        return Unknown(plain.type)
    if isinstance(plain, Set) and not is_wholly_known(plain):
        return UNKNOWN
    problems = Problems()
    items_ = for_each_items(mark(plain, marks) if marks else plain, expr, problems)
    if items_ is None:
        raise Failure(problems)
    return items_


def _instance_key(value: Any) -> InstanceKey:
    return value if value.__class__ in (str, int) else str(value)


def checked_inputs(declared: Mapping[str, Any], given: Value, who: str) -> dict[str, RootVariable]:
    """{declared variable: its value}, from the object `given` with inputs. `who`: what gives the values, for messages.
    Raises Failure."""
    plain, marks = unmark(given)
    if is_null(plain):
        plain = {}
    if isinstance(plain, Unknown):
        raws = {name: RawValue(name, "input", given=UNKNOWN) for name in declared}
    else:
        items = plain if isinstance(plain, dict) else plain.items
        raws = {
            name: RawValue(name, "input", given=mark(items[name], marks) if marks else items[name])
            for name in declared
            if name in items
        }
    values, problems = root_variables(declared, raws)
    if has_errors(problems):
        raise Failure([evolve(d, detail=d.detail.replace("an answer", who)) for d in problems])
    return values


def output_value(declared: OutputDecl, value: Value) -> Value:
    """An output's value, converted to the declared type and marked if it is declared sensitive. Raises Failure for a
    value that does not have this type, or for an ephemeral value of an output that is not declared ephemeral."""
    if declared.type is not None:
        try:
            value = declared.type.convert(value)
        except ConversionError as bad:
            detail = f"The value of output.{declared.name} does not match its type: {bad.about(value)}."
            raise Failure(error("stack.output_type", "Invalid output value", detail, declared.value.span)) from None
    if EPHEMERAL in unmark_deep(value)[1] and not declared.ephemeral:
        detail = f"The value of output.{declared.name} is ephemeral, so the output must set ephemeral = true."
        raise Failure(error("stack.ephemeral_output", "Ephemeral value not allowed", detail, declared.value.span))
    return mark(value, frozenset((SENSITIVE,))) if declared.sensitive else value


# Provider blocks of a stack, for the modules of components: references to the stack are replaced with values.


ROOTS = frozenset(("var", "local", "component", "stack", "each"))
"""first names of references in a stack"""


class FilledBody:
    """A body in which the arguments are replaced with their values in a scope. Arguments that refer to other names,
    such as the iterator of a dynamic block, remain expressions."""

    __slots__ = ("body", "scope")

    def __init__(self, body: Body, scope: Scope) -> None:
        self.body, self.scope = body, scope

    def content(self, schema: BodySchema) -> Content:
        return self._fill(self.body.content(schema))

    def partial_content(self, schema: BodySchema) -> tuple[Content, Body]:
        content, rest = self.body.partial_content(schema)
        return self._fill(content), FilledBody(rest, self.scope)

    def just_attributes(self) -> tuple[dict[str, Attribute], list[Diagnostic]]:
        attributes, problems = self.body.just_attributes()
        return self._fill(Content(attributes, [], problems)).attributes, problems

    @property
    def missing_span(self) -> Span:
        return self.body.missing_span

    def _fill(self, content: Content) -> Content:
        attributes = {
            name: evaluated_attribute(attribute, self.scope) for name, attribute in content.attributes.items()
        }
        blocks = [
            Block(b.type, b.type_end, b.labels, b.header_end, FilledBody(b.body, self.scope), b.source, b.start, b.end)
            for b in content.blocks
        ]
        return Content(attributes, blocks, content.diagnostics)


def evaluated_attribute(attribute: Attribute, scope: Scope) -> Attribute:
    """The argument with its value as a literal. It is returned unchanged if it has no references, if it refers to names
    other than ROOTS, or if it cannot be evaluated; in the last case, the error is reported later when the body is
    decoded."""
    names = {node.name if isinstance(node, Variable) else node.root for node in variables(attribute.expr)}
    if not names or not names <= ROOTS:
        return attribute
    value, problems = try_evaluate(attribute.expr, scope, attribute.source)
    if has_errors(problems):
        return attribute
    constant = Literal(value, attribute.expr.start, attribute.expr.end)
    return Attribute(attribute.name, attribute.name_end, constant, attribute.source, attribute.start, attribute.end)


def problems_of(body: Body, scope: Scope, source: object) -> tuple[list[Diagnostic], bool]:
    """The diagnostics of evaluating all references to the stack in a body, and whether the value of any of them
    contains unknown parts."""
    problems: list[Diagnostic] = []
    is_unknown = False
    for node in variables(body):
        root = node.name if isinstance(node, Variable) else node.root
        if root not in ROOTS:
            continue
        value, item = try_evaluate(node, scope, source)  # type: ignore[arg-type]
        problems += item
        is_unknown |= bool(unknown_paths(unmark_deep(value)[0]))
    return problems, is_unknown

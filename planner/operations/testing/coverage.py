"""What of a module no run of its tests has reached: resources that were never planned, conditionals of which one side
was never taken, counts and for_each that were never none or never some, validations that never held or never failed,
outputs that never had a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from attrs import frozen

from planner.config.model import CheckRule, Config, Expr, ModuleConfig, ResourceDecl
from planner.evaluation.context import EvaluationContext, ModuleInstance
from planner.evaluation.repetition import NO_REPETITION, Repetition
from planner.language.evaluate import try_evaluate
from planner.language.scope import Scope
from planner.model.plan import Plan
from planner.syntax import nodes
from planner.syntax.body import Body
from planner.syntax.native_body import NativeBody
from planner.values.value import Unknown, unmark_deep
from planner.vocabulary.address import join
from planner.vocabulary.diagnostic import Failure, has_errors
from planner.vocabulary.span import Source, Span

Key: TypeAlias = tuple[str, str, int]
"""kind, file, offset"""
Reached: TypeAlias = frozenset[tuple[Key, str]]
"""what was seen of which item"""
NOTHING: Reached = frozenset()


@frozen(eq=False)
class Item:
    """Something that tests can reach; `ways` are how. `kind` is resource, conditional, repetition, validation or
    output."""

    kind: str
    name: str
    span: Span
    ways: tuple[str, ...]

    @property
    def key(self) -> Key:
        return (self.kind, self.span.filename, self.span.start)


@frozen(eq=False)
class Coverage:
    """All items of a configuration, by place, with the ways in which each was reached."""

    items: tuple[tuple[Item, frozenset[str]], ...]

    @property
    def counts(self) -> tuple[int, int]:
        """How many of all ways were reached, and how many there are."""
        return sum(len(seen) for _, seen in self.items), sum(len(item.ways) for item, _ in self.items)


def coverage(config: Config, reached: Iterable[Reached]) -> Coverage:
    """What was reached of a configuration."""
    seen: dict[Key, set[str]] = {}
    for one in reached:
        for key, way in one:
            seen.setdefault(key, set()).add(way)
    found = {item.key: item for item in items(config)}
    ordered = sorted(found.values(), key=lambda item: (item.span.filename, item.span.start, item.kind))
    return Coverage(tuple((item, frozenset(seen.get(item.key, set()) & set(item.ways))) for item in ordered))


def items(config: Config) -> Iterator[Item]:
    """Everything that tests of a configuration can reach."""
    for module in config.root.walk():
        place = ".".join(f"module.{name}" for name in module.path)
        for key, resource in module.resources.items():
            yield Item("resource", join(place, key), resource.span, ("planned",))
            yield from _repetition(resource, join(place, key))
        for name, call in module.calls.items():
            yield from _repetition(call, join(place, f"module.{name}"))
        for output in module.outputs.values():
            yield Item("output", join(place, f"output.{output.name}"), output.span, ("evaluated",))
        for variable in module.variables.values():
            for rule in variable.validations:
                yield Item("validation", join(place, f"var.{variable.name}"), rule.span, ("held", "failed"))
        for _, source, node in _conditionals(module):
            span = Span(source, node.start, node.end)
            yield Item("conditional", span.text.split("\n")[0], span, ("true", "false"))


def _repetition(block: Any, name: str) -> Iterator[Item]:
    for argument in ("count", "for_each", "enabled"):
        expr: Expr | None = getattr(block, argument)
        if expr is not None:
            yield Item("repetition", f"{name}.{argument}", expr.span, ("some", "none"))


# ---------------------------------------------------------------- one run


def reached(context: EvaluationContext, made: Plan | None) -> Reached:
    """What one run has reached, by the values that its plan was made with."""
    found: set[tuple[Key, str]] = set()
    planned = {change.resource_address for change in made.changes} if made is not None else set()
    for module in context.all_instances():
        config = module.config
        for key, resource in config.resources.items():
            objects = module.resource(key)
            instances = objects.expansion.instances if objects.expansion is not None else {}
            if instances or join(module.text, key) in planned:
                found.add((("resource", *_place(resource.span)), "planned"))
            _add_repetition(found, resource, instances if objects.expansion is not None else None)
        for name, call in config.calls.items():
            _add_repetition(found, call, module.calls.get(name))
        if made is not None and not made.errored:
            found.update((("output", *_place(output.span)), "evaluated") for output in config.outputs.values())
        for variable in config.variables.values():
            for rule in variable.validations:
                held = _truth(rule.condition, module.scope)
                if held is not None:
                    found.add((("validation", *_place(rule.span)), "held" if held else "failed"))
        for owner, source, node in _conditionals(config):
            for scope in _scopes(module, owner):
                value = _truth(Expr(node.condition, source), scope)
                if value is not None:
                    found.add((("conditional", source.filename, node.start), "true" if value else "false"))
    return frozenset(found)


def _place(span: Span) -> tuple[str, int]:
    return span.filename, span.start


def _add_repetition(found: set[tuple[Key, str]], block: Any, instances: Any) -> None:
    for argument in ("count", "for_each", "enabled"):
        expr: Expr | None = getattr(block, argument)
        if expr is not None and instances is not None:
            found.add((("repetition", *_place(expr.span)), "some" if instances else "none"))


def _scopes(module: ModuleInstance, owner: ResourceDecl | None) -> Iterable[Scope]:
    """What names mean in the block of a resource, instance by instance; or in the module."""
    if owner is None:
        return [module.scope]
    expansion = module.resource(owner.key).expansion
    repetitions: Iterable[Repetition] = expansion.instances.values() if expansion is not None else ()
    return [module.with_repetition(repetition) for repetition in repetitions or [NO_REPETITION]]


def _truth(expr: Expr, scope: Scope) -> bool | None:
    try:
        value, problems = try_evaluate(expr.node, scope, expr.source)
    except Failure:
        return None
    plain = unmark_deep(value)[0]
    if has_errors(problems) or plain.__class__ is Unknown:
        return None
    return plain if plain.__class__ is bool else {"true": True, "false": False}.get(str(plain))


# ---------------------------------------------------------------- conditionals


def _conditionals(module: ModuleConfig) -> Iterator[tuple[ResourceDecl | None, Source, nodes.Conditional]]:
    """Every conditional of a module, with the resource that it stands in. Those within `for` expressions are left out:
    nobody knows afterwards what the names there stood for."""
    for resource in module.resources.values():
        for expr in _expressions(resource.body):
            for node in _inside(expr.node):
                yield resource, expr.source, node
    whole = [local.expr for local in module.locals.values()]
    whole += [output.value for output in module.outputs.values()]
    whole += [Expr(a.expr, a.source) for call in module.calls.values() for a in call.inputs.values() if not a.is_json]
    blocks: list[Any] = [*module.resources.values(), *module.calls.values()]
    for block in blocks:
        whole += [e for e in (block.count, block.for_each, block.enabled) if e is not None]
    rules: list[CheckRule] = [rule for variable in module.variables.values() for rule in variable.validations]
    whole += [rule.condition for rule in rules]
    for expr in whole:
        for node in _inside(expr.node):
            yield None, expr.source, node


def _expressions(body: Body) -> Iterator[Expr]:
    if not isinstance(body, NativeBody):
        return
    for name, attribute in body.attributes.items():
        if name not in body.taken:
            yield Expr(attribute.expr, attribute.source)
    for block in body.blocks:
        if block.type not in body.taken_types and block.type != "dynamic":
            yield from _expressions(block.body)


def _inside(node: Any) -> Iterator[nodes.Conditional]:
    if isinstance(node, nodes.For):
        return
    if isinstance(node, nodes.Conditional):
        yield node
    for name in getattr(node, "__slots__", ()):
        part = getattr(node, name, None)
        for inner in part if part.__class__ is tuple else (part,):
            if isinstance(inner, nodes.Node):
                yield from _inside(inner)

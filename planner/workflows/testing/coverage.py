"""Coverage of a module by its tests. The following are not fully covered: resources that were never planned,
conditionals with a branch that was never taken, count and for_each that were always empty or never empty, validations
that were never true or never false, outputs that were never evaluated, and policies that always or never had a
finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from planner.engine.evaluation.context import EvaluationContext, ModuleInstance
from planner.engine.evaluation.repetition import NO_REPETITION, Repetition
from planner.foundation.values.value import Null, Unknown, Value, unmark_deep
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import CheckRule, Config, Expr, ModuleConfig, ResourceDecl
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.expressions.traverse import can_iterate, elements
from planner.language.syntax import nodes
from planner.language.syntax.body import Block, Body, NativeBody
from planner.logic.model.plan import Plan

Key: TypeAlias = tuple[str, str, int]
"""the key of an item, as (kind, file, offset); for a policy, (kind, code, 0)"""
Reached: TypeAlias = frozenset[tuple[Key, str]]
"""the items that runs reached, as (key of the item, way in which it was reached); see CoverageItem"""
NOTHING: Reached = frozenset()


@frozen(eq=False)
class CoverageItem:
    """A part of a module that tests can cover. `ways`: the cases that tests can reach, such as "true" and "false" for a
    conditional. `kind`: resource, conditional, repetition (count, for_each or enabled), validation, output or
    policy."""

    kind: str
    name: str
    span: Span
    ways: tuple[str, ...]

    @property
    def key(self) -> Key:
        return (self.kind, self.span.filename, self.span.start)


@frozen(eq=False)
class Coverage:
    """All items, sorted by place, each with the ways in which it was reached."""

    items: tuple[tuple[CoverageItem, frozenset[str]], ...]

    @property
    def counts(self) -> tuple[int, int]:
        """(number of ways that were reached, number of all ways)."""
        return sum(len(seen) for _, seen in self.items), sum(len(item.ways) for item, _ in self.items)


def coverage(config: Config, reached: Iterable[Reached], policies: Mapping[str, Span] = {}) -> Coverage:
    """The coverage of a configuration. `reached`: for each run, the items that the run reached. `policies`: {code of a
    policy: its place}."""
    seen: dict[Key, set[str]] = {}
    for one in reached:
        for key, way in one:
            seen.setdefault(key, set()).add(way)
    table = {item.key: item for item in items(config)}
    for code, span in policies.items():
        table["policy", code, 0] = CoverageItem("policy", code, span, ("objecting", "silent"))
    ordered = sorted(table.items(), key=lambda it: (it[1].span.filename, it[1].span.start, it[1].kind, it[1].name))
    return Coverage(tuple((item, frozenset(seen.get(key, set()) & set(item.ways))) for key, item in ordered))


def items(config: Config) -> Iterator[CoverageItem]:
    """The items that tests of a configuration can reach, except policies."""
    for module in config.root.walk():
        place = ".".join(f"module.{name}" for name in module.path)
        for key, resource in module.resources.items():
            yield CoverageItem("resource", join(place, key), resource.span, ("planned",))
            yield from _repetition(resource, join(place, key))
        for name, call in module.calls.items():
            yield from _repetition(call, join(place, f"module.{name}"))
        for output in module.outputs.values():
            yield CoverageItem("output", join(place, f"output.{output.name}"), output.span, ("evaluated",))
        for variable in module.variables.values():
            for rule in variable.validations:
                yield CoverageItem("validation", join(place, f"var.{variable.name}"), rule.span, ("held", "failed"))
        for item in conditionals(module):
            span = Span(item.source, item.node.start, item.node.end)
            yield CoverageItem("conditional", span.text.split("\n")[0], span, ("true", "false"))


def _repetition(block: Any, name: str) -> Iterator[CoverageItem]:
    for argument in ("count", "for_each", "enabled"):
        expr: Expr | None = getattr(block, argument)
        if expr is not None:
            yield CoverageItem("repetition", f"{name}.{argument}", expr.span, ("some", "none"))


# ---------------------------------------------------------------- one run


def reached(context: EvaluationContext, made: Plan | None) -> Reached:
    """The items that a run has reached. `context`: the evaluated configuration. `made`: the run's plan; None if there
    is none."""
    keys: set[tuple[Key, str]] = set()
    planned = {change.resource_address for change in made.changes} if made is not None else set()
    for module in context.all_instances():
        config = module.config
        for key, resource in config.resources.items():
            objects = module.resource(key)
            instances = objects.expansion.instances if objects.expansion is not None else {}
            if instances or join(module.text, key) in planned:
                keys.add((("resource", *_place(resource.span)), "planned"))
            _add_repetition(keys, resource, instances if objects.expansion is not None else None)
        for name, call in config.calls.items():
            _add_repetition(keys, call, module.calls.get(name))
        if made is not None and not made.errored:
            outputs = (output for output in config.outputs.values() if output.made_up is None)
            keys.update((("output", *_place(output.span)), "evaluated") for output in outputs)
        for variable in config.variables.values():
            for rule in variable.validations:
                held = truth(rule.condition, module.scope)
                if held is not None:
                    keys.add((("validation", *_place(rule.span)), "held" if held else "failed"))
        for place in conditionals(config):
            where: Key = ("conditional", place.source.filename, place.node.start)
            keys.update((where, "true" if value else "false") for value in truths(module, place))
    return frozenset(keys)


def _place(span: Span) -> tuple[str, int]:
    return span.filename, span.start


def _add_repetition(keys: set[tuple[Key, str]], block: Any, instances: Any) -> None:
    for argument in ("count", "for_each", "enabled"):
        expr: Expr | None = getattr(block, argument)
        if expr is not None and instances is not None:
            keys.add((("repetition", *_place(expr.span)), "some" if instances else "none"))


# The conditionals of a module, with the values of the names in them: names of the module, of a resource's instances,
# and of the loops around a conditional (`for`, template directives, `dynamic` blocks).


MOST = 1000
"""maximum number of elements for which a conditional is evaluated"""


@frozen(eq=False)
class Iteration:
    """A loop over a collection: a `for` expression, a template directive or a `dynamic` block. `names`: the names of
    the key (None if it has no name) and of the element. A `dynamic` block (`is_block`) has only the second name, an
    object with `key` and `value`."""

    collection: Expr
    names: tuple[str | None, str]
    condition: Expr | None = None
    is_block: bool = False


Loops: TypeAlias = tuple[Iteration, ...]
"""the loops around an expression, outermost first"""


@frozen(eq=False)
class ConditionalSite:
    """A conditional and the loops around it. `owner`: the resource whose body contains it; None for other places, such
    as locals, outputs and `count`."""

    owner: ResourceDecl | None
    source: Source
    node: nodes.Conditional
    loops: Loops


def conditionals(module: ModuleConfig) -> Iterator[ConditionalSite]:
    for resource in module.resources.values():
        for expr, loops in _of_body(resource.body, ()):
            for node, inner in _inside(expr.node, expr.source, loops):
                yield ConditionalSite(resource, expr.source, node, inner)
    whole = [local.expr for local in module.locals.values()]
    whole += [output.value for output in module.outputs.values()]
    whole += [Expr(a.expr, a.source) for call in module.calls.values() for a in call.inputs.values() if not a.is_json]
    blocks: list[Any] = [*module.resources.values(), *module.calls.values()]
    for block in blocks:
        whole += [e for e in (block.count, block.for_each, block.enabled) if e is not None]
    rules: list[CheckRule] = [rule for variable in module.variables.values() for rule in variable.validations]
    whole += [rule.condition for rule in rules]
    for expr in whole:
        for node, loops in _inside(expr.node, expr.source, ()):
            yield ConditionalSite(None, expr.source, node, loops)


def _of_body(body: Body, loops: Loops) -> Iterator[tuple[Expr, Loops]]:
    if not isinstance(body, NativeBody):
        return
    for name, attribute in body.attributes.items():
        if name not in body.taken:
            yield Expr(attribute.expr, attribute.source), loops
    for block in body.blocks:
        if block.type == "dynamic":
            yield from _of_dynamic(block, loops)
        elif block.type not in body.taken_types:
            yield from _of_body(block.body, loops)


def _of_dynamic(block: Block, loops: Loops) -> Iterator[tuple[Expr, Loops]]:
    body = block.body
    if not isinstance(body, NativeBody) or "for_each" not in body.attributes or not block.labels:
        return
    each, iterator = body.attributes["for_each"], body.attributes.get("iterator")
    name = block.labels[0].value
    if iterator is not None and isinstance(iterator.expr, nodes.Variable):
        name = iterator.expr.name
    collection = Expr(each.expr, each.source)
    yield collection, loops
    for inner in body.blocks:
        if inner.type == "content":
            yield from _of_body(inner.body, (*loops, Iteration(collection, (None, name), None, True)))


def _inside(node: Any, source: Source, loops: Loops) -> Iterator[tuple[nodes.Conditional, Loops]]:
    if isinstance(node, nodes.Conditional):
        yield node, loops
    inner = loops
    if isinstance(node, nodes.For | nodes.TemplateFor):
        condition = getattr(node, "condition", None)
        collection = Expr(node.collection, source)
        loop = Iteration(collection, (node.key, node.value), None)
        inner = (*loops, Iteration(collection, (node.key, node.value), Expr(condition, source) if condition else None))
    for name in getattr(node, "__slots__", ()):
        part = getattr(node, name, None)
        around = inner
        if inner is not loops and name in ("collection", "condition"):
            around = loops if name == "collection" else (*loops, loop)
        for one in part if part.__class__ is tuple else (part,):
            if isinstance(one, nodes.SyntaxNode):
                yield from _inside(one, source, around)


# ---------------------------------------------------------------- the values of names


def truths(module: ModuleInstance, place: ConditionalSite) -> set[bool]:
    """The results of a conditional's condition that are known: it is evaluated in each instance of its resource, and
    for each element of the loops around it. At most MOST combinations are evaluated."""
    result: set[bool] = set()
    everything = (inner for scope in _scopes(module, place.owner) for inner in _repeated(scope, place.loops))
    for scope in islice(everything, MOST):
        value = truth(Expr(place.node.condition, place.source), scope)
        if value is not None:
            result.add(value)
        if len(result) == 2:
            break
    return result


def truth(expr: Expr, scope: Scope) -> bool | None:
    """Whether a condition is true; the strings "true" and "false" count as booleans. None if it has another value, such
    as an unknown value, or if its evaluation fails."""
    plain = _value(expr, scope)
    return plain if plain.__class__ is bool else {"true": True, "false": False}.get(str(plain))


def _value(expr: Expr, scope: Scope) -> Value:
    try:
        value, problems = try_evaluate(expr.node, scope, expr.source)
    except Failure:
        return None
    return None if has_errors(problems) else unmark_deep(value)[0]


def _scopes(module: ModuleInstance, owner: ResourceDecl | None) -> Iterable[Scope]:
    """The scope of each instance of the resource `owner`. If it has no instances, a single scope without `each` and
    `count`. If `owner` is None, only the scope of the module."""
    if owner is None:
        return [module.scope]
    expansion = module.resource(owner.key).expansion
    repetitions: Iterable[Repetition] = expansion.instances.values() if expansion is not None else ()
    return [module.with_repetition(repetition) for repetition in repetitions or [NO_REPETITION]]


def _repeated(scope: Scope, loops: Loops) -> Iterator[Scope]:
    """A scope for each combination of elements of the loops for which the conditions of the loops are true. No scope if
    the elements of a collection are not known."""
    if not loops:
        yield scope
        return
    loop, *rest = loops
    collection = _value(loop.collection, scope)
    if collection is None or collection.__class__ in (Null, Unknown) or not can_iterate(collection):
        return
    for key, element in elements(collection):
        name, inner = loop.names
        names = {inner: {"key": key, "value": element} if loop.is_block else element}
        if name is not None:
            names[name] = key
        within = _Bound(scope, names)
        if loop.condition is None or truth(loop.condition, within):
            yield from _repeated(within, tuple(rest))


class _Bound(Scope):
    """A scope with additional names."""

    def __init__(self, around: Scope, names: Mapping[str, Value]) -> None:
        self.around, self.names = around, names
        self.functions_allowed, self.deprecations = around.functions_allowed, around.deprecations
        self._context = around.context

    def resolve(self, node: nodes.Traversal | nodes.Variable, source: Source | None) -> tuple[Value, int]:
        name = node.name if isinstance(node, nodes.Variable) else node.root
        return (self.names[name], 0) if name in self.names else self.around.resolve(node, source)

    def function(self, name: str) -> Any:
        return self.around.function(name)

"""The conditionals of a module, and the values of the names in them: those of the module, of the instances of a
resource, and of the repetitions around them (`for`, template directives, `dynamic` blocks)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.repetition import NO_REPETITION, Repetition
from planner.foundation.values.value import Null, Unknown, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source
from planner.language.config.model import CheckRule, Expr, ModuleConfig, ResourceDecl
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.expressions.traverse import can_iterate, elements
from planner.language.syntax import nodes
from planner.language.syntax.body import Block, Body, NativeBody

MOST = 1000
"""elements that are looked at, of all that one conditional is evaluated for"""


@frozen(eq=False)
class Iteration:
    """A loop over a collection. `names` are those of the key and of the element, if they have any; those of a `dynamic`
    block are one, which has both as attributes."""

    collection: Expr
    names: tuple[str | None, str]
    condition: Expr | None = None
    is_block: bool = False


Loops: TypeAlias = tuple[Iteration, ...]
"""from outside to inside"""


@frozen(eq=False)
class ConditionalSite:
    """A conditional, and its place: in a resource (or else in the module), and in these loops."""

    owner: ResourceDecl | None
    source: Source
    node: nodes.Conditional
    loops: Loops


def conditionals(module: ModuleConfig) -> Iterator[ConditionalSite]:
    """Every conditional of a module."""
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


# ---------------------------------------------------------------- what names stood for


def truths(module: ModuleInstance, place: ConditionalSite) -> set[bool]:
    """The results of the condition, in the instances of its resource and for the elements of its loops."""
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
    """Whether a condition holds; None when it is not known or cannot be evaluated."""
    plain = _value(expr, scope)
    return plain if plain.__class__ is bool else {"true": True, "false": False}.get(str(plain))


def _value(expr: Expr, scope: Scope) -> Value:
    try:
        value, problems = try_evaluate(expr.node, scope, expr.source)
    except Failure:
        return None
    return None if has_errors(problems) else unmark_deep(value)[0]


def _scopes(module: ModuleInstance, owner: ResourceDecl | None) -> Iterable[Scope]:
    """The scopes of the block of a resource, instance by instance; or of the module."""
    if owner is None:
        return [module.scope]
    expansion = module.resource(owner.key).expansion
    repetitions: Iterable[Repetition] = expansion.instances.values() if expansion is not None else ()
    return [module.with_repetition(repetition) for repetition in repetitions or [NO_REPETITION]]


def _repeated(scope: Scope, loops: Loops) -> Iterator[Scope]:
    """The scopes in loops, element by element."""
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
    """Some names, and those of the scope around."""

    def __init__(self, around: Scope, names: Mapping[str, Value]) -> None:
        self.around, self.names = around, names
        self.functions_allowed, self.deprecations = around.functions_allowed, around.deprecations
        self._context = around.context

    def resolve(self, node: nodes.Traversal | nodes.Variable, source: Source | None) -> tuple[Value, int]:
        name = node.name if isinstance(node, nodes.Variable) else node.root
        return (self.names[name], 0) if name in self.names else self.around.resolve(node, source)

    def function(self, name: str) -> Any:
        return self.around.function(name)

"""Test values for the variables of a root module: values to which validations and conditions compare a variable, and
values that many validations accept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from planner.foundation.values.convert import ConversionError
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
    Type,
)
from planner.foundation.values.value import Null, Value, is_null, type_of, unmark_deep
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.language.config.model import Config, Expr, ModuleConfig, VariableDecl
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import MappingScope
from planner.language.syntax import nodes
from planner.language.syntax.body import Body, NativeBody, function_calls, variables

MOST = 24
"""maximum number of values of one variable"""
_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
_TEXTS = (
    "example",
    "example-1",
    "",
    "a",
    "EXAMPLE",
    "1",
    "1.2.3",
    "10.0.0.0/16",
    "10.0.0.1",
    "example.com",
    "https://example.com",
    "someone@example.com",
    "eu-central-1",
    "arn:aws:iam::123456789012:role/example",
    "123456789012",
    "00000000-0000-4000-8000-000000000000",
    "2030-01-01T00:00:00Z",
    "t3.micro",
    "ami-12345678",
    "{}",
)
_NUMBERS = (1, 0, 2, -1, 10, 100, 1000, 8080)


def candidates(config: Config) -> dict[str, list[Value]]:
    """{variable: at most MOST values}. The values are, in this order, the default, values to which the variable is
    compared (for an integer, also the next larger and the next smaller integer), and common values of its type.
    Validations may reject some of these values."""
    compared: dict[str, list[Value]] = {}
    mentions = VariableMentions(config)
    for module in config.root.walk():
        for expr in expressions(module):
            for name, value in _comparisons(module, expr, mentions):
                compared.setdefault(name, []).append(value)
    result = {}
    for name, decl in config.root.variables.items():
        tried = [] if decl.default is None else [decl.default]
        tried += [near for value in compared.get(name, ()) for near in _near(value)]
        wanted = decl.constraint.written
        if wanted is DYNAMIC and decl.default is not None and not is_null(decl.default):
            wanted = type_of(decl.default)
        tried += suggested(wanted, compared.get(name, ()))
        result[name] = list(_fitting(decl, tried))
    return result


def _fitting(decl: VariableDecl, tried: Iterable[Value]) -> Iterator[Value]:
    """The values that can be converted to the variable's type, without duplicates, but at most MOST. Null is included
    only if it is the default."""
    seen: list[Value] = []
    for value in tried:
        try:
            converted = unmark_deep(decl.constraint.convert(value))[0]
        except ConversionError:
            continue
        if any(converted == other and converted.__class__ is other.__class__ for other in seen):
            continue
        if is_null(converted) and (decl.default is None or not is_null(decl.default)):
            continue
        seen.append(converted)
        yield value
        if len(seen) == MOST:
            return


def suggested(t: Type, texts: Iterable[Value] = ()) -> list[Value]:
    """Common values of a type. `texts`: for a list, set or map, the values to try first as elements."""
    if t is BOOL:
        return [True, False]
    if t is NUMBER:
        return list(_NUMBERS)
    if t is STRING or t is DYNAMIC:
        return list(_TEXTS)
    if isinstance(t, ListType | SetType):
        inner = [*texts, *suggested(t.element)]
        return [(), *((value,) for value in inner[:MOST])]
    if isinstance(t, MapType):
        inner = [*texts, *suggested(t.element)]
        return [{}, *({"example": value} for value in inner[:MOST])]
    if isinstance(t, ObjectType):
        return _objects(t)
    if isinstance(t, TupleType):
        return [tuple(next(iter(suggested(e)), Null()) for e in t.elements)]
    return []


def _objects(t: ObjectType) -> list[Value]:
    """An object without optional attributes, and objects that differ from it in one attribute."""
    parts = {name: suggested(part) for name, part in t.attributes.items() if name not in t.optional}
    first = {name: values[0] if values else Null() for name, values in parts.items()}
    others = [{**first, name: value} for name, values in parts.items() for value in values[1:]]
    return [first, *others]


def _near(value: Value) -> list[Value]:
    """The value and, if it is an integer, the next larger and the next smaller integer."""
    if value.__class__ is bool or not isinstance(value, int):
        return [value]
    return [value, value + 1, value - 1]


# ---------------------------------------------------------------- values in comparisons


def expressions(module: ModuleConfig) -> Iterator[Expr]:
    """The expressions of a module that may compare a variable with a value."""
    yield from (local.expr for local in module.locals.values())
    yield from (output.value for output in module.outputs.values())
    for variable in module.variables.values():
        yield from (rule.condition for rule in variable.validations)
    blocks: list[Any] = [*module.resources.values(), *module.calls.values()]
    for block in blocks:
        yield from (e for e in (block.count, block.for_each, block.enabled) if e is not None)
    for call in module.calls.values():
        yield from (Expr(a.expr, a.source) for a in call.inputs.values() if not a.is_json)
    for resource in module.resources.values():
        yield from _of_body(resource.body)
        lifecycle = resource.lifecycle
        yield from (rule.condition for rule in (*lifecycle.preconditions, *lifecycle.postconditions))
    for check in module.checks.values():
        yield from (rule.condition for rule in check.assertions)


def _of_body(body: Body) -> Iterator[Expr]:
    if isinstance(body, NativeBody):
        yield from (Expr(attribute.expr, attribute.source) for attribute in body.attributes.values())
        for block in body.blocks:
            yield from _of_body(block.body)


class VariableMentions:
    """Finds the root variables on which an expression depends, directly or through locals and module arguments."""

    def __init__(self, config: Config) -> None:
        self.modules = {module.path: module for module in config.root.walk()}
        self._known: dict[tuple[int, str], frozenset[str]] = {}

    def of(self, module: ModuleConfig, node: Any) -> frozenset[str]:
        result: frozenset[str] = frozenset()
        for mention in variables(node):
            step = mention.steps[0] if isinstance(mention, nodes.Traversal) else None
            if isinstance(step, nodes.GetAttr) and isinstance(mention, nodes.Traversal):
                result |= self._of_name(module, mention.root, step.name)
        return result

    def _of_name(self, module: ModuleConfig, root: str, name: str) -> frozenset[str]:
        key = (id(module), f"{root}.{name}")
        if key not in self._known:
            self._known[key] = frozenset()  # a cycle adds no names
            self._known[key] = self._found(module, root, name)
        return self._known[key]

    def _found(self, module: ModuleConfig, root: str, name: str) -> frozenset[str]:
        if root == "local" and name in module.locals:
            return self.of(module, module.locals[name].expr.node)
        if root != "var" or name not in module.variables:
            return frozenset()
        if module.call is None:
            return frozenset((name,))
        given = module.call.inputs.get(name)
        if given is None or given.is_json:
            return frozenset()
        return self.of(self.modules[module.path[:-1]], given.expr)


def _comparisons(module: ModuleConfig, expr: Expr, mentions: VariableMentions) -> Iterator[tuple[str, Value]]:
    for node in _inside(expr.node):
        if isinstance(node, nodes.Binary) and node.operator in _COMPARISONS:
            for one, other in ((node.left, node.right), (node.right, node.left)):
                value = _constant(other)
                if value is not None:
                    yield from ((name, value) for name in sorted(mentions.of(module, one)))
    for call in function_calls(expr.node):
        if call.name == "contains" and len(call.arguments) == 2 and isinstance(call.arguments[0], nodes.Tuple):
            values = [value for value in map(_constant, call.arguments[0].items) if value is not None]
            for name in sorted(mentions.of(module, call.arguments[1])):
                yield from ((name, value) for value in values)


def _constant(node: Any) -> Value:
    """The value of a literal string, integer or boolean (also in parentheses, or a negative integer); None for other
    expressions."""
    if isinstance(node, nodes.Parens):
        return _constant(node.expr)
    if isinstance(node, nodes.Unary) and node.operator == "-":
        value = _constant(node.operand)
        return -value if isinstance(value, int) and value.__class__ is not bool else None
    if not isinstance(node, nodes.Literal) or is_null(node.value):
        return None
    return node.value


def _inside(node: Any) -> Iterator[Any]:
    yield node
    for name in getattr(node, "__slots__", ()):
        part = getattr(node, name, None)
        for inner in part if part.__class__ is tuple else (part,):
            if isinstance(inner, nodes.SyntaxNode):
                yield from _inside(inner)


# ---------------------------------------------------------------- validations


def is_refused(decl: VariableDecl, values: Mapping[str, Value]) -> bool | None:
    """Whether a validation rejects the value of a variable. `values`: {variable: value}. None if a validation cannot be
    evaluated with these values."""
    scope = MappingScope({"var": dict(values)})
    unclear = False
    for rule in decl.validations:
        try:
            held, problems = try_evaluate(rule.condition.node, scope, rule.condition.source)
        except Failure:
            return None
        held = unmark_deep(held)[0]
        if has_errors(problems) or held.__class__ is not bool:
            unclear = True
        elif not held:
            return True
    return None if unclear else False

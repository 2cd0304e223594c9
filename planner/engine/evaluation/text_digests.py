"""Digests of the expressions of a configuration, by the objects that they set: to see whether an expression was edited
since the last apply. Layout and comments do not count.

    terraform_data.web.input    terraform_data.web.count    local.tags    module.net.var.size    output.id

Each has digests of the whole and of every expression inside, with its position there. Each declaration has a name of
its own, without digests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from planner.engine.evaluation.context import EvaluationContext, ModuleInstance
from planner.engine.evaluation.repetition import repetition_argument
from planner.foundation.values.value import Value
from planner.foundation.vocabulary.address import InstanceKey, format_module, join
from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.config.model import Config, Expr, ModuleConfig
from planner.language.syntax.body import Body
from planner.language.syntax.nodes import Expression, Literal, ObjectItem, Parens, SyntaxNode
from planner.world.state.value_record import Digester

_POSITIONS = frozenset(
    ("name_end", "root_end", "open", "close", "bracket", "marker_start", "marker_end", "open_end", "close_start")
)
_LENGTH = 16
"""characters of the digest of a string: matching strings cannot be forged, as the key is secret"""
_FIELDS: dict[type, tuple[str, ...]] = {}
"""the parts of a node, without its positions"""


def text_digests(config: Config, digester: Digester) -> dict[str, tuple[str, ...]]:
    """Of every argument, local, output and repetition of all modules."""
    digests: dict[str, tuple[str, ...]] = {}
    for module in config.root.walk():
        for name, nodes in _texts(module):
            told: list[str] = []
            for node in nodes:
                told += expression_digests(node, digester).values()
            digests[name] = (*digests.get(name, ()), *told)
    return digests


def expression_digests(node: Expression, digester: Digester) -> dict[int, str]:
    """Digests of an expression and of all expressions inside, by their identities; none where it is nested too deeply.
    The position in the whole counts, too."""
    told: dict[int, str] = {}
    try:
        _digest(node, digester, "", told)
    except (RecursionError, ValueError):
        return {}
    return told


def _digest(node: Any, digester: Digester, path: str, told: dict[int, str]) -> str:
    outside = []
    while node.__class__ is Parens:
        outside.append(node)
        node = node.expr
    kind = node.__class__
    if kind is Literal:
        whole = digester.of(node.value)
        if whole is None:
            raise ValueError
    else:
        fields = _FIELDS.get(kind)
        if fields is None:
            fields = tuple(f for f in kind.__slots__ if f not in _POSITIONS)
            _FIELDS[kind] = fields
        made = [kind.__name__, *(_field(getattr(node, f), digester, f"{path}/{f}", told) for f in fields)]
        whole = digester.of_bytes("\0".join(made).encode("utf-8", "surrogateescape"))
    here = digester.of_bytes(f"{path} {whole}".encode("utf-8", "surrogateescape"))[:_LENGTH]
    told.update((id(one), here) for one in (*outside, node))
    return whole


def _field(value: Any, digester: Digester, path: str, told: dict[int, str]) -> str:
    if isinstance(value, SyntaxNode):
        return _digest(value, digester, path, told)
    if value.__class__ is tuple:
        items = [
            _digest(item, digester, f"{path}/{_name(item, at)}", told) if isinstance(item, SyntaxNode) else repr(item)
            for at, item in enumerate(value)
        ]
        return f"({','.join(items)})"
    return repr(value)


def _name(item: SyntaxNode, at: int) -> str:
    """The name of an item among others: its key, where that is written out."""
    if item.__class__ is ObjectItem and item.key.__class__ is Literal:
        return f"={item.key.value}"
    return str(at)


def _texts(module: ModuleConfig) -> Iterator[tuple[str, list[Expression]]]:
    """Names with expressions: each name, and the expressions there."""
    path = format_module((name, None) for name in module.path)
    for local in module.locals.values():
        yield join(path, f"local.{local.name}"), [local.expr.node]
    for output in module.outputs.values():
        yield (f"{path}.{output.name}" if path else f"output.{output.name}"), [output.value.node]
    for decl in module.resources.values():
        name = join(path, decl.key)
        yield name, []
        yield from _repetition(name, decl.count, decl.for_each, decl.enabled)
        yield from _body(decl.body, f"{name}.")
    for call in module.calls.values():
        name = join(path, f"module.{call.name}")
        yield name, []
        yield from _repetition(name, call.count, call.for_each, call.enabled)
        for argument, attribute in call.inputs.items():
            try:
                yield f"{name}.var.{argument}", [attribute.expr]
            except Failure:
                continue


def _repetition(name: str, *given: Expr | None) -> Iterator[tuple[str, list[Expression]]]:
    for argument, expr in zip(("count", "for_each", "enabled"), given, strict=True):
        if expr is not None:
            yield f"{name}.{argument}", [expr.node]


def _body(body: Body, prefix: str) -> Iterator[tuple[str, list[Expression]]]:
    for name, attribute in body.just_attributes()[0].items():
        try:
            yield prefix + name, [attribute.expr]
        except Failure:
            continue
    for block in getattr(body, "blocks", ()):
        if block.type in getattr(body, "taken_types", ()):
            continue
        name = block.labels[0].value if block.type == "dynamic" and block.labels else block.type
        for _, nodes in _body(block.body, ""):
            yield prefix + name, nodes


# Digests of the values of a configuration, by the names of their places: what the record beside the state holds.


def value_digests(context: EvaluationContext, digester: Digester) -> dict[str, str]:
    """Of variables, locals, outputs, repetitions and what data sources read, as far as they are known; of ephemeral
    values none."""
    digests: dict[str, str] = {}
    for module in context.all_instances():
        for name, value in _values(module):
            digests.update(digester.parts(name, value))
    return digests


def _values(module: ModuleInstance) -> Iterator[tuple[str, Value]]:
    for name, value in module.variables.items():
        yield join(module.text, f"var.{name}"), value
    for name, value in module.locals.items():
        yield join(module.text, f"local.{name}"), value
    for name, value in module.outputs.items():
        yield f"{module.text}.{name}" if module.text else f"output.{name}", value
    for call in module.config.calls.values():
        argument = repetition_argument(call)
        if argument != "none" and call.name in module.calls:
            keys = repetition_value(argument, module.calls[call.name])
            yield f"{join(module.text, f'module.{call.name}')}.{argument}", keys
    for decl in module.config.resources.values():
        objects = module.resources.get(decl.key)
        if objects is None or objects.expansion is None:
            continue
        argument = repetition_argument(decl)
        if argument != "none":
            keys = repetition_value(argument, objects.expansion.instances)
            yield f"{join(module.text, decl.key)}.{argument}", keys
        for key in objects.expansion.instances if decl.mode == "data" else ():
            value = objects.instance(key)
            if value is not None:
                yield module.instance_address(decl, key), value


def repetition_value(argument: str, keys: Collection[InstanceKey]) -> Value:
    """The recorded value of a repetition: the number of instances, or their keys alone."""
    return {str(key): str(key) for key in keys} if argument == "for_each" else len(keys)

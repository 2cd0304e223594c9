"""Relevant attributes: which parts of which resources contributed to what a plan changes.

Readers of a plan use them to tell changes outside that matter from those that do not. Starting from everything that
the changed objects and outputs mention, the analysis follows variables, locals and outputs through the modules, and
from a resource's attribute to the argument of that name. After OpenTofu's globalref.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from planner.config.model import Config, Expr, ModuleConfig, ResourceDecl
from planner.config.references import Ref, parse_reference
from planner.facts.mentions import in_body
from planner.model.plan import ResourceChange
from planner.syntax import nodes
from planner.syntax.references import variables
from planner.values.schema import BlockSchema
from planner.vocabulary.address import ROOT, InstanceKey, ModuleAddress, format_instance, parse_module

Path = tuple[tuple[str, Any], ...]
BlockOf = Callable[[ModuleConfig, ResourceDecl], "BlockSchema | None"]
"""the schema of a declared resource; None when it is not known"""


class _Reference(NamedTuple):
    """A reference and the module instance that it is made in; for count and each also the resource it stands in."""

    module: ModuleAddress
    kind: str
    name: str
    key: InstanceKey
    output: str
    rest: Path
    inside: str


def relevant_attributes(
    config: Config,
    block_of: BlockOf,
    changes: Iterable[ResourceChange],
    outputs: Iterable[tuple[str, str]],
) -> tuple[tuple[str, Path], ...]:
    """(resource instance address, path of steps ("attr", name) and ("index", key)), sorted.

    `changes` may hold unchanged objects, which do not count; `outputs` are (module instance address, name) of the
    output values that change, those of child modules included."""
    analyzer = _Analyzer(config, block_of)
    pending: list[_Reference] = []
    seen: set[tuple[str, str]] = set()
    for change in changes:
        resource = f"{'' if change.mode == 'managed' else change.mode + '.'}{change.type}.{change.name}"
        if change.action != "no-op" and (change.module, resource) not in seen:
            seen.add((change.module, resource))
            pending += analyzer.of_resource(parse_module(change.module), resource, ())
    for module, name in outputs:
        pending += analyzer.of_output(parse_module(module), name)
    visited: set[_Reference] = set()
    found: dict[tuple[str, Path], None] = {}
    while pending:
        reference = pending.pop()
        if reference in visited:
            continue
        visited.add(reference)
        if reference.kind == "resource":
            found[_address(reference), reference.rest] = None
        pending += analyzer.contributors(reference)
    return tuple(sorted(found, key=lambda item: (item[0], [(kind, str(key)) for kind, key in item[1]])))


def _address(reference: _Reference) -> str:
    mode, _, rest = reference.name.partition(".")
    if mode not in ("data", "ephemeral"):
        mode, rest = "managed", reference.name
    type_, _, name = rest.partition(".")
    return format_instance(str(reference.module), mode, type_, name, reference.key)


class _Analyzer:
    def __init__(self, config: Config, block_of: BlockOf) -> None:
        self.config = config
        self.block_of = block_of
        self._mentions: dict[tuple[tuple[str, ...], str], list[tuple[Ref, str]]] = {}
        self._expressions: dict[int, tuple[nodes.Expression, list[Ref]]] = {}

    def contributors(self, reference: _Reference) -> list[_Reference]:
        """What contributes directly to what is referred to."""
        module, kind = reference.module, reference.kind
        if kind == "resource":
            return self.of_resource(module, reference.name, reference.rest)
        if kind == "var":
            return self.of_variable(module, reference.name)
        if kind == "local":
            here = self.config.root.descendant(module.path)
            local = here.locals.get(reference.name) if here else None
            return self.in_expr(local.expr, module) if local else []
        if kind == "output":
            return self.of_output(module.child(reference.name, reference.key), reference.output)
        if kind == "module":
            child = module.child(reference.name, reference.key)
            config = self.config.root.descendant(child.path)
            return [r for name in sorted(config.outputs if config else ()) for r in self.of_output(child, name)]
        if kind in ("count", "each") and reference.inside:
            return self.of_repetition(module, reference.inside)
        return []

    def of_output(self, module: ModuleAddress, name: str) -> list[_Reference]:
        config = self.config.root.descendant(module.path)
        output = config.outputs.get(name) if config else None
        return self.in_expr(output.value, module) if output else []

    def of_variable(self, module: ModuleAddress, name: str) -> list[_Reference]:
        if module == ROOT:
            return []
        caller = self.config.root.descendant(module.parent.path)
        call = caller.calls.get(module.path[-1]) if caller else None
        argument = call.inputs.get(name) if call else None
        return self.in_node(argument.expr, module.parent) if argument else []

    def of_repetition(self, module: ModuleAddress, resource: str) -> list[_Reference]:
        config = self.config.root.descendant(module.path)
        decl = config.resources.get(resource) if config else None
        return self.in_expr(decl.for_each or decl.count, module) if decl else []

    def of_resource(self, module: ModuleAddress, resource: str, rest: Path) -> list[_Reference]:
        """What the resource's arguments mention: all of them, or those that the path leads into."""
        wanted = ".".join(str(key) for kind, key in rest if kind == "attr")
        return [
            _absolute(ref, module, resource)
            for ref, path in self.mentions(module, resource)
            if not wanted or wanted == path or wanted.startswith(f"{path}.") or path.startswith(f"{wanted}.")
        ]

    def mentions(self, module: ModuleAddress, resource: str) -> list[tuple[Ref, str]]:
        """The references in a resource's body with the path of the argument that they stand in."""
        known = self._mentions.get((module.path, resource))
        if known is None:
            config = self.config.root.descendant(module.path)
            decl = config.resources.get(resource) if config else None
            block = self.block_of(config, decl) if config and decl else None
            found = in_body(decl.body, block) if decl and block else ()
            parsed = ((parse_reference(node), path) for node, _, path in found if not isinstance(node, nodes.Call))
            known = [(ref, path) for ref, path in parsed if isinstance(ref, Ref)]
            self._mentions[module.path, resource] = known
        return known

    def in_expr(self, expr: Expr | None, module: ModuleAddress) -> list[_Reference]:
        return self.in_node(expr.node, module) if expr is not None else []

    def in_node(self, node: nodes.Expression, module: ModuleAddress) -> list[_Reference]:
        known = self._expressions.get(id(node))
        if known is None:
            known = self._expressions[id(node)] = (node, list(_references(node)))
        return [_absolute(ref, module, "") for ref in known[1]]


def _references(node: nodes.Expression) -> Iterator[Ref]:
    for traversal in variables(node):
        ref = parse_reference(traversal)
        if isinstance(ref, Ref):
            yield ref


def _absolute(ref: Ref, module: ModuleAddress, inside: str) -> _Reference:
    rest = tuple(("attr", s.name) if isinstance(s, nodes.GetAttr) else ("index", s.key) for s in ref.rest)
    repeated = ref.kind in ("count", "each")
    return _Reference(module, ref.kind, ref.name, ref.key, ref.output, rest, inside if repeated else "")

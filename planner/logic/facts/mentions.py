"""Finds mentions in arguments: references to resources, module calls, outputs and other objects, with their paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeAlias

from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.address import AddressError
from planner.foundation.vocabulary.provider_address import is_builtin, parse_provider_configuration
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import (
    CheckRule,
    Config,
    Expr,
    ImportDecl,
    ModuleCall,
    ModuleConfig,
    OutputDecl,
    Provisioner,
    Reference,
    ResourceDecl,
)
from planner.language.config.provisioners import connection_schema
from planner.language.syntax.body import Block, Body, BodySchema, references
from planner.language.syntax.body import ExpectedBlock as BlockHeader
from planner.language.syntax.nodes import Call, Expression, Traversal, Variable
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.graph import StateEntry
from planner.world.state.model import State

Mention: TypeAlias = tuple[Traversal | Variable | Call, Source, str]
"""a mention: (traversal or call of a provider's function, source that contains it, path of the argument in which it
is)"""
ProvisionerSchema: TypeAlias = Callable[[str], "BlockSchema | None"]


def in_expression(node: Expression, source: Source, path: str) -> Iterator[Mention]:
    for mentioned in references(node):
        yield mentioned, source, path


def in_expr(expr: Expr | None, path: str) -> Iterator[Mention]:
    if expr is not None:
        yield from in_expression(expr.node, expr.source, path)


def in_rules(rules: Iterable[CheckRule], path: str) -> Iterator[Mention]:
    for rule in rules:
        yield from in_expr(rule.condition, path)
        yield from in_expr(rule.error_message, path)


def mentions_of(references: Iterable[Reference], path: str) -> Iterator[Mention]:
    for reference in references:
        yield reference.node, reference.source, path


def in_body(body: Body, schema: BlockSchema, prefix: str = "") -> Iterator[Mention]:
    """The mentions that are evaluated when a body is decoded with this schema, including those in `dynamic` blocks."""
    content, _ = body.partial_content(_body_schema(schema))
    for name, attribute in content.attributes.items():
        yield from in_expression(attribute.expr, attribute.source, prefix + name)
    for block in content.blocks:
        if block.type == "dynamic" and block.labels:
            yield from _in_dynamic(block, schema, prefix)
        elif block.type in schema.blocks:
            yield from in_body(block.body, schema.blocks[block.type].block, f"{prefix}{block.type}.")


def _body_schema(schema: BlockSchema) -> BodySchema:
    known: BodySchema | None = schema.cache.get("body_schema")
    if known is None:
        blocks = (*(BlockHeader(name) for name in schema.blocks), BlockHeader("dynamic", ("type",)))
        known = schema.cache["body_schema"] = BodySchema(dict.fromkeys(schema.attributes, False), blocks)
    return known


_DYNAMIC = BodySchema({"for_each": False, "iterator": False, "labels": False}, (BlockHeader("content"),))


def _in_dynamic(block: Block, schema: BlockSchema, prefix: str) -> Iterator[Mention]:
    """The mentions in for_each, labels and content of a dynamic block, except references to its iterator."""
    kind = block.labels[0].value
    nested = schema.blocks.get(kind)
    content, _ = block.body.partial_content(_DYNAMIC)
    iterator = kind
    if "iterator" in content.attributes:
        expr = content.attributes["iterator"].expr
        iterator = expr.name if isinstance(expr, Variable) else kind
    for name in ("for_each", "labels"):
        if name in content.attributes:
            attribute = content.attributes[name]
            yield from in_expression(attribute.expr, attribute.source, f"{prefix}{kind}.{name}")
    if nested is None:
        return
    for inner in content.blocks:
        for mention in in_body(inner.body, nested.block, f"{prefix}{kind}."):
            node = mention[0]
            if (node.root if isinstance(node, Traversal) else node.name) != iterator:
                yield mention


def of_resource(
    resource: ResourceDecl, schema: BlockSchema | None, provisioner_schema: ProvisionerSchema
) -> Iterator[Mention]:
    """The mentions in all parts of a resource block that are read when the resource is created or updated."""
    yield from mentions_of(resource.depends_on, "depends_on")
    yield from in_expr(resource.count, "count")
    yield from in_expr(resource.for_each, "for_each")
    yield from in_expr(resource.enabled, "enabled")
    if resource.provider is not None:
        yield from in_expr(resource.provider.key, "provider")
    if schema is not None and resource.mode != "action":
        yield from in_body(resource.body, schema)
    lifecycle = resource.lifecycle
    for trigger in lifecycle.action_triggers:
        yield from in_expr(trigger.condition, "lifecycle.action_trigger.condition")
        for reference in trigger.actions:
            yield from in_expr(reference.key, "lifecycle.action_trigger.actions")
    for expr in lifecycle.replace_triggered_by:
        yield from in_expr(expr, "lifecycle.replace_triggered_by")
    yield from in_expr(lifecycle.prevent_destroy, "lifecycle.prevent_destroy")
    if resource.connection is not None:
        yield from in_body(resource.connection, connection_schema(), "connection.")
    for provisioner in resource.provisioners:
        if provisioner.when == "create":
            yield from in_provisioner(provisioner, provisioner_schema)
            if provisioner.connection is not None:
                yield from in_body(
                    provisioner.connection, connection_schema(), f"provisioner.{provisioner.type}.connection."
                )
    yield from in_rules(lifecycle.preconditions, "lifecycle.precondition")
    yield from in_rules(lifecycle.postconditions, "lifecycle.postcondition")


def is_caller(mention: Mention) -> bool:
    """Whether a mention refers to `caller`, the object that invokes an action."""
    node = mention[0]
    return (node.root if isinstance(node, Traversal) else node.name) == "caller"


def in_provisioner(provisioner: Provisioner, provisioner_schema: ProvisionerSchema) -> Iterator[Mention]:
    schema = provisioner_schema(provisioner.type)
    if schema is not None:
        yield from in_body(provisioner.body, schema, f"provisioner.{provisioner.type}.")


def of_output(output: OutputDecl) -> Iterator[Mention]:
    yield from mentions_of(output.depends_on, "depends_on")
    yield from in_expr(output.value, "value")
    yield from in_rules(output.preconditions, "precondition")


def of_call(call: ModuleCall) -> Iterator[Mention]:
    """The mentions in a module call that determine the instances and dependencies of the module."""
    yield from mentions_of(call.depends_on, "depends_on")
    yield from in_expr(call.count, "count")
    yield from in_expr(call.for_each, "for_each")
    yield from in_expr(call.enabled, "enabled")
    for _, outer in call.providers:
        yield from in_expr(outer.key, "providers")


def of_import(block: ImportDecl) -> Iterator[Mention]:
    """The mentions in an import block, except its target address."""
    parts = ((block.id, "id"), (block.identity, "identity"), (block.for_each, "for_each"), (block.to, "to"))
    for expr, path in ((expr, f"import.{name}") for expr, name in parts):
        for mention in in_expr(expr, path):
            if path != "import.to" or not _is_address(expr, mention[0]):
                yield mention


def _is_address(expr: Expr | None, node: Traversal | Variable | Call) -> bool:
    """Whether a mention is the address itself, and not part of an index in the address."""
    return expr is not None and node.start == expr.node.start


# References to providers: the predicates of rules/graph/needed_providers.dl, with at most one fact for each provider,
# module and kind of reference.


def provider_mentions(facts: FactBuilder, config: Config, state: State | None = None) -> None:
    """Add facts about the providers that are named in a configuration and in a state."""
    sources: set[str] = set()
    for module in config.root.walk():
        path = ".".join(f"module.{name}" for name in module.path)
        spans: dict[tuple[str, str], Span | None] = {}
        for name, kind, span in _mentions(module):
            spans.setdefault((name, kind), span)
        for (name, kind), span in spans.items():
            source = module.provider_source(name)
            sources.add(source)
            facts.add("provider_mentioned", source, path, kind, source=span)
    for resource in state.resources.values() if state is not None else ():
        with suppress(AddressError):  # malformed addresses are reported when the object is read
            source = parse_provider_configuration(resource.provider).source
            sources.add(source)
            facts.add("provider_mentioned", source, "", "state", source=StateEntry(resource.address))
    for source in sorted(sources):
        if is_builtin(source):
            facts.add("builtin_provider", source)


def _mentions(module: ModuleConfig) -> Iterator[tuple[str, str, Span | None]]:
    """(local name of a provider, kind of the object that uses it, span) for each use of a provider in a module."""
    for resource in module.resources.values():
        kind = "resource" if resource.mode == "managed" else resource.mode
        yield resource.provider_name, kind, resource.span
    for name, required in module.required_providers.items():
        yield name, "required", required.span
    for block in module.providers.values():
        yield block.name, "provider_block", block.span
    for imported in module.imports:
        target = imported.target
        if target is not None:
            named = imported.provider.name if imported.provider is not None else target.type.split("_", 1)[0]
            # configuration is generated for targets whose resource is not declared
            is_generated = target.module.is_root and str(target) not in module.resources
            yield named, "import" if is_generated else "import_of_declared", imported.span

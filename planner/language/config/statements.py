"""Reads `moved`, `removed` and `import` blocks."""

from __future__ import annotations

from planner.foundation.vocabulary.address import (
    Address,
    AddressError,
    ModuleAddress,
    ResourceAddress,
    TraversalStep,
    address_of,
    join,
    parse_address,
)
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Config, Expr, ImportDecl, ModuleConfig, MovedDecl, Reference, RemovedDecl
from planner.language.config.provider_blocks import provider_reference
from planner.language.config.provisioners import provisioner_block
from planner.language.config.reading import (
    ExpressionPiece,
    Problems,
    constant_bool,
    expr_of,
    native,
    piece,
    read,
    reference,
    steps_of,
    traversal_node,
)
from planner.language.syntax import nodes
from planner.language.syntax.body import Block, BodySchema, ExpectedBlock

_MOVED = BodySchema({"from": True, "to": True})
_REMOVED = BodySchema({"from": True}, (ExpectedBlock("lifecycle"), ExpectedBlock("provisioner", ("type",))))
_REMOVED_LIFECYCLE = BodySchema({"destroy": False})
_IMPORT = BodySchema({"provider": False, "id": False, "identity": False, "to": True, "for_each": False})


def moved_block(block: Block, problems: Problems) -> MovedDecl | None:
    """The content of a `moved` block: a move between two addresses of the same kind. None if it is invalid
    (reported)."""
    before = len(problems)
    content = read(block.body, _MOVED, problems)
    span = block.header_span
    ends: dict[str, tuple[Address, Span]] = {}
    for name in ("from", "to"):
        attribute = content.attributes.get(name)
        ref = reference(piece(attribute), problems) if attribute else None
        address = _address(steps_of(ref.node), ref.source, problems) if ref else None
        if address is not None and ref is not None:
            ends[name] = (address, ref.span)
    for name in ("from", "to"):
        address = ends[name][0] if name in ends else None
        if address is None or (isinstance(address, ResourceAddress) and address.mode in ("ephemeral", "action")):
            detail = f'"{name}" is not an object that can move.'
            problems.error("immovable", 'Invalid "moved" address', detail, span)
    if Problems(problems[before:]).has_errors:
        return None
    (from_, from_span), (to, to_span) = ends["from"], ends["to"]
    if isinstance(from_, ModuleAddress) != isinstance(to, ModuleAddress):
        detail = "A module can only move to a module, and a resource only to a resource."
        problems.error("move_between_kinds", 'Invalid "moved" addresses', detail, span)
        return None
    return MovedDecl(str(from_), str(to), span, from_span, to_span)


def removed_block(block: Block, problems: Problems) -> RemovedDecl | None:
    """The content of a removed block; None if it is invalid (reported)."""
    mine = Problems()
    content = read(block.body, _REMOVED, mine)
    span = block.header_span
    attribute = content.attributes.get("from")
    ref = reference(piece(attribute), mine) if attribute else None
    address = removed_endpoint(ref, mine) if ref else None
    destroy: bool | None = None
    lifecycle: Block | None = None
    provisioners = []
    for inner in content.blocks:
        if inner.type == "lifecycle":
            if lifecycle is not None:
                detail = f"There is already a lifecycle block at {lifecycle.header_span}."
                mine.error("duplicate_lifecycle", "Duplicate lifecycle block", detail, inner.header_span)
                continue
            lifecycle = inner
            result = read(inner.body, _REMOVED_LIFECYCLE, mine)
            if "destroy" in result.attributes:
                destroy = bool(constant_bool(result.attributes["destroy"], mine))
        else:
            provisioner = provisioner_block(inner, mine)
            if provisioner is None:
                continue
            if provisioner.when != "destroy":
                detail = (
                    "Provisioners of a removed block run only when objects are destroyed, so they need when = destroy."
                )
                mine.error("create_provisioner", 'Invalid "removed.provisioner" block', detail, inner.header_span)
            elif isinstance(address, ModuleAddress):
                detail = "Provisioners belong to a resource, but this block removes a module."
                mine.error("module_provisioner", 'Invalid "removed" block', detail, span)
            else:
                provisioners.append(provisioner)
    if not mine.has_errors:
        if destroy is None:
            detail = "Add a lifecycle block that sets destroy; without it the objects are only forgotten."
            mine.warning("removed_without_lifecycle", "Missing lifecycle from the removed block", detail, span)
        elif not destroy and provisioners:
            detail = "The objects are forgotten, not destroyed, so the provisioners of this block never run."
            mine.warning("idle_provisioners", "Removed block provisioners will not be executed", detail, span)
    problems.extend(mine)
    if address is None or ref is None or mine.has_errors:
        return None
    return RemovedDecl(str(address), bool(destroy), tuple(provisioners), span, ref.span, destroy is not None)


def import_block(block: Block, problems: Problems) -> ImportDecl | None:
    """The content of an import block; None if the address is missing or invalid (reported)."""
    content = read(block.body, _IMPORT, problems)
    attributes = content.attributes
    span = block.header_span
    to, target, instance = None, None, None
    if "to" in attributes:
        written = native(piece(attributes["to"]), problems)
        if written is None:
            return None
        to = Expr(written.node, written.source)
        target, instance = import_target(written, problems)
        if target is None:
            return None
    provider = None
    if "provider" in attributes:
        if target is not None and not target.module.is_root:
            detail = "In a called module, the providers argument of the call determines the provider."
            where = attributes["provider"].span
            problems.error("import_provider_in_module", "Invalid import provider argument", detail, where)
        provider = provider_reference(piece(attributes["provider"]), "provider", problems)
    for_each = expr_of(attributes["for_each"], problems) if "for_each" in attributes else None
    id_, identity = attributes.get("id"), attributes.get("identity")
    if id_ is None and identity is None:
        detail = "An import needs id or identity to find the object."
        problems.error("import_without_id", "Missing required import argument", detail, span)
    if id_ is not None and identity is not None:
        first, last = sorted((id_, identity), key=lambda a: a.start)
        detail = "id and identity both identify the object; use one of them."
        both = Span(block.source, first.start, last.end)
        problems.error("import_with_two_ids", "Conflicting import arguments", detail, both)
    if to is None:
        return None
    return ImportDecl(
        to,
        expr_of(id_, problems) if id_ else None,
        expr_of(identity, problems) if identity else None,
        for_each,
        provider,
        span,
        target,
        instance,
    )


def check_removed(root: ModuleConfig) -> Problems:
    """Errors for `removed` blocks of modules and resources that are still declared. `plan` reports them, `validate`
    does not."""
    problems = Problems()
    for module in root.walk():
        for removed in module.removed:
            address = parse_address(removed.from_)
            path = (*module.path, *address.path)
            declared = root.descendant(path)
            if declared is None:
                continue
            if isinstance(address, ModuleAddress):
                title = "Removed module block still exists"
            elif address.relative in declared.resources:
                title = "Removed resource block still exists"
            else:
                continue
            detail = f"{removed.from_} has a removed block, but it is still declared: delete one of the two."
            problems.error("removed_still_declared", title, detail, removed.span)
    return problems


def removed_blocks(config: Config) -> list[tuple[str, RemovedDecl]]:
    """The removed blocks of all modules as (full address, block), parents first."""
    return [
        (join(".".join(f"module.{name}" for name in module.path), block.from_), block)
        for module in config.root.walk()
        for block in module.removed
    ]


def import_blocks(config: Config) -> list[tuple[ModuleConfig, ResourceAddress, ImportDecl]]:
    """The import blocks of all modules, parents first: the module, the full address of the resource (without keys), and
    the block."""
    return [
        (module, block.target.inside(ModuleAddress(tuple((name, None) for name in module.path))), block)
        for module in config.root.walk()
        for block in module.imports
        if block.target is not None
    ]


def removed_endpoint(ref: Reference, problems: Problems) -> Address | None:
    """The address in `from` of a `removed` block: a module or managed resource without keys. None for other addresses
    (reported)."""
    steps = steps_of(ref.node)
    at = 0
    while at + 1 < len(steps) and steps[at].value == "module" and not steps[at].is_index:
        at += 2
        if at < len(steps) and steps[at].is_index:
            title = "Module instance address with keys is not allowed"
            detail = "A removed block names a module as a whole, without a key."
            problems.error("removed_instance", title, detail, _span(steps[at], ref.source))
            return None
    rest = steps[at:]
    head = 3 if rest and rest[0].value in ("data", "ephemeral") else 2
    if len(rest) == head + 1 and not any(s.is_index for s in rest[:head]):
        title = "Resource instance address with keys is not allowed"
        detail = "A removed block names a resource as a whole, without a key."
        problems.error("removed_instance", title, detail, _span(rest[head], ref.source))
        return None
    address = _address(steps, ref.source, problems)
    if isinstance(address, ResourceAddress) and address.mode != "managed":
        kind = {"data": "Data source", "action": "Action"}.get(address.mode, "Ephemeral resource")
        detail = "Such objects are never destroyed, so they need no removed block: delete the block."
        problems.error("removed_mode", f"{kind} address is not allowed", detail, ref.span)
        return None
    return address


def import_target(expr: ExpressionPiece, problems: Problems) -> tuple[ResourceAddress | None, ResourceAddress | None]:
    """Two addresses for `to` of an import block: the resource without keys, and the instance (None if one of its keys
    is not a constant). Both are None for an invalid address (reported)."""
    steps = _without_dynamic_keys(expr.node)
    if steps is None:
        detail = (
            "An import names a resource instance without quotes, such as aws_instance.web or "
            "module.m[0].aws_instance.web; keys may be expressions."
        )
        problems.error("import_address", "Invalid import address expression", detail, expr.span)
        return None, None
    address = _resource(steps, expr.source, problems)
    if address is None:
        return None, None
    instance = None
    if traversal_node(expr) is not None:
        instance = address
    return address.config, instance


def _without_dynamic_keys(node: nodes.SyntaxNode) -> list[TraversalStep] | None:
    if isinstance(node, nodes.Index):
        return _without_dynamic_keys(node.collection)
    if isinstance(node, nodes.Relative):
        head = _without_dynamic_keys(node.source)
        tail = nodes.Traversal("", node.start, node.steps, node.start, node.end)
        return None if head is None else head + steps_of(tail)[1:]
    if isinstance(node, nodes.Traversal | nodes.Variable):
        return steps_of(node)
    return None


def _resource(steps: list[TraversalStep], source: Source, problems: Problems) -> ResourceAddress | None:
    address = _address(steps, source, problems)
    if address is None or isinstance(address, ResourceAddress):
        return address
    whole = Span(source, steps[0].start, steps[-1].end)
    problems.error("resource_required", "Invalid address", "A resource must follow the module path.", whole)
    return None


def _address(steps: list[TraversalStep], source: Source, problems: Problems) -> Address | None:
    try:
        return address_of(steps)
    except AddressError as bad:
        problems.error("invalid_address", bad.summary, bad.detail, Span(source, bad.start, max(bad.start, bad.end)))
        return None


def _span(step: TraversalStep, source: Source) -> Span:
    return Span(source, step.start, step.end)

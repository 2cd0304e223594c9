"""Addresses written in `moved`, `removed` and `import` blocks."""

from __future__ import annotations

from planner.foundation.vocabulary.address import Address, AddressError, ResourceAddress, TraversalStep, address_of
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Reference
from planner.language.config.reading import ExpressionPiece, Problems, steps_of, traversal_node
from planner.language.syntax import nodes


def move_endpoint(ref: Reference, problems: Problems) -> Address | None:
    """A module or resource, with or without keys; None when it is none (reported)."""
    return _address(steps_of(ref.node), ref.source, problems)


def removed_endpoint(ref: Reference, problems: Problems) -> Address | None:
    """A module or a managed resource as a whole, so without any key; None when it is none (reported)."""
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
        kind = "Data source" if address.mode == "data" else "Ephemeral resource"
        detail = "It is not destroyed, so nothing is to be said about its removal: delete its block."
        problems.error("removed_mode", f"{kind} address is not allowed", detail, ref.span)
        return None
    return address


def import_target(expr: ExpressionPiece, problems: Problems) -> tuple[ResourceAddress | None, ResourceAddress | None]:
    """The resource block that an import names, and the instance when all keys are constants (errors reported)."""
    steps = _without_dynamic_keys(expr.node)
    if steps is None:
        detail = "An import names a resource instance; its keys, and those of modules, may be expressions."
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

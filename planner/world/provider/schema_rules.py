"""What a provider's schema must not say: after OpenTofu's configschema.Block.InternalValidate."""

from __future__ import annotations

from collections.abc import Iterator

from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedBlock, implied_type
from planner.foundation.values.types import has_dynamic

_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


def schema_problems(block: BlockSchema, prefix: str = "") -> Iterator[str]:
    """Where a schema contradicts itself, in words."""
    for name, attribute in block.attributes.items():
        yield from _attribute(attribute, prefix, name)
    for name, nested in block.blocks.items():
        if name in block.attributes:
            yield f"{prefix}{name} is both an attribute and a block"
        elif not name or not _NAME_CHARACTERS.issuperset(name):
            yield f"{prefix}{name} is not a valid name for a block"
        yield from _limits(nested, prefix + name)
        yield from schema_problems(nested.block, f"{prefix}{name}.")


def _attribute(attribute: AttributeSchema, prefix: str, name: str) -> Iterator[str]:
    at = prefix + name
    if not (attribute.optional or attribute.required or attribute.computed):
        yield f"{at} is neither required nor optional nor computed"
    if attribute.required and (attribute.optional or attribute.computed):
        yield f"{at} is required and yet {'optional' if attribute.optional else 'computed'}"
    if attribute.nested is not None:
        if attribute.nested.nesting == "set" and has_dynamic(attribute.type):
            yield f"{at} is a set whose elements have no certain type"
        for inner, part in attribute.nested.attributes.items():
            yield from _attribute(part, prefix, inner)


def _limits(nested: NestedBlock, at: str) -> Iterator[str]:
    least, most = nested.min_items, nested.max_items
    if least < 0 or most < 0:
        yield f"the limits of {at} are {least} and {most}"
    elif nested.nesting == "single" and (least != most or least > 1):
        yield f"{at} stands once, so its limits are both 0 or both 1, not {least} and {most}"
    elif nested.nesting in ("group", "map") and (least or most):
        yield f"{at} has limits, which blocks of this nesting cannot have"
    elif nested.nesting in ("list", "set") and most and least > most:
        yield f"{at} needs at least {least} and at most {most} blocks"
    if nested.nesting == "set" and has_dynamic(implied_type(nested.block)):
        yield f"{at} is a set of blocks that have no certain type"

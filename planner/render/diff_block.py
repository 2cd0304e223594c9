"""Differences of an object with a known schema: attributes and blocks, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, cast

from planner.foundation.values.json_codec import implied_value
from planner.foundation.values.paths import apply_marks
from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, STRING, ListType, MapType
from planner.foundation.values.value import SENSITIVE, List, Map, Null, Unknown, Value, mark
from planner.foundation.vocabulary.address import AddressError
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.render.diff import (
    bare,
    combined,
    diff_dynamic,
    diff_type,
    entries_of,
    hidden,
    is_sensitive,
    is_unknown,
    items_of,
    map_diffs,
    merge,
    not_yet_known,
    null_is_missing,
    set_changes,
    starting_action,
)
from planner.render.diff_model import (
    MISSING,
    BlockDiff,
    BlockGroup,
    Diff,
    MappingDiff,
    PrimitiveDiff,
    SequenceDiff,
    UnknownDiff,
    ValueChange,
    WriteOnlyDiff,
)
from planner.world.state.model import ObjectState, ResourceState

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.world.provider.interface import ResourceSchema


def diff_object(change: ValueChange, schema: BlockSchema | None) -> Diff:
    """The difference of an object. Without a schema, values are compared by structure."""
    if schema is not None:
        return diff_block(change, schema)
    before, after = entries_of(change.before), entries_of(change.after)
    attributes = {}
    for name in before.keys() | after.keys():
        child = _attribute_change(change, name, before, after)
        item = diff_dynamic(child)
        if item.action != "no-op" or child.before is not MISSING or child.after is not MISSING:
            attributes[name] = item
    action = starting_action(change.before, change.after)
    for item in attributes.values():
        action = merge(action, item.action)
    return BlockDiff(action, change.replace.here, attributes, {})


def diff_block(change: ValueChange, schema: BlockSchema) -> Diff:
    def differ(inner: ValueChange) -> Diff:
        return diff_block(inner, schema)

    covered = hidden(change, differ, is_block=True) or not_yet_known(change, differ, schema.attributes)
    if covered is not None:
        return covered
    before, after = entries_of(change.before), entries_of(change.after)
    action = starting_action(change.before, change.after)
    attributes: dict[str, Diff] = {}
    # write-only attributes have no values to compare, so they have the action of the block; they come last
    only: Mapping[str, Value] | None = None
    if change.is_whole:
        only = after if change.before is MISSING else before if change.after is MISSING else None
    end = "create" if change.before is MISSING else "delete"
    for name, attribute, is_write_only in _in_order(schema):
        if only is not None and not is_write_only:
            value = only.get(name, MISSING)
            if _present(value) is MISSING:
                continue
            sole = _of_one_side(value, attribute, end)
            if sole is not None:
                if action != end:
                    action = merge(action, end)
                attributes[name] = sole
                continue
        child = _attribute_change(change, name, before, after)
        item = diff_attribute(child, attribute, action)
        absent = child.before is MISSING and child.after is MISSING
        if item.action == "no-op" and absent and not is_write_only:
            continue
        action = merge(action, item.action)
        attributes[name] = item
    blocks: dict[str, BlockGroup] = {}
    for name in sorted(schema.blocks):
        nested = schema.blocks[name]
        child = change.child(name, before.get(name, MISSING), after.get(name, MISSING))
        group, group_action = _block_group(child, nested.nesting, nested.block)
        if group is not None:
            blocks[name] = group
            action = merge(action, group_action)
    return BlockDiff(action, change.replace.here, attributes, blocks)


def _in_order(schema: BlockSchema) -> list[tuple[str, AttributeSchema, bool]]:
    """The attributes as (name, attribute, whether write-only); write-only attributes last."""
    known: list[tuple[str, AttributeSchema, bool]] | None = schema.cache.get("in order")
    if known is None:
        items = [(_write_only(attribute), name, attribute) for name, attribute in schema.attributes.items()]
        items.sort(key=lambda one: one[:2])
        known = schema.cache["in order"] = [(name, attribute, last) for last, name, attribute in items]
    return known


_PRIMITIVE = frozenset((str, bool, int, Null))
_SIMPLE = frozenset((STRING, NUMBER, BOOL))


def _of_one_side(value: Value, attribute: AttributeSchema, action: str) -> Diff | None:
    """The difference of a created or deleted attribute of one of the most frequent kinds; None for other kinds."""
    if attribute.sensitive or attribute.nested is not None:
        return None
    kind = attribute.type
    cls = value.__class__
    if kind is DYNAMIC or kind in _SIMPLE:
        return _sole(value, action)
    if cls is Unknown:
        return _sole(value, action)
    if cls is Map and kind.__class__ is MapType and kind.element in _SIMPLE:
        parts = {key: _sole(value.items[key], action) for key in sorted(value.items)}
        return None if None in parts.values() else MappingDiff(action, False, cast("dict[str, Diff]", parts), True)
    if cls is List and kind.__class__ is ListType and kind.element in _SIMPLE:
        items = [_sole(item, action) for item in value.items]
        return None if None in items else SequenceDiff(action, False, cast("list[Diff]", items), True)
    return None


def _sole(value: Value, action: str) -> Diff | None:
    """The difference of a created or deleted value without a declared type; None if the value has collections or
    marks."""
    cls = value.__class__
    if cls in _PRIMITIVE:
        if action == "create":
            return PrimitiveDiff("create", False, MISSING, value)
        return PrimitiveDiff("delete", False, value, MISSING)
    if cls is Unknown:
        return UnknownDiff("create", False, None) if action == "create" else None
    if cls is dict:
        parts = {key: _sole(value[key], action) for key in sorted(value)}
        return None if None in parts.values() else MappingDiff(action, False, cast("dict[str, Diff]", parts), False)
    if cls is tuple:
        items = [_sole(item, action) for item in value]
        return None if None in items else SequenceDiff(action, False, cast("list[Diff]", items), True)
    return None


def diff_attribute(change: ValueChange, attribute: AttributeSchema, parent_action: str) -> Diff:
    if _write_only(attribute):
        replace = change.replace.here
        return WriteOnlyDiff("update" if parent_action == "no-op" and replace else parent_action, replace)
    if attribute.sensitive:
        change = change.but(_hide(change.before), _hide(change.after))
    if attribute.nested is not None:
        return diff_nested(change, attribute.nested.nesting, attribute.nested.attributes)
    return diff_type(change, attribute.type)


def diff_nested(change: ValueChange, nesting: str, attributes: Mapping[str, AttributeSchema]) -> Diff:
    """The difference of an attribute with nested attributes in the schema."""

    def differ(inner: ValueChange) -> Diff:
        return diff_nested(inner, nesting, attributes)

    def single(inner: ValueChange) -> Diff:
        return diff_nested(inner, "single", attributes)

    covered = hidden(change, differ) or not_yet_known(change, differ, attributes if nesting == "single" else ())
    if covered is not None:
        return covered
    replace = change.replace.here
    if nesting == "map":
        mapped = map_diffs(change, single)
        return MappingDiff(combined(change, mapped.values()), replace, mapped, quoted=True, nested=True)
    if nesting in ("list", "set"):
        items = [single(c) for c in (_positions(change) if nesting == "list" else set_changes(change))]
        return SequenceDiff(combined(change, items), replace, items, ordered=nesting == "list", nested=True)
    before, after = entries_of(change.before), entries_of(change.after)
    action = starting_action(change.before, change.after)
    parts: dict[str, Diff] = {}
    for name in sorted(attributes):
        child = change.child(
            name, null_is_missing(before.get(name, MISSING)), null_is_missing(after.get(name, MISSING))
        )
        part = diff_attribute(child, attributes[name], action)
        if part.action == "no-op" and child.before is MISSING and child.after is MISSING:
            continue
        parts[name] = part
        action = merge(action, part.action)
    return MappingDiff(action, replace, parts, quoted=False, nested=True)


def _block_group(change: ValueChange, nesting: str, schema: BlockSchema) -> tuple[BlockGroup | None, str]:
    """The blocks of a type with their changes, and the combined action of these blocks. The group is None if neither
    side has blocks."""

    def differ(inner: ValueChange) -> Diff:
        return diff_block(inner, schema)

    was, is_now = is_sensitive(change.before), is_sensitive(change.after)
    change = change.but(bare(change.before), bare(change.after))
    if is_unknown(change.after):
        blocks = [("", not_yet_known(change, differ, schema.attributes))]
    elif nesting == "list":
        blocks = [("", differ(c)) for c in _positions(change)]
    elif nesting == "set":
        blocks = [("", differ(c)) for c in set_changes(change)]
    elif nesting == "map":
        blocks = list(map_diffs(change, differ).items())
    elif null_is_missing(change.before) is MISSING and null_is_missing(change.after) is MISSING:
        blocks = []
    else:
        blocks = [("", differ(change))]
    shown = [(label, block) for label, block in blocks if block is not None]
    if not shown:
        return None, "no-op"
    action = starting_action(change.before, change.after)
    for _, block in shown:
        action = merge(action, block.action)
    return BlockGroup(shown, change.replace.here, was, is_now, nesting == "set"), action


def _positions(change: ValueChange) -> list[ValueChange]:
    before, after = items_of(change.before), items_of(change.after)
    return [
        change.child(i, before[i] if i < len(before) else MISSING, after[i] if i < len(after) else MISSING)
        for i in range(max(len(before), len(after)))
    ]


def _attribute_change(
    change: ValueChange, name: str, before: Mapping[str, Value], after: Mapping[str, Value]
) -> ValueChange:
    """The change of an attribute. Null and "" are treated as absent, because older providers cannot distinguish between
    them."""
    return change.child(name, _present(before.get(name, MISSING)), _present(after.get(name, MISSING)))


def _present(value: Value) -> Value:
    inner = bare(value)
    return MISSING if inner.__class__ is Null or (inner.__class__ is str and not inner) else value


def _hide(value: Value) -> Value:
    return value if value is MISSING else mark(value, frozenset((SENSITIVE,)))


def _write_only(attribute: AttributeSchema) -> bool:
    return getattr(attribute, "write_only", False)


# schemas and decoded objects for showing plans and states


class SchemaLookup:
    """Schemas for the objects in plans and states. If a provider cannot be queried or lacks the type of an object, the
    object is shown according to the structure of its values."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self.resource_schema = cache(self._find)

    def _find(self, provider: str, mode: str, type: str) -> ResourceSchema | None:
        try:
            return self._schemas.resource(parse_provider_configuration(provider).source, mode, type)
        except (AddressError, Failure):
            return None

    def decode(self, resource: ResourceState, obj: ObjectState) -> Value:
        """The object's attributes, with sensitive parts marked. If there is no schema for the version of the object,
        the attributes are decoded without a schema. Raises Failure."""
        schema = self.resource_schema(resource.provider, resource.mode, resource.type)
        if schema is None or schema.version != obj.schema_version:
            marks = [(path, frozenset((SENSITIVE,))) for path in obj.sensitive_paths]
            return apply_marks(implied_value(obj.attributes), marks)
        from planner.answers.documents.json_state import object_value

        return object_value(obj, schema, resource.address)

"""What a schema says about marks: sensitive attributes, and write-only arguments, which nothing may keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.foundation.values.convert import path_text
from planner.foundation.values.paths import Path, PathMarks, apply_marks, marked_paths, parts
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, contains_sensitive
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    List,
    Map,
    Marked,
    Null,
    Set,
    Unknown,
    Value,
    mark,
    unmark,
)
from planner.foundation.vocabulary.diagnostic import Deprecation
from planner.foundation.vocabulary.records import evolve

_SENSITIVE = frozenset((SENSITIVE,))
_EPHEMERAL = frozenset((EPHEMERAL,))


def schema_marks(block: BlockSchema, value: Value) -> list[PathMarks]:
    """The paths of sensitive attributes in a value of the schema's type, also where they are null or unknown."""
    return list(_of_block(block, value, ())) if contains_sensitive(block) else []


def marked_by_schema(value: Value, block: BlockSchema) -> Value:
    """The value with the schema's marks added to its own."""
    found = schema_marks(block, value)
    return apply_marks(value, found) if found else value


def combined_marks(*several: list[PathMarks]) -> list[PathMarks]:
    """The marks of several lists, one entry for each path."""
    found: dict[Any, frozenset[Any]] = {}
    paths: dict[Any, Path] = {}
    for marks in several:
        for path, here in marks:
            key = repr(path)
            paths.setdefault(key, path)
            found[key] = found.get(key, frozenset()) | here
    return [(paths[key], here) for key, here in found.items()]


def sensitive_paths(value: Value) -> frozenset[str]:
    """The places of sensitive marks, for comparing two values."""
    return frozenset(repr(path) for path, marks in marked_paths(value) if SENSITIVE in marks)


def deprecation_marks(block: BlockSchema, value: Value, by: Deprecation) -> list[PathMarks]:
    """The paths of what the schema calls deprecated in a value of its type, which `by` names."""
    return list(_deprecated(block, value, (), by)) if block.deprecated or contains_deprecated(block) else []


def contains_deprecated(block: BlockSchema) -> bool:
    """Whether an attribute at any depth of the block is deprecated. A block in it that is deprecated but has no such
    attribute makes no difference, as in OpenTofu."""
    known = block.cache.get("contains_deprecated")
    if known is None:
        known = any(map(_is_deprecated, block.attributes.values())) or any(
            contains_deprecated(n.block) for n in block.blocks.values()
        )
        block.cache["contains_deprecated"] = known
    return bool(known)


def _below(by: Deprecation, path: Path, message: str) -> frozenset[Deprecation]:
    text = path_text(path)
    below = f".{text}" if text and not text.startswith("[") else text
    return frozenset((evolve(by, by=by.by + below, message=message),))


def _is_deprecated(attribute: AttributeSchema) -> bool:
    nested = attribute.nested.attributes.values() if attribute.nested is not None else ()
    return attribute.deprecated or any(map(_is_deprecated, nested))


def _deprecated(block: BlockSchema, value: Value, path: Path, by: Deprecation) -> Iterator[PathMarks]:
    if block.deprecated:
        yield path, _below(by, path, block.deprecation_message)
    value = unmark(value)[0]
    if value.__class__ is not dict:
        return
    yield from _deprecated_attributes(block.attributes, value, path, by)
    for name, nested in block.blocks.items():
        if contains_deprecated(nested.block) and name in value:
            here = (*path, ("attr", name))
            inner = unmark(value[name])[0]
            if inner.__class__ is Null or inner.__class__ is Unknown:
                continue
            if nested.nesting in ("single", "group"):
                yield from _deprecated(nested.block, inner, here, by)
            else:
                for step, item in parts(inner):
                    yield from _deprecated(nested.block, item, (*here, step), by)


def _deprecated_attributes(
    attributes: dict[str, AttributeSchema], value: Value, path: Path, by: Deprecation, is_nested: bool = False
) -> Iterator[PathMarks]:
    """Within a nested attribute that has a mark itself, nothing else is looked for."""
    for name, attribute in attributes.items():
        here = (*path, ("attr", name))
        if attribute.deprecated:
            yield here, _below(by, here, attribute.deprecation_message)
        if attribute.nested is None or not _is_deprecated(attribute):
            continue
        if is_nested and (attribute.deprecated or attribute.sensitive):
            continue
        inner = unmark(value[name])[0]
        items = [(here, inner)]
        if attribute.nested.nesting not in ("single", "group"):
            items = [((*here, step), item) for step, item in parts(inner)]
        for place, item in items:
            item = unmark(item)[0]
            if item.__class__ is dict:
                yield from _deprecated_attributes(attribute.nested.attributes, item, place, by, True)


def _of_block(block: BlockSchema, value: Value, path: Path) -> Iterator[PathMarks]:
    value = unmark(value)[0]
    if value.__class__ is not dict:
        return
    for name, attribute in block.attributes.items():
        here = (*path, ("attr", name))
        if attribute.sensitive:
            yield here, _SENSITIVE
        if attribute.nested is not None and name in value:
            yield from _of_nested(attribute.nested, value[name], here)
    for name, nested in block.blocks.items():
        if contains_sensitive(nested.block) and name in value:
            here = (*path, ("attr", name))
            if nested.nesting in ("single", "group"):
                yield from _of_block(nested.block, value[name], here)
            else:
                for step, item in parts(unmark(value[name])[0]):
                    yield from _of_block(nested.block, item, (*here, step))


def _of_nested(nested: NestedAttributes, value: Value, path: Path) -> Iterator[PathMarks]:
    value = unmark(value)[0]
    items = [(path, value)]
    if nested.nesting not in ("single", "group"):
        items = [((*path, step), item) for step, item in parts(value)]
    for place, item in items:
        item = unmark(item)[0]
        if item.__class__ is not dict:
            continue
        for name, attribute in nested.attributes.items():
            here = (*place, ("attr", name))
            if attribute.sensitive:
                yield here, _SENSITIVE
            if attribute.nested is not None:
                yield from _of_nested(attribute.nested, item[name], here)


# ---------------------------------------------------------------- write-only arguments


def contains_write_only(block: BlockSchema) -> bool:
    """Whether an argument at any depth is write-only."""
    known = block.cache.get("contains_write_only")
    if known is None:
        known = any(a.write_only for a in block.attributes.values()) or any(
            contains_write_only(n.block) for n in block.blocks.values()
        )
        block.cache["contains_write_only"] = known
    return bool(known)


def without_write_only(value: Value, block: BlockSchema) -> Value:
    """The value with write-only arguments null: what plan and state may keep."""
    if not contains_write_only(block):
        return value
    cls = value.__class__
    if cls is Marked:
        return mark(without_write_only(value.value, block), value.marks)
    if cls is not dict:
        return value
    found = dict(value)
    for name, attribute in block.attributes.items():
        if attribute.write_only and name in found:
            # what else is known of the argument stays: a secret is one even where its value is not kept
            marks = unmark(found[name])[1] - _EPHEMERAL
            found[name] = mark(Null(attribute.type), marks) if marks else Null(attribute.type)
    for name, nested in block.blocks.items():
        if contains_write_only(nested.block) and name in found:
            found[name] = _blocks_without(found[name], nested.block)
    return found


def _blocks_without(value: Value, block: BlockSchema) -> Value:
    cls = value.__class__
    if cls is Marked:
        return mark(_blocks_without(value.value, block), value.marks)
    if cls is dict:
        return without_write_only(value, block) if set(value) >= set(block.attributes) else _each(value, block)
    if cls is tuple:
        return tuple(without_write_only(item, block) for item in value)
    if cls is List or cls is Set:
        return cls(value.element, tuple(without_write_only(item, block) for item in value.items))
    if cls is Map:
        return Map(value.element, {k: without_write_only(item, block) for k, item in value.items.items()})
    return value


def _each(value: dict[str, Value], block: BlockSchema) -> Value:
    return {key: without_write_only(item, block) for key, item in value.items()}


def is_write_only(block: BlockSchema, path: Path) -> bool:
    """Whether a path leads to a write-only argument."""
    for kind, name in path:
        if kind == "index":
            continue
        if name in block.attributes:
            return block.attributes[name].write_only
        if name not in block.blocks:
            return False
        block = block.blocks[name].block
    return False

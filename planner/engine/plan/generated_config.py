"""Generates configuration for an object that was imported without a resource block, byte for byte as OpenTofu does
(internal/genconfig).

Only arguments that a configuration may set are written. For a secret value, null and a comment are written. A string
that contains a JSON object or array is written as a call of jsonencode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.foundation.support.exact_json import loads
from planner.foundation.values.expression_text import expression_text
from planner.foundation.values.json_codec import implied_value
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes, NestedBlock
from planner.foundation.values.value import SENSITIVE, List, Map, Null, Set, Unknown, Value, mark, unmark
from planner.foundation.vocabulary.address import quote
from planner.foundation.vocabulary.provider_address import ProviderConfiguration
from planner.language.syntax.format import format_text

NOTHING = Null()
WRITE_ONLY = " # write-only"


def attributes_text(type: str, provider: ProviderConfiguration, schema: BlockSchema, value: Value) -> str:
    name = provider.source.rsplit("/", 1)[-1]
    lines = []
    if name != type.split("_", 1)[0] or provider.alias:
        lines.append(f"  provider = {name}{'.' if provider.alias else ''}{provider.alias}\n")
    lines += _body(_without_unknown(value), schema, 2)
    return format_text("".join(lines))


def resource_text(type: str, name: str, attributes: str) -> str:
    """A complete resource block, without a line break at the end."""
    return format_text(f"resource {quote(type)} {quote(name)} {{\n{attributes}}}")


def _body(value: Value, schema: BlockSchema, indent: int) -> Iterator[str]:
    yield from _attributes(value, schema.attributes, indent)
    for name in sorted(schema.blocks):
        nested = schema.blocks[name]
        present = _part(value, name)
        if not nested.block.deprecated and present is not None:
            yield from _block(name, nested, present, indent)


# ---------------------------------------------------------------- attributes


def _attributes(value: Value, schemas: dict[str, AttributeSchema], indent: int) -> Iterator[str]:
    for name in sorted(schemas):
        schema = schemas[name]
        if _is_omitted(name, schema):
            continue
        if schema.nested is not None:
            yield from _nested_text(name, schema, schema.nested, value, indent)
        elif schema.required or schema.optional:
            yield f"{' ' * indent}{name} = {_attribute(schema, _part(value, name))}\n"


def _is_omitted(name: str, schema: AttributeSchema) -> bool:
    """Whether an attribute is omitted, because only the provider sets it, because it is deprecated, or because it is
    the attribute `id` that an old plugin library adds to every type."""
    set_by_provider = schema.computed and not schema.optional
    return set_by_provider or schema.deprecated or (name == "id" and schema.computed and schema.optional)


def _attribute(schema: AttributeSchema, value: Value | None) -> str:
    plain, marks = unmark(value if value is not None else NOTHING)
    if schema.sensitive or SENSITIVE in marks:
        return f"null # sensitive{' write-only' if schema.write_only else ''}"
    return _expression(plain) + (WRITE_ONLY if schema.write_only else "")


def _expression(value: Value) -> str:
    if value.__class__ is str and value.strip()[:1] in ("{", "["):
        try:
            return f"jsonencode({expression_text(implied_value(loads(value.strip().encode())))})"
        except ValueError:
            pass  # not JSON, although it begins like JSON
    return expression_text(value)


def _nested_text(
    name: str, schema: AttributeSchema, nested: NestedAttributes, value: Value, indent: int
) -> Iterator[str]:
    margin = " " * indent
    is_list = nested.nesting in ("list", "set")
    if schema.sensitive or SENSITIVE in unmark(value)[1]:
        remark = f"# sensitive{' write-only' if schema.write_only else ''}"
        yield f"{margin}{name} = {'[]' if is_list else '{}'} {remark}\n"
        return
    result = _part(value, name)
    if result is None:
        return
    plain = unmark(result)[0]
    if plain.__class__ is Null:
        yield f"{margin}{name} = null{WRITE_ONLY if schema.write_only else ''}\n"
    elif is_list:
        yield f"{margin}{name} = [\n"
        for item in plain:
            if SENSITIVE in unmark(item)[1]:
                yield f"{margin}  {{}}, # sensitive\n"
                continue
            yield f"{margin}  {{\n"
            yield from _attributes(item, nested.attributes, indent + 4)
            yield f"{margin}  }},\n"
        yield f"{margin}]\n"
    elif nested.nesting == "map":
        yield f"{margin}{name} = {{\n"
        for key in sorted(plain):
            if SENSITIVE in unmark(plain[key])[1]:
                yield f"{margin}  {key} = {{}} # sensitive\n"
                continue
            yield f"{margin}  {key} = {{\n"
            yield from _attributes(plain[key], nested.attributes, indent + 4)
            yield f"{margin}  }}\n"
        yield f"{margin}}}\n"
    else:
        yield f"{margin}{name} = {{\n"
        yield from _attributes(result, nested.attributes, indent + 2)
        yield "}\n"


# ---------------------------------------------------------------- blocks


def _block(name: str, nested: NestedBlock, value: Value, indent: int) -> Iterator[str]:
    margin = " " * indent
    plain, marks = unmark(value)
    if plain.__class__ is Null:
        return
    if SENSITIVE in marks:
        yield f"{margin}{name} {{}} # sensitive\n"
        return
    if nested.nesting in ("single", "group"):
        yield f"{margin}{name} {{\n"
        yield from _body(plain, nested.block, indent + 2)
        yield "}\n"
    elif nested.nesting == "map":
        for key in sorted(plain):
            if SENSITIVE in unmark(plain[key])[1]:
                yield f"{margin}{name} {quote(key)} {{}} # sensitive\n"
                return
            yield f"{margin}{name} {quote(key)} {{\n"
            yield from _body(plain[key], nested.block, indent + 2)
            yield f"{margin}}}\n"
    else:
        for item in plain:
            yield f"{margin}{name} {{\n"
            yield from _body(item, nested.block, indent + 2)
            yield "}\n"


# ---------------------------------------------------------------- values


def _part(value: Value, name: str) -> Value | None:
    """An attribute of an object; None if the object is null or has no such attribute."""
    plain: Any = unmark(value)[0]
    return plain.get(name) if plain.__class__ is dict else None


def _without_unknown(value: Value) -> Value:
    """The value, with lists and sets as tuples and maps as objects. Unknown values are omitted from objects; in tuples,
    they are null."""
    plain, marks = unmark(value)
    cls = plain.__class__
    result: Value = plain
    if cls is Unknown:
        result = NOTHING
    elif cls is tuple or cls is List or cls is Set:
        result = tuple(_without_unknown(item) for item in (plain if cls is tuple else plain.items))
    elif cls is dict or cls is Map:
        items = plain if cls is dict else plain.items
        known = ((key, item) for key, item in items.items() if unmark(item)[0].__class__ is not Unknown)
        result = {key: _without_unknown(item) for key, item in known}
    return mark(result, marks) if marks else result

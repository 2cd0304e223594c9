"""Completions in configuration files. They come from declarations, provider schemas, called modules, and the functions
and arguments of the language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.types import ListType, MapType, ObjectType, SetType, TupleType, Type, constraint_text
from planner.foundation.values.value import type_of, unmark_deep
from planner.language import functions
from planner.language.functions.protocol import Function
from planner.workflows.editor.cursor import BlockHeader, Place, place_at
from planner.workflows.editor.json_cursor import place_in_json
from planner.workflows.editor.model import Model
from planner.workflows.editor.texts import Json
from planner.workflows.editor.workspace import kind_of

KEYWORD, FUNCTION, VARIABLE, FIELD, MODULE, PROPERTY, VALUE, CLASS, STRUCT = 14, 3, 6, 5, 9, 10, 12, 7, 22
"""LSP's kinds of completions"""
MODES = {"resource": "managed", "data": "data", "ephemeral": "ephemeral", "action": "action", "list": "list"}
_TOP = {
    "configuration": "resource data ephemeral action module variable output locals provider terraform moved removed "
    "import check",
    "test": "run variables provider mock_provider override_resource override_data override_ephemeral override_module",
    "query": "list variable locals provider",
    "stack": "component stack variable output locals provider required_providers removed deployment identity_token "
    "deployment_group deployment_auto_approve store publish_output upstream_input",
    "fleet": "unit units template group locals removed include",
}
LABELS = {
    "resource": 2, "data": 2, "ephemeral": 2, "action": 2, "list": 2, "module": 1, "variable": 1, "output": 1,
    "provider": 1, "check": 1, "run": 1, "component": 1, "deployment": 1, "unit": 1, "units": 1, "group": 1,
    "template": 1, "provisioner": 1, "dynamic": 1, "backend": 1, "mock_provider": 1,
}  # fmt: skip
_RULE = "condition error_message"
_REPEATED = "count for_each provider depends_on lifecycle{}"
_BODIES = {
    "variable": "type default description sensitive nullable ephemeral const deprecated validation{}",
    "output": "type value description sensitive ephemeral depends_on deprecated precondition{}",
    "module": "source version providers count for_each depends_on",
    "resource": f"{_REPEATED} provisioner{{}} connection{{}} dynamic{{}}",
    "data": f"{_REPEATED} dynamic{{}}",
    "ephemeral": f"{_REPEATED} dynamic{{}}",
    "action": "config{} count for_each provider",
    "list": "config{} provider include_resource limit",
    "provider": "alias for_each",
    "terraform": "required_version required_providers{} backend{} cloud{} encryption{} provider_meta{}",
    "check": "assert{} data{}",
    "moved": "from to",
    "removed": "from lifecycle{} provisioner{}",
    "import": "to id identity for_each provider",
    "run": "command variables{} assert{} module{} plan_options{} providers expect_failures",
    "lifecycle": "create_before_destroy prevent_destroy ignore_changes replace_triggered_by precondition{} "
    "postcondition{} action_trigger{}",
    "action_trigger": "events condition actions on_failure",
    "validation": _RULE,
    "precondition": _RULE,
    "postcondition": _RULE,
    "assert": _RULE,
    "dynamic": "for_each iterator labels content{}",
    "provisioner": "when on_failure connection{}",
    "component": "source version inputs providers for_each depends_on",
    "deployment": "inputs deployment_group destroy import",
    "unit": "path template for_each tags variables var_files inputs depends_on workspace",
    "group": "units variables inputs",
}
"""{block type: names that the language defines in such a block}; `name` is an argument, and `name{}` is a block"""
MEANINGS = {
    "for_each": "An instance for each element of a map or of a set of strings, with `each.key` and `each.value`.",
    "count": "The number of instances, with `count.index`.",
    "depends_on": "Objects on which this one depends although it does not refer to them.",
    "provider": "The provider configuration to use, such as `aws.west`.",
    "providers": "The provider configurations that are passed to the module, by their names in the module.",
    "source": "The directory, repository or registry address of the module.",
    "version": "The accepted versions of a module from a registry, such as `~> 4.1`.",
    "lifecycle": "How the object is replaced, destroyed and compared, and conditions on it.",
    "create_before_destroy": "A replacement creates the new object before it destroys the former one.",
    "prevent_destroy": "Planning fails if the object would be destroyed.",
    "ignore_changes": "Arguments whose differences from the configuration are ignored; `all` for all arguments.",
    "replace_triggered_by": "References to objects and attributes. If one of them changes, this object is replaced.",
    "precondition": "A condition that is checked before the object is planned and applied.",
    "postcondition": "A condition on the object, checked as soon as its values are known.",
    "validation": "A condition on the value of the variable.",
    "condition": "An expression that has to be true.",
    "error_message": "The message if the condition is false.",
    "dynamic": "A nested block for each element of a collection; its content is in `content`.",
    "content": "The body of each nested block; the element is in the object with the block's name (or `iterator`).",
    "iterator": "The name of the object that has `key` and `value` of the element.",
    "provisioner": "An operation that runs after the object is created, or before it is destroyed.",
    "connection": "How provisioners connect to the object.",
    "moved": "An object has a new address: it is kept, and nothing is destroyed.",
    "removed": "An object is no longer managed; `lifecycle { destroy = false }` keeps it.",
    "import": "An existing object becomes managed by this configuration.",
    "check": "Conditions that are reported as warnings and do not stop a plan.",
    "each": "The element of `for_each` for this instance: `each.key` and `each.value`.",
    "path": "Directories: `path.module`, `path.root` and `path.cwd`.",
    "terraform": "`terraform.workspace` is the name of the workspace.",
    "self": "The object that the block belongs to.",
}
"""{meta-argument, block type or predefined name: its documentation}"""
_ROOTS = {
    "var": "the input variables", "local": "the local values", "module": "the outputs of called modules",
    "data": "the data sources", "each": "each.key and each.value of for_each", "count": "count.index",
    "path": "directories", "terraform": "the workspace", "self": "the object itself",
}  # fmt: skip
_FIXED = {"each": ("key", "value"), "count": ("index",), "path": ("module", "root", "cwd"), "terraform": ("workspace",)}
_SOURCE = re.compile(r'\bsource\s*=\s*"(\.[^"\n]*)"')
_TYPES = ("string", "number", "bool", "any", "list()", "set()", "map()", "object({})", "tuple([])", "optional()")


def item(label: str, kind: int, detail: str = "", doc: str = "", insert: str = "", snippet: str = "") -> Json:
    """A completion as LSP JSON."""
    result: Json = {"label": label, "kind": kind}
    if detail:
        result["detail"] = detail
    if doc:
        result["documentation"] = {"kind": "markdown", "value": doc}
    if snippet:
        result |= {"insertText": snippet, "insertTextFormat": 2}
    elif insert:
        result["insertText"] = insert
    return result


def completions(model: Model, path: str, text: str, offset: int, has_snippets: bool) -> list[Json]:
    kind = kind_of(path)
    if path.endswith(".json"):
        place = _json_place(model, kind, text, offset)
        if kind == "values":
            hit: Iterable[Json] = _values(model) if place.kind == "body" and not place.blocks else ()
        else:
            hit = _completions(model, place, kind)
        names = (_without_insertion(one) if place.is_key or place.kind != "value" else one for one in hit)
        return [one for one in names if one["label"] not in place.given]
    place = place_at(text, offset)
    if kind == "values":
        return _values(model) if place.kind == "body" and not place.blocks else []
    if place.blocks and place.blocks[0].type == "module" and place.blocks[0].labels:
        model.child(place.blocks[0].labels[0], _source(text, offset))
    items = (one for one in _completions(model, place, kind) if one["label"] not in place.given)
    return list(items if has_snippets else map(_plain, items))


def _completions(model: Model, place: Place, kind: str) -> Iterable[Json]:
    if place.kind == "body":
        return _body(model, place, kind)
    if place.kind == "label":
        return _labels(model, place, kind)
    return _value(model, place) if place.kind == "value" else ()


def _json_place(model: Model, kind: str, text: str, offset: int) -> Place:
    def label_count(blocks: Iterable[BlockHeader], name: str) -> int | None:
        inner = list(blocks)[-1]
        schema = schema_of(model, blocks)
        is_block = f"{name}{{}}" in _BODIES.get(inner.type, "").split() or (schema and name in schema.blocks)
        return LABELS.get(name, 0) if is_block else None

    return place_in_json(text, offset, {type: LABELS.get(type, 0) for type in _TOP.get(kind, "").split()}, label_count)


def _without_insertion(one: Json) -> Json:
    """The completion without `insertText`, so that the editor inserts the label."""
    return {key: value for key, value in one.items() if key not in ("insertText", "insertTextFormat")}


def _source(text: str, offset: int) -> str:
    """The `source` of the module block around an offset, found without parsing, because the block may be incomplete; ""
    if it has none."""
    start = max(text.rfind("\nmodule", 0, offset), 0)
    hit = _SOURCE.search(text, start)
    return hit[1] if hit is not None else ""


def _plain(one: Json) -> Json:
    """The completion without a snippet, for clients that do not support snippets."""
    if "insertTextFormat" not in one:
        return one
    rest = {key: value for key, value in one.items() if key != "insertTextFormat"}
    return {**rest, "insertText": one["label"]}


def _values(model: Model) -> list[Json]:
    return [
        item(name, VARIABLE, constraint_text(decl.constraint.type), decl.description, f"{name} = ")
        for name, decl in sorted(model.root.variables.items())
    ]


# ---------------------------------------------------------------- bodies


def _block(type: str, detail: str = "", doc: str = "") -> Json:
    labels = "".join(f' "${{{number}:name}}"' for number in range(1, LABELS.get(type, 0) + 1))
    return item(type, STRUCT, detail or "block", doc, "", f"{type}{labels} {{\n  $0\n}}")


def takes(type: str, name: str) -> bool:
    """Whether the language itself defines the argument or block `name` in blocks of this type."""
    return name in _BODIES.get(type, "").replace("{}", "").split()


def _body(model: Model, place: Place, kind: str) -> Iterator[Json]:
    if not place.blocks:
        yield from (_block(type) for type in _TOP.get(kind, "").split())
        return
    outer, inner = place.blocks[0], place.blocks[-1]
    for name in _BODIES.get(inner.type, "").split() if len(place.blocks) == 1 or inner.type not in LABELS else ():
        yield (
            _block(name[:-2], "", MEANINGS.get(name[:-2], ""))
            if name.endswith("{}")
            else item(name, KEYWORD, "argument", MEANINGS.get(name, ""), f"{name} = ")
        )
    if outer.type == "module" and len(place.blocks) == 1:
        child = model.child(outer.labels[0]) if outer.labels else None
        for name, decl in sorted(child.variables.items()) if child is not None else ():
            type = constraint_text(decl.constraint.type)
            detail = f"{type}, required" if decl.default is None else type
            yield item(name, PROPERTY, detail, decl.description, f"{name} = ")
    elif inner.type == "required_providers":
        yield from (item(name, PROPERTY, "", "", f"{name} = ") for name in model.provider_names if name != "terraform")
    elif inner.type == "variables" or (outer.type == "variables"):
        yield from _values(model)
    schema = schema_of(model, place.blocks)
    if schema is not None:
        yield from _schema_items(schema)


def schema_of(model: Model, blocks: Iterable[BlockHeader]) -> BlockSchema | None:
    """The schema of the last of these blocks, each of which contains the next. None if the schema is unknown or there
    is no such block."""
    outer, *inner = blocks
    schema: BlockSchema | None = None
    if outer.type in MODES and outer.labels:
        name = outer.labels[1] if len(outer.labels) > 1 else ""
        prefix = "" if outer.type == "resource" else f"{outer.type}."
        decl = model.root.resources.get(f"{prefix}{outer.labels[0]}.{name}")
        schema = model.schema(MODES[outer.type], outer.labels[0], decl.provider_name if decl is not None else "")
    elif outer.type == "provider" and outer.labels:
        known = model.provider_schema(outer.labels[0])
        schema = known.provider if known is not None else None
    names = iter(inner)
    for block in names:
        if schema is None:
            return None
        name = block.type
        if name == "dynamic" and block.labels:
            name = block.labels[0]
            if next(names, BlockHeader("")).type != "content":
                return None
        nested = schema.blocks.get(name)
        schema = nested.block if nested is not None else None
    return schema


def attribute_detail(schema: AttributeSchema) -> str:
    """The type and properties of an attribute, such as `string, optional, computed`."""
    role = "required" if schema.required else "optional" if schema.optional else "read-only"
    more = [word for word in ("computed", "sensitive", "deprecated", "write_only") if getattr(schema, word)]
    return ", ".join(
        [constraint_text(schema.type), role, *(word for word in more if (word, role) != ("computed", "read-only"))]
    )


def _schema_items(schema: BlockSchema) -> Iterator[Json]:
    for name, attribute in sorted(schema.attributes.items()):
        if attribute.required or attribute.optional:
            yield item(name, PROPERTY, attribute_detail(attribute), attribute.description, f"{name} = ")
    for name, nested in sorted(schema.blocks.items()):
        limits = f"{nested.nesting} block" + (", required" if nested.min_items else "")
        yield _block(name, limits, nested.block.description)


def _labels(model: Model, place: Place, kind: str) -> Iterator[Json]:
    type, count = (place.head[0] if place.head else ""), len(place.head) - 1
    if place.blocks and type != "dynamic":
        return
    if type in MODES and count == 0:
        used = {decl.type for decl in model.root.resources.values() if decl.mode == MODES[type]}
        names: dict[str, str] = dict.fromkeys(used, "used in this module")
        for provider in model.provider_names:
            schema = model.provider_schema(provider)
            if schema is not None:
                tables = {"managed": schema.resources, "data": schema.data_sources, "ephemeral": schema.ephemeral}
                table: Mapping[str, Any] = tables.get(MODES[type]) or (
                    schema.actions if type == "action" else schema.list_resources if type == "list" else {}
                )
                names |= dict.fromkeys(table, provider)
        yield from (item(name, CLASS, names[name]) for name in sorted(names) if place.typed in name)
    elif type == "provider" and count == 0:
        yield from (item(name, MODULE) for name in model.provider_names)
    elif type == "dynamic":
        schema = schema_of(model, place.blocks)
        yield from (item(name, STRUCT) for name in sorted(schema.blocks) if schema is not None) if schema else ()


# ---------------------------------------------------------------- values


def _value(model: Model, place: Place) -> Iterator[Json]:
    if place.is_key:
        yield from _object_keys(model, place)
        return
    if place.attribute in ("provider", "providers") and place.blocks:
        yield from (item(block.key, MODULE, "provider configuration") for block in model.root.providers.values())
        return
    if place.attribute == "type" and place.blocks and place.blocks[0].type == "variable":
        yield from (item(name.rstrip("()[]{}"), VALUE, "type", "", name) for name in _TYPES)
        return
    if not place.path:
        yield from _first(model)
    else:
        yield from _after(model, place)


def _first(model: Model) -> Iterator[Json]:
    root = model.root
    yield from (item(name, KEYWORD, doc) for name, doc in _ROOTS.items())
    for type in sorted({decl.type for decl in root.resources.values() if decl.mode == "managed"}):
        yield item(type, CLASS, "resources of this type")
    yield from (item(word, VALUE) for word in ("true", "false", "null"))
    for name in functions.names():
        if "::" not in name:
            function = functions.lookup(name)
            if function is not None:
                yield item(name, FUNCTION, signature_text(function), function.description, f"{name}(")
    for provider in sorted(root.required_providers):
        schema = model.provider_schema(provider)
        for name in sorted(schema.functions) if schema is not None else ():
            yield item(
                f"provider::{provider}::{name}", FUNCTION, "provider function", "", f"provider::{provider}::{name}("
            )


def signature_text(function: Function) -> str:
    """The signature of a function, such as `join(separator: string, lists: list(string)...): string`."""
    parameters = [f"{p.name}: {constraint_text(p.type)}" for p in function.params]
    if function.variadic is not None:
        parameters.append(f"{function.variadic.name}: {constraint_text(function.variadic.type)}...")
    return f"{function.name}({', '.join(parameters)}): {constraint_text(function.return_type)}"


def _after(model: Model, place: Place) -> Iterator[Json]:
    root, (first, *rest) = model.root, place.path
    names = [step for step in rest if not step.startswith("[")]
    if first in _FIXED and not rest:
        yield from (item(name, FIELD) for name in _FIXED[first])
    elif first == "var" and not rest:
        for name, decl in sorted(root.variables.items()):
            yield item(name, VARIABLE, constraint_text(decl.constraint.type), decl.description)
    elif first == "local" and not rest:
        yield from (item(name, VARIABLE, "local value") for name in sorted(root.locals))
    elif first == "module" and not rest:
        yield from (item(name, MODULE, call.source) for name, call in sorted(root.calls.items()))
    elif first == "module" and len(names) == 1:
        child = model.child(names[0])
        for name, output in sorted(child.outputs.items()) if child is not None else ():
            yield item(name, FIELD, "output", output.description)
    elif first in ("data", "ephemeral") and not rest:
        types = {decl.type for decl in root.resources.values() if decl.mode == first}
        yield from (item(type, CLASS) for type in sorted(types))
    elif first in ("data", "ephemeral") and len(rest) == 1:
        yield from _names(model, first, rest[0])
    elif not rest and any(decl.type == first for decl in root.resources.values()):
        yield from _names(model, "managed", first)
    else:
        yield from _members(type_at(model, place.path, place.blocks), describe(model, place.path))


def _names(model: Model, mode: str, type: str) -> Iterator[Json]:
    for decl in model.root.resources.values():
        if decl.mode == mode and decl.type == type:
            repeated = "count" if decl.count is not None else "for_each" if decl.for_each is not None else ""
            yield item(decl.name, VARIABLE, f"with {repeated}" if repeated else "")


def _members(type: Type | None, schema: BlockSchema | None) -> Iterator[Json]:
    if isinstance(type, ObjectType):
        for name, inner in sorted(type.attributes.items()):
            attribute = schema.attributes.get(name) if schema is not None else None
            yield item(name, FIELD, constraint_text(inner), attribute.description if attribute is not None else "")


def describe(model: Model, path: tuple[str, ...]) -> BlockSchema | None:
    """The schema of the resource that a reference names. None if the reference does not end with the name of a
    resource, or if the schema is unknown. `path`: the steps of the reference."""
    mode = path[0] if path[0] in ("data", "ephemeral") else "managed"
    names = [step for step in path if not step.startswith("[")]
    if len(names) != (2 if mode == "managed" else 3):
        return None
    key = ".".join(names)
    decl = model.root.resources.get(key)
    return model.schema(decl.mode, decl.type, decl.provider_name) if decl is not None else None


def type_at(model: Model, path: tuple[str, ...], blocks: tuple[BlockHeader, ...] = ()) -> Type | None:
    """The type of the value of a reference; None if it is unknown. `path`: the steps of the reference. `blocks`: the
    enclosing blocks, for `self`."""
    root, steps = model.root, list(path)
    type: Type | None = None
    first = steps.pop(0)
    if first == "var" and steps and steps[0] in root.variables:
        type = root.variables[steps.pop(0)].constraint.type
    elif first == "local" and steps and steps[0] in root.locals:
        name = steps.pop(0)
        value = model.value(root.locals[name].expr, f"local.{name}")
        type = type_of(unmark_deep(value)[0]) if value is not None else None
    elif first == "self" and blocks and blocks[0].type in MODES:
        schema = schema_of(model, blocks[:1])
        type = model.object_type(".".join(blocks[0].labels)) if schema is not None else None
    else:
        count = 2 if first in ("data", "ephemeral") else 1
        key = ".".join([first, *steps[:count]])
        type, steps = model.object_type(key), steps[count:]
        decl = root.resources.get(key)
        if (
            decl is not None
            and (decl.count is not None or decl.for_each is not None)
            and steps[:1]
            and (steps[0].startswith("[") or steps[0] == "*" or steps[0].isdigit())
        ):
            steps.pop(0)
    for step in steps:
        if isinstance(type, ObjectType):
            type = type.attributes.get(step.strip('[]"'))
        elif isinstance(type, ListType | SetType | MapType):
            type = type.element
        elif isinstance(type, TupleType):
            type = type.elements[0] if type.elements else None
        else:
            return None
    return type


def _object_keys(model: Model, place: Place) -> Iterator[Json]:
    """The keys for an object expression in an argument. They come from the type of the called module's variable, or of
    the resource's attribute."""
    type: Type | None = None
    if place.blocks and place.blocks[0].type == "module" and len(place.blocks) == 1:
        child = model.child(place.blocks[0].labels[0]) if place.blocks[0].labels else None
        decl = child.variables.get(place.attribute) if child is not None else None
        type = decl.constraint.type if decl is not None else None
    elif place.blocks:
        schema = schema_of(model, place.blocks)
        attribute = schema.attributes.get(place.attribute) if schema is not None else None
        type = attribute.type if attribute is not None else None
    for key in place.keys:
        type = type.attributes.get(key) if isinstance(type, ObjectType) else getattr(type, "element", None)
    while isinstance(type, ListType | SetType):
        type = type.element
    if isinstance(type, ObjectType):
        yield from (
            item(name, PROPERTY, constraint_text(inner), "", f"{name} = ")
            for name, inner in sorted(type.attributes.items())
        )

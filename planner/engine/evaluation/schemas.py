"""The providers of a walk, and their schemas. A provider is started when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from threading import RLock
from typing import Any

from planner.foundation.values.convert import path_text
from planner.foundation.values.paths import Path, PathMarks, apply_marks, marked_paths, parts
from planner.foundation.values.schema import (
    AttributeSchema,
    BlockSchema,
    NestedAttributes,
    NestedBlock,
    contains,
    has,
    implied_type,
)
from planner.foundation.values.types import BOOL, DYNAMIC, NUMBER, ObjectType
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    Marked,
    Null,
    Unknown,
    Value,
    mark,
    unmark,
    with_parts,
)
from planner.foundation.vocabulary.diagnostic import Deprecation, Failure, error
from planner.foundation.vocabulary.provider_address import BUILTIN
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import ModuleConfig, ResourceDecl
from planner.language.functions import Function
from planner.language.functions.protocol import unknown_function
from planner.world.provider.interface import Provider, ProviderSchema, ResourceSchema
from planner.world.state.model import State


class Schemas:
    """The schemas of providers, by the source address of the provider (such as `terraform.io/builtin/terraform`).
    `start`: a function that starts a provider, or raises Failure."""

    def __init__(self, start: Callable[[str], Provider]) -> None:
        self._start = start
        self._lock = RLock()
        self._providers: dict[str, Provider] = {}
        self._schemas: dict[str, ProviderSchema] = {}
        self._lists: dict[tuple[str, str], ResourceSchema] = {}
        self._failures: dict[str, Failure] = {}
        self.extensions = set[str]()
        """the optional blocks of the built-in provider that the configuration or the state uses; the only such block is
        `store`"""
        self.resolvers: dict[ModuleConfig, dict[Any, Callable[[Any], tuple[Value, int]]]] = {}
        """resolvers of references (planner.engine.evaluation.scope) by module; all walks over a configuration share
        them"""
        self.named: dict[Any, tuple[str, str, object, Callable[[Any], tuple[Value, int]]]] = {}
        """{reference to a variable or local value: (kind, name, declaration, resolver)}; the resolvers are used for all
        calls of a module"""

    def lent(self) -> Schemas:
        """A copy of this object for parallel work. It shares the schemas, but starts and closes its own providers."""
        lent = Schemas(self._start)
        lent._lock, lent._schemas, lent._failures = self._lock, self._schemas, self._failures
        lent.resolvers, lent.named, lent.extensions = self.resolvers, self.named, self.extensions
        return lent

    def provider(self, source: str) -> Provider:
        """The provider without configuration, which is used for its schema. Raises Failure. After a failure, later
        calls for the same provider raise the same Failure."""
        with self._lock:
            if source in self._failures:
                raise self._failures[source]
            result = self._providers.get(source)
            if result is None:
                try:
                    result = self._providers[source] = self._start(source)
                except Failure as failure:
                    self._failures[source] = failure
                    raise
            return result

    def new_provider(self, source: str) -> Provider:
        """A provider that the caller can configure. The first call returns the provider that was started for its
        schema, if there is one. Raises Failure."""
        with self._lock:
            return self._providers.pop(source, None) or self._start(source)

    def close(self) -> None:
        """Stop the providers that were started for their schemas. They start again when needed."""
        with self._lock:
            providers = list(self._providers.values())
        for provider in providers:
            provider.close()

    def schema(self, source: str) -> ProviderSchema:
        """The schema of a provider. Raises Failure. After a failure, later calls for the same provider fail without
        starting the plugin again."""
        result = self._schemas.get(source)
        if result is not None:
            return result
        with self._lock:
            result = self._schemas.get(source)
            if result is None:
                try:
                    result = self._schemas[source] = self.provider(source).schema()
                except Failure as failure:
                    self._failures[source] = failure
                    raise
            return result

    def serve(self, state: State) -> None:
        """Add the optional blocks that the objects of a state use (see `extensions`) to the schemas."""
        if "store" not in self.extensions and any(
            one is not None and one.attributes.get("store") is not None
            for resource in state.resources.values()
            if resource.type == "terraform_data"
            for instance in resource.instances.values()
            for one in (instance.current, *instance.deposed.values())
        ):
            self.extensions.add("store")
            self._schemas.pop(BUILTIN, None)

    def preset(self, schemas: Mapping[str, ProviderSchema]) -> None:
        """Use these schemas {source address: schema}, so that the providers need not be started for them."""
        self._schemas.update(schemas)

    def resource(self, source: str, mode: str, type: str) -> ResourceSchema | None:
        """The schema of a resource type of this mode (managed, data, ...); None if the provider has no such type.
        Raises Failure."""
        return self._list_resource(source, type) if mode == "list" else self.schema(source).resource(mode, type)

    def _list_resource(self, source: str, type: str) -> ResourceSchema | None:
        """The schema of a list block's body; None if the provider cannot search for this type, or if the type is not
        also a managed resource type with identities."""
        result = self._lists.get((source, type))
        if result is None:
            schema = self.schema(source)
            config, managed = schema.list_resources.get(type), schema.resources.get(type)
            if config is None or managed is None or managed.identity is None:
                return None
            result = self._lists[source, type] = list_schema(config)
        return result

    # ---------------------------------------------------------------- schemas of declarations

    def of(self, module: ModuleConfig, decl: ResourceDecl) -> ResourceSchema:
        """The schema of a resource. Raises Failure if there is none."""
        source = module.provider_source(decl.provider_name)
        result = self.resource(source, decl.mode, decl.type)
        if result is None:
            kind = KINDS[decl.mode]
            detail = f"The provider {source} has no {kind} of the type {decl.type}."
            raise Failure(error("plan.invalid_resource_type", "Invalid resource type", detail, decl.span))
        return result

    def find_object_type(self, module: ModuleConfig, decl: ResourceDecl) -> ObjectType | None:
        """The type of the resource's objects; None if the provider has no such resource type. Raises Failure."""
        result = self.resource(module.provider_source(decl.provider_name), decl.mode, decl.type)
        return _reference_type(decl, result) if result is not None else None

    def object_type(self, module: ModuleConfig, decl: ResourceDecl) -> ObjectType:
        """The type of the resource's objects. Raises Failure."""
        return _reference_type(decl, self.of(module, decl))

    def unknown_object(self, module: ModuleConfig, decl: ResourceDecl) -> Value:
        """An object with unknown values, and the marks of sensitive parts. Raises Failure."""
        schema = self.of(module, decl)
        block, t = schema.block, _reference_type(decl, schema)
        if decl.mode == "list" or not contains(block, "sensitive"):
            return Unknown(t)
        return marked_by_schema({name: Unknown(of) for name, of in t.attributes.items()}, block)

    def function(self, module: ModuleConfig, name: str, is_late: bool = False) -> Function | None:
        """A function of an unconfigured provider, by its name `provider::local_name::function` or
        `provider::local_name::alias::function`; None if there is none. `is_late`: whether the provider may register a
        function later that is not in its schema. Such a function is returned with an unknown signature. Raises
        Failure."""
        parts = name.split("::")
        if len(parts) not in (3, 4):
            return None
        source = module.provider_source(parts[1])
        schema = self.schema(source)
        result: Function | None = schema.functions.get(parts[-1])
        if result is not None or schema.functions_are_all:
            return result
        if is_late:
            return unknown_function(name)
        late: Function | None = self.provider(source).function(parts[-1])
        return late


KINDS = {
    "managed": "resource",
    "data": "data source",
    "ephemeral": "ephemeral resource",
    "action": "action",
    "list": "list resource",
}
"""{mode of a resource: its name in messages}"""
_RESULTS = ObjectType({"data": DYNAMIC})


def list_schema(config: ResourceSchema) -> ResourceSchema:
    """The schema of a list block's body. `config`: the provider's schema of the nested block `config`."""
    body = config.block
    needed = any(a.required for a in body.attributes.values()) or any(b.min_items for b in body.blocks.values())
    nested = NestedBlock(body, "single", int(needed), int(needed))
    attributes = {
        "include_resource": AttributeSchema(BOOL, optional=True),
        "limit": AttributeSchema(NUMBER, optional=True),
    }
    # the configuration of a search is never stored
    return ResourceSchema(BlockSchema(attributes, {"config": nested}, ephemeral=True))


def _reference_type(decl: ResourceDecl, schema: ResourceSchema) -> ObjectType:
    return _RESULTS if decl.mode == "list" else implied_type(schema.block)


# Marks that result from a schema: sensitive attributes, and write-only arguments, which must not be stored.


_SENSITIVE = frozenset((SENSITIVE,))
_EPHEMERAL = frozenset((EPHEMERAL,))


def schema_marks(block: BlockSchema, value: Value) -> list[PathMarks]:
    """The paths of attributes that are sensitive according to the schema, in a value of the schema's type, each with
    its mark. Null and unknown attributes are included."""
    return list(_of_block(block, value, ())) if contains(block, "sensitive") else []


def marked_by_schema(value: Value, block: BlockSchema) -> Value:
    """The value with the schema's marks added to its own."""
    result = schema_marks(block, value)
    return apply_marks(value, result) if result else value


def combined_marks(*several: list[PathMarks]) -> list[PathMarks]:
    """The union of several lists of (path, marks), with one entry for each path."""
    table: dict[Any, frozenset[Any]] = {}
    paths: dict[Any, Path] = {}
    for marks in several:
        for path, here in marks:
            key = repr(path)
            paths.setdefault(key, path)
            table[key] = table.get(key, frozenset()) | here
    return [(paths[key], here) for key, here in table.items()]


def sensitive_paths(value: Value) -> frozenset[str]:
    """The paths of sensitive parts as strings, for comparing two values."""
    return frozenset(repr(path) for path, marks in marked_paths(value) if SENSITIVE in marks)


def deprecation_marks(block: BlockSchema, value: Value, by: Deprecation) -> list[PathMarks]:
    """The deprecated parts of a value of the schema's type, as (path, marks). `by`: the deprecation mark of the object;
    the path of each part is added to it."""
    return list(_deprecated_parts(block, value, (), by)) if block.deprecated or contains(block, "deprecated") else []


def _below(by: Deprecation, path: Path, message: str) -> frozenset[Deprecation]:
    text = path_text(path)
    below = f".{text}" if text and not text.startswith("[") else text
    return frozenset((evolve(by, by=by.by + below, message=message),))


def _deprecated_parts(block: BlockSchema, value: Value, path: Path, by: Deprecation) -> Iterator[PathMarks]:
    if block.deprecated:
        yield path, _below(by, path, block.deprecation_message)
    value = unmark(value)[0]
    if value.__class__ is not dict:
        return
    yield from _deprecated_attributes(block.attributes, value, path, by)
    for name, nested in block.blocks.items():
        if contains(nested.block, "deprecated") and name in value:
            here = (*path, ("attr", name))
            inner = unmark(value[name])[0]
            if inner.__class__ is Null or inner.__class__ is Unknown:
                continue
            if nested.nesting in ("single", "group"):
                yield from _deprecated_parts(nested.block, inner, here, by)
            else:
                for step, item in parts(inner):
                    yield from _deprecated_parts(nested.block, item, (*here, step), by)


def _deprecated_attributes(
    attributes: dict[str, AttributeSchema], value: Value, path: Path, by: Deprecation, is_nested: bool = False
) -> Iterator[PathMarks]:
    """The deprecated attributes, including those inside other attributes, as (path, marks). At nested levels
    (`is_nested`), attributes inside a deprecated or sensitive attribute are left out."""
    for name, attribute in attributes.items():
        here = (*path, ("attr", name))
        if attribute.deprecated:
            yield here, _below(by, here, attribute.deprecation_message)
        if attribute.nested is None or not has(attribute, "deprecated"):
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
        if contains(nested.block, "sensitive") and name in value:
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


def without_write_only(value: Value, block: BlockSchema) -> Value:
    """The value with null in write-only arguments, so that plan and state may contain it."""
    if not contains(block, "write_only"):
        return value
    cls = value.__class__
    if cls is Marked:
        return mark(without_write_only(value.value, block), value.marks)
    if cls is not dict:
        return value
    result = dict(value)
    for name, attribute in block.attributes.items():
        if attribute.write_only and name in result:
            # keep other marks: an argument is secret even if its value is not stored
            marks = unmark(result[name])[1] - _EPHEMERAL
            result[name] = mark(Null(attribute.type), marks) if marks else Null(attribute.type)
    for name, nested in block.blocks.items():
        if contains(nested.block, "write_only") and name in result:
            result[name] = _blocks_without(result[name], nested.block)
    return result


def _blocks_without(value: Value, block: BlockSchema) -> Value:
    cls = value.__class__
    if cls is Marked:
        return mark(_blocks_without(value.value, block), value.marks)
    if cls is dict and set(value) >= set(block.attributes):
        return without_write_only(value, block)
    return with_parts(value, lambda item: without_write_only(item, block))


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

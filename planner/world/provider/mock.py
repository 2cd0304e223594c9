"""A provider that generates objects in tests, for mocked providers and for overridden resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from planner.foundation.support.go_random import GoRandom
from planner.foundation.values.convert import ConversionError, convert, path_text
from planner.foundation.values.json_codec import CodecError, from_json
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedBlock, empty_block, implied_type
from planner.foundation.values.sets import make_set
from planner.foundation.values.types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    Primitive,
    SetType,
    TupleType,
    Type,
    friendly_name,
)
from planner.foundation.values.unify import conversion_possible
from planner.foundation.values.value import List, Map, Null, Set, Unknown, Value, type_of
from planner.world.provider import interface
from planner.world.provider.conformity import without_removed


class MockedProvider(interface.StandIn):
    """Replaces another provider, and uses its schema and its checks of configurations. `values`: the attributes that a
    test sets. `known_late`: whether computed values of a new object are known only after it is applied. `owns`: whether
    `close` also closes the other provider."""

    def __init__(
        self, of: interface.Provider, values: Mapping[str, Value] = {}, known_late: bool = False, owns: bool = False
    ) -> None:
        super().__init__(of)
        self.values, self.known_late, self.owns = values, known_late, owns

    def close(self) -> None:
        if self.owns:
            self.of.close()

    def validate_resource(self, mode: str, type: str, config: Value) -> list[interface.AttributeDiagnostic]:
        return self.of.validate_resource(mode, type, config)

    def upgrade(
        self, type: str, version: int, attributes: dict[str, Any], flat: bool = False
    ) -> tuple[Value, list[interface.AttributeDiagnostic]]:
        schema = self.schema().resources[type]
        if flat or version != schema.version:
            return self.of.upgrade(type, version, attributes, flat)
        wanted = implied_type(schema.block)
        try:
            return from_json(without_removed(attributes, wanted), wanted), []
        except CodecError:
            return self.of.upgrade(type, version, attributes, flat)

    def upgrade_identity(
        self, type: str, version: int, identity: dict[str, Any]
    ) -> tuple[Value, list[interface.AttributeDiagnostic]]:
        return self.of.upgrade_identity(type, version, identity)

    def move(self, request: interface.MoveRequest) -> interface.MoveAnswer:
        detail = f"A mocked provider cannot convert a {request.source_type} to a {request.target}."
        return interface.MoveAnswer(Null(DYNAMIC), diagnostics=(_refusal(detail),))

    def plan(self, request: interface.PlanRequest) -> interface.PlanAnswer:
        """Planned objects are known, except for new ones with `known_late`. No object is ever replaced."""
        if request.proposed.__class__ is Null:
            return interface.PlanAnswer(request.proposed)
        schema = self.schema().resources[request.type].block
        is_unknown = self.known_late and request.prior.__class__ is Null
        planned, problems = compose(request.type, schema, request.config, self.values, is_unknown)
        return interface.PlanAnswer(planned, private=request.prior_private, diagnostics=tuple(problems))

    def apply(self, request: interface.ApplyRequest) -> interface.ApplyAnswer:
        if not self.known_late or request.planned.__class__ is Null or request.prior.__class__ is not Null:
            return interface.ApplyAnswer(request.planned, request.private)
        schema = self.schema().resources[request.type].block
        made, problems = compose(request.type, schema, request.config, self.values)
        return interface.ApplyAnswer(made, request.private, diagnostics=tuple(problems))

    def import_object(
        self, type: str, id: str, identity: Value = None
    ) -> tuple[list[interface.ImportedObject], list[interface.AttributeDiagnostic]]:
        return [], [
            _refusal(f"There is no {type} with the id {id}: its provider is mocked, so nothing can be imported.")
        ]

    def read_data(self, type: str, config: Value, meta: Value = None, address: str = "") -> interface.ReadAnswer:
        value, problems = compose(type, self.schema().data_sources[type].block, config, self.values)
        return interface.ReadAnswer(value, diagnostics=tuple(problems))

    def open(self, type: str, config: Value) -> interface.OpenedEphemeral:
        value, problems = compose(type, self.schema().ephemeral[type].block, config, self.values)
        return interface.OpenedEphemeral(value, diagnostics=tuple(problems))

    def validate_action(self, type: str, config: Value) -> list[interface.AttributeDiagnostic]:
        return self.of.validate_action(type, config)

    def validate_list(
        self, type: str, config: Value, includes_objects: Value, limit: Value
    ) -> list[interface.AttributeDiagnostic]:
        return self.of.validate_list(type, config, includes_objects, limit)

    def function(self, name: str) -> Any:
        return self.of.function(name)


def _refusal(detail: str) -> interface.AttributeDiagnostic:
    return interface.AttributeDiagnostic("error", "Not possible with a mocked provider", detail, None)


# Mocked objects: the configuration, with computed values that are set by a test or generated. Generated values are
# reproducible, byte for byte as in OpenTofu's MockValueComposer: strings come from a generator seeded with the name of
# the resource type, in the order of the schema's names.


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890"


def compose(
    type: str, schema: BlockSchema, config: Value, given: Mapping[str, Value], is_unknown: bool = False
) -> tuple[Value, list[interface.AttributeDiagnostic]]:
    """The object for an unmarked configuration. `given`: the attributes that a test sets. `is_unknown`: whether values
    that are set by a test or generated remain unknown."""
    composer = _Composer(type, is_unknown)
    return composer.block(schema, config, given), composer.problems


class _Texts:
    """The generated strings for one type."""

    def __init__(self, type: str) -> None:
        self._random = GoRandom(_hash(type))
        self._made: list[str] = []

    def text(self, number: int) -> str:
        while len(self._made) <= number:
            length = 4 + self._random.below(12)
            self._made.append("".join(_LETTERS[self._random.below(len(_LETTERS))] for _ in range(length)))
        return self._made[number]


_texts = cache(_Texts)


def _hash(text: str) -> int:
    """The 32-bit FNV-1 hash of a string."""
    result = 0x811C9DC5
    for byte in text.encode():
        result = (result * 0x01000193 & 0xFFFFFFFF) ^ byte
    return result


class _Composer:
    def __init__(self, type: str, is_unknown: bool) -> None:
        self.is_unknown = is_unknown
        self.texts: Iterator[str] = map(_texts(type).text, iter(range(1 << 62)))
        self.problems: list[interface.AttributeDiagnostic] = []
        self.is_stopped = False

    @property
    def errors(self) -> int:
        return sum(problem.severity == "error" for problem in self.problems)

    def wrong(self, summary: str, detail: str, severity: str = "error") -> None:
        self.problems.append(interface.AttributeDiagnostic(severity, summary, detail))

    def block(self, schema: BlockSchema, config: Value, given: Mapping[str, Value]) -> Value:
        """The value of a block, or of the object. Stops at the first block with a problem."""
        parts: Mapping[str, Value] = config if config.__class__ is dict else {}
        before = self.errors
        made = {name: self.attribute(name, schema.attributes[name], parts, given) for name in sorted(schema.attributes)}
        if self.errors > before:
            return made
        for name in sorted(schema.blocks):
            if self.is_stopped:
                return made
            made[name] = self.blocks(name, schema.blocks[name], parts.get(name), given)
        if self.errors > before:
            return made
        for name in sorted(given):
            if name not in made:
                detail = "The field is unknown. Please, ensure it is a part of resource definition."
                self.wrong(f"Invalid override for block field `{name}`", detail)
        return made

    def attribute(
        self, name: str, schema: AttributeSchema, config: Mapping[str, Value], given: Mapping[str, Value]
    ) -> Value:
        value = config.get(name)
        only_computed = schema.computed and not schema.optional
        is_set = value is not None and value.__class__ is not Null and not only_computed
        override = self.override(name, schema, is_set, given) if name in given else None
        if schema.write_only:
            return Null(schema.type)
        if is_set:
            return value
        if schema.required:
            self.wrong(f"Invalid mock/override field `{name}`", "Required field in configuration not provided")
            return Null(schema.type)
        if self.is_unknown and schema.computed:
            return Unknown(schema.type)
        if override is not None:
            return override
        return self.generated(schema.type) if schema.computed else Null(schema.type)

    def override(self, name: str, schema: AttributeSchema, is_set: bool, given: Mapping[str, Value]) -> Value:
        title = f"Invalid mock/override field `{name}`"
        if is_set:
            self.wrong(title, "The field is ignored since overriding configuration values is not allowed.")
        if not schema.computed:
            detail = "Overriding non-computed fields is not allowed, so this field cannot be processed."
            self.wrong(f"Non-computed field `{name}` is not allowed to be overridden", detail)
        if schema.write_only:
            detail = (
                "Override values for write-only attributes have no impact since the write-only attributes will always "
                "be null in the provider response."
            )
            self.wrong(f"Encountered override for write-only attribute `{name}`", detail, "warning")
        try:
            return convert(given[name], schema.type)
        except ConversionError as bad:
            kind = type_of(given[name])
            reason = _place_text(bad) if conversion_possible(kind, schema.type) else _reason(kind, schema.type)
            self.wrong(title, f"Values provided for override / mock must match resource fields types: {reason}.")
            return Null(schema.type)

    def blocks(self, name: str, schema: NestedBlock, config: Value, given: Mapping[str, Value]) -> Value:
        """All blocks of one type, with the same override for each; unknown if their number is unknown. An override is
        reported, and the result is empty, if the override is not an object or is for blocks that are not configured."""
        title = f"Invalid override for block field `{name}`"
        values = given.get(name)
        if name in given and values.__class__ is not dict:
            kind = friendly_name(type_of(values))
            self.wrong(title, f"Blocks can be overridden only by objects, got `{kind}`")
            return empty_block(schema)
        if config.__class__ is Unknown:
            return config  # the number of blocks is known only during the apply
        is_there = config is not None and config.__class__ is not Null
        if is_there and schema.nesting not in ("single", "group") and not len(config):
            is_there = False
        if not is_there:
            if name in given:
                self.wrong(title, "Cannot override block value, because it's not present in configuration.")
            return empty_block(schema)
        return self.composed(schema, config, values or {})

    def composed(self, schema: NestedBlock, config: Value, given: Mapping[str, Value]) -> Value:
        if schema.nesting == "map":
            blocks = config.items if config.__class__ is Map else config
            made = {key: self.one_of(schema, blocks[key], given) for key in sorted(blocks)}
            return Map(config.element, made) if config.__class__ is Map else made
        if schema.nesting in ("single", "group"):
            return self.one_of(schema, config, given)
        items = tuple(
            self.one_of(schema, item, given) for item in (config if config.__class__ is tuple else config.items)
        )
        if config.__class__ is Set:
            return make_set(config.element, items)
        return items if config.__class__ is tuple else List(config.element, items)

    def one_of(self, schema: NestedBlock, config: Value, given: Mapping[str, Value]) -> Value:
        """The value of one block. Stops at the first problem."""
        if self.is_stopped:
            return config
        before = self.errors
        made = self.block(schema.block, config, given)
        self.is_stopped = self.errors > before
        return made

    def generated(self, t: Type) -> Value:
        if t is STRING:
            return next(self.texts)
        if t is NUMBER:
            return 0
        if t is BOOL:
            return False
        if isinstance(t, ListType):
            return List(t.element, ())
        if isinstance(t, SetType):
            return Set(t.element, ())
        if isinstance(t, MapType):
            return Map(t.element, {})
        if isinstance(t, ObjectType):
            return {name: self.generated(t.attributes[name]) for name in sorted(t.attributes)}
        if isinstance(t, TupleType):
            return tuple(map(self.generated, t.elements))
        return Null()


def _place_text(problem: ConversionError) -> str:
    place = "".join(f".{key}" if kind == "attr" else path_text(((kind, key),)) for kind, key in problem.path)
    return f"{place}: {problem.reason}" if place else problem.reason


def _reason(given: Type, wanted: Type) -> str:
    """The reason why values of one type cannot be converted to another, in the words of OpenTofu."""
    if isinstance(given, ObjectType) and isinstance(wanted, ObjectType):
        missing = [f'"{name}"' for name in sorted(wanted.attributes.keys() - given.attributes.keys())]
        if missing:
            names = (
                f"{'s' if len(missing) > 1 else ''} {_enumerate_words(missing)} {'are' if len(missing) > 1 else 'is'}"
            )
            return f"attribute{names} required"
        for name in sorted(wanted.attributes.keys() & given.attributes.keys()):
            if not conversion_possible(given.attributes[name], wanted.attributes[name]):
                return f'attribute "{name}": {_reason(given.attributes[name], wanted.attributes[name])}'
    if isinstance(given, TupleType) and isinstance(wanted, (ListType, SetType)):
        for i, element in enumerate(given.elements):
            if not conversion_possible(element, wanted.element):
                return f"element {i}: {_reason(element, wanted.element)}"
    if isinstance(given, ObjectType) and isinstance(wanted, MapType):
        for name in sorted(given.attributes):
            if not conversion_possible(given.attributes[name], wanted.element):
                return f'element "{name}": {_reason(given.attributes[name], wanted.element)}'
    if isinstance(given, Primitive) is not isinstance(wanted, Primitive):
        return f"{friendly_name(wanted)} required, but have {friendly_name(given)}"
    return f"{friendly_name(wanted)} required"


def _enumerate_words(words: list[str]) -> str:
    if len(words) < 3:
        return " and ".join(words)
    return f"{', '.join(words[:-1])}, and {words[-1]}"

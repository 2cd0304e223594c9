"""Merges override files: their arguments replace the arguments in normal files, one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.value import Value, is_null
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import (
    LocalDecl,
    OutputDecl,
    ProviderDecl,
    Reference,
    ResourceDecl,
    UnresolvedCall,
    VariableDecl,
)
from planner.language.config.reading import Problems
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, Content, ExpectedBlock

T = TypeVar("T")


@frozen(eq=False)
class ExplicitDeclaration(Generic[T]):
    """A declaration, and the names of the arguments that are set in it."""

    value: T
    given: frozenset[str]


def _written_fields(over: Any, given: Iterable[str], names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(over, name) for name in names if name in given}


def _refuse_depends_on(depends_on: tuple[Reference, ...], problems: Problems) -> None:
    if depends_on:
        detail = "An override file must not change depends_on."
        problems.error("override_depends_on", "Unsupported override", detail, depends_on[0].span)


def merge_variable(base: VariableDecl, declared: ExplicitDeclaration[VariableDecl], problems: Problems) -> VariableDecl:
    """Override the arguments of a variable. A default that does not match the type after overriding is reported."""
    over, given = declared.value, declared.given
    changes = _written_fields(over, given, ("description", "sensitive", "ephemeral", "default", "nullable", "const"))
    if over.deprecated:
        changes["deprecated"] = over.deprecated
    if "type" in given:
        changes.update(constraint=over.constraint, verbatim=over.verbatim)
    merged: VariableDecl = evolve(base, **changes)
    if merged.default is None:
        return merged
    default = _convert_default(merged, over, given, problems)
    if not merged.nullable and is_null(default):
        detail = "The default must not be null, because nullable is false."
        problems.error("null_default", "Invalid default value for variable", detail, over.span)
    return evolve(merged, default=default)


def _convert_default(merged: VariableDecl, over: VariableDecl, given: frozenset[str], problems: Problems) -> Value:
    try:
        return convert(merged.default, merged.constraint.written)
    except ConversionError as problem:
        if "type" in given and "default" not in given:
            detail = f"The default does not match the type in the override file: {problem}."
        else:
            detail = f"The default in the override file does not match the type: {problem}."
        problems.error("default_does_not_fit", "Invalid default value for variable", detail, over.span)
        return merged.default


def merge_local(base: LocalDecl, over: LocalDecl) -> LocalDecl:
    return over


def merge_output(base: OutputDecl, declared: ExplicitDeclaration[OutputDecl], problems: Problems) -> OutputDecl:
    over, given = declared.value, declared.given
    changes = _written_fields(over, given, ("value", "sensitive", "ephemeral", "type"))
    for name in ("description", "deprecated"):
        if getattr(over, name):
            changes[name] = getattr(over, name)
    _refuse_depends_on(over.depends_on, problems)
    return evolve(base, **changes)


def merge_call(
    base: UnresolvedCall, declared: ExplicitDeclaration[UnresolvedCall], problems: Problems
) -> UnresolvedCall:
    over, given = declared.value, declared.given
    changes = _written_fields(over.call, given, ("count", "for_each"))
    if over.call.providers:
        changes["providers"] = over.call.providers
    _refuse_depends_on(over.call.depends_on, problems)
    return evolve(
        base,
        call=evolve(base.call, **changes),
        body=OverriddenBody(base.body, over.body),
        source=over.source or base.source,
        version=over.version or base.version,
    )


def merge_provider(base: ProviderDecl, over: ProviderDecl) -> ProviderDecl:
    return evolve(base, version=over.version or base.version, body=OverriddenBody(base.body, over.body))


def merge_resource(base: ResourceDecl, declared: ExplicitDeclaration[ResourceDecl], problems: Problems) -> ResourceDecl:
    """Override the arguments of a resource. The preconditions, the postconditions and `replace_triggered_by` of `base`
    are not changed. A `depends_on` in an override file is reported as an error."""
    over, given = declared.value, declared.given
    changes = _written_fields(over, given, ("count", "for_each", "provider", "provisioners"))
    if "connection" in given:
        changes.update(connection=over.connection, connection_span=over.connection_span)
    cycle = _written_fields(
        over.lifecycle, given, ("create_before_destroy", "prevent_destroy", "destroy", "action_triggers")
    )
    if "create_before_destroy" in cycle:
        cycle["create_before_destroy_span"] = over.lifecycle.create_before_destroy_span
    if over.lifecycle.ignore_changes:
        cycle["ignore_changes"] = over.lifecycle.ignore_changes
    if cycle:
        changes["lifecycle"] = evolve(base.lifecycle, **cycle)
    _refuse_depends_on(over.depends_on, problems)
    return evolve(base, body=OverriddenBody(base.body, over.body), **changes)


# Combinations of two bodies: a base with its override, and a block with its escape block `_`.


def optional(schema: BodySchema) -> BodySchema:
    """The schema with all attributes optional, because override files may omit all of them."""
    return BodySchema(dict.fromkeys(schema.attributes, False), schema.blocks)


class OverriddenBody:
    """`base` overridden by `over`: arguments of `over` take precedence. If `over` has blocks of a type, these replace
    all blocks of the type in `base`, including `dynamic` blocks. Arguments and blocks that are not in the schema are
    ignored."""

    __slots__ = ("base", "over")

    def __init__(self, base: Body, over: Body) -> None:
        self.base = base
        self.over = over

    def content(self, schema: BodySchema) -> Content:
        return self.partial_content(schema)[0]

    def partial_content(self, schema: BodySchema) -> tuple[Content, Body]:
        if all(b.type != "dynamic" for b in schema.blocks):
            schema = BodySchema(schema.attributes, (*schema.blocks, ExpectedBlock("dynamic", ("type",))))
        base, base_rest = self.base.partial_content(schema)
        over, over_rest = self.over.partial_content(optional(schema))
        replaced = {_block_type(block) for block in over.blocks}
        blocks = [block for block in base.blocks if _block_type(block) not in replaced and block.type not in replaced]
        merged = Content(
            {**base.attributes, **over.attributes}, blocks + over.blocks, base.diagnostics + over.diagnostics
        )
        return merged, OverriddenBody(base_rest, over_rest)

    def just_attributes(self) -> tuple[dict[str, Attribute], list[Diagnostic]]:
        base, problems = self.base.just_attributes()
        over, more = self.over.just_attributes()
        return {**base, **over}, problems + more

    @property
    def missing_span(self) -> Span:
        return self.base.missing_span


def _block_type(block: Block) -> str:
    """The type of a block, or of the blocks that a dynamic block generates."""
    return block.labels[0].value if block.type == "dynamic" and block.labels else block.type


class JoinedBody:
    """A body that has the content of two bodies. An argument that is set in both bodies is reported as an error."""

    __slots__ = ("first", "second")

    def __init__(self, first: Body, second: Body) -> None:
        self.first = first
        self.second = second

    def content(self, schema: BodySchema) -> Content:
        relaxed = optional(schema)
        return self._join(schema, self.first.content(relaxed), self.second.content(relaxed))

    def partial_content(self, schema: BodySchema) -> tuple[Content, Body]:
        relaxed = optional(schema)
        first, first_rest = self.first.partial_content(relaxed)
        second, second_rest = self.second.partial_content(relaxed)
        return self._join(schema, first, second), JoinedBody(first_rest, second_rest)

    def just_attributes(self) -> tuple[dict[str, Attribute], list[Diagnostic]]:
        first, problems = self.first.just_attributes()
        second, more = self.second.just_attributes()
        return _union(first, second, [*problems, *more])

    @property
    def missing_span(self) -> Span:
        return self.first.missing_span

    def _join(self, schema: BodySchema, first: Content, second: Content) -> Content:
        attributes, problems = _union(first.attributes, second.attributes, [*first.diagnostics, *second.diagnostics])
        for name, required in schema.attributes.items():
            if required and name not in attributes:
                detail = f'The argument "{name}" is required, but no definition was found.'
                problems.append(error("syntax.missing_argument", "Missing required argument", detail))
        return Content(attributes, first.blocks + second.blocks, problems)


def _union(
    first: dict[str, Attribute], second: dict[str, Attribute], problems: list[Diagnostic]
) -> tuple[dict[str, Attribute], list[Diagnostic]]:
    joined = dict(first)
    for name, attribute in second.items():
        if name in joined:
            detail = f'The argument "{name}" is also set at {joined[name].name_span}.'
            problems.append(error("config.duplicate_argument", "Duplicate argument", detail, attribute.name_span))
        else:
            joined[name] = attribute
    return joined, problems

"""Override files: what they say explicitly replaces what the normal files say, argument by argument."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.value import Value, is_null
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.joined_body import OverriddenBody
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

T = TypeVar("T")


@frozen(eq=False)
class ExplicitDeclaration(Generic[T]):
    """A declaration and the arguments that its text gives explicitly."""

    value: T
    given: frozenset[str]


def _given(over: Any, given: Iterable[str], names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(over, name) for name in names if name in given}


def _refuse_depends_on(depends_on: tuple[Reference, ...], problems: Problems) -> None:
    if depends_on:
        detail = "An override file may not change depends_on."
        problems.error("override_depends_on", "Unsupported override", detail, depends_on[0].span)


def merge_variable(base: VariableDecl, declared: ExplicitDeclaration[VariableDecl], problems: Problems) -> VariableDecl:
    """The variable with the override's arguments; a default must still fit the type that results."""
    over, given = declared.value, declared.given
    changes = _given(over, given, ("description", "sensitive", "ephemeral", "default", "nullable", "const"))
    if over.deprecated:
        changes["deprecated"] = over.deprecated
    if "type" in given:
        changes.update(constraint=over.constraint, verbatim=over.verbatim)
    merged: VariableDecl = evolve(base, **changes)
    if merged.default is None:
        return merged
    default = _converted(merged, over, given, problems)
    if not merged.nullable and is_null(default):
        detail = "The default may not be null because nullable is false."
        problems.error("null_default", "Invalid default value for variable", detail, over.span)
    return evolve(merged, default=default)


def _converted(merged: VariableDecl, over: VariableDecl, given: frozenset[str], problems: Problems) -> Value:
    try:
        return convert(merged.default, merged.constraint.written)
    except ConversionError as problem:
        if "type" in given and "default" not in given:
            detail = f"The default does not fit the type that the override file gives: {problem}."
        else:
            detail = f"The default that the override file gives does not fit the type: {problem}."
        problems.error("default_does_not_fit", "Invalid default value for variable", detail, over.span)
        return merged.default


def merge_local(base: LocalDecl, over: LocalDecl) -> LocalDecl:
    return over


def merge_output(base: OutputDecl, declared: ExplicitDeclaration[OutputDecl], problems: Problems) -> OutputDecl:
    over, given = declared.value, declared.given
    changes = _given(over, given, ("value", "sensitive", "ephemeral"))
    for name in ("description", "deprecated"):
        if getattr(over, name):
            changes[name] = getattr(over, name)
    _refuse_depends_on(over.depends_on, problems)
    return evolve(base, **changes)


def merge_call(
    base: UnresolvedCall, declared: ExplicitDeclaration[UnresolvedCall], problems: Problems
) -> UnresolvedCall:
    over, given = declared.value, declared.given
    changes = _given(over.call, given, ("count", "for_each"))
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
    """The resource with the override's arguments; conditions and triggers cannot be overridden."""
    over, given = declared.value, declared.given
    changes = _given(over, given, ("count", "for_each", "provider", "provisioners"))
    if "connection" in given:
        changes.update(connection=over.connection, connection_span=over.connection_span)
    cycle = _given(over.lifecycle, given, ("create_before_destroy", "prevent_destroy", "destroy"))
    if "create_before_destroy" in cycle:
        cycle["create_before_destroy_span"] = over.lifecycle.create_before_destroy_span
    if over.lifecycle.ignore_changes:
        cycle["ignore_changes"] = over.lifecycle.ignore_changes
    if cycle:
        changes["lifecycle"] = evolve(base.lifecycle, **cycle)
    _refuse_depends_on(over.depends_on, problems)
    return evolve(base, body=OverriddenBody(base.body, over.body), **changes)

"""What the body of a resource must not say, whatever its values are: its own name, or what may not be stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.provider_diagnostics import place
from planner.engine.evaluation.schemas import is_write_only
from planner.foundation.values.convert import path_text
from planner.foundation.values.paths import infinite_paths, marked_paths
from planner.foundation.values.schema import BlockSchema
from planner.foundation.values.value import EPHEMERAL, Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.syntax.body import Body, BodySchema, NativeBody
from planner.language.syntax.body import ExpectedBlock as BlockHeader
from planner.language.syntax.references import variables
from planner.world.state.model import InstanceKey


class SelfReferences:
    """References of the bodies of resources to the resources themselves, looked for once a block."""

    def __init__(self) -> None:
        self._of: dict[ResourceDecl, list[tuple[InstanceKey, Diagnostic]]] = {}

    def of(self, it: Instance) -> list[Diagnostic]:
        """Those of an instance, which have no value yet."""
        if it.decl is None:
            return []
        if it.decl not in self._of:
            self._of[it.decl] = list(_self_references(it.decl, it.schema.block))
        # The resource as a whole and the instance are both out of bounds; without a key they have one name.
        return [problem for own in (None, it.key) for key, problem in self._of[it.decl] if key == own]


def path_name(path: Iterable[tuple[str, Any]]) -> str:
    return path_text(tuple(path))


def extend(problems: list[Diagnostic], found: list[Diagnostic]) -> None:
    """Add what was found; errors end the work on this instance."""
    problems += found
    if has_errors(found):
        raise Failure(list(problems))


def _self_references(decl: ResourceDecl, schema: BlockSchema) -> Iterator[tuple[InstanceKey, Diagnostic]]:
    blocks = (*(BlockHeader(name) for name in schema.blocks), BlockHeader("dynamic", ("type",)))
    content, _ = decl.body.partial_content(BodySchema(dict.fromkeys(schema.attributes, False), blocks))
    own = (*(a.expr for a in content.attributes.values()), *(block.body for block in content.blocks))
    for node in (node for part in own for node in variables(part)):
        ref = parse_reference(node)
        if isinstance(ref, Ref) and ref.kind == "resource" and ref.name == decl.key:
            detail = f"{decl.key} refers to itself, but its own attributes are only known once it is planned."
            span = Span(decl.block.source, ref.start, ref.end)
            yield ref.key, error("plan.self_reference", "Self-referential block", detail, span)


def of_instance(found: Iterable[Diagnostic], address: str) -> list[Diagnostic]:
    """What was found in the body of an instance: of what is deprecated, the body has a value, not one expression."""
    return [d.at(address) if d.deprecation is not None else d for d in found]


def storage_problems(it: Instance, config: Value) -> list[Diagnostic]:
    """Values in arguments of an instance that cannot be stored: ephemeral ones, and infinite numbers."""
    assert it.decl is not None
    problems = ephemeral_values(it.decl, it.schema.block, config, it.address)
    for path in infinite_paths(config):
        span = place(it.decl.body, path[:1])
        problems.append(infinite_number(path_name(path), span).at(it.address))
    return problems


def infinite_number(what: str, span: Span | None) -> Diagnostic:
    """The problem of an infinite number that is to be stored, as 1/0 is."""
    detail = f"{what} is infinite, and neither a state nor a plan can store an infinite number."
    return error("plan.infinite_number", "Infinite number", detail, span)


def ephemeral_values(decl: ResourceDecl, schema: BlockSchema, config: Value, address: str) -> list[Diagnostic]:
    """Ephemeral values in arguments that would be stored."""
    if schema.ephemeral or decl.mode == "ephemeral":
        return []
    problems = []
    for path, marks in marked_paths(config):
        if EPHEMERAL in marks and not is_write_only(schema, path):
            detail = f"{path_name(path)} would be stored, so its value must not be ephemeral."
            span = place(decl.body, path[:1])
            summary = "Ephemeral value used in non-ephemeral context"
            problems.append(error("plan.ephemeral_value", summary, detail, span, address=address))
    return problems


def forget_compiled(body: Body) -> None:
    """Let go of what the expressions of a body were compiled to; who evaluates them again compiles them again."""
    if isinstance(body, NativeBody):
        for attribute in body.attributes.values():
            with suppress(AttributeError):
                del attribute.expr.compiled
        for block in body.blocks:
            forget_compiled(block.body)

"""Facts of rules/plan/unknown_causes.dl, about attributes that are not completely known and about the references in
their configuration."""

from __future__ import annotations

from collections.abc import Iterable

from planner.foundation.values.paths import unknown_paths
from planner.foundation.values.value import is_wholly_known
from planner.foundation.vocabulary.address import format_resource, join, parse_module
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.syntax.body import Attribute, BodySchema, variables
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.plan import ResourceChange


class UnknownFacts:
    """Adds facts about the changes of one plan. The references in each declaration are collected only once."""

    def __init__(self, facts: FactBuilder, config: Config, changes: Iterable[ResourceChange]) -> None:
        self.facts, self.config = facts, config
        self._attributes: dict[tuple[ResourceDecl, str], tuple[Span, list[tuple[str, str, Span]]] | None] = {}
        for change in changes:
            if not is_wholly_known(change.after):
                facts.add("unknown_resource", change.resource_address)

    def add(self, change: ResourceChange) -> None:
        """Add facts about the attributes with unknown parts, and about the references in their arguments. Targets of
        references are written as addresses from the root module, such as `module.net.terraform_data.web` and
        `var.size`."""
        add, instance = self.facts.add, change.address
        config = self.config.root.descendant(parse_module(change.module).path)
        decl = config.resources.get(format_resource("", change.mode, change.type, change.name)) if config else None
        if change.module:
            add("in_child_module", instance)
        for attribute in sorted({str(path[0][1]) for path in unknown_paths(change.after) if path}):
            add("unknown_attribute", instance, attribute)
            given = self._attribute_source(decl, attribute) if decl is not None else None
            if given is None:
                continue
            span, mentions = given
            add("configured_attribute", instance, attribute, source=span)
            for kind, name, at in mentions:
                add("attribute_mention", instance, attribute, kind, join(change.module, name), source=at)

    def _attribute_source(self, decl: ResourceDecl, attribute: str) -> tuple[Span, list[tuple[str, str, Span]]] | None:
        """(span of an attribute in the configuration, (kind, name, span) of each reference in it); None if the
        attribute is not configured."""
        known = (decl, attribute)
        if known not in self._attributes:
            content, _ = decl.body.partial_content(BodySchema({attribute: False}))
            given = content.attributes.get(attribute)
            self._attributes[known] = (given.span, _mentions(given)) if given is not None else None
        return self._attributes[known]


def _mentions(given: Attribute) -> list[tuple[str, str, Span]]:
    try:
        mentioned = variables(given)
    except Failure:
        return []
    parsed = ((parse_reference(node), node) for node in mentioned)
    return [
        (ref.kind, _name(ref), Span(given.source, node.start, node.end)) for ref, node in parsed if isinstance(ref, Ref)
    ]


def _name(ref: Ref) -> str:
    if ref.kind == "resource":
        return ref.name
    if ref.kind in ("module", "output"):
        return f"module.{ref.name}.{ref.output}" if ref.output else f"module.{ref.name}"
    return f"{ref.kind}.{ref.name}"

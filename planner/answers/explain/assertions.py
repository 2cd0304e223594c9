"""Explains the values in failed conditions. Each value is traced through expressions to the inputs from which it comes:
variables, constants, and values from providers or mocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.answers.explain.origins import path_step, select
from planner.answers.explain.places import LocationLookup, ValueLocation
from planner.engine.evaluation.context import EvaluationContext
from planner.foundation.values.expression_text import short_text
from planner.foundation.values.paths import parts
from planner.foundation.values.value import Value, unmark
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.config.variables import RootVariable
from planner.language.syntax.body import variables
from planner.language.syntax.chains import chains
from planner.language.syntax.nodes import GetAttr, Traversal

_DEEPEST, _MOST = 10, 40
_COPIES = {("terraform_data", "output"): "input"}
"""{(resource type, attribute): the argument whose value the attribute copies}, for the built-in provider"""


@frozen
class AssertionCause:
    """A step of an explanation: `what` has the value `value`. `how`: where the value comes from. `span`: the place of
    this origin. The causes of a step follow it in the list and have a greater `depth`."""

    depth: int
    what: str
    value: str
    how: str
    span: Span | None = None


def causes(
    condition: Expr, context: EvaluationContext, given: Mapping[str, RootVariable], outputs: Mapping[str, Value]
) -> list[AssertionCause]:
    """The steps that explain the values to which a condition refers, each step followed by its causes. `given`: the
    root variables of the tested module. `outputs`: its outputs."""
    follower = _Follower(context, given, outputs)
    for node in variables(condition.node):
        place = follower.mentioned(node)
        if place is not None:
            follower.follow(place, 0)
    return follower.found


class _Follower:
    def __init__(
        self, context: EvaluationContext, given: Mapping[str, RootVariable], outputs: Mapping[str, Value]
    ) -> None:
        self.context, self.variables, self.outputs = context, given, outputs
        self.places = LocationLookup(context)
        self.found: list[AssertionCause] = []
        self.seen: set[str] = set()

    def mentioned(self, node: Any) -> ValueLocation | None:
        root = self.context.root
        if isinstance(node, Traversal) and node.root == "output" and isinstance(node.steps[0], GetAttr):
            name = node.steps[0].name
            path = tuple(map(path_step, node.steps[1:]))
            return ValueLocation(root, "output", name, None, path) if name in root.config.outputs else None
        ref = parse_reference(node)
        return self.places.of_reference(ref, root, None) if isinstance(ref, Ref) else None

    def follow(self, place: ValueLocation, depth: int) -> None:
        """Append the step for a value, followed by the steps for the values from which it comes."""
        owner = self.places.owner(place)
        if owner is not None:
            self.follow(owner, depth)
            return
        name = str(place)
        if name in self.seen or depth > _DEEPEST or len(self.found) >= _MOST:
            return
        self.seen.add(name)
        if place.kind == "var" and place.module.parent is None:
            self._variable(place, depth)
        elif place.kind == "resources":
            self._instances(place, depth)
        else:
            self._given(place, depth)

    def _instances(self, place: ValueLocation, depth: int) -> None:
        objects = place.module.resource(place.name)
        keys = self.context.objects.keys(place.module, objects.decl) or ()
        known = {*keys, *(objects.expansion.instances if objects.expansion is not None else ())}
        for key in sorted(known, key=str):
            self.follow(ValueLocation(place.module, "resource", place.name, key, place.path[1:]), depth)

    def _given(self, place: ValueLocation, depth: int) -> None:
        made_up = place.module.config.outputs[place.name].made_up if place.kind == "output" else None
        if made_up is not None:
            is_given, span = made_up
            self._tell(place, depth, "set by override_module" if is_given else "left null by override_module", span)
            return
        origins = self.places.origins(place)
        if origins is None:
            self._undeclared(place, depth)
            return
        for origin in origins:
            text = origin.span.text.split("\n")[0]
            self._tell(place, depth, text, origin.span)
            for chain in sorted(chains(origin.node)[0], key=lambda chain: chain.start):
                meant = self.places.meant(chain, origin, place)
                if meant is not None:
                    self.follow(meant, depth + 1)

    def _undeclared(self, place: ValueLocation, depth: int) -> None:
        """Record a value without an expression: a default, or an attribute that is not configured."""
        if place.kind == "var":
            decl = place.module.config.variables[place.name]
            self._tell(place, depth, "default", decl.default_span or decl.span)
            return
        if place.kind != "resource" or not place.path:
            self._tell(place, depth, "", self.places.declaration(place))
            value = unmark(self.places.value(place))[0] if place.kind == "resource" else None
            for step, _ in parts(value) if value.__class__ is dict else ():
                if self.places.given(place.at((step,))) is not None:
                    self.follow(place.at((step,)), depth + 1)
            return
        decl_of = place.module.config.resources[place.name]
        copied = _COPIES.get((decl_of.type, str(place.path[0][1])))
        if copied is not None and decl_of.made_up is None:
            argument = place.at((("attr", copied), *place.path[1:]))
            self._tell(place, depth, copied, decl_of.span)
            self.follow(argument, depth + 1)
            return
        how, span = self._maker(place, decl_of)
        self._tell(place, depth, how, span)

    def _maker(self, place: ValueLocation, decl: ResourceDecl) -> tuple[str, Span]:
        """(origin, place of the origin) of the value of an attribute that is not configured: the provider, a mock or an
        override."""
        name = str(place.path[0][1])
        config = place.module.config
        override = decl.made_up
        source = config.provider_source(decl.provider_name)
        if override is None:
            block = self.context.config.root.provider_block(source, decl.provider_alias)
            mocking = block.mocking if block is not None else None
            if block is None or mocking is None:
                return f"decided by the provider {source}", decl.span
            override = mocking.override(decl.mode, join(str(place.module.address.config), decl.key))
            if override is None:
                is_default = name in mocking.defaults.get((decl.mode, decl.type), {})
                return "a default of mock_provider" if is_default else "generated by mock_provider", block.span
        return (
            f"given by {override.block}" if name in override.values else f"generated, by {override.block}"
        ), override.span

    def _variable(self, place: ValueLocation, depth: int) -> None:
        decl = place.module.config.variables[place.name]
        given = self.variables.get(place.name)
        if given is None or given.origin == "default":
            self._tell(place, depth, "default", decl.default_span or decl.span)
        elif given.span is not None and given.span != decl.span:
            self._tell(place, depth, "given here", given.span)
        else:
            self._tell(place, depth, f"given by {given.giver}", None)

    def _tell(self, place: ValueLocation, depth: int, how: str, span: Span | None) -> None:
        values = [value for _, value in self.places.found(place)]
        if not values and place.kind == "output" and place.module.parent is None:
            values = [value for _, value in select(self.outputs.get(place.name), place.path)]
        value = short_text(values[0], self.places.is_sensitive(place)) if len(values) == 1 else ""
        hidden = span is not None and value == "(sensitive value)"
        self.found.append(AssertionCause(depth, str(place), value, "" if hidden else how, span))

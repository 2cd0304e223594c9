"""Bodies made of two: an override laid over a base, and meta-arguments' escape block `_` joined to its surroundings."""

from __future__ import annotations

from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.span import Span
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, Content, ExpectedBlock


def optional(schema: BodySchema) -> BodySchema:
    """The schema with nothing required, as override files may leave everything out."""
    return BodySchema(dict.fromkeys(schema.attributes, False), schema.blocks)


class OverriddenBody:
    """`over` laid over `base`: its arguments win one by one, its blocks replace all base blocks of their type (and
    dynamic blocks that make them). What the schema does not know is ignored in both."""

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
        replaced = {_made(block) for block in over.blocks}
        blocks = [block for block in base.blocks if _made(block) not in replaced and block.type not in replaced]
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


def _made(block: Block) -> str:
    """The block type that a block is or makes."""
    return block.labels[0].value if block.type == "dynamic" and block.labels else block.type


class JoinedBody:
    """Two bodies read as one; an argument in both is an error."""

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

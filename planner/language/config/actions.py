"""Reads `action` blocks, and the `action_trigger` blocks of a resource's lifecycle.

Terraform has had these blocks since 1.14, and triggers on destroy events since 1.16 (documentation pages "action block"
and "resource block, lifecycle"). OpenTofu 1.12 has neither."""

from __future__ import annotations

from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Span
from planner.language.config.merge import ExplicitDeclaration
from planner.language.config.model import ActionReference, ActionTrigger, Expr, Lifecycle, ResourceDecl
from planner.language.config.named_values import label_span
from planner.language.config.provider_blocks import provider_reference
from planner.language.config.reading import (
    BAD_NAME,
    ExpressionPiece,
    Problems,
    elements,
    expr_of,
    keyword,
    native,
    piece,
    read,
)
from planner.language.syntax import nodes
from planner.language.syntax.body import Attribute, Block, Body, BodySchema, ExpectedBlock, NativeBody

_ACTION = BodySchema(dict.fromkeys(("count", "for_each", "provider"), False), (ExpectedBlock("config"),))
_TRIGGER = BodySchema({"events": True, "condition": False, "actions": True, "on_failure": False})
EVENTS = ("before_create", "after_create", "before_update", "after_update", "before_destroy", "after_destroy")
ON_FAILURE = ("halt", "continue", "taint")


def action_block(block: Block, override: bool, problems: Problems) -> ExplicitDeclaration[ResourceDecl]:
    """The declaration in an `action` block. Its `body` is the content of the `config` block, or empty if there is no
    such block."""
    type_, name = (label.value for label in block.labels)
    for at, title in enumerate(("Invalid action type name", "Invalid action name")):
        if not valid_identifier(block.labels[at].value):
            problems.error("invalid_name", title, BAD_NAME, label_span(block, at))
    content = read(block.body, _ACTION, problems)
    attributes = content.attributes
    if "count" in attributes and "for_each" in attributes:
        detail = 'Each of "count" and "for_each" sets the number of instances; use only one of them.'
        where = max(attributes["count"].name_span, attributes["for_each"].name_span, key=lambda span: span.start)
        problems.error("exclusive_repetition", 'Invalid combination of "count" and "for_each"', detail, where)
    config: Block | None = None
    for inner in content.blocks:
        if config is None:
            config = inner
            continue
        detail = f"An action can have only one config block; the first is at {config.header_span}."
        problems.error("duplicate_config", "Duplicate config block", detail, inner.header_span)
    header = block.header_span
    nothing = NativeBody({}, [], block.source, header.start, header.end)
    body: Body = config.body if config is not None else nothing
    provider = attributes.get("provider")
    made = ResourceDecl(
        mode="action",
        type=type_,
        name=name,
        provider=provider_reference(piece(provider), "provider", problems) if provider is not None else None,
        count=_expr(attributes.get("count"), problems),
        for_each=_expr(attributes.get("for_each"), problems),
        enabled=None,
        depends_on=(),
        lifecycle=Lifecycle(),
        provisioners=(),
        connection=None,
        body=body,
        span=block.header_span,
        block=block,
        type_span=label_span(block, 0),
    )
    return ExplicitDeclaration(made, frozenset({"count", "for_each", "provider"} & attributes.keys()))


def action_trigger(block: Block, problems: Problems) -> ActionTrigger | None:
    """The content of an `action_trigger` block: on which events a resource invokes which actions. None if the block is
    invalid (reported)."""
    mine = Problems()
    content = read(block.body, _TRIGGER, mine)
    attributes = content.attributes
    events = _keywords(attributes["events"], EVENTS, mine) if "events" in attributes else ()
    condition = _expr(attributes.get("condition"), mine)
    actions = []
    if "actions" in attributes:
        items = elements(piece(attributes["actions"]), mine)
        if items is not None and not items:
            detail = "An action_trigger block names at least one action."
            mine.error("trigger_without_actions", "No actions specified", detail, attributes["actions"].span)
        actions = [action_reference(item, mine) for item in items or ()]
    on_failure = "halt"
    if "on_failure" in attributes:
        on_failure = next(iter(_keyword(piece(attributes["on_failure"]), "on_failure", ON_FAILURE, mine)), "halt")
    problems.extend(mine)
    if mine.has_errors:
        return None
    named = tuple(one for one in actions if one is not None)
    return ActionTrigger(events, condition, named, on_failure, block.header_span)


def _expr(attribute: Attribute | None, problems: Problems) -> Expr | None:
    return expr_of(attribute, problems) if attribute is not None else None


def _keywords(attribute: Attribute, allowed: tuple[str, ...], problems: Problems) -> tuple[str, ...]:
    items = elements(piece(attribute), problems)
    if items is not None and not items:
        detail = f"An action_trigger block names at least one event: {_list(allowed)}."
        problems.error("trigger_without_events", "No events specified", detail, attribute.span)
    words = [word for item in items or () for word in _keyword(item, "events", allowed, problems)]
    return tuple(dict.fromkeys(words))


def _keyword(expr: ExpressionPiece, argument: str, allowed: tuple[str, ...], problems: Problems) -> tuple[str, ...]:
    word = keyword(expr)
    if word in allowed:
        return (word,)
    written = expr.node.value if isinstance(expr.node, nodes.Literal) and expr.node.value.__class__ is str else word
    if expr.is_quoted and written in allowed:
        detail = f"The keywords in {argument} are written without quotes: {written}."
    else:
        detail = f"The keywords allowed in {argument} are {_list(allowed)}.{did_you_mean(str(written), allowed)}"
    problems.error("trigger_keyword", f'Invalid "{argument}" keyword', detail, expr.span)
    return ()


def _list(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def action_reference(item: ExpressionPiece, problems: Problems) -> ActionReference | None:
    """The reference in an expression of the form `action.TYPE.NAME` or `action.TYPE.NAME[KEY]`; KEY may be any
    expression. None for other expressions (reported)."""
    expr = native(item, problems)
    if expr is None:
        return None
    node, key = expr.node, None
    if isinstance(node, nodes.Index):
        key = Expr(node.key, expr.source)
        node = node.collection
    if isinstance(node, nodes.Traversal) and node.root == "action":
        steps = list(node.steps)
        last = steps[-1]
        if key is None and len(steps) == 3 and isinstance(last, nodes.GetIndex):
            del steps[-1]
            key = Expr(nodes.Literal(last.key, last.start, last.end), expr.source)
        match steps:
            case [nodes.GetAttr(name=type_), nodes.GetAttr(name=name)]:
                return ActionReference(type_, name, key, expr.span)
    detail = "The actions of a trigger are named as action.TYPE.NAME, or action.TYPE.NAME[KEY] for one instance."
    problems.error(
        "trigger_action", "Invalid action reference", detail, Span(expr.source, expr.node.start, expr.node.end)
    )
    return None

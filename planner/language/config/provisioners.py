"""Reads `provisioner` and `connection` blocks."""

from __future__ import annotations

from functools import cache

from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.types import BOOL, NUMBER, STRING
from planner.foundation.vocabulary.span import Span
from planner.language.config.merge import JoinedBody, OverriddenBody
from planner.language.config.model import Provisioner
from planner.language.config.reading import Problems, expr_of, keyword, piece, read_some, unquoted
from planner.language.syntax import nodes
from planner.language.syntax.body import Block, Body, BodySchema, ExpectedBlock, variables

_PROVISIONER = BodySchema(
    {"when": False, "on_failure": False},
    (ExpectedBlock("_"), ExpectedBlock("connection"), ExpectedBlock("lifecycle")),
)
_REMOVED_TYPES = ("chef", "habitat", "puppet", "salt-masterless")


def provisioner_block(block: Block, problems: Problems) -> Provisioner | None:
    """The provisioner in a block; None if its type is no longer supported (reported)."""
    content, body = read_some(block.body, _PROVISIONER, problems)
    type_ = block.labels[0].value
    type_span = Span(block.source, block.labels[0].start, block.labels[0].end)
    if type_ in _REMOVED_TYPES:
        detail = f"Provisioners of type {type_} no longer exist."
        problems.error("removed_provisioner", f'The "{type_}" provisioner has been removed', detail, type_span)
        return None
    when, on_failure = "create", "fail"
    if "when" in content.attributes:
        expr = unquoted(piece(content.attributes["when"]), problems, "keywords")
        when = keyword(expr)
        if when not in ("create", "destroy"):
            detail = "when must be create or destroy."
            problems.error("invalid_when", 'Invalid "when" keyword', detail, expr.span)
            when = "create"
    if when == "destroy":
        only_self(body, problems)
    if "on_failure" in content.attributes:
        given = piece(content.attributes["on_failure"])
        on_failure = keyword(unquoted(given, problems, "keywords"))
        if on_failure not in ("continue", "fail"):
            detail = "on_failure must be continue or fail."
            problems.error("invalid_on_failure", 'Invalid "on_failure" keyword', detail, given.span)
            on_failure = "fail"
    connection: Block | None = None
    escape: Block | None = None
    for inner in content.blocks:
        if inner.type == "_":
            if escape is not None:
                duplicate_escape(inner, escape, problems)
                continue
            escape = inner
            body = JoinedBody(body, inner.body)
        elif inner.type == "connection":
            if connection is not None:
                detail = f"The provisioner already has a connection block at {connection.header_span}."
                problems.error("duplicate_connection", "Duplicate connection block", detail, inner.header_span)
                continue
            connection = inner
            if when == "destroy":
                only_self(inner.body, problems)
        else:
            reserved_block(inner, "provisioner", problems)
    return Provisioner(
        type_,
        when,
        on_failure,
        connection.body if connection else None,
        body,
        block.header_span,
        connection.header_span if connection else None,
        type_span,
    )


def duplicate_escape(block: Block, first: Block, problems: Problems) -> None:
    detail = f'Only one block "_" may contain escaped arguments; the first is at {first.header_span}.'
    problems.error("duplicate_escape", "Duplicate escaping block", detail, block.header_span)


def reserved_block(block: Block, where: str, problems: Problems) -> None:
    detail = f'Blocks of type "{block.type}" are reserved for later use.'
    span = Span(block.source, block.start, block.type_end)
    problems.error("reserved_block", f"Reserved block type name in {where} block", detail, span)


def only_self(body: Body, problems: Problems) -> None:
    """Report references to other objects, which may no longer exist during a destroy. References to self, count.index,
    each.key, path and terraform (tofu) are allowed."""
    attributes, _ = body.just_attributes()
    for attribute in attributes.values():
        expr = expr_of(attribute, problems)
        for node in variables(expr.node):
            if not _survives_destroy(node):
                detail = (
                    "When an object is destroyed, other objects may no longer exist: its provisioners and connections "
                    "may refer only to self, count.index and each.key."
                )
                problems.error("destroy_reference", "Invalid reference from destroy provisioner", detail, expr.span)


def _survives_destroy(node: nodes.Traversal | nodes.Variable) -> bool:
    root = node.name if isinstance(node, nodes.Variable) else node.root
    if root in ("self", "path", "terraform", "tofu"):
        return True
    want = {"count": "index", "each": "key"}.get(root)
    steps = node.steps if isinstance(node, nodes.Traversal) else ()
    return want is not None and len(steps) == 1 and isinstance(steps[0], nodes.GetAttr) and steps[0].name == want


# Connections: how provisioners connect to a machine.


def joined_connection(resource: Body | None, provisioner: Provisioner) -> Body | None:
    """The connection block of the resource, overridden by the one of the provisioner; None if there is neither."""
    if resource is None or provisioner.connection is None:
        return provisioner.connection if resource is None else resource
    return OverriddenBody(resource, provisioner.connection)


_TEXTS = (
    "type user password timeout script_path target_platform private_key certificate host_key agent_identity cacert "
    "proxy_scheme proxy_host proxy_user_name proxy_user_password "
    "bastion_host bastion_host_key bastion_user bastion_password bastion_private_key bastion_certificate"
)


@cache
def connection_schema() -> BlockSchema:
    attributes = {"host": AttributeSchema(STRING, required=True)}
    attributes |= {name: AttributeSchema(STRING, optional=True) for name in _TEXTS.split()}
    attributes |= {name: AttributeSchema(NUMBER, optional=True) for name in ("port", "proxy_port", "bastion_port")}
    attributes |= {name: AttributeSchema(BOOL, optional=True) for name in ("agent", "https", "insecure", "use_ntlm")}
    return BlockSchema(attributes)
